//! What the user says about NumPy's files.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Task;

/// What the user says about a folder of NumPy's files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NpyOptions {
    /// The folder.
    pub path: PathBuf,
    /// What is to be predicted; if not said, the type of the targets tells.
    #[serde(default)]
    pub task: Option<Task>,
    /// The fraction of rows held out for validation, where no files are there for it.
    #[serde(default)]
    pub validation: f64,
}
