//! What a run tells while it goes on.

use std::{collections::BTreeMap, error::Error};

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

/// Hears every [`Event`] of a run.
pub trait Observer {
    /// Called on the training thread, so it must be quick.
    ///
    /// # Errors
    ///
    /// An error ends the run; what only shows the run should never return one.
    fn observe(&mut self, event: &Event) -> Result<(), Box<dyn Error + Send + Sync>>;
}
