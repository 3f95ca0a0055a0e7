//! Why a model file cannot be used.

use std::path::PathBuf;

use models::weights::WeightsError;
use preprocess::VocabularyError;
use store::StoreError;

use crate::InputKind;

/// A model file, or an input for it, that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum InferenceError {
    /// The file cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file was written by a newer version, and predictions from it might be wrong.
    #[error("`{}` was written by a newer version of this program", path.display())]
    Newer { path: PathBuf },
    /// The file holds tensors, but not a model of this project.
    #[error("`{}` does not describe a model: {reason}", path.display())]
    Description { path: PathBuf, reason: String },
    /// The weights are not those of the network that the file describes.
    #[error("`{}`: {reason}", path.display())]
    Weights { path: PathBuf, reason: WeightsError },
    /// The file's network, inputs and classes do not fit together.
    #[error("`{}` contradicts itself: {reason}", path.display())]
    Inconsistent { path: PathBuf, reason: String },
    /// The model reads another kind of input.
    #[error("the model reads {is}, not {asked}")]
    Kind { is: InputKind, asked: InputKind },
    /// The input is not whole rows or images.
    #[error("{values} values are not a whole number of {inputs} of {of} values")]
    Length { values: usize, inputs: &'static str, of: usize },
    /// A feature that must be the index of a category is not.
    #[error("row {row}, feature {feature}: {value} is not a category index from 0 to {}", entries - 1)]
    Index {
        /// The row, from 0.
        row: usize,
        /// The feature, from 0.
        feature: usize,
        value: f32,
        entries: usize,
    },
    /// A feature has a value that encoding never makes, so nothing could be predicted from it.
    #[error(
        "row {row}, feature {feature} is {value}, and features are finite and at most 1e6 in size"
    )]
    NotFinite {
        /// The row, from 0.
        row: usize,
        /// The feature, from 0.
        feature: usize,
        value: f32,
    },
    /// A tensor that is not a batch of images that the model reads.
    #[error("images of shape {shape:?} do not fit a model that reads images of shape {reads:?}")]
    Shape { shape: [usize; 4], reads: [usize; 3] },
    /// The weights are finite, and what the network computes by them is not.
    #[error("the network's outputs are not finite numbers, so nothing is predicted")]
    Outputs,
    /// There is nothing to continue.
    #[error("the prompt is empty")]
    EmptyPrompt,
    /// An ONNX file can hold 2 GiB.
    #[error("the network takes {bytes} bytes, and an ONNX file holds at most 2 GiB")]
    TooLargeForOnnx { bytes: usize },
    /// A setting of [`Sampling`](crate::Sampling) is out of its range.
    #[error("the `{setting}` of sampling is {value}, and must be {expected}")]
    Sampling { setting: &'static str, value: f64, expected: &'static str },
    /// The prompt cannot be read.
    #[error("the prompt: {0}")]
    Prompt(VocabularyError),
}

impl InferenceError {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.help(),
            Self::Description { .. } => {
                Some("use the `model.safetensors` of a run of this version".to_owned())
            }
            Self::Newer { .. } => Some("use the version that wrote it, or a later one".to_owned()),
            Self::Weights { reason, .. } => Some(reason.help()),
            Self::Inconsistent { .. } => {
                Some("copy `model.safetensors` from its run again, or train again".to_owned())
            }
            Self::Kind { is, .. } => Some(format!("call `{}`", is.method())),
            Self::Length { inputs, of, .. } => {
                Some(format!("give {of} values for each of the {inputs}, as the description says"))
            }
            Self::Index { .. } | Self::NotFinite { .. } => {
                Some("make the features with `TablePreprocessing::encode`".to_owned())
            }
            Self::Outputs => Some(
                "its weights are damaged, or too large: copy `model.safetensors` from its run again, or train \
                 again"
                    .to_owned(),
            ),
            Self::Shape { .. } => Some("give at least one image, and all in that shape".to_owned()),
            Self::EmptyPrompt => Some("give at least one character that is not a space".to_owned()),
            Self::TooLargeForOnnx { .. } => {
                Some("write it as safetensors, with `model_file`".to_owned())
            }
            Self::Sampling { setting, .. } => match *setting {
                "temperature" => {
                    Some("0 takes the likeliest, 1 chooses as the model expects".to_owned())
                }
                "top_p" => Some("0.9 is usual".to_owned()),
                _ => None,
            },
            Self::Prompt(error) => Some(error.help()),
        }
    }
}
