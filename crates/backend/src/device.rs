//! What is there to run on, found before Burn touches it.
//!
//! Burn reports a missing driver or adapter by a panic in a thread of its own. Here the driver is
//! looked for first, so that its absence is an error that a person can act on.

mod allocator;
mod capacity;
mod kept_memory;

use serde::Serialize;

pub use self::allocator::Allocator;
use crate::{NAME, Selected};

/// Whether an operation has been computed once the call returns. On a GPU it has only been asked
/// for, and what reads a result waits for it.
pub const COMPUTES_AT_ONCE: bool = cfg!(not(any(feature = "wgpu", feature = "cuda")));

/// A device of the selected backend.
pub type Device = burn::tensor::Device<Selected>;

/// No device of the selected backend can be used.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the backend `{NAME}` has no usable device: {reason}")]
pub struct DeviceError {
    reason: String,
}

impl DeviceError {
    /// What to do about it.
    pub fn help(&self) -> String {
        let install = match NAME {
            "cuda" => "install the NVIDIA driver and the CUDA run-time compiler (NVRTC)",
            "wgpu" => "install a Vulkan driver (Debian's `mesa-vulkan-drivers` is one in software)",
            _ => "check the machine",
        };
        format!("{install}, or run on the CPU: the same command without `--features {NAME}`")
    }
}

/// One line of `recipes devices`.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceReport {
    /// The feature that selects the backend.
    pub backend: &'static str,
    /// The device's own name, as far as it is known.
    pub name: String,
    /// Whether this build can train on it.
    pub usable: bool,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The device to train on, and its name.
///
/// # Errors
///
/// Where the driver, the library or the device of the selected backend is missing.
pub fn open() -> Result<(Device, String), DeviceError> {
    let name = probe_selected().map_err(|reason| DeviceError { reason })?;
    Ok((Device::default(), name))
}

/// Every backend of the project: what this build can use, and why not the rest.
pub fn list() -> Vec<DeviceReport> {
    ["cpu", "ndarray", "wgpu", "cuda"]
        .into_iter()
        .map(|backend| {
            let found = if backend == NAME {
                probe_selected()
            } else {
                Err(format!("not in this build, which runs `{NAME}`; {}", switch(backend)))
            };
            match found {
                Ok(name) => DeviceReport { backend, name, usable: true, reason: None },
                Err(reason) => DeviceReport {
                    backend,
                    name: String::new(),
                    usable: false,
                    reason: Some(reason),
                },
            }
        })
        .collect()
}

/// Bytes of memory of the device that [`open`] returns, where the system tells; of a CPU they are
/// the machine's, or those that its container may have.
pub fn memory_bytes() -> Option<u64> {
    capacity::memory_bytes()
}

/// Bytes of that memory that this program has now, where the system tells: of a GPU what is
/// reserved for the tensors of the calling thread, of a CPU what the process has.
pub fn memory_in_use() -> Option<u64> {
    capacity::memory_in_use()
}

/// The most memory of the host that this process had since it began, where the system tells.
pub fn peak_process_memory() -> Option<u64> {
    capacity::peak_process_memory()
}

/// Says what to do where memory runs out, for [`Allocator`] to tell; the first advice stays.
pub fn advise_on_memory(advice: String) {
    allocator::advise(advice);
}

/// What to do where memory runs out, if it was said.
pub fn advice_on_memory() -> Option<&'static str> {
    allocator::advice()
}

/// The threads that compute on the CPU.
pub fn threads() -> usize {
    rayon::current_num_threads()
}

/// Prepares a program that computes on the CPU and allocates with mimalloc; to be called once, first
/// of all.
///
/// The calling thread becomes one of those that compute, so that it takes part in each operation
/// instead of waking another and being woken by it; and memory that is freed is kept, since the
/// next step takes it again.
pub fn prepare_process() {
    join_threads();
    kept_memory::keep();
}

