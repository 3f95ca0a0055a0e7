//! What a trainer is told.

use std::collections::BTreeMap;

use crate::{CheckpointConfig, Group, OptimizerConfig, RunLength, ScheduleConfig, ScheduleKind};

/// How a trainer runs.
#[derive(Clone, Debug)]
pub struct TrainerConfig {
    /// The rule of the updates.
    pub optimizer: OptimizerConfig,
    /// The course of the learning rate.
    pub schedule: ScheduleConfig,
    /// Parameters with a learning rate of their own; the first group that fits one counts.
    pub groups: Vec<ParameterGroup>,
    /// Passes over the training data. A run that goes on may get another number of them, as of
    /// `max_steps`, but none that it has passed; at what it has done it ends, in good order.
    pub epochs: usize,
    /// Updates in each pass.
    pub steps_per_epoch: usize,
    /// The run is finished after so many updates, if that is sooner. One that ends within an epoch
    /// can be made longer: its checkpoint is of that update, before the epoch's validation.
    pub max_steps: Option<u64>,
    /// The largest norm of all gradients together; a larger one is scaled down to it.
    pub clip_norm: Option<f64>,
    /// Whether losses are scaled for the backward pass, which f16 needs: an update whose gradients
    /// overflow is not made then, and the scale is lowered.
    pub loss_scaling: bool,
    /// The share of the average of the weights that each update leaves, of update number n at most
    /// (1 + n) / (10 + n); with one, the average is what is evaluated and returned.
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
    /// When checkpoints are written, if the observer keeps them.
    pub checkpoint: CheckpointConfig,
    /// Hashes, by name, of what the run rests on beside its settings, such as its data and weights
    /// that are not trained. A run does not go on from a checkpoint that rests on something else.
    pub rests_on: BTreeMap<String, String>,
    /// What a percentage of the device's peak follows from; none is told without it.
    pub work: Option<Work>,
    /// The processes that train together.
    pub group: Group,
}

/// How much there is to compute, and how fast the device could be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Multiply-adds of training on one sample, the backward pass included.
    pub multiply_adds_per_sample: f64,
    /// Multiply-adds in a second that the device reaches at best.
    pub peak_per_second: f64,
}

impl Work {
    pub(crate) fn percent_of_peak(&self, samples_per_second: f64) -> f64 {
        100.0 * samples_per_second * self.multiply_adds_per_sample / self.peak_per_second
    }
}

/// Parameters with a learning rate of their own, for instance a backbone that is fine-tuned.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterGroup {
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
            loss_scaling: false,
            ema: None,
            patience: None,
            minimum_improvement: 0.0,
            log_every_steps: 50,
            keep_best: false,
            checkpoint: CheckpointConfig::default(),
            rests_on: BTreeMap::new(),
            work: None,
            group: Group::alone(),
        }
    }

    /// How long the whole run is.
    pub fn length(&self) -> RunLength {
        let all = (self.epochs as u64).saturating_mul(self.steps_per_epoch as u64);
        RunLength {
            steps: self.max_steps.map_or(all, |max_steps| max_steps.min(all)),
            steps_per_epoch: self.steps_per_epoch as u64,
        }
    }
}
