//! Checks of a trainer's settings: each must be in its range before the first step.

use std::fmt::Display;

use crate::{
    CheckpointConfig, OptimizerConfig, OptimizerKind, ScheduleConfig, ScheduleKind, TrainError,
    TrainerConfig,
};

/// Weights are f32, in which a larger number would be infinite.
const LARGEST: f64 = f32::MAX as f64;
/// Smaller ones become 0, or are computed slowly.
const SMALLEST: f64 = f32::MIN_POSITIVE as f64;

/// A setting that is out of range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidSetting {
    /// The setting, as it is called in a recipe's file.
    pub key: String,
    /// Its value.
    pub value: String,
    /// What it must be.
    pub expected: &'static str,
}

impl TrainerConfig {
    /// Every setting that is out of range, once.
    pub fn invalid_settings(&self) -> Vec<InvalidSetting> {
        let mut found = InvalidSettings::default();
        self.optimizer.check(&mut found);
        self.schedule.check(self.optimizer.learning_rate, &mut found);
        for group in &self.parameter_groups {
            let factor = group.learning_rate_factor;
            let key = format!("learning_rate_factor of {}", group.prefix);
            found.at_least_zero(&key, factor);
            let rate = factor * self.optimizer.learning_rate;
            found.require(&key, factor, rate <= LARGEST, "so low that the learning rate is finite");
        }
        found.require("training.epochs", self.epochs, self.epochs >= 1, "at least 1");
        let steps = self.steps_per_epoch;
        found.require("steps_per_epoch", steps, steps >= 1, "at least 1: there is no data");
        let counted = u64::try_from(steps).ok().and_then(|steps| {
            u64::try_from(self.epochs).ok().and_then(|epochs| epochs.checked_mul(steps))
        });
        let fewer = "small enough that the number of updates fits in 64 bits";
        found.require("training.epochs", self.epochs, counted.is_some(), fewer);
        found.at_least_one("training.max_steps", self.max_steps);
        if let Some(norm) = self.clip_norm {
            found.above_zero("training.clip_norm", norm);
        }
        if let Some(decay) = self.ema {
            found.below_one("training.ema", decay);
        }
        found.at_least_one("training.patience", self.patience.map(|epochs| epochs as u64));
        found.at_least_zero("training.minimum_improvement", self.minimum_improvement);
        self.checkpoint.check(&mut found);
        found.at_least_one("output.log_every_steps", Some(self.log_every_steps));
        found.0
    }

    /// # Errors
    ///
    /// [`TrainError::Config`] names the first setting that is out of range.
    pub(crate) fn check(&self) -> Result<(), TrainError> {
        self.invalid_settings()
            .into_iter()
            .next()
            .map_or(Ok(()), |first| Err(TrainError::Config(first)))
    }
}

impl OptimizerConfig {
    fn check(&self, found: &mut InvalidSettings) {
        found.above_zero("optimizer.learning_rate", self.learning_rate);
        found.below_one("optimizer.beta_1", self.beta_1);
        found.below_one("optimizer.beta_2", self.beta_2);
        found.below_one("optimizer.alpha", self.alpha);
        // At 0 an update without a gradient would be 0 / 0.
        found.above_zero("optimizer.epsilon", self.epsilon);
        found.below_one("optimizer.momentum", self.momentum);
        let looks_ahead = self.kind == OptimizerKind::Sgd && self.nesterov;
        let has_velocity = !looks_ahead || self.momentum > 0.0;
        let above = "above 0 where `optimizer.nesterov` is true";
        found.require("optimizer.momentum", self.momentum, has_velocity, above);
        found.at_least_zero("optimizer.weight_decay", self.weight_decay);
    }
}

impl ScheduleConfig {
    /// - `base`: the optimizer's learning rate
    fn check(&self, base: f64, found: &mut InvalidSettings) {
        let minimum = self.minimum;
        found.at_least_zero("schedule.minimum", minimum);
        if self.kind == ScheduleKind::Range {
            let rises = minimum > 0.0 && (base / minimum).is_finite();
            found.require("schedule.minimum", minimum, rises, "well above 0 for a range");
        }
        let is_used = matches!(
            self.kind,
            ScheduleKind::Cosine
                | ScheduleKind::Linear
                | ScheduleKind::Plateau
                | ScheduleKind::Range
        );
        // An invalid rate has been noted already.
        let below = !is_used || base <= 0.0 || base.is_nan() || minimum <= base;
        found.require("schedule.minimum", minimum, below, "at most `optimizer.learning_rate`");
        let share = self.pct_start;
        let between = share > 0.0 && share < 1.0;
        found.require("schedule.pct_start", share, between, "above 0 and below 1");
        for (key, factor) in [
            ("schedule.div_factor", self.div_factor),
            ("schedule.final_div_factor", self.final_div_factor),
        ] {
            found.require(key, factor, factor >= 1.0, "at least 1");
            found.in_f32(key, factor);
        }
        if let Some(gamma) = self.gamma {
            let falls = gamma > 0.0 && gamma <= 1.0;
            found.require("schedule.gamma", gamma, falls, "above 0 and at most 1");
        }
        found.below_one("schedule.threshold", self.threshold);
    }
}

