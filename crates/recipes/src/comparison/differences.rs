//! The settings in which runs differ.

use std::collections::BTreeMap;

use serde_json::Value;

use super::row::Row;
use crate::{
    config::{SYNTHETIC_IMAGE_KEYS, SYNTHETIC_TABLE_KEYS},
    settings::same,
};

/// The source that alone reads some settings: a run on files has these at its recipe's values, which
/// say nothing of it.
const SYNTHETIC: &str = "synthetic";
/// The digits of a hash that tell data apart.
pub(super) const DIGITS: usize = 8;

fn synthetic_keys() -> impl Iterator<Item = &'static str> {
    SYNTHETIC_IMAGE_KEYS.into_iter().chain(SYNTHETIC_TABLE_KEYS)
}

/// Removes the settings that have no effect on a run, because its source does not read them.
pub(super) fn remove_ignored(settings: &mut BTreeMap<String, Value>) {
    if settings.get("data.source").is_some_and(|source| source != SYNTHETIC) {
        settings.retain(|key, _| synthetic_keys().all(|synthetic| synthetic != key));
    }
}

/// The settings that differ. One that only some rows have is left out if all of those have their recipe's
/// default. Also the data, by the beginning of their hash, where rows differ in nothing else, or were to
/// have the same.
pub(super) fn differences(rows: &[Row]) -> BTreeMap<String, Vec<Value>> {
    let defaults: Vec<BTreeMap<String, Value>> = rows.iter().map(Row::defaults).collect();
    let keys = rows.iter().flat_map(|row| row.settings.keys());
    let values = |key: &String| -> Vec<Value> {
        rows.iter().map(|row| row.settings.get(key).cloned().unwrap_or_default()).collect()
    };
    let keys: BTreeMap<String, Vec<Value>> = keys.map(|key| (key.clone(), values(key))).collect();
    let differ = |values: &Vec<Value>| values.iter().any(|value| !same(value, &values[0]));
    let is_lacking = |key: &String, values: &Vec<Value>| {
        let had = values.iter().zip(&defaults).filter(|(value, _)| !value.is_null());
        let had: Vec<(&Value, Option<&Value>)> =
            had.map(|(value, defaults)| (value, defaults.get(key))).collect();
        let alike = had.iter().all(|&(value, own)| own == Some(value) && same(value, had[0].0));
        alike && had.len() < values.len()
    };
    let keys = keys.into_iter();
    let mut found: BTreeMap<String, Vec<Value>> =
        keys.filter(|(key, values)| differ(values) && !is_lacking(key, values)).collect();
    let is_told_by_data = |place: usize| {
        let row = &rows[place];
        rows[..place]
            .iter()
            .any(|other| other.settings == row.settings || other.has_other_data(row))
    };
    if (1..rows.len()).any(is_told_by_data) {
        let beginning = |hash: &String| Value::String(hash.chars().take(DIGITS).collect());
        let hash = |row: &Row| row.samples[0].hash.as_ref().map_or(Value::Null, beginning);
        found.insert("data".to_owned(), rows.iter().map(hash).collect());
    }
    found
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, ops::ControlFlow};

    use serde_json::json;

    use super::*;
    use crate::{
        comparison::{Comparison, Runs, finished::Finished},
        config::SettingsLayer,
        registry::{self, RECIPES},
        run::{record::Record, summary::example},
    };

    /// A run of this recipe with other values for some settings.
    fn run(recipe: &str, changes: &[(&str, Value)]) -> Finished {
        let mut settings = registry::find(recipe).unwrap().settings();
        settings.extend(changes.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        let (directory, recipe) = (recipe.into(), recipe.to_owned());
        let record = Record { directory, recipe, settings, ..Record::default() };
        Finished::of(record, example(&json!({"test": {"loss": 0.5}})))
    }

    fn compared(runs: Vec<Finished>) -> Comparison {
        Runs { finished: runs, notes: Vec::new() }.compare()
    }

    #[test]
    fn what_two_runs_differ_in_is_told_beside_one_that_lacks_it() {
        let runs = || vec![run("cnn", &[]), run("resnet", &[])];
        let two = compared(runs()).differences;
        assert_eq!(two["data.normalise"], [json!("unit"), json!("measured")]);
        let three = compared(runs().into_iter().chain([run("lstm-char", &[])]).collect());
        for (key, values) in &two {
            assert_eq!(three.differences[key][..2], values[..], "{key}");
        }
        assert_eq!(three.differences["data.normalise"][2], Value::Null);
        // All that have them have the same.
        assert!(!three.differences.contains_key("data.on_bad_image"));
    }

    #[test]
    fn what_a_source_ignores_is_no_difference() {
        let files = [("data.source", json!("cifar10")), ("data.path", json!("cifar"))];
        let drawn = [("data.samples", json!(500))];
        let keys = ["data.drawing", "data.samples"];
        let comparison = compared(vec![run("cnn", &files), run("resnet", &files)]);
        assert!(keys.iter().all(|&key| !comparison.differences.contains_key(key)));
        assert!(comparison.best.is_some(), "they learnt the same");
        let comparison = compared(vec![run("cnn", &drawn), run("cnn", &files)]);
        assert_eq!(comparison.differences["data.samples"], [json!(500), Value::Null]);
        let comparison = compared(vec![run("cnn", &[]), run("resnet", &[])]);
        assert!(keys.iter().all(|&key| comparison.differences.contains_key(key)));
    }

    /// So that they cannot be set, and are at the recipe's values.
    #[test]
    fn what_a_source_ignores_is_refused_by_the_configuration() {
        let mut refused = BTreeSet::new();
        for recipe in RECIPES {
            let own = recipe.settings();
            let source = if own.contains_key("data.labels") { "csv" } else { "cifar10" };
            for key in synthetic_keys().filter(|&key| own.contains_key(key)) {
                let other = match own[key].as_str() {
                    None => "77",
                    Some("digits") => "shapes",
                    Some("shapes") => "digits",
                    Some(_) => "linear",
                };
                let settings = [format!("data.source={source}"), format!("{key}={other}")];
                let told = (recipe.plan)(SettingsLayer::sets(&settings), &mut |_, _, _| {
                    ControlFlow::Continue(())
                })
                .unwrap_err();
                let expected = format!("`{key}` has no effect with `data.source = \"{source}\"`");
                assert!(told.to_string().contains(&expected), "{}: {told}", recipe.name);
                refused.insert(key);
            }
        }
        assert_eq!(refused, synthetic_keys().collect());
    }
}
