//! The metadata of a model file: what its weights are.

use std::{collections::BTreeSet, fmt};

use models::Architecture;
use preprocess::{
    Column, ColumnKind, ImagePreprocessing, TablePreprocessing, TargetKind, Task, TextFeatures,
    Vocabulary,
};
use serde::{Deserialize, Serialize};

use crate::{InferenceError, model::IMAGES_AT_A_TIME};

/// Everything besides the weights that prediction needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The recipe that trained the model.
    pub recipe: String,
    /// The network.
    pub architecture: Architecture,
    /// From the user's data to the network's input.
    pub preprocessing: Preprocessing,
    /// The names of the classes, in the order of the logits; none for a regression or a text. Where a table
    /// has two classes, there is one logit, and it is the second's.
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

    /// How an image becomes the network's input.
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

    /// How a text is split into tokens.
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

    /// Checks that the network's inputs are those of the preprocessing, and its outputs the classes.
    ///
    /// # Errors
    ///
    /// Says what does not fit.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.architecture.check().map_err(|error| error.to_string())?;
        let classes = self.classes.len();
        match (&self.preprocessing, &self.architecture) {
            (Preprocessing::Table(table), Architecture::Mlp(network)) => {
                check_columns(table)?;
                equal("features of a row", table.width(), network.inputs)?;
                let embedded =
                    network.embeddings.iter().map(|table| (table.feature, table.entries));
                if embedded.collect::<Vec<_>>() != table.indexed() {
                    return Err("the embedded features are not those that are indices".to_owned());
                }
                let read = network.texts.iter().map(|text| TextFeatures {
                    feature: text.feature,
                    length: text.length,
                    tokens: text.tokens,
                });
                if read.collect::<Vec<_>>() != table.texts() {
                    return Err("the features that are read as text are not its tokens".to_owned());
                }
                if self.classes != table.target.classes() {
                    return Err("its classes are not those of its target".to_owned());
                }
                let outputs = if table.task() == Task::Multiclass { classes } else { 1 };
                equal("outputs", outputs, network.outputs)
            }
            (Preprocessing::Text(vocabulary), Architecture::TextLstm(network)) => {
                equal("classes of a text", 0, classes)?;
                equal("tokens", vocabulary.len(), network.vocabulary)
            }
            (Preprocessing::Image(image), network) => {
                let [height, width] = image.size;
                let sizes = network.images().ok_or_else(|| self.not_read())?;
                equal("channels of an image", image.channels, sizes.channels)?;
                equal("rows of an image", height, sizes.side.unwrap_or(height))?;
                equal("columns of an image", width, sizes.side.unwrap_or(width))?;
                // The bytes that are predicted at a time, as f32, must be countable.
                let others = [width, image.channels, IMAGES_AT_A_TIME, size_of::<f32>()];
                if others.into_iter().try_fold(height, usize::checked_mul).is_none() {
                    return Err(format!("images of {height}x{width} are too large"));
                }
                equal("classes", classes, sizes.classes)
            }
            _ => Err(self.not_read()),
        }
    }

    fn not_read(&self) -> String {
        format!("its network does not read {}", self.input())
    }

    pub(crate) fn not(&self, asked: InputKind) -> InferenceError {
        InferenceError::Kind { is: self.input(), asked }
    }
}

/// Checks what is learnt of each column, and of the target.
fn check_columns(table: &TablePreprocessing) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for Column { kind, name, .. } in &table.columns {
        if !names.insert(name) {
            return Err(format!("two columns are called `{name}`"));
        }
        match kind {
            ColumnKind::Numeric { deviation, .. } if *deviation < 0.0 => {
                return Err(format!("the deviation of column `{name}` is below 0"));
            }
            ColumnKind::Text { length, .. } if *length > TextFeatures::LONGEST => {
                return Err(format!("the texts of column `{name}` are too long"));
            }
            _ => {}
        }
    }
    match table.target.kind {
        TargetKind::Regression(scores) if scores.deviation <= 0.0 => {
            Err("the deviation of its target is not above 0".to_owned())
        }
        _ => Ok(()),
    }
}

/// Checks that a number of the data is that of the network.
fn equal(what: &str, of_data: usize, of_network: usize) -> Result<(), String> {
    if of_data == of_network {
        return Ok(());
    }
    Err(format!("there are {of_data} {what}, but {of_network} for its network"))
}

impl InputKind {
    /// What to call of a model that reads this.
    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Rows => "Model::predict_rows",
            Self::Images => "Model::predict_images",
            Self::Text => "Model::generate",
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
