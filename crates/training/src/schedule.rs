//! The learning rate over a run: a function of the step, or, for `plateau`, of the validations.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use crate::patience::Patience;

/// How the learning rate changes over the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleKind {
    /// A linear warm-up, then the optimizer's learning rate to the last step.
    Constant,
    /// A linear warm-up, then half a cosine wave down to `minimum` at the end of the run (Loshchilov
    /// and Hutter, 2017).
    Cosine,
    /// A linear warm-up, then a straight line down to `minimum` at the end of the run.
    Linear,
    /// From a low rate up to the optimizer's and down to nearly zero, both along half a cosine wave
    /// (Smith and Topin, 2018); the momentum stays as it is.
    OneCycle,
    /// Multiplied by `gamma` at each of the `milestones`.
    Step,
    /// Multiplied by `gamma` after each epoch.
    Exponential,
    /// Multiplied by `gamma` whenever more than `patience` epochs have not improved the metric that is
    /// monitored.
    Plateau,
    /// From `minimum` up to the optimizer's learning rate, by the same factor after each step: the
    /// range test (Smith, 2017), which shows where learning begins and where it breaks down.
    Range,
}

impl ScheduleKind {
    /// Whether it may begin with a warm-up.
    pub fn warms_up(self) -> bool {
        matches!(self, Self::Constant | Self::Cosine | Self::Linear)
    }

    /// Whether the learning rate of a step depends on how long the run is.
    pub fn depends_on_length(self) -> bool {
        matches!(self, Self::Cosine | Self::Linear | Self::OneCycle | Self::Range)
    }
}

/// The table `[schedule]`. Settings that the chosen kind does not use have no effect, but must be in range,
/// and a resumed run must keep them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleConfig {
    /// How the learning rate changes over the run.
    pub kind: ScheduleKind,
    /// Constant, cosine and linear: the steps of the warm-up from near zero.
    pub warmup_steps: u64,
    /// Cosine and linear: the learning rate at the end. Plateau: the lowest one. Range: the first one.
    pub minimum: f64,
    /// One cycle: the share of the run during which the rate rises.
    pub pct_start: f64,
    /// One cycle: the optimizer's learning rate over that of the first step.
    pub div_factor: f64,
    /// One cycle: the learning rate of the first step over that of the last.
    pub final_div_factor: f64,
    /// Step: the epochs, counted from 0, at whose start the learning rate falls; not shares of the
    /// run, so that a longer run begins as a shorter one.
    pub milestones: Vec<usize>,
    /// Step, exponential and plateau: what the learning rate is multiplied by; unset it is
    /// 0.95 for exponential and 0.1 for the others.
    #[serde(default, with = "crate::or_empty")]
    pub gamma: Option<f64>,
    /// Plateau: epochs to tolerate without an improvement.
    pub patience: usize,
    /// Plateau: the relative improvement on the best value that counts as one.
    pub threshold: f64,
}

/// How long a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLength {
    /// Updates of the whole run.
    pub steps: u64,
    /// Updates of an epoch.
    pub steps_per_epoch: u64,
}

impl ScheduleConfig {
    /// A schedule with PyTorch's defaults.
    pub fn new(kind: ScheduleKind) -> Self {
        Self {
            kind,
            warmup_steps: 0,
            minimum: 0.0,
            pct_start: 0.3,
            div_factor: 25.0,
            final_div_factor: 1e4,
            milestones: Vec::new(),
            gamma: None,
            patience: 10,
            threshold: 1e-4,
        }
    }

    /// The learning rate of the update after `step` updates; for `plateau`, the rate before any plateau.
    pub fn learning_rate(&self, base: f64, step: u64, run: RunLength) -> f64 {
        let epoch = step / run.steps_per_epoch.max(1);
        match self.kind {
            kind if kind.warms_up() && step < self.warmup_steps => {
                base * (step + 1) as f64 / (self.warmup_steps as f64 + 1.0)
            }
            ScheduleKind::Constant | ScheduleKind::Plateau => base,
            ScheduleKind::Cosine => between(base, self.minimum, self.share_after_warmup(step, run)),
            ScheduleKind::Linear => {
                base + (self.minimum - base) * self.share_after_warmup(step, run)
            }
            ScheduleKind::OneCycle => self.one_cycle(base, step as f64, run.steps as f64),
            ScheduleKind::Step => {
                let passed = |&&milestone: &&usize| milestone as u64 <= epoch;
                base * self.gamma().powf(self.milestones.iter().filter(passed).count() as f64)
            }
            ScheduleKind::Exponential => base * self.gamma().powf(epoch as f64),
            ScheduleKind::Range => {
                let share = step as f64 / run.steps.saturating_sub(1).max(1) as f64;
                self.minimum * (base / self.minimum).powf(share)
            }
        }
    }

