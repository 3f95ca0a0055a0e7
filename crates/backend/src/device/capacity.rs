//! How much memory the selected device has, where the system tells.

/// Bytes of memory: of the machine, or of the container that the process runs in.
#[cfg(not(any(feature = "wgpu", feature = "cuda")))]
pub(super) fn memory_bytes() -> Option<u64> {
    use std::fs::read_to_string;

    let machine = total(&read_to_string("/proc/meminfo").ok()?)?;
    // `max` where there is no limit.
    let limit = read_to_string("/sys/fs/cgroup/memory.max").ok();
    let limit: Option<u64> = limit.and_then(|text| text.trim().parse().ok());
    Some(limit.map_or(machine, |limit| limit.min(machine)))
}

/// WGPU tells how large a buffer may be, not how much memory there is.
#[cfg(all(feature = "wgpu", not(feature = "cuda")))]
pub(super) fn memory_bytes() -> Option<u64> {
    None
}

/// Bytes of memory of the first device.
#[cfg(feature = "cuda")]
#[allow(unsafe_code)] // The driver's call is unsafe by signature.
pub(super) fn memory_bytes() -> Option<u64> {
    let device = cudarc::driver::result::device::get(0).ok()?;
    // SAFETY: the device is the driver's own.
    let bytes = unsafe { cudarc::driver::result::device::total_mem(device) };
    bytes.ok().map(|bytes| bytes as u64)
}

/// The line `MemTotal:  16384 kB`.
#[cfg(not(any(feature = "wgpu", feature = "cuda")))]
fn total(described: &str) -> Option<u64> {
    let line = described.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(1024 * kibibytes)
}

#[cfg(all(test, not(any(feature = "wgpu", feature = "cuda"))))]
mod tests {
    #[test]
    fn the_total_is_read_where_there_is_one() {
        let described = "MemFree:  7 kB\nMemTotal:       16384 kB\nBuffers: 3 kB\n";
        assert_eq!(super::total(described), Some(16 << 20));
        assert_eq!(super::total("MemFree:  7 kB\n"), None);
        assert_eq!(super::total("MemTotal: many kB\n"), None);
    }
}
