//! Why a model file cannot be used.

use std::path::PathBuf;

use models::weights::WeightsError;
use store::StoreError;

/// A model file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InferenceError {
    /// The file cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file holds tensors, but not a model of this project or not of this version.
    #[error("`{}` does not describe a model: {reason}", path.display())]
    Description {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The weights are not those of the network that the file describes.
    #[error("`{}`: {source}", path.display())]
    Weights {
        /// The file.
        path: PathBuf,
        /// The mismatches.
        source: WeightsError,
    },
}

impl InferenceError {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.help(),
            Self::Description { .. } => {
                Some("use the `model.safetensors` of a run of this version".to_owned())
            }
            Self::Weights { source, .. } => Some(source.help()),
        }
    }
}
