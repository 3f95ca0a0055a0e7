//! The recipes by name.

use std::collections::BTreeMap;

use backend::device::Device;
use data::Residency;
use inference::InputKind;
use serde::{Deserialize, Serialize, Serializer, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    ExitCode, Failure, Start, Summary, cnn,
    config::{Check, Config, Problems, SettingsLayer, nearest, resolve},
    lstm, lstm_char, mlp,
    planning::{
        memory::{Divides, LessMemory},
        plan::Plan,
    },
    resnet,
    run::{
        out_of_memory,
        start::{Begun, WorkProgress},
    },
    settings::leaves,
    simplenet, vgg, vgg_pretrain,
};

/// The recipe that runs when none is named.
pub const DEFAULT: &str = "mlp";

/// A recipe.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Recipe {
    /// Its name.
    pub name: &'static str,
    /// What it trains, in one line.
    pub summary: &'static str,
    /// What the network reads; its task follows from it.
    #[serde(rename = "task", serialize_with = "task")]
    pub input: InputKind,
    /// What can be divided where memory lacks.
    #[serde(skip)]
    pub(crate) divides: Divides,
    /// Its settings, complete and commented.
    #[serde(skip)]
    pub toml: &'static str,
    /// Resolves the layers on top of its settings, and trains.
    #[serde(skip)]
    pub train: fn(Vec<SettingsLayer>, Start<'_>) -> Result<Summary, Failure>,
    /// Does what [`Recipe::train`] does before the first step, as far as that is cheap, and
    /// describes the rest; progress is reported as the task, how much is done, and of how much.
    #[serde(skip)]
    pub(crate) plan: fn(Vec<SettingsLayer>, &mut WorkProgress<'_>) -> Result<Plan, Failure>,
}

/// What a network that reads this is trained to do.
fn task<S: Serializer>(input: &InputKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match input {
        InputKind::Rows => "tabular classification or regression",
        InputKind::Images => "image classification",
        InputKind::Text => "text generation",
    })
}

impl Recipe {
    /// Its settings with these layers on top.
    ///
    /// # Errors
    ///
    /// All mistakes in all layers, as [`config::resolve`](crate::config::resolve) finds them.
    pub fn resolve<C: DeserializeOwned + Check>(
        &self,
        layers: Vec<SettingsLayer>,
    ) -> Result<C, Problems> {
        resolve(SettingsLayer::recipe(self.name, self.toml), layers)
    }

    /// Resolves the layers on top of its settings, opens the device, and trains there, in the arithmetic that
    /// they name. Where memory runs out, the user is told what makes the run need less.
    pub(crate) fn train_here<Data, Model, Augment>(
        &'static self,
        layers: Vec<SettingsLayer>,
        start: Start<'_>,
        train: impl FnOnce(Config<Data, Model, Augment>, Begun<'_>, &Device) -> Result<Summary, Failure>,
    ) -> Result<Summary, Failure>
    where
        Config<Data, Model, Augment>: DeserializeOwned + Serialize + Check,
    {
        let config: Config<Data, Model, Augment> = self.resolve(layers)?;
        let (begun, device) = start.begin(self, &config)?;
        let pictures = residency(&begun.given.settings);
        let training = &config.training;
        training.apply(&device)?;
        out_of_memory::advise(LessMemory { training, divides: self.divides, pictures }.advice());
        train(config, begun, &device)
    }

    /// Its settings by dotted key.
    pub fn settings(&self) -> BTreeMap<String, Value> {
        leaves(&toml::from_str(self.toml).expect("every recipe is TOML"))
    }
}

/// Where pictures lie by these settings; none of a recipe that reads something else.
fn residency(settings: &Value) -> Option<Residency> {
    Residency::deserialize(settings.pointer("/data/residency")?).ok()
}

/// All recipes.
pub static RECIPES: [&Recipe; 8] = [
    &mlp::RECIPE,
    &cnn::RECIPE,
    &simplenet::RECIPE,
    &resnet::RECIPE,
    &vgg::RECIPE,
    &vgg_pretrain::RECIPE,
    &lstm::RECIPE,
    &lstm_char::RECIPE,
];

/// The recipe for a network that is known by this name.
fn recipe_for(name: &str) -> Option<&'static str> {
    Some(match name {
        "vgg11" | "vgg13" | "vgg16" | "vgg19" | "transfer" => vgg::RECIPE.name,
        "lenet" | "lenet5" => simplenet::RECIPE.name,
        "char-rnn" | "char_rnn" => lstm_char::RECIPE.name,
        "rnn" | "gru" => lstm::RECIPE.name,
        "text" | "text-classification" | "text-classifier" | "sentiment" => mlp::RECIPE.name,
        _ => return None,
    })
}

/// The recipe called `name`.
///
/// # Errors
///
/// Names the nearest recipe.
pub fn find(name: &str) -> Result<&'static Recipe, Failure> {
    RECIPES.into_iter().find(|recipe| recipe.name == name).ok_or_else(|| {
        let names = RECIPES.iter().map(|recipe| recipe.name);
        let lower = name.to_lowercase();
        let is_other_format = [".yaml", ".yml", ".json"].iter().any(|end| lower.ends_with(end));
        let help = match recipe_for(&lower).or_else(|| nearest(&lower, names)) {
            _ if is_other_format => {
                "settings are TOML: `recipes copy` makes a file of them, whose name ends in `.toml`"
                    .to_owned()
            }
            Some(near) => format!("did you mean `{near}`?"),
            None => "`recipes list` lists them; the name of a configuration file ends in `.toml`"
                .to_owned(),
        };
        Failure::new(ExitCode::Usage, format!("there is no recipe `{name}`"), help)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tasks_of_the_recipes_are_listed_in_words() {
        let listed = serde_json::to_value(RECIPES).unwrap();
        let task = |name: &str| {
            let recipes = listed.as_array().unwrap();
            let recipe = recipes.iter().find(|recipe| recipe["name"] == name).unwrap();
            recipe["task"].as_str().unwrap().to_owned()
        };
        assert_eq!(task("mlp"), "tabular classification or regression");
        assert_eq!(task("resnet"), "image classification");
        assert_eq!(task("lstm"), "text generation");
    }

    #[test]
    fn advice_on_memory_knows_what_each_recipe_reads_and_divides() {
        for recipe in RECIPES {
            let settings = toml::from_str(recipe.toml).unwrap();
            let reads_pictures = recipe.input == InputKind::Images;
            assert_eq!(residency(&settings).is_some(), reads_pictures, "{}", recipe.name);
            let divides = match recipe.name {
                "vgg" => Divides::Features,
                "lstm-char" => Divides::Nothing,
                _ => Divides::Batches,
            };
            assert_eq!(recipe.divides, divides, "{}", recipe.name);
        }
    }

    #[test]
    fn every_recipe_is_named_in_its_own_settings() {
        for recipe in RECIPES {
            assert_eq!(recipe.settings()["recipe"], recipe.name);
        }
    }
}
