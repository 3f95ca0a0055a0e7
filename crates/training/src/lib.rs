//! One state, stepped: optimizers, schedules and the [`Trainer`] that a recipe's own loop drives.
//!
//! The loop stays in the recipe. The trainer does the chores of each step (gradients, update,
//! learning rate, sums, stopping) and tells an [`Observer`] what happened:
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

// The state and what happens to it.
mod average;
mod gradients;
mod loss_scale;
mod parameters;
mod patience;
mod progress;
mod state;
mod values;

// Who else works on it.
mod group;

// What of it lasts.
mod checkpoint;

// The loop's side of it.
mod epoch;
mod trainer;

// What is told.
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
