//! The settings in which a run differs from its recipe.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    backbone,
    config::{Config, FOLDER_SIDE, ImageConfig, TableData},
    mlp, paths,
    record::Record,
    registry,
    settings::{leaves, same, shown},
    vgg,
};

/// A setting with its value in the recipe and in the run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) key: String,
    pub(super) usual: String,
    pub(super) value: String,
}

/// Ordered by key.
pub(super) fn changes(record: &Record) -> Vec<Change> {
    let Ok(recipe) = registry::find(&record.recipe) else { return Vec::new() };
    let mut usual = recipe.settings();
    usual.extend(chosen(record, &usual).unwrap_or_default());
    between(&usual, &record.settings)
}

/// What a recipe chooses where the user left it open, which a run has on file: what a pretrained
/// backbone takes, what suits the source of a table, and the size of a folder's pictures.
///
/// - `usual`: the recipe's own settings
fn chosen(record: &Record, usual: &BTreeMap<String, Value>) -> Option<BTreeMap<String, Value>> {
    // Over the recipe's, for settings that there were not yet when the run began.
    let layers = || vec![paths::document(&record.directory, &record.config)];
    if record.recipe == vgg::RECIPE.name {
        let config: ImageConfig<backbone::Model> = vgg::RECIPE.resolve(layers()).ok()?;
        let network = config.model.network(None).ok()?;
        let named = [("data.size", network.size), ("data.channels", network.channels)];
        return Some(named.map(|(key, value)| (key.to_owned(), value.into())).into());
    }
    if record.recipe == mlp::RECIPE.name {
        let mut config: Config<TableData, mlp::Model> = mlp::RECIPE.resolve(layers()).ok()?;
        (config.data.order, config.data.validation, config.model.hidden) = (None, None, None);
        let mut chosen = leaves(&serde_json::to_value(mlp::with_choices_made(config)).ok()?);
        chosen.retain(|key, _| {
            ["data.order", "data.validation", "model.hidden"].contains(&key.as_str())
        });
        return Some(chosen);
    }
    let is_folder = record.settings.get("data.source").is_some_and(|it| it == "image-folder");
    let is_open = usual.get("data.size").is_some_and(|size| size == "");
    (is_folder && is_open).then(|| [("data.size".to_owned(), FOLDER_SIDE.into())].into())
}

fn between(usual: &BTreeMap<String, Value>, settings: &BTreeMap<String, Value>) -> Vec<Change> {
    let unset = Value::String(String::new());
    let changed = |(key, value): (&String, &Value)| {
        let usual = usual.get(key).unwrap_or(&unset);
        (!same(usual, value)).then(|| Change {
            key: key.clone(),
            usual: shown(usual),
            value: shown(value),
        })
    };
    settings.iter().filter_map(changed).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::SettingsLayer;

    #[test]
    fn only_what_was_changed_is_told() {
        let usual = json!({"a": 1, "b": 1e-3, "c": "x", "gone": 4});
        let settings = json!({"a": 1.0, "b": 0.002, "c": "", "d": "", "e": [1, 2]});
        let told: Vec<String> = between(&leaves(&usual), &leaves(&settings))
            .into_iter()
            .map(|change| format!("{}: {} -> {}", change.key, change.usual, change.value))
            .collect();
        assert_eq!(told, ["b: 0.001 -> 0.002", "c: x -> ", "e:  -> [1,2]"]);
    }

    #[test]
    fn what_a_backbone_takes_is_no_change() {
        let told = |size: &str, backbone: &str| {
            let config = vgg::RECIPE.toml.replace("size = \"\"", &format!("size = {size}"));
            let config = config.replace("channels = \"\"", "channels = 3");
            let config = config.replace("\"vgg-small\"", &format!("{backbone:?}"));
            let config = match backbone {
                "vgg16" => config.replace("\"shipped\"", "\"none\""),
                _ => config,
            };
            let settings = leaves(&toml::from_str(&config).unwrap());
            let recipe = "vgg".to_owned();
            changes(&Record { recipe, config, settings, ..Record::default() })
        };
        assert_eq!(told("32", "vgg-small"), []);
        let keys = |changes: Vec<Change>| changes.into_iter().map(|change| change.key);
        assert_eq!(keys(told("64", "vgg-small")).collect::<Vec<_>>(), ["data.size"]);
        assert_eq!(
            keys(told("224", "vgg16")).collect::<Vec<_>>(),
            ["model.backbone", "model.weights"]
        );
    }

    #[test]
    fn the_size_chosen_for_a_folder_is_no_change() {
        let told = |recipe: &str, size: usize| {
            let settings = [("data.source", json!("image-folder")), ("data.size", json!(size))];
            let settings = settings.map(|(key, value)| (key.to_owned(), value)).into();
            let changes =
                changes(&Record { recipe: recipe.to_owned(), settings, ..Record::default() });
            changes.into_iter().map(|change| change.key).collect::<Vec<_>>()
        };
        assert_eq!(told("cnn", FOLDER_SIDE), ["data.source"]);
        assert_eq!(told("cnn", 32), ["data.size", "data.source"]);
        assert_eq!(told("simplenet", 32), ["data.source"]);
        assert_eq!(told("simplenet", FOLDER_SIDE), ["data.size", "data.source"]);
    }

    #[test]
    fn what_suits_the_source_of_a_table_is_no_change() {
        let told = |set: &[&str]| {
            let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
            let config = mlp::RECIPE.resolve(SettingsLayer::sets(&set)).unwrap();
            let config = toml::to_string(&mlp::with_choices_made(config)).unwrap();
            // Runs of earlier versions lack newer settings.
            let config = config.replace("text_length = 500\n", "");
            assert!(!config.contains("text_length"));
            let settings = leaves(&toml::from_str(&config).unwrap());
            let recipe = "mlp".to_owned();
            let changes = changes(&Record { recipe, config, settings, ..Record::default() });
            changes.into_iter().map(|change| change.key).collect::<Vec<_>>()
        };
        assert_eq!(told(&[]), [""; 0]);
        assert_eq!(told(&["data.order=shuffled"]), ["data.order"]);
        let table = ["data.source=csv", "data.path=a.csv", "data.target=-1"];
        let named = ["data.path", "data.source", "data.target"];
        assert_eq!(told(&table), named);
        let split = [&table[..], &["data.validation_path=b.csv"]].concat();
        assert_eq!(
            told(&split),
            ["data.path", "data.source", "data.target", "data.validation_path"]
        );
    }

    #[test]
    fn a_recipe_differs_from_itself_in_nothing() {
        // These two choose what they leave open, as told above.
        let chooses = |name| [mlp::RECIPE.name, vgg::RECIPE.name].contains(&name);
        for recipe in registry::RECIPES.iter().filter(|recipe| !chooses(recipe.name)) {
            let record = Record {
                recipe: recipe.name.to_owned(),
                settings: recipe.settings(),
                ..Record::default()
            };
            assert_eq!(changes(&record), [], "{}", recipe.name);
        }
    }
}
