//! From layers of TOML to one checked, typed configuration.
//!
//! A recipe has its settings as TOML, complete and commented: the only place for defaults. On top
//! come the user's file, each `--set key=value` in order, then `--seed` and `--max-steps`.
//! [`resolve`] merges these [`SettingsLayer`]s key by key and reads the result into the recipe's own
//! type, usually a [`Config`]:
//!
//! ```
//! use recipes::config::{Check, Checker, SettingsLayer, resolve};
//!
//! #[derive(Debug, PartialEq, serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Walk {
//!     steps: u64,
//!     pace: f64,
//! }
//!
//! impl Check for Walk {
//!     fn check(&self, checker: &mut Checker<'_>) {
//!         checker.require("pace", self.pace > 0.0, "above 0");
//!     }
//! }
//!
//! let recipe = || SettingsLayer::recipe("walk", "steps = 100\npace = 1.5");
//! let walk: Walk = resolve(recipe(), vec![SettingsLayer::set("steps=7")])?;
//! assert_eq!(walk, Walk { steps: 7, pace: 1.5 });
//!
//! let problems = resolve::<Walk>(recipe(), vec![SettingsLayer::set("pcae=2")]).unwrap_err();
//! assert_eq!(problems.to_string(), "unknown key `pcae`, in --set pcae=2");
//! # Ok::<(), recipes::config::Problems>(())
//! ```
//!
//! Every mistake in every layer is reported, with its place. Configurations are plain serde structs
//! with `deny_unknown_fields`, without `flatten` and `untagged`, with which serde forgets which key
//! it is reading. A key whose value may be absent is an `Option`; the empty string unsets it, and
//! [`to_toml`] writes that where the field asks for it:
//!
//! ```
//! #[derive(serde::Deserialize, serde::Serialize)]
//! #[serde(deny_unknown_fields)]
//! struct Model {
//!     #[serde(default, with = "recipes::config::or_empty")]
//!     hidden: Option<Vec<usize>>,
//! }
//! ```

// What a recipe defines.
mod check;
mod schema;

// What a user writes, and what is wrong with it.
mod layer;
mod problem;

// How one becomes the other.
mod mismatch;
mod reader;
mod tree;

#[cfg(test)]
mod tests;

use std::path::Path;

use serde::{Serialize, de::DeserializeOwned};
pub use training::or_empty;

use self::tree::Table;
pub use self::{
    check::{Check, Checker},
    layer::SettingsLayer,
    problem::{Problem, Problems, nearest},
    schema::{
        Config, ImageConfig, ImageData, ImageOrigin, ModelChoice, Monitored, NoSettings, Normalise,
        Output, Source, TableData, TextData, TextOrigin, Training,
    },
};
pub(crate) use self::{
    mismatch::in_backticks,
    problem::{DEVICE, is_device, usual_choice, usual_name},
    schema::{
        FOLDER_SIDE, SYNTHETIC_IMAGE_KEYS, SYNTHETIC_TABLE_KEYS, check_dropout, check_widths,
        refuse_unsupported,
    },
};
use crate::run::{directory::CONFIG, environment::other_version_of};

/// Merges the layers onto the recipe, the last on top, and reads and checks the result.
///
/// # Errors
///
/// All mistakes in all layers: what cannot be read or parsed, unknown keys, values of the wrong
/// type, and what [`Check`] refuses in the rest.
pub fn resolve<C: DeserializeOwned + Check>(
    recipe: SettingsLayer,
    layers: Vec<SettingsLayer>,
) -> Result<C, Problems> {
    let (recipe, problems) = recipe.into_parts();
    Problems::none_in(problems)?;

    let mut merged = recipe.clone();
    let mut usual = recipe.clone(); // what the files say, for the options' mistakes
    let mut problems = Vec::new();
    for layer in layers {
        let (is_file, place) = (!layer.is_option(), layer.place());
        let (mut table, unreadable) = layer.into_parts();
        problems.extend(unreadable);
        let mut mistakes = take_out_mistakes::<C>(&mut table, &recipe, &usual);
        if let Some(first) = mistakes.first_mut()
            && let Some(version) = other_version(&place)
        {
            let help = first.help.take().map_or_else(String::new, |help| format!("; {help}"));
            let version = format!("the file is of another version of this program ({version})");
            first.help = Some(version + &help);
        }
        problems.extend(mistakes);
        merged.overlay(&table);
        if is_file {
            usual.overlay(&table);
        }
    }

    let config: C = reader::read(&merged).map_err(|mismatch| mismatch.problem(&merged, &recipe))?;
    let mut checker = Checker::new([&recipe, &usual], &merged, problems.is_empty());
    config.check(&mut checker);
    problems.extend(checker.into_problems());
    Problems::none_in(problems)?;
    Ok(config)
}

/// The version of this program that wrote a file, if it is the `config.toml` of a run and the version is another.
fn other_version(place: &str) -> Option<String> {
    let path = Path::new(place);
    other_version_of(path.parent().filter(|_| path.ends_with(CONFIG))?)
}

/// Removes from a layer what does not fit the configuration, and reports it, line by line.
///
/// serde stops at the first mistake. So the layer is read on top of the recipe, which is complete
/// and correct by itself, the offending value is removed, and so on until none is left.
///
/// - `usual`: the values without the layer
fn take_out_mistakes<C: DeserializeOwned>(
    layer: &mut Table,
    recipe: &Table,
    usual: &Table,
) -> Vec<Problem> {
    let mut found = Vec::new();
    loop {
        let mut trial = recipe.clone();
        trial.overlay(layer);
        match reader::read::<C>(&trial) {
            Err(mismatch) if layer.remove(mismatch.path()) => {
                let line = trial.at(mismatch.path()).and_then(|node| node.origin.line);
                found.push((line, mismatch.problem(&trial, usual)));
            }
            // Nothing is wrong, or the recipe itself is, which `resolve` will say once.
            _ => break,
        }
    }
    found.sort_by_key(|&(line, _)| line);
    found.into_iter().map(|(_, problem)| problem).collect()
}

/// The whole configuration as TOML, which resolves to the same configuration again.
///
/// # Errors
///
/// If a value has no form in TOML, such as a path that is not Unicode.
pub fn to_toml<C: Serialize>(config: &C) -> Result<String, toml::ser::Error> {
    toml::to_string(config)
}
