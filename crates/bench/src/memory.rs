//! The memory of this process, as Linux tells it.

/// The most that was resident since the process began.
pub(crate) fn peak_bytes() -> Option<u64> {
    status("VmHWM:")
}

/// What is resident now.
pub(crate) fn resident_bytes() -> Option<u64> {
    status("VmRSS:")
}

fn status(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
