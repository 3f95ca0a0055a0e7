//! A line of a comparison: the results of a run, or of one with each of several seeds.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::Finished;
use crate::{
    registry::{self, Recipe},
    spread::Spread,
};

/// The settings that say what is learnt.
const TASK: [&str; 10] = [
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
];

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
    pub(super) data: Value, // the hash of the first run's samples
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
            data: group[0].data().clone(),
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
