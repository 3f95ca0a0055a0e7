//! The recipes by name.

use serde::Serialize;

use crate::{
    ExitCode, Failure, Start, Summary, cnn,
    config::{Layer, nearest},
    lstm, lstm_char, mlp, resnet, simplenet, vgg, vgg_pretrain,
};

/// The recipe that runs when none is named.
pub const DEFAULT: &str = "mlp";

/// A recipe.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Recipe {
    /// Its name.
    pub name: &'static str,
    /// What it trains, in a line.
    pub summary: &'static str,
    /// What the network is asked.
    pub task: &'static str,
    /// Its settings, complete and commented.
    #[serde(skip)]
    pub toml: &'static str,
    /// Resolves the layers that lie on its settings, and trains.
    #[serde(skip)]
    pub train: fn(Vec<Layer>, Start<'_>) -> Result<Summary, Failure>,
}

/// All recipes.
pub const RECIPES: &[Recipe] = &[
    mlp::RECIPE,
    cnn::RECIPE,
    simplenet::RECIPE,
    resnet::RECIPE,
    vgg::RECIPE,
    vgg_pretrain::RECIPE,
    lstm::RECIPE,
    lstm_char::RECIPE,
];

/// The recipe called `name`.
///
/// # Errors
///
/// Names the nearest recipe.
pub fn find(name: &str) -> Result<&'static Recipe, Failure> {
    RECIPES.iter().find(|recipe| recipe.name == name).ok_or_else(|| {
        let names = RECIPES.iter().map(|recipe| recipe.name);
        let help = match nearest(name, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`recipes list` names them; a file of your own ends in `.toml`".to_owned(),
        };
        Failure::new(ExitCode::Usage, format!("there is no recipe `{name}`"), help)
    })
}
