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
                if self.nesterov && self.momentum == 0.0 {
                    checker.conflict(
                        "optimizer.nesterov",
                        "`optimizer.nesterov` needs a momentum, and `optimizer.momentum` is 0",
                        "set `optimizer.momentum` to 0.9, for example",
                    );
                }
            }
            OptimizerKind::RmsProp => {
                let keys = ["optimizer.beta_1", "optimizer.beta_2"];
                checker.only_with("optimizer.kind", "adam", &keys);
                checker.only_with("optimizer.kind", "sgd", &["optimizer.nesterov"]);
            }
        }
    }
}
