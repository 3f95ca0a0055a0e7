//! That a trainer can do what it is told: each setting in its range, before the first step.

use std::fmt::Display;

use crate::{OptimizerConfig, ScheduleConfig, ScheduleKind, TrainError, TrainerConfig};

/// What weights are computed in; a larger number would be infinite there.
const LARGEST: f64 = f32::MAX as f64;

impl TrainerConfig {
    /// # Errors
    ///
    /// [`TrainError::Config`] names the first setting that is out of its range.
    pub(crate) fn check(&self) -> Result<(), TrainError> {
        self.optimizer.check()?;
        self.schedule.check(self.optimizer.learning_rate)?;
        for group in &self.groups {
            let factor = group.learning_rate_factor;
            let key = format!("learning_rate_factor of {}", group.prefix);
            let rates = [factor, factor * self.optimizer.learning_rate];
            require(&key, factor, rates.into_iter().all(at_least_zero), AT_LEAST_ZERO)?;
        }
        require("training.epochs", self.epochs, self.epochs >= 1, "at least 1")?;
        let steps = self.steps_per_epoch;
        require("steps_per_epoch", steps, steps >= 1, "at least 1: there is no data")?;
        let counted = u64::try_from(steps).ok().and_then(|steps| {
            u64::try_from(self.epochs).ok().and_then(|epochs| epochs.checked_mul(steps))
        });
        let fewer = "so few that their updates can be counted";
        require("training.epochs", self.epochs, counted.is_some(), fewer)?;
        at_least_one("training.max_steps", self.max_steps)?;
        at_least_one("training.patience", self.patience.map(|epochs| epochs as u64))?;
        at_least_one("output.log_every_steps", Some(self.log_every_steps))?;
        if let Some(norm) = self.clip_norm {
            require("training.clip_norm", norm, above_zero(norm), ABOVE_ZERO)?;
        }
        if let Some(decay) = self.ema {
            require("training.ema", decay, below_one(decay), BELOW_ONE)?;
        }
        let improvement = self.minimum_improvement;
        let key = "training.minimum_improvement";
        require(key, improvement, at_least_zero(improvement), AT_LEAST_ZERO)
    }
}

impl OptimizerConfig {
    fn check(&self) -> Result<(), TrainError> {
        let rate = self.learning_rate;
        require("optimizer.learning_rate", rate, above_zero(rate), ABOVE_ZERO)?;
        for (key, share) in [
            ("optimizer.beta_1", self.beta_1),
            ("optimizer.beta_2", self.beta_2),
            ("optimizer.alpha", self.alpha),
            ("optimizer.momentum", self.momentum),
        ] {
            require(key, share, below_one(share), BELOW_ONE)?;
        }
        for (key, value) in
            [("optimizer.epsilon", self.epsilon), ("optimizer.weight_decay", self.weight_decay)]
        {
            require(key, value, at_least_zero(value), AT_LEAST_ZERO)?;
        }
        Ok(())
    }
}

impl ScheduleConfig {
    /// - `base`: the optimizer's learning rate
    fn check(&self, base: f64) -> Result<(), TrainError> {
        let minimum = self.minimum;
        require("schedule.minimum", minimum, at_least_zero(minimum), AT_LEAST_ZERO)?;
        if self.kind == ScheduleKind::Range {
            let rises = minimum > 0.0 && (base / minimum).is_finite();
            require("schedule.minimum", minimum, rises, "well above 0 for a range")?;
        }
        let share = self.pct_start;
        require("schedule.pct_start", share, share > 0.0 && share < 1.0, "between 0 and 1")?;
        for (key, factor) in [
            ("schedule.div_factor", self.div_factor),
            ("schedule.final_div_factor", self.final_div_factor),
        ] {
            require(key, factor, (1.0..=LARGEST).contains(&factor), "at least 1, and finite")?;
        }
        if let Some(gamma) = self.gamma {
            let falls = gamma > 0.0 && gamma <= 1.0;
            require("schedule.gamma", gamma, falls, "above 0 and at most 1")?;
        }
        require("schedule.threshold", self.threshold, below_one(self.threshold), BELOW_ONE)
    }
}

const ABOVE_ZERO: &str = "above 0 and at most 3.4e38, the largest number of 32 bits";
const AT_LEAST_ZERO: &str = "at least 0 and at most 3.4e38, the largest number of 32 bits";
const BELOW_ONE: &str = "at least 0 and below 1";

fn above_zero(value: f64) -> bool {
    value > 0.0 && value <= LARGEST
}

