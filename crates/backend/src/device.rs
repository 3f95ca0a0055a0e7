//! What is there to run on, found before Burn touches it.
//!
//! Burn reports a missing driver or adapter by a panic in a thread of its own. Here the driver is
//! looked for first, so that its absence is an error that a person can act on.

mod allocator;
mod capacity;
#[cfg(feature = "cuda")]
#[allow(unsafe_code)] // Loading the driver's libraries is unsafe by signature.
mod cuda;
mod kept_memory;
#[cfg(feature = "cube")]
mod kernels;
#[cfg(any(test, feature = "cube"))]
mod refusals;
#[cfg(all(feature = "wgpu", not(feature = "cuda")))]
mod wgpu;

use std::path::PathBuf;

use serde::Serialize;

pub(crate) use self::capacity::process_memory;
pub use self::{
    allocator::{Allocator, OutOfMemory, on_out_of_memory},
    capacity::{largest_tensor_bytes, memory_bytes, peak_process_memory, takes_tensor_of},
};
use crate::{NAME, Selected, Share};

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
            "cuda" => {
                "install the NVIDIA driver and the CUDA toolkit, whose run-time compiler (NVRTC) and \
                 headers compile the kernels; `CUDA_PATH` names a toolkit outside `/usr/local/cuda`"
            }
            "wgpu" => {
                "install the GPU's Vulkan driver (NVIDIA's own, or on Debian for others \
                 `mesa-vulkan-drivers`, which has one in software, too)"
            }
            _ => "check the machine",
        };
        format!("{install}, or {}", on_the_cpu())
    }
}

/// What to do where the device is of no use.
pub fn on_the_cpu() -> String {
    format!("run on the CPU: the same command without `--features {NAME}`")
}

/// What the user should know of the device that [`open`] gave this name.
pub fn caution(name: &str) -> Option<&'static str> {
    (NAME == "wgpu" && name.contains("(Cpu, ")).then_some(
        "the graphics adapter is a driver in software, which is many times slower than a build for the \
         CPU; if there is a GPU, its driver was not found",
    )
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
    /// The folder that records which kernels are the fastest, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernels: Option<PathBuf>,
}

/// The device to compute on, and its name. On a GPU this also sets CubeCL up, so that the threads of a
/// program share one pool of the GPU's memory; `Device::default()` does not.
///
/// # Errors
///
/// Where the driver, the library or the device of the selected backend is missing.
pub fn open() -> Result<(Device, String), DeviceError> {
    open_for(Share::WHOLE)
}

/// The device of one of several processes on this host, each of which has its own; on the CPU they
/// share it.
///
/// # Errors
///
/// As [`open`], and where there are fewer devices than processes.
pub fn open_for(process: Share) -> Result<(Device, String), DeviceError> {
    let found = probe_selected(process).map_err(|reason| DeviceError { reason })?;
    #[cfg(feature = "cube")]
    {
        OPENED.get_or_init(|| found.0.clone());
        refusals::watch();
    }
    Ok(found)
}

/// The bytes of the first buffer for which the [opened](open) device had no room, if there was one.
/// Whatever was computed since may be wrong: only on a GPU, where no panic reports it.
pub fn refused_bytes() -> Option<u64> {
    #[cfg(feature = "cube")]
    return refusals::refused_bytes();
    #[cfg(not(feature = "cube"))]
    None
}

/// What was opened first, which is what a process uses.
#[cfg(feature = "cube")]
static OPENED: std::sync::OnceLock<Device> = std::sync::OnceLock::new();

#[cfg(feature = "cube")]
fn opened() -> Device {
    OPENED.get().cloned().unwrap_or_default()
}

