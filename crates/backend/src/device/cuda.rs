//! The NVIDIA driver, the run-time compiler and the process's device.

use burn_cubecl::cubecl::cuda::install::cuda_path;
use cudarc::{driver, nvrtc};

use crate::Share;

/// What every kernel that CubeCL writes includes.
const HEADER: &str = "include/cuda_runtime.h";

/// Those of the driver and of the compiler, for which a compiled kernel is good.
pub(super) fn versions() -> String {
    let [mut driver, mut major, mut minor] = [0; 3];
    // SAFETY: both libraries are there, and the calls write a number to each place. Where one
    // fails the number stays zero.
    unsafe {
        let _ = driver::sys::cuDriverGetVersion(&mut driver);
        let _ = nvrtc::sys::nvrtcVersion(&mut major, &mut minor);
    }
    format!("driver {driver} nvrtc {major}.{minor}")
}

/// Bytes of memory of a device.
pub(super) fn memory_bytes(index: usize) -> Option<u64> {
    let device = driver::result::device::get(index as i32).ok()?;
    // SAFETY: the device is the driver's own.
    let bytes = unsafe { driver::result::device::total_mem(device) };
    bytes.ok().map(|bytes| bytes as u64)
}

/// The index of the process's device, and its name.
pub(super) fn probe(process: Share) -> Result<(usize, String), String> {
    // SAFETY: the call tries to open the library and looks at nothing in it.
    if !unsafe { driver::sys::is_culib_present() } {
        return Err("looked for the NVIDIA driver (libcuda): not found".to_owned());
    }
    // SAFETY: as above.
    if !unsafe { nvrtc::sys::is_culib_present() } {
        return Err("looked for the CUDA run-time compiler (libnvrtc): not found".to_owned());
    }
    match cuda_path().map(|toolkit| toolkit.join(HEADER)) {
        None => return Err("looked for the CUDA toolkit's headers: not found".to_owned()),
        Some(header) if !header.exists() => {
            let header = header.display();
            return Err(format!("looked for the CUDA toolkit's headers: no `{header}`"));
        }
        Some(_) => {}
    }
    driver::result::init().map_err(|error| format!("the NVIDIA driver: {error}"))?;
    let count = driver::result::device::get_count()
        .map_err(|error| format!("counting NVIDIA devices: {error}"))?;
    if count == 0 {
        return Err("the NVIDIA driver knows no device".to_owned());
    }
    let Share { rank, of } = process;
    // A launcher may show each process a device of its own only.
    let shown_one = count == 1 && std::env::var_os("CUDA_VISIBLE_DEVICES").is_some();
    let index = if shown_one { 0 } else { rank };
    if !shown_one && (count as usize) < of {
        return Err(format!("{of} processes on this host, each of which needs one of {count}"));
    }
    driver::result::device::get(index as i32)
        .and_then(driver::result::device::get_name)
        .map(|name| (index, name))
        .map_err(|error| format!("the NVIDIA device {index}: {error}"))
}
