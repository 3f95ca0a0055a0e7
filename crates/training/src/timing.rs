//! Training time, throughput, mean loss and accuracy over an interval of steps.

use std::{
    cell::Cell,
    rc::Rc,
    time::{Duration, Instant},
};

use backend::Backend;
use serde::{Deserialize, Serialize};

use crate::{PhaseShares, Throughput, Work, correct::Correct, lossless};

/// The time spent training; it stands still during validation.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    before: Duration,
    running_since: Option<Instant>,
}

impl Clock {
    /// A stopped clock that shows `seconds`.
    pub(crate) fn at(seconds: f64) -> Self {
        let before = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        Self { before, running_since: None }
    }

    pub(crate) fn start(&mut self) {
        self.running_since.get_or_insert_with(Instant::now);
    }

    /// Returns whether it ran.
    pub(crate) fn stop(&mut self) -> bool {
        let start = self.running_since.take();
        self.before += start.map_or(Duration::ZERO, |start| start.elapsed());
        start.is_some()
    }

    /// Seconds of training so far.
    pub(crate) fn seconds(&self) -> f64 {
        let running = self.running_since.map_or(Duration::ZERO, |start| start.elapsed());
        (self.before + running).as_secs_f64()
    }
}

/// When batches were waited for and arrived; shared by the trainer and the iterator over batches.
#[derive(Debug, Default)]
pub(crate) struct BatchTimer {
    waited: Cell<Duration>,
    came: Cell<Option<Instant>>, // none where the last batch's time was taken
}

impl BatchTimer {
    /// Waits for a batch, if there is another.
    pub(crate) fn wait<T>(&self, next: impl FnOnce() -> Option<T>) -> Option<T> {
        let start = Instant::now();
        let batch = next();
        let came = Instant::now();
        self.waited.set(self.waited.get() + (came - start));
        self.came.set(batch.is_some().then_some(came));
        batch
    }

    /// Whether a batch arrived, and nothing was learnt from it yet.
    pub(crate) fn holds_batch(&self) -> bool {
        self.came.get().is_some()
    }

    /// Seconds of waiting since the last call.
    pub(crate) fn take_waited(&self) -> f64 {
        self.waited.take().as_secs_f64()
    }

    /// Seconds since a batch arrived; 0 at a second call for the same one.
    pub(crate) fn take_since_batch(&self) -> f64 {
        self.came.take().map_or(0.0, |came| came.elapsed().as_secs_f64())
    }
}

/// Seconds by what they were spent on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PhaseTimes {
    /// Waiting for data.
    pub(crate) waited: f64,
    /// From a batch to its losses.
    pub(crate) forward: f64,
    /// From the losses to the gradients.
    pub(crate) backward: f64,
    /// From the gradients to new parameters.
    pub(crate) update: f64,
    /// Waiting for the gradients of other processes.
    pub(crate) communication: f64,
}

impl std::ops::AddAssign for PhaseTimes {
    fn add_assign(&mut self, other: Self) {
        self.waited += other.waited;
        self.forward += other.forward;
        self.backward += other.backward;
        self.update += other.update;
        self.communication += other.communication;
    }
}

/// When the trainer's updates were made, and what they took.
pub(crate) struct Timing {
    pub(crate) clock: Clock,
    /// The clock's seconds after the last update that tuned.
    pub(crate) tuned_until: f64,
    pub(crate) batches: Rc<BatchTimer>,
    /// Since the losses were last read.
    pub(crate) spent: PhaseTimes,
    /// When progress was last told.
    pub(crate) progress_told: Instant,
}

impl Timing {
    pub(crate) fn new() -> Self {
        Self {
            clock: Clock::default(),
            tuned_until: 0.0,
            batches: Rc::default(),
            spent: PhaseTimes::default(),
            progress_told: Instant::now(),
        }
    }
}

/// The first updates of a process on a GPU, which compile and tune kernels and are thus slower than later
/// ones. On a CPU there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// Their samples.
    pub samples: u64,
    /// Their seconds of training.
    pub seconds: f64,
}

impl Tuning {
    /// Whether there are none.
    pub fn is_none(&self) -> bool {
        self.samples == 0
    }

    /// The samples and seconds of the other updates of an interval; of all where there are no others.
    pub fn left_out_of(self, samples: u64, seconds: f64) -> (u64, f64) {
        match samples.saturating_sub(self.samples) {
            0 => (samples, seconds),
            others => (others, seconds - self.seconds),
        }
    }
}

impl std::ops::AddAssign for Tuning {
    fn add_assign(&mut self, other: Self) {
        self.samples += other.samples;
        self.seconds += other.seconds;
    }
}

/// Sums over an interval of steps: a log interval, or an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Interval {
    /// The clock's seconds when the interval began.
    pub(crate) since: f64,
    pub(crate) samples: u64,
    pub(crate) tuning: Tuning,
    #[serde(with = "lossless")]
    pub(crate) loss_sum: f64,
    pub(crate) correct: Correct,
    /// Without tuning.
    #[serde(flatten)]
    pub(crate) spent: PhaseTimes,
}

