//! The tables that recipes share, with the ranges of their keys.
//!
//! No default stands here: each recipe's TOML gives a value to every key that is not optional.

mod optimizer;
mod schedule;
mod table_data;
mod training;

use ::training::{OptimizerConfig, ScheduleConfig, TrainerConfig};
use serde::{Deserialize, Serialize};

pub use self::{
    table_data::{Source, TableData},
    training::{ModelChoice, Output, Training},
};
use super::check::{Check, Checker};

/// The configuration of a recipe; the tables `Data` and `Model` it shapes itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config<Data, Model> {
    /// The recipe's name; how a file says what it configures.
    pub recipe: String,
    /// What to train on.
    pub data: Data,
    /// The network.
    pub model: Model,
    /// How a gradient becomes an update.
    pub optimizer: OptimizerConfig,
    /// How the learning rate changes over the steps.
    pub schedule: ScheduleConfig,
    /// How long and in what portions to train.
    pub training: Training,
    /// What to tell and to keep.
    pub output: Output,
}

impl<Data: Check, Model: Check> Check for Config<Data, Model> {
    fn check(&self, checker: &mut Checker<'_>) {
        self.data.check(checker);
        self.model.check(checker);
        self.optimizer.check(checker);
        self.schedule.check(checker);
        let rate = self.optimizer.learning_rate;
        let below = rate <= 0.0 || rate.is_nan() || self.schedule.minimum <= rate;
        checker.require("schedule.minimum", below, "at most `optimizer.learning_rate`");
        self.training.check(checker);
        self.output.check(checker);
    }
}

impl<Data, Model> Config<Data, Model> {
    /// What the trainer needs to know, for epochs of `steps_per_epoch` updates.
    pub(crate) fn trainer(&self, steps_per_epoch: usize) -> TrainerConfig {
        TrainerConfig {
            optimizer: self.optimizer.clone(),
            schedule: self.schedule.clone(),
            groups: Vec::new(),
            epochs: self.training.epochs,
            steps_per_epoch,
            max_steps: self.training.max_steps,
            clip_norm: self.training.clip_norm,
            ema: self.training.ema,
            patience: self.training.patience,
            minimum_improvement: self.training.minimum_improvement,
            log_every_steps: self.output.log_every_steps as u64,
            keep_best: self.output.model == ModelChoice::Best,
        }
    }
}
