//! A finished run, and which others differ from it in their seed at most.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{self, Path, PathBuf},
};

use serde_json::{Value, json};

use super::differences::{DIGITS, remove_ignored};
use crate::{
    Summary,
    numbers::ordered,
    paths::PATHS,
    registry::{self, Recipe},
    run::record::Record,
    settings::{WEIGHTS, names_a_file},
};

/// The setting that may differ within a row.
const SEED: &str = "training.seed";
/// The key of what is no setting, but tells runs apart as one does.
const EARLIER_LENGTH: &str = "earlier length";

/// Whether neither a result nor a speed depends on a setting: it is about what a run writes.
fn is_without_effect(key: &str) -> bool {
    key.starts_with("checkpoint.")
        || ["output.tensorboard", "output.log_every_steps", "data.cache"].contains(&key)
}

/// The keys of what are no settings either: hashes of weights that are not drawn.
const HASHES: [&str; 2] = ["initial weights", "frozen weights"];

/// A run with its results.
pub(super) struct Finished {
    pub(super) record: Record,
    pub(super) summary: Summary,
    /// Without the seed and what its source ignores; with the device, the backend, the number of ranks,
    /// the weights that it began with, and the earlier lengths that its learning rates followed. Paths are
    /// those from here.
    pub(super) settings: BTreeMap<String, Value>,
}

impl Finished {
    pub(super) fn of(record: Record, summary: Summary) -> Self {
        // What is as in the recipe may be left out of a run's settings.
        let mut settings = registry::find(&record.recipe).map(Recipe::settings).unwrap_or_default();
        settings.extend(record.settings.clone());
        settings.remove(SEED);
        settings.retain(|_, value| !value.is_null() && value != ""); // the empty string unsets a key
        remove_ignored(&mut settings);
        settings.retain(|key, _| !is_without_effect(key));
        for key in PATHS {
            if let Some(Value::String(path)) = settings.get_mut(key)
                && names_a_file(key, path)
            {
                *path = from_here(&record, path).display().to_string();
            }
        }
        settings.insert("device".to_owned(), json!(summary.device));
        for weights in HASHES {
            if let Some(hash) = record.environment.fingerprints.get(&format!("its {weights}")) {
                settings.insert(weights.to_owned(), json!(hash.get(..DIGITS).unwrap_or(hash)));
            }
        }
        settings.insert("backend".to_owned(), json!(summary.backend));
        settings.insert("ranks".to_owned(), json!(summary.ranks));
        if let Some(lengths) = record.followed_lengths() {
            settings.insert(EARLIER_LENGTH.to_owned(), json!(lengths));
        }
        Self { record, summary, settings }
    }

    /// Whether a run differs from this one in its seed at most: its samples may be others only where
    /// another seed chooses others, of the same source.
    pub(super) fn repeated_by(&self, run: &Self) -> bool {
        let [source, other] = [self, run].map(Self::source);
        let may_differ = self.summary.seed != run.summary.seed
            && seed_chooses_samples(&self.settings)
            && source.zip(other).is_none_or(|(source, other)| source == other);
        self.has_settings_of(run) && (may_differ || self.data() == run.data())
    }

    /// Whether the settings are the same. Weights are compared by their hashes, wherever they were; runs of
    /// earlier versions have none.
    fn has_settings_of(&self, run: &Self) -> bool {
        let of_both = |key: &str| Some([self.settings.get(key)?, run.settings.get(key)?]);
        let are_same = |key: &str| match key {
            WEIGHTS if HASHES.iter().any(|hash| of_both(hash).is_some()) => true,
            key if HASHES.contains(&key) => of_both(key).is_none_or(|[one, other]| one == other),
            key => self.settings.get(key) == run.settings.get(key),
        };
        self.settings.keys().chain(run.settings.keys()).all(|key| are_same(key))
    }

    /// The hash of the samples, split by split.
    pub(super) fn data(&self) -> Option<&str> {
        self.record.environment.data.as_ref().map(|data| data.samples.as_str())
    }

