//! What a run reports.

use std::{collections::BTreeMap, error::Error, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::lossless::{self, Lossless};

/// Measured values by name, [`Monitor::metric`](crate::Monitor::metric) among them.
pub type Metrics = BTreeMap<String, f64>;

/// [`Metrics`] that survive JSON, in which numbers that are not finite are text; null is read as NaN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, Lossless>", into = "BTreeMap<String, Lossless>")]
pub struct Measured(pub Metrics);

impl From<BTreeMap<String, Lossless>> for Measured {
    fn from(values: BTreeMap<String, Lossless>) -> Self {
        Self(values.into_iter().map(|(name, Lossless(value))| (name, value)).collect())
    }
}

impl From<Measured> for BTreeMap<String, Lossless> {
    fn from(Measured(metrics): Measured) -> Self {
        metrics.into_iter().map(|(name, value)| (name, Lossless(value))).collect()
    }
}

impl From<Measured> for Metrics {
    fn from(Measured(metrics): Measured) -> Self {
        metrics
    }
}

/// Something that happened. Epochs and steps count from 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// Training begins.
    Start {
        /// Epochs of the whole run.
        epochs: usize,
        /// Steps of the whole run.
        steps: u64,
        /// Count of trained values.
        trainable_parameters: usize,
    },
    /// Training resumes from a checkpoint.
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
    /// The log interval has passed, or the run ends within one.
    Step(StepReport),
    /// Steps were done within a log interval: at most ten times a second, so that a display moves
    /// where steps are slow.
    Progress {
        /// The current epoch.
        epoch: usize,
        /// Steps done.
        step: u64,
    },
    /// An epoch's steps are done, and validation begins, if there is one.
    Validating,
    /// An epoch has ended and was validated.
    Epoch(EpochReport),
    /// The model's answer to the same prompt in each epoch.
    Sample {
        /// The epoch that has ended.
        epoch: usize,
        /// Steps done.
        step: u64,
        /// What it was given.
        prompt: String,
        /// What it wrote.
        text: String,
    },
    /// Progress of work that comes before training, or before its full speed.
    Preparation {
        /// The work, such as `decoding images`.
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

impl Event {
    /// Whether it reports only the run's current position: for a display, not a log.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Preparation { .. } | Self::Progress { .. } | Self::Validating)
    }
}

/// What is reported at each log interval and at the end, about the steps since the last report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StepReport {
    /// The current epoch.
    pub epoch: usize,
    /// Steps done.
    pub step: u64,
    /// The mean over the samples.
    pub loss: f64,
    /// The share of [correct predictions](crate::Trainer::count_correct), where they are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// The learning rate of the last step.
    pub learning_rate: f64,
    /// The global norm of the last step's gradients before clipping.
    pub gradient_norm: f64,
    /// The factor by which losses are scaled; none where they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_scale: Option<f64>,
    /// How fast it went, and what took the time.
    #[serde(flatten)]
    pub throughput: Throughput,
}

/// What is reported at the end of an epoch.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EpochReport {
    /// The epoch that ended.
    pub epoch: usize,
    /// Steps done.
    pub step: u64,
    /// The mean over the epoch's samples.
    pub train_loss: f64,
    /// The share of [correct predictions](crate::Trainer::count_correct), where they are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub train_accuracy: Option<f64>,
    /// The mean over the samples of the last step.
    pub last_loss: f64,
    /// Measured on the validation split, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<Metrics>,
    /// The learning rate of the last step.
    pub learning_rate: f64,
    /// Seconds of training in this epoch, without validation, and without [`Tuning`](crate::Tuning)
    /// where there were other steps.
    pub seconds: f64,
    /// Validation seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_seconds: Option<f64>,
    /// How fast this epoch was, and what took those seconds.
    #[serde(flatten)]
    pub throughput: Throughput,
}

/// How fast training went over an interval of steps, and what took the time, without
/// [`Tuning`](crate::Tuning) where there were other steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Throughput {
    /// Training samples per second.
    pub samples_per_second: f64,
    /// The share of the time spent waiting for data.
    pub data_wait: f64,
    /// The share of the time spent summing the gradients of all processes, mostly waiting for the
    /// slowest one; none where there is only one process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub communication_wait: Option<f64>,
    /// Shares of the rest; none on an asynchronous device, whose time shows only where something
    /// waits for it.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub computing: Option<PhaseShares>,
    /// The network's multiply-adds as a percentage of the device's peak, above 100 where a convolution
    /// algorithm saves some; none without [`TrainerConfig::work`](crate::TrainerConfig::work).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent_of_peak: Option<f64>,
    /// The device's memory in use at the end of the interval, or on a CPU the process's; none where the
    /// system does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