    /// How much of what follows the warm-up is over before a step, from 0 to 1.
    fn share_after_warmup(&self, step: u64, run: RunLength) -> f64 {
        let length = run.steps.saturating_sub(self.warmup_steps).max(1);
        ((step - self.warmup_steps) as f64 / length as f64).min(1.0)
    }

    fn one_cycle(&self, highest: f64, step: f64, steps: f64) -> f64 {
        let first = highest / self.div_factor;
        let last = first / self.final_div_factor;
        let peak = self.pct_start * steps - 1.0;
        if step < peak {
            between(first, highest, step / peak)
        } else {
            between(highest, last, (step - peak) / (steps - 1.0 - peak))
        }
    }

    fn gamma(&self) -> f64 {
        let usual = if self.kind == ScheduleKind::Exponential { 0.95 } else { 0.1 };
        self.gamma.unwrap_or(usual)
    }
}

/// From one value to another along half a cosine wave.
fn between(from: f64, to: f64, share: f64) -> f64 {
    to + (from - to) / 2.0 * (1.0 + (PI * share.clamp(0.0, 1.0)).cos())
}

/// What `plateau` remembers between two validations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plateau {
    patience: Patience,
    /// What the learning rate is multiplied by now.
    factor: f64,
}

impl Default for Plateau {
    fn default() -> Self {
        Self { patience: Patience::default(), factor: 1.0 }
    }
}

impl Plateau {
    /// Notes the error of an epoch, as [`Monitor`](crate::Monitor) defines it.
    pub(crate) fn note(&mut self, error: f64, config: &ScheduleConfig) {
        self.patience.note(error, |best| best * (1.0 - config.threshold * best.signum()));
        if self.patience.epochs_since() > config.patience {
            self.factor *= config.gamma();
            self.patience.begin_again();
        }
    }

    /// `rate`, lowered by the plateaus so far.
    pub(crate) fn lower(&self, rate: f64, config: &ScheduleConfig) -> f64 {
        match config.kind {
            ScheduleKind::Plateau => (rate * self.factor).max(config.minimum),
            _ => rate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_steps_may_warm_up() {
        let cosine = ScheduleConfig::new(ScheduleKind::Cosine);
        let config = ScheduleConfig { warmup_steps: u64::MAX, ..cosine };
        let rate = config.learning_rate(1.0, 3, RunLength { steps: 7, steps_per_epoch: 2 });
        assert!((rate * 2f64.powi(62) - 1.0).abs() < 1e-12, "{rate:e}");
    }

    #[test]
    fn an_unset_gamma_is_that_of_its_kind() {
        let rate = |kind| {
            let config = ScheduleConfig { milestones: vec![1], ..ScheduleConfig::new(kind) };
            config.learning_rate(1.0, 2, RunLength { steps: 8, steps_per_epoch: 2 })
        };
        assert_eq!([ScheduleKind::Exponential, ScheduleKind::Step].map(rate), [0.95, 0.1]);
    }

    #[test]
    fn a_plateau_lowers_the_rate_down_to_the_minimum() {
        let config = ScheduleConfig {
            minimum: 1e-3,
            patience: 0,
            ..ScheduleConfig::new(ScheduleKind::Plateau)
        };
        let mut plateau = Plateau::default();
        for expected in [0.05, 0.005, 1e-3, 1e-3] {
            plateau.note(1.0, &config);
            let rate = plateau.lower(0.05, &config);
            assert!((rate / expected - 1.0).abs() < 1e-12, "{rate} instead of {expected}");
        }
    }

    #[test]
    fn a_range_grows_by_the_same_factor_from_its_first_step_to_its_last() {
        let config = ScheduleConfig { minimum: 1e-6, ..ScheduleConfig::new(ScheduleKind::Range) };
        let run = RunLength { steps: 7, steps_per_epoch: 2 };
        for step in 0..7 {
            let rate = config.learning_rate(1.0, step, run);
            let expected = 10f64.powi(step as i32 - 6);
            assert!((rate / expected - 1.0).abs() < 1e-12, "step {step}: {rate:e}");
        }
    }
}
