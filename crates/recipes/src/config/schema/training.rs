//! `[training]` and `[output]`: how long to train, and what to report and keep.

use backend::{Arithmetic, Backend, Counts, NAME, Part, Precision, Selected, device::Device};
use data::{Batching, Order};
use inference::IMAGES_AT_A_TIME;
use models::Pass;
use serde::{Deserialize, Serialize};
use training::Monitor;

use crate::{
    ExitCode, Failure,
    config::{
        check::{Check, Checker},
        or_empty,
    },
};

/// The most images or windows that are measured at a time.
const EVALUATION_BATCH: usize = 256;

/// The table `[training]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Training {
    /// Passes over the training split.
    pub epochs: usize,
    /// Stops after this many steps, if the epochs have more.
    #[serde(default, with = "or_empty")]
    pub max_steps: Option<u64>,
    /// Samples in an update.
    pub batch_size: usize,
    /// The most samples computed at a time, where a whole batch does not fit: it is divided into parts as
    /// equal as can be. The update is the same, except that batch norms, `mixup` and `cutmix` see a part by
    /// itself.
    #[serde(default, with = "or_empty")]
    pub micro_batch: Option<usize>,
    /// The norm that all gradients together are clipped to.
    #[serde(default, with = "or_empty")]
    pub clip_norm: Option<f64>,
    /// The decay of the weights' moving average, lower in the first updates; if set, the average is
    /// evaluated and kept.
    #[serde(default, with = "or_empty")]
    pub ema: Option<f64>,
    /// What makes one epoch better than another.
    #[serde(default)]
    pub monitor: Monitored,
    /// Stops after this many epochs without a better one.
    #[serde(default, with = "or_empty")]
    pub patience: Option<usize>,
    /// By how much an epoch must be better, for `patience` to count it as such.
    pub minimum_improvement: f64,
    /// Whether batch normalisation uses the whole batch, not each process's own part; no effect with
    /// one process; not for networks without such layers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sync_batch_norm: bool,
    /// How exactly sums of products are computed, in training and in evaluation.
    #[serde(default)]
    pub arithmetic: Arithmetic,
    /// The precision of products while training.
    #[serde(default)]
    pub precision: Precision,
    /// The random seed.
    pub seed: u64,
}

impl Training {
    /// How samples are divided and ordered.
    pub(crate) fn batching(&self, order: Order) -> Batching {
        let whole = Batching::new(order, self.seed, self.batch_size);
        Batching { micro_batch: self.micro_batch.unwrap_or(self.batch_size), ..whole }
    }

    /// The most samples that each of so many processes computes at a time.
    pub(crate) fn at_a_time(&self, processes: usize) -> usize {
        let own = self.batch_size.div_ceil(processes);
        own.div_ceil(own.div_ceil(self.micro_batch.unwrap_or(own)))
    }

    /// The most pictures whose frozen features are computed at a time, where those are kept.
    pub(crate) fn features_at_a_time(&self) -> usize {
        IMAGES_AT_A_TIME.min(self.micro_batch.unwrap_or(IMAGES_AT_A_TIME))
    }

    /// How a split of images or windows is measured: no more at a time than are trained on, which fit into
    /// memory.
    pub(crate) fn evaluation_batching(&self) -> Batching {
        let most = self.micro_batch.unwrap_or(self.batch_size);
        Batching::evaluation(EVALUATION_BATCH.min(most))
    }

    /// The forward pass of a part of update number `step`.
    pub(crate) fn pass<B: Backend>(&self, step: u64, part: Part) -> Pass<B> {
        let pass = Pass::training(self.seed, step, part.first);
        if self.sync_batch_norm { pass.over_processes(Counts(part.samples > 0)) } else { pass }
    }

    /// Has the process compute in this arithmetic and precision.
    pub(crate) fn apply(&self, device: &Device) -> Result<(), Failure> {
        refuse_unsupported::<Selected>(self.precision, device)?;
        backend::set_arithmetic(self.arithmetic);
        backend::set_precision(self.precision);
        Ok(())
    }
}

/// Refuses a precision that the device does not support.
pub(crate) fn refuse_unsupported<B: Backend>(
    precision: Precision,
    device: &B::Device,
) -> Result<(), Failure> {
    if precision.is_supported::<B>(device) {
        return Ok(());
    }
    let here = match Precision::F16.is_supported::<B>(device) {
        true => "\"f16\" or \"f32\"",
        false => "\"f32\"",
    };
    Err(Failure::new(
        ExitCode::Device,
        format!(
            "`training.precision = \"{precision}\"`: the device of the backend `{NAME}` does not support \
             {precision}"
        ),
        format!(
            "set `training.precision` to {here}, or train on an NVIDIA GPU with `--features cuda`"
        ),
    ))
}

impl Check for Training {
    fn check(&self, checker: &mut Checker<'_>) {
        checker.require("training.batch_size", self.batch_size >= 1, "at least 1");
        checker.require("training.micro_batch", self.micro_batch != Some(0), "at least 1");
        if self.batch_size >= 1 && self.micro_batch.is_some_and(|size| size > self.batch_size) {
            checker.conflict(
                "training.micro_batch",
                format!(
                    "`training.micro_batch` is more than `training.batch_size`, which is `{}`",
                    self.batch_size
                ),
                "a micro-batch is a part of a batch: lower the one or raise the other",
            );
        }
        if self.sync_batch_norm && self.micro_batch.is_some() {
            checker.conflict(
                "training.sync_batch_norm",
                "`training.sync_batch_norm` and `training.micro_batch` cannot be combined: norms \
                 over the whole batch need all of it at once",
                "omit one of them; with more processes each has a smaller part of the batch",
            );
        } else if self.sync_batch_norm && !checker.is_in_recipe("training.sync_batch_norm") {
            checker.conflict(
                "training.sync_batch_norm",
                "`training.sync_batch_norm` has no effect on a network without batch normalisation",
                "leave it out",
            );
        }
    }
}

/// The value of `training.monitor`: a metric of the validation split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Monitored {
    /// The mean loss.
    #[default]
    Loss,
    /// The share that is predicted correctly, of classes or tokens.
    Accuracy,
    /// The mean of the classes' F1, which counts rare classes as much as common ones; only measured
    /// where it is monitored.
    #[serde(rename = "macro_f1")]
    MacroF1,
}

impl Monitored {
    /// Of how many classes the mean F1 is measured; none where it is not.
    pub(crate) fn macro_f1_of(self, classes: usize) -> Option<usize> {
        (self == Self::MacroF1).then_some(classes)
    }
}

impl From<Monitored> for Monitor {
    fn from(monitored: Monitored) -> Self {
        match monitored {
            Monitored::Loss => Self::loss(),
            Monitored::Accuracy => Self::higher("accuracy"),
            Monitored::MacroF1 => Self::higher("macro_f1"),
        }
    }
}

/// The table `[output]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Steps between two records of the loss.
    pub log_every_steps: usize,
    /// Whether to also write TensorBoard files, into `tb/` of the run.
    pub tensorboard: bool,
    /// Which weights are kept at the end.
    pub model: ModelChoice,
}

/// The value of `output.model`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelChoice {
    /// Those after the last step.
    Final,
    /// Those of the best epoch, by `training.monitor`.
    Best,
}
