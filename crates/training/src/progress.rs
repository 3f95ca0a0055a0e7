//! How fast and how well it goes: training time, throughput and mean loss over a span of steps.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// The time spent in training, which stands still during validation.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    before: Duration,
    running_since: Option<Instant>,
}

impl Clock {
    /// A clock that stands at `seconds`.
    pub(crate) fn at(seconds: f64) -> Self {
        let before = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        Self { before, running_since: None }
    }

    pub(crate) fn start(&mut self) {
        self.running_since.get_or_insert_with(Instant::now);
    }

    pub(crate) fn stop(&mut self) {
        if let Some(start) = self.running_since.take() {
            self.before += start.elapsed();
        }
    }

    /// Seconds of training so far.
    pub(crate) fn seconds(&self) -> f64 {
        let running = self.running_since.map_or(Duration::ZERO, |start| start.elapsed());
        (self.before + running).as_secs_f64()
    }
}

/// What was seen over a span of steps: a log interval, or an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Span {
    /// The clock's seconds when the span began.
    pub(crate) since: f64,
    pub(crate) samples: u64,
    pub(crate) waited: f64,
    pub(crate) loss_sum: f64,
}

impl Span {
    pub(crate) fn from(now: f64) -> Self {
        Self { since: now, ..Self::default() }
    }

    pub(crate) fn mean_loss(&self) -> f64 {
        self.loss_sum / self.samples.max(1) as f64
    }

    pub(crate) fn samples_per_second(&self, now: f64) -> f64 {
        self.samples as f64 / (now - self.since).max(1e-9)
    }

    /// The share of the span that was spent waiting for data.
    pub(crate) fn data_wait(&self, now: f64) -> f64 {
        self.waited / (now - self.since).max(1e-9)
    }
}