impl CheckpointConfig {
    fn check(&self, found: &mut InvalidSettings) {
        let epochs = |epochs: Option<usize>| epochs.map(|epochs| epochs as u64);
        found.at_least_one("checkpoint.every_steps", self.every_steps);
        found.at_least_one("checkpoint.every_epochs", epochs(self.every_epochs));
        if let Some(minutes) = self.every_minutes {
            found.above_zero("checkpoint.every_minutes", minutes);
        }
        found.at_least_one("checkpoint.keep", Some(self.keep as u64));
        found.at_least_one("checkpoint.keep_every_epochs", epochs(self.keep_every_epochs));
    }
}

#[derive(Default)]
struct InvalidSettings(Vec<InvalidSetting>);

impl InvalidSettings {
    /// Notes a setting that does not hold, unless it was noted already.
    fn require(&mut self, key: &str, value: impl Display, holds: bool, expected: &'static str) {
        if !holds && self.0.iter().all(|mistake| mistake.key != key) {
            self.0.push(InvalidSetting { key: key.to_owned(), value: value.to_string(), expected });
        }
    }

    fn in_f32(&mut self, key: &str, value: f64) {
        self.require(key, value, value <= LARGEST, "at most 3.4e38, the largest number of 32 bits");
    }

    fn above_zero(&mut self, key: &str, value: f64) {
        self.require(key, value, value > 0.0, "above 0");
        self.require(
            key,
            value,
            value >= SMALLEST,
            "at least 1.2e-38, the smallest number of 32 bits",
        );
        self.in_f32(key, value);
    }

    fn at_least_zero(&mut self, key: &str, value: f64) {
        self.require(key, value, value >= 0.0, "at least 0");
        self.in_f32(key, value);
    }

    fn below_one(&mut self, key: &str, value: f64) {
        self.require(key, value, (0.0..1.0).contains(&value), "at least 0 and below 1");
    }

