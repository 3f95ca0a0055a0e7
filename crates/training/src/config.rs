//! What a trainer is told.

use crate::{OptimizerConfig, RunLength, ScheduleConfig, ScheduleKind};

/// How a trainer runs.
#[derive(Clone, Debug)]
pub struct TrainerConfig {
    /// The rule of the updates.
    pub optimizer: OptimizerConfig,
    /// The course of the learning rate.
    pub schedule: ScheduleConfig,
    /// Parameters with a learning rate of their own; the first group that fits one counts.
    pub groups: Vec<Group>,
    /// Passes over the training data.
    pub epochs: usize,
    /// Updates in each pass.
    pub steps_per_epoch: usize,
    /// The run is finished after so many updates, if that is sooner.
    pub max_steps: Option<u64>,
    /// The largest norm of all gradients together; a larger one is scaled down to it.
    pub clip_norm: Option<f64>,
    /// The share of the average of the weights that each update leaves; with one, the average is
    /// what is evaluated and returned.
    pub ema: Option<f64>,
    /// The run ends after so many epochs without a better validation loss.
    pub patience: Option<usize>,
    /// By how much a validation loss must be lower to be better.
    pub minimum_improvement: f64,
    /// Updates between two [`Event::Step`](crate::Event::Step).
    pub log_every_steps: u64,
    /// Whether [`Trainer::finish`](crate::Trainer::finish) returns the best epoch's model rather
    /// than the last one's.
    pub keep_best: bool,
}

/// Parameters with a learning rate of their own, for instance a backbone that is fine-tuned.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Where they are in the module: `backbone`, or `backbone.layer1`.
    pub prefix: String,
    /// What the learning rate is multiplied by.
    pub learning_rate_factor: f64,
}

impl TrainerConfig {
    /// A run at a constant learning rate that keeps its last weights, with nothing optional.
    pub fn new(optimizer: OptimizerConfig, epochs: usize, steps_per_epoch: usize) -> Self {
        Self {
            optimizer,
            schedule: ScheduleConfig::new(ScheduleKind::Constant),
            groups: Vec::new(),
            epochs,
            steps_per_epoch,
            max_steps: None,
            clip_norm: None,
            ema: None,
            patience: None,
            minimum_improvement: 0.0,
            log_every_steps: 50,
            keep_best: false,
        }
    }

    /// How long the whole run is.
    pub fn length(&self) -> RunLength {
        let all = (self.epochs * self.steps_per_epoch) as u64;
        RunLength {
            steps: self.max_steps.map_or(all, |max_steps| max_steps.min(all)),
            steps_per_epoch: self.steps_per_epoch as u64,
        }
    }
}
