//! `[optimizer]`: which kind reads which of its keys.

use training::{OptimizerConfig, OptimizerKind};

use crate::config::check::{Check, Checker};

impl Check for OptimizerConfig {
    fn check(&self, checker: &mut Checker<'_>) {
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
