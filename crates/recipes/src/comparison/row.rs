//! A line of a comparison: the results of a run, or of one with each of several seeds.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::finished::{Finished, seed_chooses_samples};
use crate::{
    registry::{self, Recipe},
    spread::Spread,
};

/// The settings that say what is learnt.
const TASK: [&str; 11] = [
    "data.source",
    "data.drawing",
    "data.labels",
    "data.path",
    "data.target",
    "data.task",
    "data.tokens",
    "data.validation",
    "data.validation_path",
    "data.test_path",
    "data.vocabulary",
];

/// The settings of `[data]` on which the hash of the samples does not depend, and which may therefore
/// differ where the hashes are compared.
const BESIDE: [&str; 10] = [
    "data.cache",
    "data.channels",
    "data.class_weights",
    "data.normalise",
    "data.order",
    "data.residency",
    "data.resize",
    "data.sequence_length",
    "data.size",
    "data.workers",
];
/// It decides how categories become features, which are hashed.
const EMBEDDING: &str = "model.embedding";

/// A run, or several that differ only in their seeds and in what those choose of the data.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) runs: Vec<String>,
    pub(crate) recipe: String,
    pub(crate) seeds: Vec<u64>,
    pub(crate) epochs: Spread,
    pub(crate) steps: Spread,
    /// `train_loss`, `validation_accuracy`: those that all its runs have.
    pub(crate) metrics: BTreeMap<String, Spread>,
    pub(crate) seconds: Spread,
    pub(crate) samples_per_second: Spread,
    #[serde(skip)]
    pub(super) settings: BTreeMap<String, Value>,
    #[serde(skip)]
    pub(super) data: Vec<Value>, // the hash of each run's samples
    #[serde(skip)]
    pub(super) order: Vec<String>, // of the metrics, for display
}

impl Row {
    /// What was to be learnt: the kind of network, and the settings that say of which data.
    pub(super) fn task(&self) -> (&str, Vec<Option<&Value>>) {
        let recipe = self.recipe.as_str();
        let kind = registry::find(recipe).map_or(recipe, |found| match found.task {
            // Losses are those of words, or of characters.
            "text generation" => recipe,
            task => task,
        });
        (kind, TASK.map(|key| self.settings.get(key)).into())
    }

    /// Whether a run here had other samples than one there, though both name the same: those that the
    /// path led to have changed.
    pub(super) fn has_other_data(&self, other: &Self) -> bool {
        // Of a text nothing else decides, but the vocabulary of the run that it began with.
        let is_text = self.settings.get("data.source").is_some_and(|source| source == "text");
        let asked = |row: &'_ Self| -> Vec<(String, Value)> {
            let is_of_data = |key: &str| key.starts_with("data.") && !BESIDE.contains(&key);
            let keys = row.settings.iter().filter(|(key, _)| is_of_data(key) || *key == EMBEDDING);
            keys.map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        if self.task() != other.task() || (!is_text && asked(self) != asked(other)) {
            return false;
        }
        let any_seed = !seed_chooses_samples(&self.settings);
        let runs = |row: &'_ Self| row.seeds.clone().into_iter().zip(row.data.clone());
        runs(self).any(|(seed, data)| {
            runs(other).any(|(other_seed, other)| {
                let known = !data.is_null() && !other.is_null();
                known && (any_seed || seed == other_seed) && data != other
            })
        })
    }

    /// - `group`: at least one run, each with another seed
    pub(super) fn of(group: &[&Finished]) -> Self {
        let spread = |value: &dyn Fn(&Finished) -> f64| {
            Spread::of(&group.iter().map(|&run| value(run)).collect::<Vec<f64>>())
        };
        let metrics: Vec<BTreeMap<String, f64>> =
            group.iter().map(|run| run.metrics().into_iter().collect()).collect();
        let order: Vec<String> = group[0]
            .metrics()
            .into_iter()
            .map(|(name, _)| name)
            .filter(|name| metrics.iter().all(|metrics| metrics.contains_key(name)))
            .collect();
        let of_metric = |name: &String| {
            Spread::of(&metrics.iter().map(|metrics| metrics[name]).collect::<Vec<f64>>())
        };
        Self {
            runs: group.iter().map(|run| run.record.directory.display().to_string()).collect(),
            recipe: group[0].record.recipe.clone(),
            seeds: group.iter().map(|run| run.summary.seed).collect(),
            epochs: spread(&|run| run.summary.epochs as f64),
            steps: spread(&|run| run.summary.steps as f64),
            metrics: order.iter().map(|name| (name.clone(), of_metric(name))).collect(),
            seconds: spread(&|run| run.summary.seconds),
            samples_per_second: spread(&|run| run.summary.samples_per_second()),
            settings: group[0].settings.clone(),
            data: group.iter().map(|run| run.data().clone()).collect(),
            order,
        }
    }

    /// The settings of its recipe.
    pub(super) fn defaults(&self) -> BTreeMap<String, Value> {
        registry::find(&self.recipe).map(Recipe::settings).unwrap_or_default()
    }

    pub(super) fn name(&self) -> String {
        let first = &self.runs[0];
        match self.runs.len() {
            1 => first.clone(),
            runs => format!("{first} and {} more", runs - 1),
        }
    }
}
