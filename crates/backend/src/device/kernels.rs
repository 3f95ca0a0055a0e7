//! Where a GPU backend keeps what it learnt about kernels: which are the fastest, and some of them
//! compiled.
//!
//! CubeCL keeps the former in a folder `target` above the working directory, if there is one, under a
//! name that different GPUs may share, and the latter not at all. Here each device has a folder: what
//! is the fastest on one may not even run on another.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Once, OnceLock},
};

use burn_cubecl::cubecl::config::{CubeClRuntimeConfig, RuntimeConfig, cache::CacheConfig};

use crate::Share;

/// What one version of Burn and CubeCL keeps is useless to others, or wrong.
const BURN: &str = concat!("burn-", env!("BURN_DIGEST"));

/// CubeCL looks up a compiled kernel by its name and types, whatever it computes, so each state of this
/// project's kernels has a folder.
const OWN: &str = concat!("compiled-", env!("KERNELS_DIGEST"));

static FOLDER: OnceLock<PathBuf> = OnceLock::new();
/// Where they are kept for the device in use.
static KEPT: OnceLock<PathBuf> = OnceLock::new();

/// Sets the folder; the first one stays.
pub(super) fn keep_in(folder: PathBuf) {
    let _ = FOLDER.set(folder);
}

/// Where they were to be kept, and nothing can be written.
static UNWRITABLE: OnceLock<PathBuf> = OnceLock::new();

/// See [`super::unwritable_kernels`].
pub(super) fn unwritable() -> Option<PathBuf> {
    UNWRITABLE.get().cloned()
}

/// Where they are kept since [`keep_for`], if anywhere.
pub(super) fn kept() -> Option<PathBuf> {
    KEPT.get().cloned()
}

/// Configures CubeCL, before its first use; returns false where the program configured CubeCL itself.
pub(super) fn configure() -> bool {
    static OURS: OnceLock<bool> = OnceLock::new();
    *OURS.get_or_init(|| {
        if CubeClRuntimeConfig::storage().lock().is_some() {
            return false; // set, or used already
        }
        let mut config = CubeClRuntimeConfig::from_current_dir().override_from_env();
        // Each thread that makes a tensor would have a stream of its own, with memory of its own that
        // is never given back.
        if config.streaming.max_streams == CubeClRuntimeConfig::default().streaming.max_streams {
            config.streaming.max_streams = 1;
        }
        CubeClRuntimeConfig::set(config);
        true
    })
}

/// Has CubeCL keep them in a folder of this device, before it has launched a kernel; whether it has started
/// the device makes no difference. A `cubecl.toml` that names a folder is obeyed.
///
/// - `device`: its name, with everything that compiled kernels depend on
/// - `process`: of several on this host each keeps its own, since each chooses by its own timings, and
///   must choose the same when it resumes; the first shares those of a process that is alone
pub(super) fn keep_for(device: &str, process: Share) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if !configure() {
            return;
        }
        let folder = FOLDER.get().map(|folder| folder.join(BURN).join(file_name(device)));
        let folder = folder.map(|folder| match process.rank {
            0 => folder,
            rank => folder.join(format!("process-{rank}")),
        });
        let Some(folder) = folder else { return };
        if can_be_written(&folder) {
            let mut config = CubeClRuntimeConfig::clone(&CubeClRuntimeConfig::get());
            if let CacheConfig::Target = config.autotune.cache {
                config.autotune.cache = CacheConfig::File(folder.clone());
                let _ = KEPT.set(folder.clone());
            }
            let compiled = folder.join(OWN);
            config.compilation.cache.get_or_insert(CacheConfig::File(compiled));
            *CubeClRuntimeConfig::storage().lock() = Some(Arc::new(config));
        } else {
            let _ = UNWRITABLE.set(folder);
        }
    });
}

/// Whether there is room for some kernels. CubeCL panics in a thread of its own if it cannot write.
fn can_be_written(folder: &Path) -> bool {
    const ROOM: usize = 4 << 20;
    let probe = folder.join(format!("room-{}", std::process::id()));
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&probe, vec![0; ROOM]));
    // A leftover is overwritten by the next process with that number.
    let _ = fs::remove_file(probe);
    written.is_ok()
}

/// As `cuda-nvidia-h100-80gb-hbm3`.
fn file_name(device: &str) -> String {
    let lower = device.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_has_a_folder_of_its_own() {
        assert_eq!(file_name("cuda NVIDIA H100 80GB HBM3"), "cuda-nvidia-h100-80gb-hbm3");
        assert_eq!(file_name("wgpu llvmpipe (Cpu, Vulkan)"), "wgpu-llvmpipe-cpu-vulkan");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_known() {
        let folder = std::env::temp_dir().join(format!("kernels-{}", std::process::id()));
        assert!(can_be_written(&folder) && can_be_written(&folder));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir(&folder).unwrap();
        fs::write(&folder, "a file").unwrap();
        assert!(!can_be_written(&folder) && !can_be_written(&folder.join("below")));
        fs::remove_file(folder).unwrap();
    }
}
