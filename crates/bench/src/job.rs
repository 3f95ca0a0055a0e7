//! What one process is told to measure, and what it answers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::work::{SourceJob, StageJob, TrainJob};

/// What a child process measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// Training by a recipe, as `recipes train` runs it.
    Train(TrainJob),
    /// The forward pass of the network in a folder.
    Infer(PathBuf),
    /// A part of a training step.
    Stage(StageJob),
    /// Batches out of a source.
    Source(SourceJob),
    /// The device's peaks.
    Peaks,
}

/// What a process prints once it is ready, with the first part of the work done.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ready {
    /// Of a peer.
    #[serde(default)]
    pub(crate) version: String,
    /// The losses of the first steps, or a number that stands for the outputs.
    pub(crate) losses: Vec<f64>,
    /// How long ago the first step ended, in seconds.
    #[serde(default)]
    pub(crate) since_first_step: f64,
    /// The device's name and peaks, where those were asked for.
    pub(crate) peaks: Option<(String, backend::Peaks)>,
}

/// What a process prints after a round.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// Of a step, or whatever the unit is.
    pub(crate) seconds: f64,
    /// Samples in a unit; peers omit it.
    #[serde(default)]
    pub(crate) samples: u64,
    pub(crate) peak_memory_bytes: Option<u64>,
    /// Of a peer on a GPU.
    pub(crate) allocated_memory_bytes: Option<u64>,
    /// The share of the time spent waiting for data.
    pub(crate) data_wait: Option<f64>,
    /// The share of the time spent on summing the gradients of all processes.
    pub(crate) communication_wait: Option<f64>,
    /// By how much memory grew after the first tenth of the steps.
    pub(crate) memory_growth_bytes: Option<i64>,
}