fn at_least_zero(value: f64) -> bool {
    (0.0..=LARGEST).contains(&value)
}

fn below_one(value: f64) -> bool {
    (0.0..1.0).contains(&value)
}

fn at_least_one(key: &str, value: Option<u64>) -> Result<(), TrainError> {
    require(key, value.unwrap_or_default(), value != Some(0), "at least 1")
}

fn require(
    key: &str,
    value: impl Display,
    holds: bool,
    expected: &'static str,
) -> Result<(), TrainError> {
    if holds {
        return Ok(());
    }
    Err(TrainError::Config { key: key.to_owned(), value: value.to_string(), expected })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OptimizerKind, ParameterGroup};

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
        let cases: [(&str, Change); 32] = [
            ("`optimizer.learning_rate` is 0,", |c| c.optimizer.learning_rate = 0.0),
            ("`optimizer.learning_rate` is NaN,", |c| c.optimizer.learning_rate = f64::NAN),
            ("`optimizer.learning_rate` is 1000000000", |c| c.optimizer.learning_rate = 1e39),
            ("`optimizer.beta_1` is 1,", |c| c.optimizer.beta_1 = 1.0),
            ("`optimizer.beta_2` is 1.5,", |c| c.optimizer.beta_2 = 1.5),
            ("`optimizer.alpha` is -1,", |c| c.optimizer.alpha = -1.0),
            ("`optimizer.momentum` is NaN,", |c| c.optimizer.momentum = f64::NAN),
            ("`optimizer.epsilon` is -1,", |c| c.optimizer.epsilon = -1.0),
            ("`optimizer.weight_decay` is inf,", |c| c.optimizer.weight_decay = f64::INFINITY),
            ("`schedule.minimum` is inf,", |c| c.schedule.minimum = f64::INFINITY),
            ("`schedule.minimum` is NaN,", |c| c.schedule.minimum = f64::NAN),
            ("`schedule.minimum` is 0,", range),
            ("`schedule.pct_start` is 1,", |c| c.schedule.pct_start = 1.0),
            ("`schedule.pct_start` is 0,", |c| c.schedule.pct_start = 0.0),
            ("`schedule.div_factor` is 0,", |c| c.schedule.div_factor = 0.0),
            ("`schedule.final_div_factor` is inf,", |c| {
                c.schedule.final_div_factor = f64::INFINITY;
            }),
            ("`schedule.gamma` is 2,", |c| c.schedule.gamma = Some(2.0)),
            ("`schedule.threshold` is 1,", |c| c.schedule.threshold = 1.0),
            ("`learning_rate_factor of backbone` is -1,", |c| c.groups = group(-1.0)),
            ("`learning_rate_factor of backbone` is NaN,", |c| c.groups = group(f64::NAN)),
            ("`learning_rate_factor of backbone` is 5", |c| {
                c.optimizer.learning_rate = 1e38;
                c.groups = group(5.0);
            }),
            ("`training.epochs` is 0,", |c| c.epochs = 0),
            ("`steps_per_epoch` is 0,", |c| c.steps_per_epoch = 0),
            ("`training.epochs` is 18446744073709551615,", |c| c.epochs = usize::MAX),
            ("`training.max_steps` is 0,", |c| c.max_steps = Some(0)),
            ("`training.patience` is 0,", |c| c.patience = Some(0)),
            ("`output.log_every_steps` is 0,", |c| c.log_every_steps = 0),
            ("`training.clip_norm` is NaN,", |c| c.clip_norm = Some(f64::NAN)),
            ("`training.clip_norm` is 0,", |c| c.clip_norm = Some(0.0)),
            ("`training.clip_norm` is inf,", |c| c.clip_norm = Some(f64::INFINITY)),
            ("`training.ema` is 1,", |c| c.ema = Some(1.0)),
            ("`training.minimum_improvement` is NaN,", |c| c.minimum_improvement = f64::NAN),
        ];
        for (expected, change) in cases {
            let mut config = config();
            change(&mut config);
            let error = config.check().unwrap_err();
            assert!(matches!(error, TrainError::Config { .. }), "{error}");
            assert!(error.to_string().starts_with(expected), "{error}");
        }
    }

    #[test]
    fn the_ends_of_the_ranges_are_allowed() {
        let mut config = config();
        config.optimizer.learning_rate = 3e38;
        config.optimizer.beta_1 = 0.0;
        config.optimizer.epsilon = 0.0;
        config.schedule.gamma = Some(1.0);
        config.schedule.div_factor = 1.0;
        config.groups = group(0.0);
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
