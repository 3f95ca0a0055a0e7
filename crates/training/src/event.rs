//! What a run tells while it goes on.

use std::{collections::BTreeMap, error::Error, path::PathBuf};

use serde::{Deserialize, Serialize};

/// Measured values by name; `loss` is always among them.
pub type Metrics = BTreeMap<String, f64>;

/// [`Metrics`] that come back from JSON, which knows no number that is not finite and writes null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, Option<f64>>")]
pub struct Measured(pub Metrics);

impl From<BTreeMap<String, Option<f64>>> for Measured {
    fn from(values: BTreeMap<String, Option<f64>>) -> Self {
        Self(values.into_iter().map(|(name, value)| (name, value.unwrap_or(f64::NAN))).collect())
    }
}

impl From<Measured> for Metrics {
    fn from(Measured(metrics): Measured) -> Self {
        metrics
    }
}

/// Something that happened. Epochs and steps are counted from 1, as people do.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// Training begins.
    Start {
        /// Epochs of the whole run.
        epochs: usize,
        /// Steps of the whole run.
        steps: u64,
        /// Numbers that are trained.
        trainable_parameters: usize,
    },
    /// Training goes on from a checkpoint.
    Resume {
        /// Epochs of the whole run.
        epochs: usize,
        /// Steps of the whole run.
        steps: u64,
        /// Epochs begun.
        epoch: usize,
        /// Steps done.
        step: u64,
    },
    /// The log interval has passed.
    Step(StepReport),
    /// An epoch has ended and was validated.
    Epoch {
        /// The epoch that ended.
        epoch: usize,
        /// Steps done.
        step: u64,
        /// The mean over the epoch's samples.
        train_loss: f64,
        /// The mean over the samples of the last step.
        last_loss: f64,
        /// Measured on the validation split, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        validation: Option<Metrics>,
        /// The learning rate of the last step.
        learning_rate: f64,
        /// Seconds of training in this epoch, validation excluded.
        seconds: f64,
        /// Those of validation.
        #[serde(skip_serializing_if = "Option::is_none")]
        validation_seconds: Option<f64>,
        /// How fast this epoch was, and what took those seconds.
        #[serde(flatten)]
        pace: Pace,
    },
    /// What the model makes of the same question in each epoch, before the epoch is validated.
    Sample {
        /// The epoch that ends.
        epoch: usize,
        /// Steps done.
        step: u64,
        /// What it was given.
        prompt: String,
        /// What it wrote.
        text: String,
    },
    /// Work goes on before training can begin, or before it is up to speed.
    Preparation {
        /// What is done, as `decoding images`.
        task: String,
        /// How much of it is done.
        done: usize,
        /// How much there is.
        of: usize,
    },
    /// A checkpoint was written.
    Checkpoint {
        /// Epochs begun.
        epoch: usize,
        /// Steps done.
        step: u64,
    },
    /// Something that the user should know.
    Warning {
        /// A sentence.
        message: String,
    },
    /// Training is over.
    End {
        /// How it ended.
        status: EndStatus,
        /// The last epoch.
        epoch: usize,
        /// Steps done.
        step: u64,
    },
}

/// What is told at the log interval, since the last such event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StepReport {
    /// The current epoch.
    pub epoch: usize,
    /// Steps done.
    pub step: u64,
    /// The mean over the samples.
    pub loss: f64,
    /// The learning rate of the last step.
    pub learning_rate: f64,
    /// The norm of all gradients of the last step together, before they were clipped.
    pub gradient_norm: f64,
    /// What losses are scaled by; none where they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_scale: Option<f64>,
    /// How fast it went, and what took the time.
    #[serde(flatten)]
    pub pace: Pace,
}

/// How fast training went over a span of steps, and what took the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Pace {
    /// Samples learnt from in a second.
    pub samples_per_second: f64,
    /// The share of the time that went into waiting for data.
    pub data_wait: f64,
    /// The share of the time that went into adding up the gradients of all processes, which is
    /// mostly waiting for the slowest one; none where there is one process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub communication_wait: Option<f64>,
    /// Shares of the rest; none on a device that computes after it was told to, which shows only
    /// in what waits for it.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub computing: Option<Shares>,
    /// The multiply-adds of the network, as a percentage of those that the device reaches at best,
    /// above 100 where a convolution needs fewer than its definition; none where
    /// [`TrainerConfig::work`](crate::TrainerConfig::work) is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent_of_peak: Option<f64>,
    /// Memory in use at the end of the span, of the device, or on a CPU of the process; none where
    /// the system does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

/// Shares of the time that went into computing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// From a batch to its losses, augmentation included.
    pub forward: f64,
    /// From the losses to the gradients.
    pub backward: f64,
    /// From the gradients to new parameters.
    pub update: f64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndStatus {
    /// All epochs or steps are done.
    Finished,
    /// The validation loss has not improved for `training.patience` epochs.
    StoppedEarly,
    /// A signal asked it to stop.
    Interrupted,
    /// A loss or a gradient was not finite.
    Diverged,
}

/// The best epoch so far, by validation loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// The epoch, counted from 1.
    pub epoch: usize,
    /// What was compared.
    pub metric: String,
    /// Its value at that epoch.
    pub value: f64,
}

/// What an [`Observer`] or a [`Keeper`] fails with.
pub type ObserverError = Box<dyn Error + Send + Sync>;

/// Hears every [`Event`] of a run.
pub trait Observer {
    /// Called on the training thread, so it must be quick.
    ///
    /// # Errors
    ///
    /// An error ends the run; what only shows the run should never return one.
    fn observe(&mut self, event: &Event) -> Result<(), ObserverError>;

    /// Who keeps the run's checkpoints; by default nobody, and there are none.
    fn keeper(&mut self) -> Option<&mut dyn Keeper> {
        None
    }
}

/// Keeps a run, so that it can go on after any kind of end.
pub trait Keeper {
    /// Where the checkpoints go; it need not exist.
    fn checkpoints(&self) -> PathBuf;

    /// Makes durable what was observed so far, and says how far that is; the answer lies in the
    /// checkpoint that is about to be written. By default nothing that was observed is kept.
    ///
    /// # Errors
    ///
    /// An error ends the run, and the checkpoint is not written.
    fn mark(&mut self) -> Result<serde_json::Value, ObserverError> {
        Ok(serde_json::Value::Null)
    }

    /// Forgets what was observed since `mark`, which is that of the checkpoint from which the run
    /// goes on; none where it begins. Called once, before the first event.
    ///
    /// # Errors
    ///
    /// An error ends the run before its first step.
    fn return_to(&mut self, _mark: Option<&serde_json::Value>) -> Result<(), ObserverError> {
        Ok(())
    }
}
