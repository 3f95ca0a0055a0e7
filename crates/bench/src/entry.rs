//! A result of a benchmark.

use backend::{Arithmetic, Peaks, Precision};
use serde::{Deserialize, Serialize};

use crate::{exchange::Cost, job::Measured};

/// A result of a benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// What was measured.
    pub name: String,
    /// The backend that ran it.
    pub backend: String,
    /// The precision in which it multiplies while training. On CUDA f32 may be TF32.
    #[serde(default)]
    pub precision: Precision,
    /// Threads that compute on the CPU.
    pub threads: usize,
    /// Processes under MPI that shared each step; none for a process without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<usize>,
    /// The throughput of each rank relative to that of a single rank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<f64>,
    /// Samples in a step; `None` if no steps are measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// The median over the rounds of the seconds that a step takes.
    pub median_seconds: f64,
    /// The slowest round's seconds minus the fastest's.
    pub spread: f64,
    /// Samples per second, at the median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples_per_second: Option<f64>,
    /// Operations of a step, two for a multiply-add, where they are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flops: Option<f64>,
    /// Their speed, as a percentage of the device's measured peak in this precision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent_of_peak: Option<f64>,
    /// Bytes that a step moves if each layer's result is written once, and read by each layer that
    /// needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<f64>,
    /// Their speed, as a percentage of that of a copy on the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent_of_bandwidth: Option<f64>,
    /// Peak memory, where the system reports it: of the process on a CPU, reserved by the framework on
    /// a GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// By how much memory grew after the first tenth of the steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_growth_bytes: Option<i64>,
    /// The share of the time spent waiting for data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_wait: Option<f64>,
    /// The share of the time spent on summing the gradients of all processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub communication_wait: Option<f64>,
    /// All peers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<PeerEntry>,
    /// Peers that were rejected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
}

/// A peer that failed, or whose losses differ from ours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The framework and how it was run.
    pub name: String,
    /// What went wrong.
    pub reason: String,
}

/// What was measured for comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeerEntry {
    /// The framework and how it was run, or the other way of ours.
    pub name: String,
    /// The framework's version.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// As in [`Entry`].
    pub median_seconds: f64,
    /// As in [`Entry`].
    pub spread: f64,
    /// Its time divided by ours.
    pub ratio: f64,
    /// As in [`Entry`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// Of what a GPU framework reserved, the peak that tensors held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocated_memory_bytes: Option<u64>,
    /// Our peak memory divided by its.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_ratio: Option<f64>,
    /// The largest difference between its first losses and ours, relative to ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_difference: Option<f64>,
}

/// Seconds in a readable unit.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// The middle of sorted values, or the mean of the two in the middle.
///
/// # Panics
///
/// If there is none.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    } else {
        sorted[middle]
    }
}

/// The rounds of one process.
#[derive(Debug, Default)]
pub(crate) struct Rounds(pub(crate) Vec<Measured>);

impl Rounds {
    /// The median of the seconds.
    ///
    /// # Panics
    ///
    /// If there was no round.
    pub(crate) fn median(&self) -> f64 {
        median(&self.sorted())
    }

    /// The slowest round's seconds minus the fastest's.
    pub(crate) fn spread(&self) -> f64 {
        let seconds = self.sorted();
        seconds[seconds.len() - 1] - seconds[0]
    }

    fn most(&self, of: fn(&Measured) -> Option<u64>) -> Option<u64> {
        self.0.iter().filter_map(of).max()
    }

    fn sorted(&self) -> Vec<f64> {
        let mut seconds: Vec<f64> = self.0.iter().map(|round| round.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        seconds
    }
}

impl Entry {
    /// The entry of our rounds; counts and peers come later.
    pub(crate) fn new(name: &str, threads: usize, rounds: &Rounds) -> Self {
        let median_seconds = rounds.median();
        let last = &rounds.0[rounds.0.len() - 1];
        Self {
            name: name.to_owned(),
            backend: backend::NAME.to_owned(),
            threads,
            batch: Some(last.samples),
            median_seconds,
            spread: rounds.spread(),
            // A part of a step may be too short to measure.
            samples_per_second: Some(last.samples as f64 / median_seconds.max(1e-9)),
            peak_memory_bytes: rounds.most(|round| round.peak_memory_bytes),
            memory_growth_bytes: last.memory_growth_bytes,
            data_wait: last.data_wait,
            communication_wait: last.communication_wait,
            ..Self::default()
        }
    }

