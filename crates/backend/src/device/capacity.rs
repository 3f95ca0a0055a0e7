//! How much memory the selected device has and how much of it is in use, where the system tells.

use std::path::Path;

#[cfg(not(feature = "cube"))]
pub use processor::{memory_bytes, memory_in_use};

#[cfg(feature = "cube")]
pub(super) use graphics::largest_buffer;
#[cfg(feature = "cube")]
pub use graphics::{memory_bytes, memory_in_use};

/// The most memory of the host that this process had since it began, where the system tells.
pub fn peak_process_memory() -> Option<u64> {
    of_process("VmHWM:")
}

/// Whether the host has room for `more` bytes, with which a program would have `all`; yes where the
/// system does not tell.
///
/// It allocates nothing that is large: an allocator may ask.
pub(super) fn has_room(more: u64, all: u64) -> bool {
    let Some(described) = read("/proc/meminfo") else { return true };
    let available = kilobytes(&described, "MemAvailable:");
    let fits = |bytes: u64, room: Option<u64>| room.is_none_or(|room| bytes <= room);
    fits(more, available) && fits(all, limit(&described))
}

/// The memory of the host, or of the container that the process runs in.
fn limit(described: &str) -> Option<u64> {
    let machine = kilobytes(described, "MemTotal:")?;
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    let limit = group_limit(Path::new("/sys/fs/cgroup"), &groups);
    Some(limit.map_or(machine, |limit| limit.min(machine)))
}

/// The smallest limit among the control groups of a process and all groups above them.
///
/// - `mounted`: where Linux shows control groups
/// - `groups`: lines `number:controllers:path`, as `/proc/self/cgroup` has them
fn group_limit(mounted: &Path, groups: &str) -> Option<u64> {
    let limits = groups.lines().filter_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        // Version 2 has one hierarchy, version 1 one for each controller.
        let (top, file) = match controllers {
            "" => (mounted.to_path_buf(), "memory.max"),
            names if names.split(',').any(|name| name == "memory") => {
                (mounted.join("memory"), "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let group = top.join(path.trim_start_matches('/'));
        // In a container the path may be that outside of it; the top is the container's then.
        let groups = group.ancestors().take_while(|group| group.starts_with(&top));
        // `max` where there is no limit.
        groups.filter_map(|group| read(group.join(file))?.trim().parse().ok()).min()
    });
    limits.min()
}

/// A line of Linux's status of this process.
fn of_process(key: &str) -> Option<u64> {
    kilobytes(&read("/proc/self/status")?, key)
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The bytes of a line such as `MemTotal:  16384 kB`.
fn kilobytes(described: &str, key: &str) -> Option<u64> {
    let line = described.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(1024 * kibibytes)
}

#[cfg(not(feature = "cube"))]
mod processor {
    //! A CPU has the memory of the host.

    use super::{limit, of_process, read};

    /// Bytes of memory of the device that [`open`](crate::device::open) returns, where the system
    /// tells; of a CPU they are the machine's, or those that its container may have.
    pub fn memory_bytes() -> Option<u64> {
        limit(&read("/proc/meminfo")?)
    }

    /// Bytes of [that memory](memory_bytes) that this program has now, where the system tells: what
    /// the process has.
    pub fn memory_in_use() -> Option<u64> {
        of_process("VmRSS:")
    }
}

#[cfg(feature = "cube")]
mod graphics {
    //! A GPU has memory of its own.

    use burn_cubecl::cubecl::Runtime;

    use crate::device::opened;

    #[cfg(feature = "cuda")]
    type Selected = burn_cubecl::cubecl::cuda::CudaRuntime;
    #[cfg(not(feature = "cuda"))]
    type Selected = burn_cubecl::cubecl::wgpu::WgpuRuntime;

    /// Bytes of memory of the device that [`open`](crate::device::open) returns.
    #[cfg(feature = "cuda")]
    #[allow(unsafe_code)] // The driver's call is unsafe by signature.
    pub fn memory_bytes() -> Option<u64> {
        let device = cudarc::driver::result::device::get(opened().index as i32).ok()?;
        // SAFETY: the device is the driver's own.
        let bytes = unsafe { cudarc::driver::result::device::total_mem(device) };
        bytes.ok().map(|bytes| bytes as u64)
    }

    /// Bytes of memory of the device that [`open`](crate::device::open) returns: WGPU tells how large a
    /// buffer may be, not how much memory there is.
    #[cfg(not(feature = "cuda"))]
    pub fn memory_bytes() -> Option<u64> {
        None
    }

    /// Bytes of the largest buffer that CubeCL asks that device for.
    pub(in crate::device) fn largest_buffer() -> u64 {
        Selected::client(&opened()).properties().memory.max_page_size
    }

    /// Bytes of [that memory](memory_bytes) that this program has now: what CubeCL has reserved for
    /// tensors.
    pub fn memory_in_use() -> Option<u64> {
        let usage = Selected::client(&opened()).memory_usage();
        usage.ok().map(|usage| usage.bytes_reserved)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_smallest_limit_of_a_group_and_those_above_it_counts() {
        let top = std::env::temp_dir().join(format!("cgroup-{}", std::process::id()));
        let set = |file: &str, limit: &str| {
            let file = top.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, limit).unwrap();
        };
        set("job/memory.max", "4096\n");
        set("job/step/memory.max", "8192\n");
        set("job/step/task/memory.max", "max\n");
        set("memory/slurm/memory.limit_in_bytes", "1024\n");
        set("memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(group_limit(&top, "0::/job/step/task\n"), Some(4096));
        assert_eq!(group_limit(&top, "0::/elsewhere\n"), None);
        let version_1 = "5:cpu,cpuacct:/job\n3:memory:/slurm/uid_7/job_1\n";
        assert_eq!(group_limit(&top, version_1), Some(1024));
        assert_eq!(group_limit(&top, ""), None);
        set("memory.max", "512\n");
        assert_eq!(group_limit(&top, "0::/outside/of/the/container\n"), Some(512));
        fs::remove_dir_all(top).unwrap();
    }

    #[test]
    fn a_line_is_read_where_there_is_one() {
        let described = "MemFree:  7 kB\nMemTotal:       16384 kB\nBuffers: 3 kB\n";
        assert_eq!(kilobytes(described, "MemTotal:"), Some(16 << 20));
        assert_eq!(kilobytes(described, "MemAvailable:"), None);
        assert_eq!(kilobytes("MemTotal: many kB\n", "MemTotal:"), None);
    }
}