/// The shares of the time spent computing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PhaseShares {
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
    /// Validation has not improved for `training.patience` epochs.
    StoppedEarly,
    /// A [`Stop`](crate::Stop) was requested, for instance by a signal.
    Interrupted,
    /// A loss, a gradient or a value of the model was not finite.
    Diverged,
}

/// The best epoch so far, by the metric that is monitored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// The epoch, counted from 1.
    pub epoch: usize,
    /// What was compared.
    pub metric: String,
    /// Its value at that epoch.
    #[serde(with = "lossless")]
    pub value: f64,
}

/// The error of an [`Observer`] or a [`CheckpointStore`].
pub type ObserverError = Box<dyn Error + Send + Sync>;

/// Receives every [`Event`] of a run. A closure is one that keeps no checkpoints:
/// `|event: &Event| -> Result<(), ObserverError> { .. }`.
pub trait Observer {
    /// Called on the training thread, so it must be quick.
    ///
    /// # Errors
    ///
    /// An error ends the run; an observer that only displays the run should never return one.
    fn observe(&mut self, event: &Event) -> Result<(), ObserverError>;

    /// Whether epochs end with a validation, as they do by default; if not, a run trains as if nothing were
    /// held out.
    fn validates(&self) -> bool {
        true
    }

    /// The store for the run's checkpoints; by default none, so none are written.
    fn checkpoint_store(&mut self) -> Option<&mut dyn CheckpointStore> {
        None
    }
}

/// Ignores all events.
impl Observer for () {
    fn observe(&mut self, _: &Event) -> Result<(), ObserverError> {
        Ok(())
    }
}

impl<F: FnMut(&Event) -> Result<(), ObserverError>> Observer for F {
    fn observe(&mut self, event: &Event) -> Result<(), ObserverError> {
        self(event)
    }
}

/// Keeps the checkpoints of a run in a folder, and passes its events on to another observer.
#[derive(Clone, Debug)]
pub struct CheckpointDirectory<O> {
    folder: PathBuf,
    observer: O,
}

impl<O: Observer> CheckpointDirectory<O> {
    /// - `folder`: only for the checkpoints; it need not exist
    /// - `observer`: receives the events; `()` ignores them
    pub fn new(folder: impl Into<PathBuf>, observer: O) -> Self {
        Self { folder: folder.into(), observer }
    }
}

impl<O: Observer> Observer for CheckpointDirectory<O> {
    fn observe(&mut self, event: &Event) -> Result<(), ObserverError> {
        self.observer.observe(event)
    }

    fn validates(&self) -> bool {
        self.observer.validates()
    }

    fn checkpoint_store(&mut self) -> Option<&mut dyn CheckpointStore> {
        Some(self)
    }
}

impl<O: Observer> CheckpointStore for CheckpointDirectory<O> {
    fn checkpoints(&self) -> PathBuf {
        self.folder.clone()
    }
}

/// Saves a run so that it can be resumed however it ended; [`CheckpointDirectory`] is a store with a folder
/// for checkpoints and nothing else.
pub trait CheckpointStore {
    /// The directory of the checkpoints; it need not exist. It is for one trainer at a time, and any other
    /// is refused meanwhile.
    fn checkpoints(&self) -> PathBuf;

    /// Makes durable what was observed so far, and returns a mark of how far that is, stored in the
    /// checkpoint about to be written. By default no observations are kept.
    ///
    /// # Errors
    ///
    /// An error ends the run, and the checkpoint is not written.
    fn mark(&mut self) -> Result<serde_json::Value, ObserverError> {
        Ok(serde_json::Value::Null)
    }

    /// Refuses a checkpoint with this mark, for instance if settings have changed since; refuses none by
    /// default. Called before anything is restored from it.
    ///
    /// # Errors
    ///
    /// An error ends the run before its first step.
    fn check(&self, _mark: &serde_json::Value) -> Result<(), ObserverError> {
        Ok(())
    }

    /// Discards what was observed since `mark`, stored in the checkpoint to resume from, or `None` if the run
    /// starts anew. Called once, before the first event.
    ///
    /// An existing checkpoint directory is locked by now; a missing one is created and locked only later, so
    /// a store whose other files two runs may begin at once must lock those itself.
    ///
    /// # Errors
    ///
    /// An error ends the run before its first step.
    fn rewind_to(&mut self, _mark: Option<&serde_json::Value>) -> Result<(), ObserverError> {
        Ok(())
    }
}