    fn at_least_one(&mut self, key: &str, value: Option<u64>) {
        self.require(key, value.unwrap_or_default(), value != Some(0), "at least 1");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParameterGroup;

    fn config() -> TrainerConfig {
        TrainerConfig::new(OptimizerConfig::new(OptimizerKind::Adam, 1e-3), 2, 3)
    }

    fn range(config: &mut TrainerConfig) {
        config.schedule.kind = ScheduleKind::Range;
    }

    fn group(factor: f64) -> Vec<ParameterGroup> {
        vec![ParameterGroup { prefix: "backbone".to_owned(), learning_rate_factor: factor }]
    }

    #[test]
    fn what_cannot_be_done_is_named_with_its_value() {
        config().check().unwrap();
        type Change = fn(&mut TrainerConfig);
        let cases: [(&str, Change); 43] = [
            ("`optimizer.learning_rate` is 0,", |c| c.optimizer.learning_rate = 0.0),
            ("`optimizer.learning_rate` is NaN,", |c| c.optimizer.learning_rate = f64::NAN),
            ("`optimizer.learning_rate` is 1000000000", |c| c.optimizer.learning_rate = 1e39),
            ("`optimizer.beta_1` is 1,", |c| c.optimizer.beta_1 = 1.0),
            ("`optimizer.beta_2` is 1.5,", |c| c.optimizer.beta_2 = 1.5),
            ("`optimizer.alpha` is -1,", |c| c.optimizer.alpha = -1.0),
            ("`optimizer.momentum` is NaN,", |c| c.optimizer.momentum = f64::NAN),
            ("`optimizer.momentum` is 0, and must be above 0 where `optimizer.nesterov`", |c| {
                c.optimizer = OptimizerConfig::new(OptimizerKind::Sgd, 1e-3);
                c.optimizer.nesterov = true;
            }),
            ("`optimizer.epsilon` is -1,", |c| c.optimizer.epsilon = -1.0),
            ("`optimizer.epsilon` is 0,", |c| c.optimizer.epsilon = 0.0),
            ("`optimizer.weight_decay` is inf,", |c| c.optimizer.weight_decay = f64::INFINITY),
            ("`schedule.minimum` is inf,", |c| c.schedule.minimum = f64::INFINITY),
            ("`schedule.minimum` is NaN,", |c| c.schedule.minimum = f64::NAN),
            ("`schedule.minimum` is 0,", range),
            ("`schedule.minimum` is 0.5,", |c| {
                c.schedule.kind = ScheduleKind::Cosine;
                c.schedule.minimum = 0.5;
            }),
            ("`schedule.pct_start` is 1,", |c| c.schedule.pct_start = 1.0),
            ("`schedule.pct_start` is 0,", |c| c.schedule.pct_start = 0.0),
            ("`schedule.div_factor` is 0,", |c| c.schedule.div_factor = 0.0),
            ("`schedule.final_div_factor` is inf,", |c| {
                c.schedule.final_div_factor = f64::INFINITY;
            }),
            ("`schedule.gamma` is 2,", |c| c.schedule.gamma = Some(2.0)),
            ("`schedule.threshold` is 1,", |c| c.schedule.threshold = 1.0),
            ("`learning_rate_factor of backbone` is -1,", |c| c.parameter_groups = group(-1.0)),
            ("`learning_rate_factor of backbone` is NaN,", |c| {
                c.parameter_groups = group(f64::NAN)
            }),
            ("`learning_rate_factor of backbone` is 5", |c| {
                c.optimizer.learning_rate = 1e38;
                c.parameter_groups = group(5.0);
            }),
            ("`training.epochs` is 0,", |c| c.epochs = 0),
            ("`steps_per_epoch` is 0,", |c| c.steps_per_epoch = 0),
            ("`training.epochs` is 18446744073709551615,", |c| c.epochs = usize::MAX),
            ("`training.max_steps` is 0,", |c| c.max_steps = Some(0)),
            ("`training.patience` is 0,", |c| c.patience = Some(0)),
            ("`checkpoint.every_steps` is 0,", |c| c.checkpoint.every_steps = Some(0)),
            ("`checkpoint.every_epochs` is 0,", |c| c.checkpoint.every_epochs = Some(0)),
            ("`checkpoint.every_minutes` is 0,", |c| c.checkpoint.every_minutes = Some(0.0)),
            ("`checkpoint.every_minutes` is NaN,", |c| c.checkpoint.every_minutes = Some(f64::NAN)),
            ("`checkpoint.keep` is 0,", |c| c.checkpoint.keep = 0),
            ("`checkpoint.keep_every_epochs` is 0,", |c| c.checkpoint.keep_every_epochs = Some(0)),
            ("`output.log_every_steps` is 0,", |c| c.log_every_steps = 0),
            ("`training.clip_norm` is NaN,", |c| c.clip_norm = Some(f64::NAN)),
            ("`training.clip_norm` is 0,", |c| c.clip_norm = Some(0.0)),
            ("`optimizer.epsilon` is 0.000", |c| c.optimizer.epsilon = 1e-45),
            ("`training.clip_norm` is 0.000", |c| c.clip_norm = Some(1e-300)),
            ("`training.clip_norm` is inf,", |c| c.clip_norm = Some(f64::INFINITY)),
            ("`training.ema` is 1,", |c| c.ema = Some(1.0)),
            ("`training.minimum_improvement` is NaN,", |c| c.minimum_improvement = f64::NAN),
        ];
        for (expected, change) in cases {
            let mut config = config();
            change(&mut config);
            let error = config.check().unwrap_err();
            assert!(matches!(error, TrainError::Config(_)), "{error}");
            assert!(error.to_string().starts_with(expected), "{error}");
        }
    }

    #[test]
    fn every_setting_out_of_its_range_is_named_once() {
        let mut config = config();
        config.optimizer.weight_decay = 1e39;
        config.schedule.minimum = 1e39;
        config.epochs = 0;
        let named: Vec<_> = config
            .invalid_settings()
            .into_iter()
            .map(|found| (found.key, found.expected))
            .collect();
        let in_f32 = "at most 3.4e38, the largest number of 32 bits";
        let expected = [
            ("optimizer.weight_decay", in_f32),
            ("schedule.minimum", in_f32),
            ("training.epochs", "at least 1"),
        ];
        assert_eq!(named, expected.map(|(key, rule)| (key.to_owned(), rule)));
    }

    #[test]
    fn a_minimum_that_the_schedule_does_not_use_may_be_above_the_learning_rate() {
        use ScheduleKind::{Constant, Exponential, OneCycle, Step};
        for kind in [Constant, Exponential, OneCycle, Step] {
            let mut config = config();
            (config.schedule.kind, config.schedule.minimum) = (kind, 0.5);
            config.check().unwrap();
        }
    }

    #[test]
    fn the_ends_of_the_ranges_are_allowed() {
        let mut config = config();
        config.optimizer.learning_rate = 3e38;
        config.optimizer.beta_1 = 0.0;
        config.optimizer.epsilon = SMALLEST;
        config.schedule.gamma = Some(1.0);
        config.schedule.div_factor = 1.0;
        config.parameter_groups = group(0.0);
        config.ema = Some(0.0);
        config.max_steps = Some(1);
        config.patience = Some(1);
        (config.epochs, config.steps_per_epoch) = (1, usize::MAX);
        config.check().unwrap();
        assert_eq!(config.length().steps, 1);
        config.max_steps = None;
        assert_eq!(config.length().steps, usize::MAX as u64);
    }
}
