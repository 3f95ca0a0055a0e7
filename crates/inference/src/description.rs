//! What a model file says about its weights.

use data::TablePreprocessing;
use models::Architecture;
use serde::{Deserialize, Serialize};

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
}

impl Description {
    /// How a row of a table is encoded.
    pub fn table(&self) -> &TablePreprocessing {
        match &self.preprocessing {
            Preprocessing::Table(table) => table,
        }
    }
}
