//! `[optimizer]`: the ranges of its keys.

use training::{OptimizerConfig, OptimizerKind};

use crate::config::check::{Check, Checker};

impl Check for OptimizerConfig {
    fn check(&self, checker: &mut Checker<'_>) {
        let positive = |value: f64| value > 0.0 && value.is_finite();
        let below_one = |value: f64| (0.0..1.0).contains(&value);
        let at_least_zero = |value: f64| value >= 0.0 && value.is_finite();

        let rate = self.learning_rate;
        checker.require("optimizer.learning_rate", positive(rate), "above 0");
        let in_f32 = !rate.is_finite() || rate <= f64::from(f32::MAX);
        checker.require("optimizer.learning_rate", in_f32, "at most 3.4e38, as f32 is");
        checker.require("optimizer.beta_1", below_one(self.beta_1), "at least 0 and below 1");
        checker.require("optimizer.beta_2", below_one(self.beta_2), "at least 0 and below 1");
        checker.require("optimizer.alpha", below_one(self.alpha), "at least 0 and below 1");
        checker.require("optimizer.epsilon", positive(self.epsilon), "above 0");
        checker.require("optimizer.momentum", below_one(self.momentum), "at least 0 and below 1");
        checker.require("optimizer.weight_decay", at_least_zero(self.weight_decay), "at least 0");

        match self.kind {
            OptimizerKind::Adam | OptimizerKind::AdamW | OptimizerKind::NAdam => {
                let keys = ["optimizer.momentum", "optimizer.nesterov"];
                checker.only_with("optimizer.kind", "sgd", &keys);
                checker.only_with("optimizer.kind", "rmsprop", &["optimizer.alpha"]);
            }
            OptimizerKind::Sgd => {
                let keys = ["optimizer.beta_1", "optimizer.beta_2", "optimizer.epsilon"];
                checker.only_with("optimizer.kind", "adam", &keys);
                checker.only_with("optimizer.kind", "rmsprop", &["optimizer.alpha"]);
            }
            OptimizerKind::RmsProp => {
                let keys = ["optimizer.beta_1", "optimizer.beta_2"];
                checker.only_with("optimizer.kind", "adam", &keys);
                checker.only_with("optimizer.kind", "sgd", &["optimizer.nesterov"]);
            }
        }
    }
}