/// Where there is one thread only nothing changes: a thread that waits for something else, such
/// as a batch of data, would keep the pool from making it.
fn join_threads() {
    // A pool that was built before stays as it is.
    let pool = rayon::ThreadPoolBuilder::new();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|number| number.parse().ok());
    if asked.filter(|number| *number > 0).unwrap_or(threads) > 1 {
        let _ = pool.use_current_thread().build_global();
    }
}

/// How to build for a backend.
fn switch(backend: &str) -> String {
    match backend {
        "cpu" => "build without `--features`".to_owned(),
        _ => format!("build with `--features {backend}`"),
    }
}

#[cfg(feature = "cuda")]
fn probe_selected() -> Result<String, String> {
    cuda::probe()
}

#[cfg(all(feature = "wgpu", not(feature = "cuda")))]
fn probe_selected() -> Result<String, String> {
    wgpu::probe()
}

#[cfg(not(any(feature = "wgpu", feature = "cuda")))]
fn probe_selected() -> Result<String, String> {
    let threads = threads();
    let plural = if threads == 1 { "" } else { "s" };
    Ok(format!("{} ({threads} thread{plural})", processor()))
}

/// The processor's name where the system tells it.
#[cfg(not(any(feature = "wgpu", feature = "cuda")))]
fn processor() -> String {
    let described = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    described
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or_else(|| format!("CPU, {}", std::env::consts::ARCH), |(_, name)| name.to_owned())
}

#[cfg(all(feature = "wgpu", not(feature = "cuda")))]
mod wgpu {
    //! The adapter that WGPU would use.

    use std::{panic, sync::OnceLock};

    use burn::backend::wgpu::{RuntimeOptions, WgpuDevice, graphics::AutoGraphicsApi, init_setup};

    /// Initialises the default adapter, once, and returns its name.
    pub(super) fn probe() -> Result<String, String> {
        static FOUND: OnceLock<Result<String, String>> = OnceLock::new();
        FOUND.get_or_init(initialise).clone()
    }

    fn initialise() -> Result<String, String> {
        let hook = panic::take_hook();
        panic::set_hook(Box::new(|_| {}));
        let setup = panic::catch_unwind(|| {
            init_setup::<AutoGraphicsApi>(&WgpuDevice::default(), RuntimeOptions::default())
        });
        panic::set_hook(hook);
        match setup {
            Ok(setup) => {
                let adapter = setup.adapter.get_info();
                Ok(format!("{} ({:?}, {:?})", adapter.name, adapter.device_type, setup.backend))
            }
            Err(payload) => {
                let text = payload.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
                // The rest is wgpu's own debug text, a page of it.
                let sentence = text.and_then(|text| text.split(['.', ':', '(', '{', '\n']).next());
                Err(format!(
                    "looked for a graphics adapter (Vulkan, Metal or DirectX 12): {}",
                    sentence.map_or("none was found", str::trim)
                ))
            }
        }
    }
}

#[cfg(feature = "cuda")]
#[allow(unsafe_code)] // Loading the driver's libraries is unsafe by signature.
mod cuda {
    //! The NVIDIA driver, the run-time compiler and the first device.

    use cudarc::{driver, nvrtc};

    pub(super) fn probe() -> Result<String, String> {
        // SAFETY: the call tries to open the library and looks at nothing in it.
        if !unsafe { driver::sys::is_culib_present() } {
            return Err("looked for the NVIDIA driver (libcuda): not found".to_owned());
        }
        // SAFETY: as above.
        if !unsafe { nvrtc::sys::is_culib_present() } {
            return Err("looked for the CUDA run-time compiler (libnvrtc): not found".to_owned());
        }
        driver::result::init().map_err(|error| format!("the NVIDIA driver: {error}"))?;
        let count = driver::result::device::get_count()
            .map_err(|error| format!("counting NVIDIA devices: {error}"))?;
        if count == 0 {
            return Err("the NVIDIA driver knows no device".to_owned());
        }
        driver::result::device::get(0)
            .and_then(driver::result::device::get_name)
            .map_err(|error| format!("the first NVIDIA device: {error}"))
    }
}
