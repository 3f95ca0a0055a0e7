//! What one process measures, in a form that is handed to it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::work::{SourceJob, StageJob, TrainJob};

/// What a child process measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// Training by a recipe, as `recipes train` runs it.
    Train(TrainJob),
    /// The forward pass of the network that lies in a folder.
    Infer(PathBuf),
    /// A part of a training step.
    Stage(StageJob),
    /// Batches out of a source.
    Source(SourceJob),
    /// The device's peaks.
    Peaks,
}

/// What a process says once it is ready: the first part of the work is done.
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
    /// What was asked for is the device's name and peaks.
    #[serde(default)]
    pub(crate) peaks: Option<(String, backend::Peaks)>,
}

/// What a process says after a round.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// Of a step, or whatever the unit is.
    pub(crate) seconds: f64,
    /// Samples in a unit; peers leave it open.
    #[serde(default)]
    pub(crate) samples: u64,
    pub(crate) peak_memory_bytes: Option<u64>,
    /// Of a peer on a GPU.
    #[serde(default)]
    pub(crate) allocated_memory_bytes: Option<u64>,
    /// The share of the time that went into waiting for data.
    #[serde(default)]
    pub(crate) data_wait: Option<f64>,
    /// The share of the time that went into the gradients of other processes.
    #[serde(default)]
    pub(crate) communication_wait: Option<f64>,
    /// By how much memory grew after the first tenth of the steps.
    #[serde(default)]
    pub(crate) memory_growth_bytes: Option<i64>,
}