    /// Adds what was measured for comparison.
    ///
    /// - `largest_difference`: between its first losses and ours, relative to ours
    pub(crate) fn add(
        &mut self,
        name: &str,
        version: String,
        largest_difference: Option<f64>,
        rounds: &Rounds,
    ) {
        let median_seconds = rounds.median();
        let peak_memory_bytes = rounds.most(|round| round.peak_memory_bytes);
        let memory = self.peak_memory_bytes.zip(peak_memory_bytes);
        self.peers.push(PeerEntry {
            name: name.to_owned(),
            version,
            median_seconds,
            spread: rounds.spread(),
            ratio: median_seconds / self.median_seconds,
            peak_memory_bytes,
            allocated_memory_bytes: rounds.most(|round| round.allocated_memory_bytes),
            memory_ratio: memory.map(|(ours, its)| ours as f64 / its as f64),
            largest_difference,
        });
    }

    /// Adds the operations and bytes of a step.
    ///
    /// - `share`: how much of the device was used
    pub(crate) fn count(&mut self, cost: Cost, peaks: &Peaks, share: f64) {
        let Some(samples) = self.batch.map(|samples| samples as f64) else { return };
        let flops = cost.flops_of_sample * samples;
        self.flops = Some(flops);
        let peak = peaks.multiply_adds_in(self.precision, Arithmetic::Fast);
        let speed = flops / self.median_seconds;
        self.percent_of_peak = peak.map(|peak| 100.0 * speed / (2.0 * peak * share));
        let bytes = cost.bytes_of_sample * samples + cost.bytes_of_step;
        self.bytes = Some(bytes);
        let speed = bytes / self.median_seconds;
        self.percent_of_bandwidth = Some(100.0 * speed / peaks.copy_bytes_per_second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(seconds: &[f64]) -> Rounds {
        let round = |&seconds| Measured {
            seconds,
            samples: 40,
            peak_memory_bytes: Some(1000),
            ..Measured::default()
        };
        Rounds(seconds.iter().map(round).collect())
    }

    #[test]
    fn the_median_is_the_middle_and_the_spread_all_of_it() {
        let entry = Entry::new("case", 2, &rounds(&[4.0, 1.0, 2.0]));
        let found = (entry.median_seconds, entry.spread, entry.samples_per_second, entry.batch);
        assert_eq!(found, (2.0, 3.0, Some(20.0), Some(40)));
        assert_eq!(rounds(&[1.0, 2.0]).median(), 1.5);
    }

    #[test]
    fn ratios_are_the_time_of_a_peer_over_ours() {
        let mut entry = Entry::new("case", 2, &rounds(&[2.0]));
        entry.add("slow", "1.0".to_owned(), None, &rounds(&[8.0]));
        entry.add("fast", "1.0".to_owned(), None, &rounds(&[3.0]));
        let told = entry.peers.iter().map(|peer| (peer.name.as_str(), peer.ratio));
        assert_eq!(told.collect::<Vec<_>>(), [("slow", 4.0), ("fast", 1.5)]);
        assert_eq!(entry.peers[1].memory_ratio, Some(1.0));
    }

    #[test]
    fn what_a_step_takes_is_set_against_the_peaks_of_what_ran() {
        let mut entry = Entry::new("case", 1, &rounds(&[2.0]));
        let cost = Cost { flops_of_sample: 4.0, bytes_of_sample: 1.0, bytes_of_step: 60.0 };
        let peaks = Peaks {
            multiply_adds_per_second: 80.0,
            bf16_multiply_adds_per_second: None,
            copy_bytes_per_second: 200.0,
            upload_bytes_per_second: 1.0,
            download_bytes_per_second: 1.0,
        };
        // 40 samples in 2 seconds: 80 operations and 50 bytes a second, where half of the threads do
        // 40 multiply-adds, which are two each.
        entry.count(cost, &peaks, 0.5);
        assert_eq!((entry.flops, entry.bytes), (Some(160.0), Some(100.0)));
        assert_eq!(entry.percent_of_peak, Some(100.0));
        assert_eq!(entry.percent_of_bandwidth, Some(25.0));
        entry.precision = Precision::Bf16;
        entry.count(cost, &peaks, 0.5);
        assert_eq!(entry.percent_of_peak, None);
    }
}
