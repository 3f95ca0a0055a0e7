//! The settings of a trainer.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    CheckpointConfig, Group, Monitor, OptimizerConfig, RunLength, ScheduleConfig, ScheduleKind,
};

/// How a trainer runs.
#[derive(Clone, Debug)]
pub struct TrainerConfig {
    /// The update rule.
    pub optimizer: OptimizerConfig,
    /// The learning-rate schedule.
    pub schedule: ScheduleConfig,
    /// Parameters with a learning rate of their own; of several groups that match, the first counts.
    pub parameter_groups: Vec<ParameterGroup>,
    /// Passes over the training data. A resumed run may change this and `max_steps`, but not to a number that
    /// it has passed; at the number it has done, it ends normally.
    pub epochs: usize,
    /// Updates in each pass, such as `steps_per_epoch` of a loader: the length of the run and of its
    /// schedule follow from it.
    pub steps_per_epoch: usize,
    /// The run ends after this many updates, if that is sooner. A run that ends within an epoch can be
    /// extended: its checkpoint is of that update, before the epoch's validation.
    pub max_steps: Option<u64>,
    /// The maximum global gradient norm; gradients beyond it are scaled down to it.
    pub clip_norm: Option<f64>,
    /// Whether losses are scaled for the backward pass, as f16 needs: an update whose gradients
    /// overflow is then skipped, and the scale is lowered.
    pub loss_scaling: bool,
    /// The decay of the moving average of the weights, reached from below: at update n it is at most
    /// `(1 + n) / (10 + n)`. If set, the average is what is evaluated and returned. The running
    /// statistics of batch normalisation are not averaged: they are an average already.
    pub ema: Option<f64>,
    /// What makes one epoch better than another.
    pub monitor: Monitor,
    /// The run ends after this many validated epochs without a better one.
    pub patience: Option<usize>,
    /// How much better an epoch must be to count as better for `patience`.
    pub minimum_improvement: f64,
    /// Updates between two [`Event::Step`](crate::Event::Step).
    pub log_every_steps: u64,
    /// Whether [`Trainer::finish`](crate::Trainer::finish) returns the best epoch's model rather
    /// than the last one's.
    pub keep_best: bool,
    /// When checkpoints are written, if the observer keeps them.
    pub checkpoint: CheckpointConfig,
    /// Hashes, by name, of what the run depends on besides these settings, such as its data and its frozen
    /// weights; none by default. A run does not resume from a checkpoint with other hashes.
    /// `TableSplits::fingerprint` and the other fingerprints of `data` are such hashes; `store::Hasher` makes
    /// others.
    pub fingerprints: BTreeMap<String, String>,
    /// What the percentage of the device's peak is computed from; without it none is reported.
    pub work: Option<Work>,
    /// The processes that train together.
    pub group: Group,
}

/// How much there is to compute, and how fast the device could be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Multiply-adds of training on one sample, the backward pass included.
    pub multiply_adds_per_sample: f64,
    /// The device's peak, in multiply-adds per second.
    pub peak_per_second: f64,
}

impl Work {
    pub(crate) fn percent_of_peak(&self, samples_per_second: f64) -> f64 {
        100.0 * samples_per_second * self.multiply_adds_per_sample / self.peak_per_second
    }
}

/// Parameters with a learning rate of their own, for instance those of a backbone to fine-tune.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterGroup {
    /// Where they are in the module: `backbone`, or `backbone.layer1`.
    pub prefix: String,
    /// The factor for the learning rate and for the schedule's minimum, which in PyTorch is the same for all
    /// groups.
    pub learning_rate_factor: f64,
}

impl TrainerConfig {
    /// A run at a constant learning rate that returns its last weights, without options.
    ///
    /// - `epochs`: passes over the training data
    /// - `steps_per_epoch`: updates in each, the last of which may have fewer samples
    pub fn new(optimizer: OptimizerConfig, epochs: usize, steps_per_epoch: usize) -> Self {
        Self {
            optimizer,
            schedule: ScheduleConfig::new(ScheduleKind::Constant),
            parameter_groups: Vec::new(),
            epochs,
            steps_per_epoch,
            max_steps: None,
            clip_norm: None,
            loss_scaling: false,
            ema: None,
            monitor: Monitor::loss(),
            patience: None,
            minimum_improvement: 0.0,
            log_every_steps: 50,
            keep_best: false,
            checkpoint: CheckpointConfig::default(),
            fingerprints: BTreeMap::new(),
            work: None,
            group: Group::alone(),
        }
    }

    /// These settings; if there is no validation split, no best model is kept.
    pub fn keep_best_if(self, validates: bool) -> Self {
        Self { keep_best: self.keep_best && validates, ..self }
    }

    /// A sentence for each setting that has no effect without a validation split.
    pub fn notes_without_validation(&self) -> Vec<String> {
        let plateau = self.schedule.kind == ScheduleKind::Plateau;
        let waiting = [
            (self.patience.is_some(), "`training.patience`"),
            (plateau, "`schedule.kind = \"plateau\"`"),
            (self.monitor != Monitor::loss(), "`training.monitor`"),
            (self.keep_best, "keeping the best model"),
        ];
        let without_effect = waiting.into_iter().filter(|&(set, _)| set);
        without_effect
            .map(|(_, setting)| format!("{setting} has no effect: there is no validation split"))
            .collect()
    }

    /// The settings on which updates depend, and which therefore a resumed run can't change: by name,
    /// those of the optimizer and of the schedule each.
    pub(crate) fn of_updates(&self) -> BTreeMap<String, Value> {
        let Self { parameter_groups, clip_norm, ema, monitor, minimum_improvement, .. } = self;
        let groups: Vec<Value> = parameter_groups
            .iter()
            .map(|group| json!({ group.prefix.as_str(): group.learning_rate_factor }))
            .collect();
        let mut settings = BTreeMap::from(
            [
                ("groups", json!(groups)),
                ("clip_norm", json!(clip_norm)),
                ("ema", json!(ema)),
                ("monitor.higher_is_better", json!(monitor.higher_is_better)),
                ("minimum_improvement", json!(minimum_improvement)),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        for (table, values) in
            [("optimizer", json!(self.optimizer)), ("schedule", json!(self.schedule))]
        {
            let values = values.as_object().into_iter().flatten();
            settings.extend(values.map(|(key, value)| (format!("{table}.{key}"), value.clone())));
        }
        settings
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
