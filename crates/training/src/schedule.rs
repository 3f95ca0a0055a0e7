//! The learning rate as a function of the step.

use serde::{Deserialize, Serialize};

/// How the learning rate changes over the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleKind {
    /// The optimizer's learning rate, from the first step to the last.
    Constant,
}

/// The table `[schedule]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleConfig {
    /// How the learning rate changes over the run.
    pub kind: ScheduleKind,
}

impl ScheduleConfig {
    /// The learning rate of an update; `step` counts the updates before it.
    pub fn learning_rate(&self, base: f64, _step: u64) -> f64 {
        match self.kind {
            ScheduleKind::Constant => base,
        }
    }
}
