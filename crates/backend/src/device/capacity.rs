//! How much memory the selected device has and how much of it is in use, where the system tells.

use std::path::Path;

/// Bytes of memory of the device that [`open`](super::open) returns, if known; for a CPU they are the
/// machine's, or those that its container may have. WGPU reports how large a buffer may be, not how
/// much memory there is.
pub fn memory_bytes() -> Option<u64> {
    #[cfg(not(feature = "cube"))]
    return limit(&read("/proc/meminfo")?, ControlGroups::of_process().limit);
    #[cfg(feature = "cuda")]
    return super::cuda::memory_bytes(super::opened().index);
    #[cfg(all(feature = "wgpu", not(feature = "cuda")))]
    None
}

/// The memory of the host that this process has now, where the system tells.
pub(crate) fn process_memory() -> Option<u64> {
    of_process("VmRSS:")
}

/// The most bytes that a tensor may have on the device that [`open`](super::open) returns, if it has such
/// a limit, however much memory is free.
pub fn largest_tensor_bytes() -> Option<u64> {
    #[cfg(not(feature = "cube"))]
    return None;
    #[cfg(feature = "cube")]
    {
        let client = <Gpu as burn_cubecl::cubecl::Runtime>::client(&super::opened());
        Some(client.properties().memory.max_page_size)
    }
}

/// Whether the device takes a tensor of so many bytes, if there is memory for it.
pub fn takes_tensor_of(bytes: usize) -> bool {
    largest_tensor_bytes().is_none_or(|most| bytes as u64 <= most)
}

#[cfg(feature = "cuda")]
type Gpu = burn_cubecl::cubecl::cuda::CudaRuntime;
#[cfg(all(feature = "wgpu", not(feature = "cuda")))]
type Gpu = burn_cubecl::cubecl::wgpu::WgpuRuntime;

/// The peak host memory of this process so far, where the system reports it.
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
    let groups = ControlGroups::of_process();
    let fits = |bytes: u64, room: Option<u64>| room.is_none_or(|room| bytes <= room);
    fits(more, available) && fits(more, groups.room) && fits(all, limit(&described, groups.limit))
}

/// The memory of the host, or of the container that the process runs in.
fn limit(described: &str, of_groups: Option<u64>) -> Option<u64> {
    let machine = kilobytes(described, "MemTotal:")?;
    Some(of_groups.map_or(machine, |limit| limit.min(machine)))
}

/// What the control groups of a process and all groups above them allow.
#[derive(Debug, Default, PartialEq, Eq)]
struct ControlGroups {
    /// The smallest limit.
    limit: Option<u64>,
    /// What the members of a group, which may be other processes too, have not used of its limit.
    room: Option<u64>,
}

/// The files of a control group in which Linux shows its memory.
struct MemoryFiles {
    limit: &'static str,
    used: &'static str,
    /// The lines in `memory.stat` on cached files, which give way where memory is needed.
    cached: [&'static str; 2],
}

const VERSION_1: MemoryFiles = MemoryFiles {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cached: ["total_active_file ", "total_inactive_file "],
};
const VERSION_2: MemoryFiles = MemoryFiles {
    limit: "memory.max",
    used: "memory.current",
    cached: ["active_file ", "inactive_file "],
};

impl ControlGroups {
    fn of_process() -> Self {
        let groups = read("/proc/self/cgroup").unwrap_or_default();
        Self::read(Path::new("/sys/fs/cgroup"), &groups)
    }

    /// - `mounted`: where Linux shows control groups
    /// - `groups`: lines `number:controllers:path`, as `/proc/self/cgroup` has them
    fn read(mounted: &Path, groups: &str) -> Self {
        let mut all = Self::default();
        for line in groups.lines() {
            let Some((controllers, path)) =
                line.split_once(':').and_then(|(_, rest)| rest.split_once(':'))
            else {
                continue;
            };
            // Version 2 has one hierarchy, version 1 one for each controller.
            let (top, files) = match controllers {
                "" => (mounted.to_path_buf(), VERSION_2),
                names if names.split(',').any(|name| name == "memory") => {
                    (mounted.join("memory"), VERSION_1)
                }
                _ => continue,
            };
            let group = top.join(path.trim_start_matches('/'));
            // In a container the path may be that outside of it; the top is the container's then.
            for group in group.ancestors().take_while(|group| group.starts_with(&top)) {
                all.add(group, &files);
            }
        }
        all
    }

    fn add(&mut self, group: &Path, files: &MemoryFiles) {
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let of_file = |name: &str| read(group.join(name)).as_deref().and_then(number);
        // `max` where there is no limit.
        let Some(limit) = of_file(files.limit) else { return };
        let least = |known: Option<u64>, new| Some(known.map_or(new, |known| known.min(new)));
        self.limit = least(self.limit, limit);
        let Some(used) = of_file(files.used) else { return };
        let statistics = read(group.join("memory.stat")).unwrap_or_default();
        let of_line =
            |line: &str| files.cached.iter().find_map(|start| number(line.strip_prefix(start)?));
        let cached: u64 = statistics.lines().filter_map(of_line).sum();
        let needed = used.saturating_sub(cached);
        self.room = least(self.room, limit.saturating_sub(needed));
    }
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
        let limit = |groups: &str| ControlGroups::read(&top, groups).limit;
        set("job/memory.max", "4096\n");
        set("job/step/memory.max", "8192\n");
        set("job/step/task/memory.max", "max\n");
        set("memory/slurm/memory.limit_in_bytes", "1024\n");
        set("memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(limit("0::/job/step/task\n"), Some(4096));
        assert_eq!(limit("0::/elsewhere\n"), None);
        let version_1 = "5:cpu,cpuacct:/job\n3:memory:/slurm/uid_7/job_1\n";
        assert_eq!(limit(version_1), Some(1024));
        assert_eq!(limit(""), None);
        set("memory.max", "512\n");
        assert_eq!(limit("0::/outside/of/the/container\n"), Some(512));
        fs::remove_dir_all(top).unwrap();
    }

    #[test]
    fn what_others_of_a_group_use_is_no_room() {
        let group = std::env::temp_dir().join(format!("cgroup-room-{}", std::process::id()));
        fs::create_dir_all(group.join("memory")).unwrap();
        let room = |groups: &str| ControlGroups::read(&group, groups).room;
        fs::write(group.join("memory.max"), "4096\n").unwrap();
        assert_eq!(room("0::/\n"), None);
        fs::write(group.join("memory.current"), "3000\n").unwrap();
        assert_eq!(room("0::/\n"), Some(1096));
        let statistics = "anon 900\nactive_file 1500\ninactive_file 500\nfile 2000\n";
        fs::write(group.join("memory.stat"), statistics).unwrap();
        assert_eq!(room("0::/\n"), Some(3096));
        fs::write(group.join("memory/memory.limit_in_bytes"), "2000\n").unwrap();
        fs::write(group.join("memory/memory.usage_in_bytes"), "2500\n").unwrap();
        assert_eq!(room("3:memory:/\n"), Some(0));
        fs::remove_dir_all(group).unwrap();
    }

    #[test]
    fn a_line_is_read_where_there_is_one() {
        let described = "MemFree:  7 kB\nMemTotal:       16384 kB\nBuffers: 3 kB\n";
        assert_eq!(kilobytes(described, "MemTotal:"), Some(16 << 20));
        assert_eq!(kilobytes(described, "MemAvailable:"), None);
        assert_eq!(kilobytes("MemTotal: many kB\n", "MemTotal:"), None);
    }
}