    /// The hash of what the samples are chosen from, if recorded.
    pub(super) fn source(&self) -> Option<&str> {
        self.record.environment.data.as_ref()?.source.as_deref()
    }

    /// The metrics of all splits, in display order.
    pub(super) fn metrics(&self) -> Vec<(String, f64)> {
        let named = |(split, metrics)| {
            let metrics = ordered(metrics).into_iter();
            metrics.map(move |(name, value)| (format!("{split}_{name}"), value))
        };
        self.summary.splits().flat_map(named).collect()
    }
}

/// A path that a run was given, so that two spellings of one path are equal.
fn from_here(record: &Record, path: &str) -> PathBuf {
    let path = record.environment.folder.as_deref().unwrap_or(Path::new("")).join(path);
    let whole = fs::canonicalize(&path).or_else(|_| path::absolute(&path)).unwrap_or(path);
    let here = env::current_dir().and_then(fs::canonicalize).unwrap_or_default();
    let (whole, here) = (usual(whole), usual(here));
    match whole.strip_prefix(here) {
        Ok(below) if below != Path::new("") => below.to_owned(),
        _ => whole,
    }
}

/// A path as it is usually written: `C:\data` for `\\?\C:\data`, as Windows tells where a file is.
fn usual(path: PathBuf) -> PathBuf {
    let plain = path.to_str().and_then(|path| path.strip_prefix(r"\\?\"));
    match plain {
        Some(plain) if plain.as_bytes().get(1) == Some(&b':') => plain.into(),
        _ => path,
    }
}

/// Whether another seed draws other samples, or holds out others. Of a text the end is held out, and of a
/// table if asked for.
pub(super) fn seed_chooses_samples(settings: &BTreeMap<String, Value>) -> bool {
    match settings.get("data.source").and_then(Value::as_str) {
        Some("text") => false,
        Some("synthetic") => true,
        _ => {
            let share = |key: &str| settings.get(key).and_then(Value::as_f64);
            let is_last = settings.get("data.hold_out").is_some_and(|which| which == "last");
            let validates = share("data.validation") != Some(0.0)
                && !settings.contains_key("data.validation_path");
            let holds_out = validates || share("data.test").is_some_and(|share| share > 0.0);
            (holds_out && !is_last) || (is_table(settings) && fraction(settings) < 1.0)
        }
    }
}

/// The share to train on of what is not held out.
pub(super) const FRACTION: &str = "data.fraction";

/// Its value; runs of before have none.
pub(super) fn fraction(settings: &BTreeMap<String, Value>) -> f64 {
    settings.get(FRACTION).and_then(Value::as_f64).unwrap_or(1.0)
}

pub(super) fn is_table(settings: &BTreeMap<String, Value>) -> bool {
    let source = settings.get("data.source").and_then(Value::as_str);
    matches!(source, Some("csv" | "npy" | "text-folder"))
}

/// A run of `cnn` with this accuracy.
#[cfg(test)]
pub(super) fn example(name: &str, seed: u64, rate: f64, accuracy: f64) -> Finished {
    let test = json!({"loss": 0.5, "accuracy": accuracy});
    let settings = [
        ("recipe", json!("cnn")),
        ("data.path", json!("")),
        ("optimizer.learning_rate", json!(rate)),
        (SEED, json!(seed)),
    ];
    let record = Record {
        directory: format!("runs/{name}").into(),
        recipe: "cnn".to_owned(),
        settings: settings.map(|(key, value)| (key.to_owned(), value)).into(),
        ..Record::default()
    };
    Finished::of(record, crate::run::summary::example(&json!({"seed": seed, "test": test})))
}

#[cfg(test)]
mod tests {
    use super::{example as run, *};
    use crate::{
        comparison::{Comparison, Runs},
        run::{environment, record::EarlierLength},
    };

    /// Two runs with these seeds and hashes of their samples, and other values for some settings.
    fn compared(settings: &[(&str, Value)], seeds: [u64; 2], data: [&str; 2]) -> Comparison {
        let run = |place: usize| {
            let Finished { mut record, summary, .. } = run("a", seeds[place], 0.1, 0.5);
            let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
            record.settings.extend(settings);
            record.environment = environment::example(&json!({ "data": data[place] }));
            Finished::of(record, summary)
        };
        Runs { finished: [0, 1].map(run).into(), notes: Vec::new() }.compare()
    }

    #[test]
    fn a_path_of_windows_is_written_as_usual() {
        let check =
            |path: &str, expected: &str| assert_eq!(usual(path.into()), Path::new(expected));
        check(r"\\?\C:\data\a.csv", r"C:\data\a.csv");
        check(r"\\?\UNC\host\a.csv", r"\\?\UNC\host\a.csv");
        check("/data/a.csv", "/data/a.csv");
    }

    #[test]
    fn samples_differ_within_a_row_only_where_the_seed_chooses_them() {
        let of =
            |key: &'static str, value: Value| vec![("data.source", json!("csv")), (key, value)];
        let cases = [
            (vec![("data.source", json!("text"))], 2),
            (vec![("data.source", json!("synthetic")), ("data.validation", json!(0.0))], 1),
            (vec![("data.source", json!("cifar10"))], 1),
            (of("data.validation", json!(0.2)), 1),
            (of("data.validation", json!(0.0)), 2),
            (of("data.validation_path", json!("held_out.csv")), 2),
            (of("data.hold_out", json!("last")), 2),
            ([of("data.hold_out", json!("last")), of("data.fraction", json!(0.5))].concat(), 1),
            (vec![("data.source", json!("text")), ("data.fraction", json!(0.5))], 2),
            ([of("data.validation", json!(0.0)), of("data.test", json!(0.1))].concat(), 1),
            (of("data.group", json!("patient")), 1),
        ];
        for (settings, rows) in cases {
            let comparison = compared(&settings, [0, 1], ["one", "other"]);
            assert_eq!(comparison.rows.len(), rows, "{settings:?}");
            let of_seeds =
                comparison.notes.iter().filter(|note| note.starts_with("with another seed"));
            assert_eq!(of_seeds.count(), 2 - rows, "{settings:?}");
            let comparison = compared(&settings, [0, 1], ["same", "same"]);
            assert_eq!(comparison.rows.len(), 1, "{settings:?}");
            assert_eq!(comparison.notes, [""; 0], "{settings:?}");
        }
    }

    #[test]
    fn runs_that_differ_in_their_ranks_are_two_rows() {
        let mut runs = [run("a", 0, 0.1, 0.5), run("b", 1, 0.1, 0.6)];
        runs[1].summary.ranks = 2;
        let runs = runs.map(|Finished { record, summary, .. }| Finished::of(record, summary));
        let comparison = Runs { finished: runs.into(), notes: Vec::new() }.compare();
        assert_eq!(comparison.rows.len(), 2);
        assert_eq!(comparison.differences["ranks"], [json!(1), json!(2)]);
    }

    #[test]
    fn a_run_whose_length_changed_under_its_schedule_is_no_repetition() {
        let compared = |kind: &str| {
            let mut runs = [run("a", 0, 0.1, 0.5), run("b", 1, 0.1, 0.6)];
            for run in &mut runs {
                run.record.settings.insert("schedule.kind".to_owned(), json!(kind));
            }
            runs[1].record.earlier_lengths = vec![EarlierLength { steps: 20, until: 10 }];
            let runs = runs.map(|Finished { record, summary, .. }| Finished::of(record, summary));
            Runs { finished: runs.into(), notes: Vec::new() }.compare()
        };
        assert_eq!(compared("constant").rows.len(), 1);
        let differences = compared("cosine").differences;
        assert_eq!(differences[EARLIER_LENGTH], [Value::Null, json!("20 steps, until step 10")]);
    }

    #[test]
    fn one_path_has_one_spelling() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.csv"), "").unwrap();
        let whole = |name: &str| folder.path().join(name).display().to_string();
        let rows = |paths: [&str; 2]| {
            let run = |place: usize| {
                let Finished { mut record, summary, .. } = run("a", place as u64, 0.1, 0.5);
                record.settings.insert("data.path".to_owned(), json!(paths[place]));
                record.settings.insert("model.weights".to_owned(), json!("none"));
                record.environment = environment::example(&json!({ "folder": folder.path() }));
                Finished::of(record, summary)
            };
            let runs = [0, 1].map(run);
            assert_eq!(runs[0].settings["model.weights"], "none");
            Runs { finished: runs.into(), notes: Vec::new() }.compare().rows.len()
        };
        assert_eq!(rows(["a.csv", &whole("a.csv")]), 1);
        assert_eq!(rows(["./gone.csv", &whole("gone.csv")]), 1);
        assert_eq!(rows(["a.csv", "gone.csv"]), 2);
    }

    #[test]
    fn a_run_that_repeats_another_with_its_seed_counts_once() {
        let runs = [run("a", 0, 0.1, 0.5), run("b", 1, 0.1, 0.7), run("c", 0, 0.1, 0.5)];
        let comparison = Runs { finished: runs.into(), notes: Vec::new() }.compare();
        let cells = comparison.cells();
        assert_eq!(cells.len(), 1);
        assert_eq!([&cells[0][0], &cells[0][2]], ["runs/a and 1 more", "0, 1"]);
        assert_eq!(cells[0][7], "60.00 ± 14.14 %");
        let note = "`runs/c` repeats `runs/a`: same settings and seed, so the two count as one";
        assert_eq!(comparison.notes, [note]);
    }

    #[test]
    fn data_that_differ_within_a_row_are_noted() {
        let notes = |data: [&str; 2]| {
            let mut runs = [run("a", 0, 0.1, 0.5), run("b", 1, 0.1, 0.6)];
            for (run, data) in runs.iter_mut().zip(data) {
                run.record.environment = environment::example(&json!({ "data": data }));
            }
            Runs { finished: runs.into(), notes: Vec::new() }.compare().notes
        };
        assert_eq!(notes(["same", "same"]), [""; 0]);
        assert!(notes(["one", "other"])[0].starts_with("with another seed other samples"));
    }

    #[test]
    fn runs_of_one_seed_on_different_data_are_two_rows() {
        let mut runs = [run("a", 0, 0.1, 0.5), run("b", 0, 0.1, 0.6), run("c", 1, 0.1, 0.7)];
        for (run, data) in runs.iter_mut().zip(["0123456789ab", "fedcba987654", "another seed's"]) {
            run.record.environment = environment::example(&json!({ "data": data }));
        }
        let comparison = Runs { finished: runs.into(), notes: Vec::new() }.compare();
        let seeds: Vec<&[u64]> = comparison.rows.iter().map(|row| row.seeds.as_slice()).collect();
        assert_eq!(seeds, [[0, 1].as_slice(), &[0]]);
        let hashes = ["01234567", "fedcba98"].map(Value::from).to_vec();
        assert_eq!(comparison.differences, [("data".to_owned(), hashes)].into());
    }

    #[test]
    fn runs_of_several_seeds_are_one_row_where_their_source_is_the_same() {
        let rows = |sources: [Value; 2]| {
            let mut runs = [run("a", 0, 0.1, 0.5), run("b", 1, 0.1, 0.6)];
            for (run, (data, source)) in runs.iter_mut().zip(["one", "other"].iter().zip(sources)) {
                run.record.environment =
                    environment::example(&json!({ "data": data, "source": source }));
            }
            let comparison = Runs { finished: runs.into(), notes: Vec::new() }.compare();
            assert_eq!(comparison.differences.contains_key("data"), comparison.rows.len() == 2);
            comparison.rows.len()
        };
        assert_eq!(rows([json!("same"), json!("same")]), 1);
        assert_eq!(rows([json!("same"), json!("changed")]), 2);
        // Drawn, or of a run before it was recorded.
        assert_eq!(rows([Value::Null, json!("same")]), 1);
        assert_eq!(rows([Value::Null, Value::Null]), 1);
    }
}