impl Interval {
    pub(crate) fn from(now: f64) -> Self {
        Self { since: now, ..Self::default() }
    }

    /// NaN where there was no sample, as a loss of 0 would be a perfect one.
    pub(crate) fn mean_loss(&self) -> f64 {
        self.loss_sum / self.samples as f64
    }

    /// None where not all predictions were counted.
    pub(crate) fn accuracy(&self) -> Option<f64> {
        let Correct { count, of } = self.correct;
        (of > 0 && of == self.samples).then(|| count / of as f64)
    }

    /// The samples and seconds until `now`, without those of tuning.
    fn timed(&self, now: f64) -> (u64, f64) {
        self.tuning.left_out_of(self.samples, now - self.since)
    }

    /// Seconds until `now`, without those of tuning.
    pub(crate) fn seconds(&self, now: f64) -> f64 {
        self.timed(now).1
    }

    /// The speed until `now`, and what took the time.
    pub(crate) fn throughput<B: Backend>(
        &self,
        now: f64,
        work: Option<Work>,
        device: &B::Device,
    ) -> Throughput {
        let (samples, seconds) = self.timed(now);
        let seconds = seconds.max(1e-9);
        let samples_per_second = samples as f64 / seconds;
        let communication = self.spent.communication;
        let computing = B::IS_SYNCHRONOUS.then_some(PhaseShares {
            forward: self.spent.forward / seconds,
            backward: self.spent.backward / seconds,
            update: self.spent.update / seconds,
        });
        Throughput {
            samples_per_second,
            data_wait: self.spent.waited / seconds,
            communication_wait: (communication > 0.0).then_some(communication / seconds),
            computing,
            percent_of_peak: work.map(|work| work.percent_of_peak(samples_per_second)),
            memory_bytes: B::memory_in_use(device),
        }
    }
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;

    #[test]
    fn the_time_since_a_batch_counts_once() {
        let batch_timer = BatchTimer::default();
        assert_eq!(batch_timer.take_since_batch(), 0.0);
        assert!(!batch_timer.holds_batch());
        batch_timer.wait(|| Some(()));
        assert!(batch_timer.holds_batch());
        assert!(batch_timer.take_since_batch() > 0.0);
        assert_eq!(batch_timer.take_since_batch(), 0.0);
        batch_timer.wait(|| None::<()>);
        assert!(!batch_timer.holds_batch());
        assert!(batch_timer.take_waited() > 0.0);
        assert_eq!(batch_timer.take_waited(), 0.0);
    }

    fn throughput_of(interval: &Interval, now: f64, work: Option<Work>) -> Throughput {
        interval.throughput::<Selected>(now, work, &Device::default())
    }

    #[test]
    fn throughput_is_of_the_whole_interval() {
        let spent = PhaseTimes {
            waited: 1.0,
            forward: 2.0,
            backward: 4.0,
            update: 0.5,
            communication: 2.5,
        };
        let tuning = Tuning::default();
        let interval = Interval { since: 10.0, samples: 300, tuning, spent, ..Interval::default() };
        let work = Work { multiply_adds_per_sample: 2e6, peak_per_second: 1e8 };
        let throughput = throughput_of(&interval, 20.0, Some(work));
        assert_eq!((throughput.samples_per_second, throughput.data_wait), (30.0, 0.1));
        assert_eq!(
            (throughput.communication_wait, throughput.percent_of_peak),
            (Some(0.25), Some(60.0))
        );
        if let Some(shares) = throughput.computing {
            assert_eq!((shares.forward, shares.backward, shares.update), (0.2, 0.4, 0.05));
        }
        assert_eq!(throughput_of(&interval, 20.0, None).percent_of_peak, None);
    }

    #[test]
    fn an_accuracy_is_of_all_samples() {
        let accuracy = |count, of| {
            let correct = Correct { count, of };
            Interval { samples: 10, correct, ..Interval::default() }.accuracy()
        };
        assert_eq!(accuracy(3.0, 10), Some(0.3));
        assert_eq!(accuracy(3.0, 4), None);
        assert_eq!(accuracy(0.0, 0), None);
    }

    #[test]
    fn the_updates_that_tune_are_left_out_of_throughput() {
        let tuning = Tuning { samples: 96, seconds: 9.0 };
        let mut interval = Interval { since: 10.0, samples: 296, tuning, ..Interval::default() };
        assert_eq!(
            (throughput_of(&interval, 20.0, None).samples_per_second, interval.seconds(20.0)),
            (200.0, 1.0)
        );
        interval.samples = 96; // nothing else is known
        assert_eq!(
            (throughput_of(&interval, 22.0, None).samples_per_second, interval.seconds(22.0)),
            (8.0, 12.0)
        );
    }
}
