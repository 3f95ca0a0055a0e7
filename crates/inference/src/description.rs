//! What a model file says about its weights.

use std::fmt;

use data::{ImagePreprocessing, TablePreprocessing, Vocabulary};
use models::Architecture;
use serde::{Deserialize, Serialize};

use crate::InferenceError;

/// Everything beside the weights that prediction needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The recipe that trained the model.
    pub recipe: String,
    /// The network.
    pub architecture: Architecture,
    /// From the user's data to the network's input.
    pub preprocessing: Preprocessing,
    /// The names of the classes, in the order of the logits; none for a regression.
    pub classes: Vec<String>,
}

/// From the user's data to the network's input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "input")]
pub enum Preprocessing {
    /// Rows of a table.
    Table(TablePreprocessing),
    /// Images.
    Image(ImagePreprocessing),
    /// A text.
    Text(Vocabulary),
}

/// What a model reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// Rows of a table.
    Rows,
    /// Images.
    Images,
    /// A text.
    Text,
}

impl Description {
    /// What the model reads.
    pub fn input(&self) -> InputKind {
        match self.preprocessing {
            Preprocessing::Table(_) => InputKind::Rows,
            Preprocessing::Image(_) => InputKind::Images,
            Preprocessing::Text(_) => InputKind::Text,
        }
    }

    /// How a row of a table is encoded.
    ///
    /// # Errors
    ///
    /// If the model does not read rows.
    pub fn table(&self) -> Result<&TablePreprocessing, InferenceError> {
        match &self.preprocessing {
            Preprocessing::Table(table) => Ok(table),
            _ => Err(self.not(InputKind::Rows)),
        }
    }

    /// How an image is brought to the network's input.
    ///
    /// # Errors
    ///
    /// If the model does not read images.
    pub fn image(&self) -> Result<&ImagePreprocessing, InferenceError> {
        match &self.preprocessing {
            Preprocessing::Image(image) => Ok(image),
            _ => Err(self.not(InputKind::Images)),
        }
    }

    /// What a text is cut into.
    ///
    /// # Errors
    ///
    /// If the model does not read a text.
    pub fn vocabulary(&self) -> Result<&Vocabulary, InferenceError> {
        match &self.preprocessing {
            Preprocessing::Text(vocabulary) => Ok(vocabulary),
            _ => Err(self.not(InputKind::Text)),
        }
    }

    pub(crate) fn not(&self, asked: InputKind) -> InferenceError {
        InferenceError::Kind { is: self.input(), asked }
    }
}

impl InputKind {
    /// How to use a model that reads this.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::Rows => "name CSV files: `recipes predict RUN rows.csv`",
            Self::Images => "name image files or folders: `recipes predict RUN picture.jpg`",
            Self::Text => "let it write: `recipes generate RUN --prompt TEXT`",
        }
    }
}

impl fmt::Display for InputKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rows => "rows of a table",
            Self::Images => "images",
            Self::Text => "text",
        })
    }
}
