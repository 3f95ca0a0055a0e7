//! Which network, in a form that is saved beside its weights.

use serde::{Deserialize, Serialize};

use crate::MlpConfig;

/// A network's description, enough to rebuild it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "network")]
pub enum Architecture {
    /// A multi-layer perceptron.
    Mlp(MlpConfig),
}