/// Every backend of the project: what this build can use, and why not the rest.
pub fn list() -> Vec<DeviceReport> {
    let report = |backend: &'static str| {
        let found = if backend == NAME {
            probe_selected(Share::WHOLE).map(|(_, name)| name)
        } else {
            Err(format!("not in this build, which runs `{NAME}`; {}", switch(backend)))
        };
        let (name, reason) = match found {
            Ok(name) => (name, None),
            Err(reason) => (String::new(), Some(reason)),
        };
        let usable = reason.is_none();
        let kernels = kernel_folder().filter(|_| usable);
        DeviceReport { backend, name, usable, reason, kernels }
    };
    ["cpu", "ndarray", "wgpu", "cuda"].map(report).into()
}

/// Makes a GPU backend save in `folder`, from run to run, which kernels are the fastest, and compiled
/// ones; to be called before a device is opened; no effect on a CPU.
pub fn keep_kernels_in(folder: PathBuf) {
    #[cfg(feature = "cube")]
    kernels::keep_in(folder);
    #[cfg(not(feature = "cube"))]
    drop(folder);
}

/// The folder for [saved kernels](keep_kernels_in) if it cannot be written, once a device was opened;
/// CubeCL then saves them elsewhere, or not at all.
pub fn unwritable_kernels() -> Option<PathBuf> {
    #[cfg(feature = "cube")]
    return kernels::unwritable();
    #[cfg(not(feature = "cube"))]
    None
}

/// Where it keeps them, once a device was opened.
fn kernel_folder() -> Option<PathBuf> {
    #[cfg(feature = "cube")]
    return kernels::kept();
    #[cfg(not(feature = "cube"))]
    None
}

/// The threads that compute on the CPU.
pub fn threads() -> usize {
    rayon::current_num_threads()
}

/// Prepares a program that trains on the CPU and allocates with mimalloc; to be called once, first of
/// all, from the thread that trains. Without the crate `training` it takes the feature `mimalloc`.
///
/// The calling thread becomes one of those that compute, so that it takes part in each operation
/// instead of waking another and being woken by it; and memory that is freed is kept, since the
/// next step takes it again. A server should not call this: a thread that waits for requests computes
/// nothing, and its core would lie idle.
///
/// - `share`: this process's share of the processor's cores
pub fn prepare_process(share: Share) {
    join_threads(share);
    kept_memory::keep();
}

/// The cores that this process may use, and may share with others.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Where there is one thread only, it is not the calling one: a thread that waits for something
/// else, such as a batch of data, would keep the pool from making it.
fn join_threads(share: Share) {
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|number| number.parse().ok());
    let threads =
        asked.filter(|number| *number > 0).unwrap_or_else(|| share.range(0..cores()).len().max(1));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = if threads > 1 { pool.use_current_thread() } else { pool };
    // A pool that was built before stays as it is.
    let _ = pool.build_global();
}

/// How to build for a backend.
fn switch(backend: &str) -> String {
    match backend {
        "cpu" => "build without `--features`".to_owned(),
        _ => format!("build with `--features {backend}`"),
    }
}

#[cfg(feature = "cuda")]
fn probe_selected(process: Share) -> Result<(Device, String), String> {
    let (index, name) = cuda::probe(process)?;
    kernels::keep_for(&format!("cuda {name} {}", cuda::versions()), process);
    Ok((Device::new(index), name))
}

#[cfg(all(feature = "wgpu", not(feature = "cuda")))]
fn probe_selected(process: Share) -> Result<(Device, String), String> {
    let device = match process {
        Share::WHOLE => Device::default(),
        Share { rank, .. } => Device::DiscreteGpu(rank),
    };
    kernels::configure();
    let name = wgpu::probe(&device)?;
    kernels::keep_for(&format!("wgpu {name}"), process);
    Ok((device, name))
}

#[cfg(not(feature = "cube"))]
fn probe_selected(_: Share) -> Result<(Device, String), String> {
    let threads = threads();
    let plural = if threads == 1 { "" } else { "s" };
    Ok((Device::default(), format!("{} ({threads} thread{plural})", processor())))
}

/// The processor's name where the system tells it.
#[cfg(not(feature = "cube"))]
fn processor() -> String {
    let described = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    described
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or_else(|| format!("CPU, {}", std::env::consts::ARCH), |(_, name)| name.to_owned())
}
