//! A result of a benchmark.

use serde::Serialize;

/// A result of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// The case.
    pub name: String,
    /// The backend that ran it.
    pub backend: String,
    /// Threads that compute on the CPU.
    pub threads: usize,
    /// Samples in a step.
    pub batch: u64,
    /// The median over the runs of the seconds that a step takes.
    pub median_seconds: f64,
    /// The slowest run's seconds less the fastest's.
    pub spread: f64,
    /// Samples in a second, at the median.
    pub samples_per_second: f64,
    /// The most memory that the process has held, where the system tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
}

impl Entry {
    /// The entry of a case from the seconds a step in each run.
    ///
    /// # Panics
    ///
    /// If there was no run.
    pub(crate) fn new(name: &str, batch: u64, mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        let middle = seconds.len() / 2;
        let median = if seconds.len().is_multiple_of(2) {
            (seconds[middle - 1] + seconds[middle]) / 2.0
        } else {
            seconds[middle]
        };
        Self {
            name: name.to_owned(),
            backend: backend::NAME.to_owned(),
            threads: backend::device::threads(),
            batch,
            median_seconds: median,
            spread: seconds[seconds.len() - 1] - seconds[0],
            samples_per_second: batch as f64 / median,
            peak_memory_bytes: peak_memory_bytes(),
        }
    }
}

/// `VmHWM` of Linux.
fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_and_the_spread_all_of_it() {
        let entry = Entry::new("case", 40, vec![4.0, 1.0, 2.0]);
        assert_eq!(
            (entry.median_seconds, entry.spread, entry.samples_per_second),
            (2.0, 3.0, 20.0)
        );
        assert_eq!(Entry::new("case", 1, vec![1.0, 2.0]).median_seconds, 1.5);
    }
}
