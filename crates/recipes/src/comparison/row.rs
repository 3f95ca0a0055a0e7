//! A line of a comparison: the results of a run, or of one with each of several seeds.

use std::{collections::BTreeMap, path::PathBuf};

use inference::InputKind;
use serde::Serialize;
use serde_json::Value;

use super::{
    finished::{FRACTION, Finished, fraction, is_table, seed_chooses_samples},
    roles::{Role, keys, role},
};
use crate::{
    registry::{self, Recipe},
    spread::Spread,
};

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
    pub(super) directories: Vec<PathBuf>, // of each run
    #[serde(skip)]
    pub(super) settings: BTreeMap<String, Value>,
    #[serde(skip)]
    pub(super) samples: Vec<Samples>, // of each run
    #[serde(skip)]
    by_run: Vec<BTreeMap<String, f64>>, // the metrics of each
    #[serde(skip)]
    pub(super) order: Vec<String>, // of the metrics, for display
}

/// What a run learnt from, by hashes, where they are known.
#[derive(Debug)]
pub(super) struct Samples {
    seed: u64,
    pub(super) hash: Option<String>,
    /// Of what they were chosen from.
    source: Option<String>,
}

impl Samples {
    fn of(run: &Finished) -> Self {
        let hash = run.data().map(str::to_owned);
        Self { seed: run.summary.seed, hash, source: run.source().map(str::to_owned) }
    }
}

/// Whether both are known and differ.
fn differ(hash: &Option<String>, other: &Option<String>) -> bool {
    hash.as_ref().zip(other.as_ref()).is_some_and(|(hash, other)| hash != other)
}

impl Row {
    /// What was to be learnt: from what kind of input, by which recipe where recipes that read the same have
    /// other losses, and the settings that say what of.
    fn task(&self) -> (Option<InputKind>, Option<&str>, Vec<Option<&Value>>) {
        let input = registry::find(&self.recipe).ok().map(|found| found.input);
        // Losses of texts are those of words, or of characters.
        let is_its_own = input.is_none_or(|input| input == InputKind::Text);
        let recipe = is_its_own.then_some(self.recipe.as_str());
        (input, recipe, keys(Role::Task).map(|key| self.settings.get(key)).collect())
    }

    /// Whether both had the same task, on samples with the same hash, or chosen alike from data at the same
    /// paths.
    pub(super) fn learnt_the_same(&self, other: &Self) -> bool {
        let is_alike = |key: &str| self.settings.get(key) == other.settings.get(key);
        let are_chosen_alike = || keys(Role::Place).chain(keys(Role::Choice)).all(is_alike);
        let are_the_same = || self.has_same_samples(other) == Some(true) || are_chosen_alike();
        self.task() == other.task() && are_the_same()
    }

    /// Each run's samples here with each there.
    fn pairs<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (&'a Samples, &'a Samples)> {
        self.samples.iter().flat_map(|here| other.samples.iter().map(move |there| (here, there)))
    }

    /// Whether all runs whose seeds do not choose other samples had the same; none where that is not known
    /// of any.
    fn has_same_samples(&self, other: &Self) -> Option<bool> {
        let any_seed = !seed_chooses_samples(&self.settings);
        let alike = self.pairs(other).filter(|(here, there)| any_seed || here.seed == there.seed);
        let equal =
            alike.filter_map(|(here, there)| Some(here.hash.as_ref()? == there.hash.as_ref()?));
        equal.reduce(|all, equal| all && equal)
    }

    /// Whether rows that learnt the same share no seed, and each chose its own samples.
    pub(super) fn has_samples_of_other_seeds(&self, other: &Self) -> bool {
        self.learnt_the_same(other)
            && seed_chooses_samples(&self.settings)
            && self.pairs(other).all(|(here, there)| here.seed != there.seed)
            && self.pairs(other).any(|(here, there)| differ(&here.hash, &there.hash))
    }

    /// Whether a run here had other samples than one there, though both name the same: those that the
    /// path led to have changed.
    pub(super) fn has_other_data(&self, other: &Self) -> bool {
        let is_text = self.is_of_text();
        let asked_for_same = !is_text && self.asked_for() == other.asked_for();
        let had_other = asked_for_same && self.has_same_samples(other) == Some(false);
        // That of a text or a table is of its files, whatever was asked for of them.
        let asked_for_same_files = asked_for_same || is_text || is_table(&self.settings);
        // A packed file has another hash, but the same samples.
        let are_others = |(here, there): (&Samples, &Samples)| {
            differ(&here.source, &there.source) && (here.hash.is_none() || here.hash != there.hash)
        };
        let from_other = self.pairs(other).any(are_others);
        self.learnt_the_same(other) && (had_other || (asked_for_same_files && from_other))
    }

    /// Whether rows on the same text read it with other vocabularies: the hash of its parts is also that of
    /// the vocabulary, which is another run's where a run begins with the weights of one.
    pub(super) fn has_other_vocabulary(&self, other: &Self) -> bool {
        self.is_of_text()
            && fraction(&self.settings) == fraction(&other.settings)
            && self.has_same_samples(other) == Some(false)
    }

    fn is_of_text(&self) -> bool {
        self.settings.get("data.source").is_some_and(|source| source == "text")
    }

    /// The settings on which the hash of the samples depends.
    fn asked_for(&self) -> BTreeMap<&str, &Value> {
        let some_rows = is_table(&self.settings) && fraction(&self.settings) < 1.0;
        let is_of_data = |key: &str| match key {
            FRACTION => some_rows, // of pictures all are hashed
            _ => role(key).is_some_and(|role| role != Role::Beside),
        };
        let settings = self.settings.iter().map(|(key, value)| (key.as_str(), value));
        settings.filter(|&(key, _)| is_of_data(key)).collect()
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
            directories: group.iter().map(|run| run.record.directory.clone()).collect(),
            settings: group[0].settings.clone(),
            samples: group.iter().map(|&run| Samples::of(run)).collect(),
            by_run: metrics,
            order,
        }
    }

    /// A metric of each run that has it, with the run's seed.
    pub(super) fn values(&self, metric: &str) -> Vec<(u64, f64)> {
        let runs = self.seeds.iter().zip(&self.by_run);
        runs.filter_map(|(&seed, metrics)| Some((seed, *metrics.get(metric)?))).collect()
    }

    /// The settings of its recipe.
    pub(super) fn defaults(&self) -> BTreeMap<String, Value> {
        registry::find(&self.recipe).map(Recipe::settings).unwrap_or_default()
    }

    pub(super) fn name(&self) -> String {
        self.named(&self.runs[0])
    }

    /// Its name where the first of its runs is called so.
    pub(super) fn named(&self, first: &str) -> String {
        match self.runs.len() {
            1 => first.to_owned(),
            runs => format!("{first} and {} more", runs - 1),
        }
    }
}
