//! The settings in which a run differs from its recipe.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    registry,
    run::record::Record,
    settings::{same, shown},
};

/// A setting with its value in the recipe and in the run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) key: String,
    pub(super) usual: String,
    pub(super) value: String,
}

/// Ordered by key. What the recipe chose where the user left it open is none.
pub(super) fn changes(record: &Record) -> Vec<Change> {
    let Ok(recipe) = registry::find(&record.recipe) else { return Vec::new() };
    let mut usual = recipe.settings();
    usual.extend(record.environment.chosen.clone());
    between(&usual, &record.settings)
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
    use crate::{settings::leaves, vgg};

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
    fn what_the_recipe_chose_is_no_change() {
        let told = |chosen: &[&str]| {
            let sizes = [("data.size", json!(32)), ("data.channels", json!(3))];
            let sizes = sizes.map(|(key, value)| (key.to_owned(), value));
            let mut settings = vgg::RECIPE.settings();
            settings.extend(sizes.clone());
            let mut record =
                Record { recipe: vgg::RECIPE.name.to_owned(), settings, ..Record::default() };
            let chosen = sizes.into_iter().filter(|(key, _)| chosen.contains(&key.as_str()));
            record.environment.chosen = chosen.collect();
            changes(&record).into_iter().map(|change| change.key).collect::<Vec<_>>()
        };
        assert_eq!(told(&["data.size", "data.channels"]), [""; 0]);
        assert_eq!(told(&["data.channels"]), ["data.size"], "the user wrote it");
    }

    #[test]
    fn a_recipe_differs_from_itself_in_nothing() {
        for recipe in registry::RECIPES {
            let record = Record {
                recipe: recipe.name.to_owned(),
                settings: recipe.settings(),
                ..Record::default()
            };
            assert_eq!(changes(&record), [], "{}", recipe.name);
        }
    }
}
