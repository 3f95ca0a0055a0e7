//! The training state and its steps: optimizers, schedules and the [`Trainer`] that a recipe's loop
//! drives.
//!
//! The loop stays in the program. The trainer does the chores of each step (gradients, update,
//! learning rate, sums, stopping) and reports to an [`Observer`]:
//!
//! ```
//! use backend::{Part, Selected, device};
//! use burn::{backend::Autodiff, nn::LinearConfig, tensor::Tensor};
//! use training::{EpochReport, Event, OptimizerConfig, OptimizerKind, Stop, Trainer, TrainerConfig};
//!
//! let (device, _) = device::open()?;
//! let [features, targets] = [3, 1].map(|width| Tensor::<Autodiff<Selected>, 2>::ones([8, width], &device));
//! let model = LinearConfig::new(3, 1).init(&device);
//!
//! let sgd = OptimizerConfig::new(OptimizerKind::Sgd, 0.1);
//! let config = TrainerConfig::new(sgd, 10, 2); // ten epochs of two updates
//! let mut print = |event: &Event| {
//!     if let Event::Epoch(EpochReport { epoch, train_loss, .. }) = event {
//!         println!("epoch {epoch}: loss {train_loss:.4}");
//!     }
//!     Ok(())
//! };
//! let mut trainer = Trainer::new(model, config, &device, &mut print, Stop::default())?;
//! while let Some(epoch) = trainer.next_epoch() {
//!     for first in epoch.batches((4 * epoch.position..8).step_by(4)) {
//!         let outputs = trainer.model().forward(features.clone().narrow(0, first, 4));
//!         let errors = outputs - targets.clone().narrow(0, first, 4);
//!         trainer.step(errors.square().flatten(0, 1), Part::whole(4))?; // a loss for each sample
//!     }
//!     trainer.end_epoch(|_| None)?;
//! }
//! let trained = trainer.finish()?;
//! assert!(trained.train_loss < 1e-6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each epoch ends with [`Trainer::end_epoch`]: its closure returns the model's validation metrics, or
//! `None`. A loop that begins at [`Epoch::position`] can resume: where the observer keeps
//! checkpoints, as [`CheckpointDirectory`] does, [`Trainer::new`] continues from the newest one there.
//! [`Stop`] ends a run between two updates. [`Event::Warning`] is for the user, and so is
//! [`TrainError::help`], which says what to do about an error.
//!
//! The resumed run equals an uninterrupted one bit for bit, as long as a step depends on nothing but
//! the model, the data, and the step's number. This holds for most layers of `burn::nn`, but not for its
//! `Dropout`, which draws from a global generator, or its `BatchNorm`, which changes in `forward`. Use
//! `Dropout` and `BatchNorm2d` of `models::layers` instead: the first draws by seed and step, and the
//! second leaves its statistics in the pass, for [`Trainer::map_model`].
//! Layers of `burn::nn` also draw their initial weights from that generator, and only on first use: to get
//! the same ones each time, call `Selected::seed(&device, 7)`, build the network, and call its
//! `num_params()`.
//!
//! This crate knows batches only as losses with a [`Part`](backend::Part), so any loop may use it.

// What the user sets.
mod check;
mod config;
mod monitor;
mod optimizer;
#[doc(hidden)] // for the settings of this workspace
pub mod or_empty;
mod schedule;

// The state and its updates.
mod average;
mod correct;
mod gradients;
mod loss_scale;
mod lossless;
mod message;
mod parameters;
mod patience;
mod state;
mod timing;
mod values;

// Several processes.
mod group;

// What is saved.
mod checkpoint;

// What the loop uses.
mod epoch;
mod trainer;

// What is reported.
mod error;
mod event;

pub use crate::{
    check::InvalidSetting,
    checkpoint::{CheckpointConfig, newest_step},
    config::{ParameterGroup, TrainerConfig, Work},
    epoch::{Epoch, Stop},
    error::TrainError,
    event::{
        Best, CheckpointDirectory, CheckpointStore, EndStatus, EpochReport, Event, Measured,
        Metrics, Observer, ObserverError, PhaseShares, StepReport, Throughput,
    },
    group::{Group, GroupError},
    monitor::Monitor,
    optimizer::{OptimizerConfig, OptimizerKind},
    schedule::{RunLength, ScheduleConfig, ScheduleKind},
    timing::Tuning,
    trainer::{TUNING_UPDATES, Trained, Trainer},
};
