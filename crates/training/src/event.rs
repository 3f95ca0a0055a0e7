//! What a run tells while it goes on.

use std::{collections::BTreeMap, error::Error, path::PathBuf};

use serde::{Deserialize, Serialize};

/// Measured values by name; `loss` is always among them.
pub type Metrics = BTreeMap<String, f64>;

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
    Step {
        /// The current epoch.
        epoch: usize,
        /// Steps done.
        step: u64,
        /// The mean over the samples since the last such event.
        loss: f64,
        /// The learning rate of the last step.
        learning_rate: f64,
        /// The norm of all gradients of the last step together, before they were clipped.
        gradient_norm: f64,
        /// Training throughput since the last such event.
        samples_per_second: f64,
        /// The share of the time since then that went into waiting for data.
        data_wait: f64,
    },
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
        /// Training throughput in this epoch.
        samples_per_second: f64,
        /// The share of `seconds` that went into waiting for data.
        data_wait: f64,
    },
    /// Work goes on before training can begin.
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
    /// checkpoint that is about to be written.
    ///
    /// # Errors
    ///
    /// An error ends the run, and the checkpoint is not written.
    fn mark(&mut self) -> Result<serde_json::Value, ObserverError>;

    /// Forgets what was observed since `mark`, which is that of the checkpoint from which the run
    /// goes on; none where it begins. Called once, before the first event.
    ///
    /// # Errors
    ///
    /// An error ends the run before its first step.
    fn return_to(&mut self, mark: Option<&serde_json::Value>) -> Result<(), ObserverError>;
}
