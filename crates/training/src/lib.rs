//! The training state and its steps: optimizers, schedules and the [`Trainer`] that a recipe's loop
//! drives.
//!
//! The loop stays in the recipe. The trainer does the chores of each step (gradients, update,
//! learning rate, sums, stopping) and reports to an [`Observer`]:
//!
//! ```text
//! while let Some(epoch) = trainer.next_epoch() {
//!     for batch in epoch.batches(data.train.batches(epoch.index, epoch.position)) {
//!         let logits = trainer.model().forward(batch.features);
//!         trainer.step(cross_entropy(logits, batch.targets), batch.part)?;   // losses [samples]
//!     }
//!     trainer.end_epoch(|model| evaluate(model, &data.validation))?;
//! }
//! let trained = trainer.finish()?;
//! ```
//!
//! This crate knows batches only as losses with a [`Part`](backend::Part), so any loop may use it.

// What the user sets.
mod check;
mod config;
mod optimizer;
pub mod or_empty;
mod schedule;

// The state and its updates.
mod average;
mod gradients;
mod loss_scale;
mod parameters;
mod patience;
mod progress;
mod state;
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
    check::Mistake,
    checkpoint::{CheckpointConfig, newest_step},
    config::{ParameterGroup, TrainerConfig, Work},
    epoch::{Epoch, Stop},
    error::TrainError,
    event::{
        Best, EndStatus, Event, Keeper, Measured, Metrics, Observer, ObserverError, Pace, Shares,
        StepReport,
    },
    group::{Group, GroupError},
    optimizer::{OptimizerConfig, OptimizerKind},
    schedule::{RunLength, ScheduleConfig, ScheduleKind},
    trainer::{Trained, Trainer},
};
