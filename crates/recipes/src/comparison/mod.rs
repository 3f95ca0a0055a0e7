//! Finished runs side by side; those that differ only in their seed are one row.

mod differences;
mod row;

use std::{
    cmp::Ordering::Equal,
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use askama::Template;
use serde::Serialize;
use serde_json::{Value, json};
use training::EndStatus;

use self::{
    differences::{differences, remove_ignored},
    row::Row,
};
use crate::{
    ExitCode, Failure, Summary,
    chart::{self, Chart},
    record::{End, Record},
    report::{overlaid, shown},
    run_directory::ordered,
    shell::quoted_path,
};

/// The setting that may differ within a row.
const SEED: &str = "training.seed";
/// The key of what is no setting, but tells runs apart as one does.
const EARLIER_LENGTH: &str = "earlier length";

/// The results of runs, and the settings in which they differ.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    pub(crate) rows: Vec<Row>,
    /// The value of each row, by key; null where it has none.
    pub(crate) differences: BTreeMap<String, Vec<Value>>,
    /// Notes to the user, such as which runs are left out, a sentence each.
    pub(crate) notes: Vec<String>,
}

/// A run with its results.
struct Finished {
    record: Record,
    summary: Summary,
    /// Without the seed and what its source ignores; with the device, the backend, the number of ranks, and the earlier lengths
    /// that its learning rates followed.
    settings: BTreeMap<String, Value>,
}

/// The finished runs of some directories.
pub(crate) struct Runs {
    finished: Vec<Finished>,
    /// Why others are left out, a sentence each.
    notes: Vec<String>,
}

impl Runs {
    /// # Errors
    ///
    /// Where a directory is not a run, or is named twice, or fewer than two runs are finished.
    pub(crate) fn read(directories: &[PathBuf]) -> Result<Self, Failure> {
        let (mut seen, mut finished, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
        for directory in directories {
            let path = directory.canonicalize().unwrap_or_else(|_| directory.clone());
            if seen.contains(&path) {
                let message = format!("the run `{}` is named twice", directory.display());
                return Err(Failure::new(ExitCode::UserData, message, "name each run once"));
            }
            seen.push(path);
            let record = Record::read(directory)?;
            match record.summary.clone() {
                Some(summary) => finished.push(Finished::of(record, summary)),
                None => left_out.push(record),
            }
        }
        match left_out.first() {
            Some(record) if finished.len() < 2 => Err(too_few(record)),
            _ => {
                let notes = left_out.iter().map(|record| format!("left out: {}", why(record)));
                Ok(Self { notes: notes.collect(), finished })
            }
        }
    }

    pub(crate) fn compare(&self) -> Comparison {
        let mut notes = self.notes.clone();
        let groups = self.groups(&mut notes);
        let rows: Vec<Row> = groups.iter().map(|group| Row::of(group)).collect();
        let differences = differences(&rows);
        notes.extend(self.finished.iter().filter_map(|run| run.record.damage()));
        if self.finished.iter().any(|run| run.summary.kept_before_last().is_some()) {
            let note = "the train loss is that of the last epoch, other metrics are those of the \
                        epoch that was kept";
            notes.push(note.to_owned());
        }
        if groups.iter().any(|group| group.iter().any(|run| run.data() != group[0].data())) {
            let note = "with another seed other samples are held out or drawn, so the spread includes \
                        that of the data";
            notes.push(note.to_owned());
        }
        Comparison { rows, differences, notes }
    }

    /// The runs of each row. One that repeats another, seed included, says nothing new of the spread
    /// over seeds, so it is noted instead.
    fn groups(&self, notes: &mut Vec<String>) -> Vec<Vec<&Finished>> {
        let mut groups: Vec<Vec<&Finished>> = Vec::new();
        for run in &self.finished {
            let takes = |group: &Vec<&Finished>| group.iter().all(|other| other.repeated_by(run));
            let Some(group) = groups.iter_mut().find(|group| takes(group)) else {
                groups.push(vec![run]);
                continue;
            };
            match group.iter().copied().find(|other| other.summary.seed == run.summary.seed) {
                None => group.push(run),
                Some(first) => notes.push(format!(
                    "`{}` repeats `{}`: same settings and seed, so the two count as one",
                    run.record.directory.display(),
                    first.record.directory.display()
                )),
            }
        }
        groups
    }

    /// The comparison with the curves of all runs, as a page.
    pub(crate) fn page(&self, comparison: &Comparison) -> String {
        let names: Vec<String> = self.finished.iter().map(|run| self.name(run)).collect();
        let runs: Vec<(String, &Record)> =
            names.into_iter().zip(self.finished.iter().map(|run| &run.record)).collect();
        let text = |values: &Vec<Value>| values.iter().map(told).collect();
        let page = Page {
            style: chart::STYLE,
            title: format!("{} runs compared", runs.len()),
            columns: comparison.columns(),
            rows: comparison.cells(),
            spread: comparison.rows.iter().any(|row| row.runs.len() > 1),
            differences: comparison
                .differences
                .iter()
                .map(|(key, values)| (key.as_str(), text(values)))
                .collect(),
            notes: &comparison.notes,
            charts: overlaid(&runs).iter().map(Chart::inline).collect(),
        };
        page.render().expect("a template fails only where its writer does, and a string does not")
    }

    /// The last part of a run's path where it is unique, else the path.
    fn name(&self, run: &Finished) -> String {
        let last = |run: &Finished| run.record.directory.file_name().map(ToOwned::to_owned);
        let unique = self.finished.iter().filter(|other| last(other) == last(run)).count() == 1;
        let path = &run.record.directory;
        let name = if unique { path.file_name().map(Path::new) } else { None };
        name.unwrap_or(path).display().to_string()
    }
}

#[derive(Template)]
#[template(path = "compare.html")]
struct Page<'a> {
    style: &'static str,
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Whether a row stands for several runs.
    spread: bool,
    differences: Vec<(&'a str, Vec<String>)>,
    notes: &'a [String],
    charts: Vec<String>,
}

impl Finished {
    fn of(record: Record, summary: Summary) -> Self {
        let mut settings = record.settings.clone();
        settings.remove(SEED);
        settings.retain(|_, value| !value.is_null() && value != ""); // the empty string unsets a key
        remove_ignored(&mut settings);
        settings.insert("device".to_owned(), json!(summary.device));
        settings.insert("backend".to_owned(), json!(summary.backend));
        settings.insert("ranks".to_owned(), json!(summary.ranks));
        if let Some(lengths) = record.followed_lengths() {
            settings.insert(EARLIER_LENGTH.to_owned(), json!(lengths));
        }
        Self { record, summary, settings }
    }

    /// Whether a run differs from this one in its seed at most: with the same seed its samples are
    /// the same too.
    fn repeated_by(&self, run: &Self) -> bool {
        let has_other_seed = self.summary.seed != run.summary.seed;
        self.settings == run.settings && (has_other_seed || self.data() == run.data())
    }

    /// The hash of the samples, split by split.
    fn data(&self) -> &Value {
        &self.record.environment["data"]
    }

    /// The metrics of all splits, in display order.
    fn metrics(&self) -> Vec<(String, f64)> {
        let named = |(split, metrics)| {
            let metrics = ordered(metrics).into_iter();
            metrics.map(move |(name, value)| (format!("{split}_{name}"), value))
        };
        self.summary.splits().flat_map(named).collect()
    }
}

/// Why a run has no results.
fn why(record: &Record) -> String {
    let shown = record.directory.display();
    match record.end {
        Some(End { status: EndStatus::Diverged, .. }) => format!("the run `{shown}` diverged"),
        _ if record.in_use => format!("the run `{shown}` is being trained now"),
        _ => format!("the run `{shown}` is not finished"),
    }
}

/// The error where this run, which has no results, leaves fewer than two to compare.
fn too_few(record: &Record) -> Failure {
    let help = match record.end {
        Some(End { status: EndStatus::Diverged, .. }) => "name two runs that are finished".into(),
        _ if record.in_use => "wait until it has ended".into(),
        _ => format!(
            "finish it: `recipes resume {}`, or name two runs that are finished",
            quoted_path(&record.directory)
        ),
    };
    Failure::new(ExitCode::UserData, why(record), help)
}

impl Comparison {
    /// The metrics that any row has, in display order.
    fn metrics(&self) -> Vec<&String> {
        let mut metrics: Vec<&String> = Vec::new();
        for name in self.rows.iter().flat_map(|row| &row.order) {
            if !metrics.contains(&name) {
                metrics.push(name);
            }
        }
        metrics
    }

    /// The first metric of held-out data, a loss, and the run where it is lowest; none where they
    /// learnt different tasks, whose losses say nothing of each other.
    pub(crate) fn best(&self) -> Option<(String, String)> {
        let is_other = |row: &Row| row.task() != self.rows[0].task();
        if self.rows.iter().any(is_other) {
            return None;
        }
        let metric = self.metrics().into_iter().find(|name| !name.starts_with("train_"))?;
        let measured = |row: &'_ Row| row.metrics.get(metric).map(|value| value.mean);
        let rows = self.rows.iter().filter(|row| measured(row).is_some_and(f64::is_finite));
        let best = rows.min_by(|a, b| measured(a).partial_cmp(&measured(b)).unwrap_or(Equal))?;
        Some((metric.replace('_', " "), best.name()))
    }

    /// The column heads of the printed table.
    pub(crate) fn columns(&self) -> Vec<String> {
        let metrics = self.metrics();
        let metrics = metrics.iter().map(|name| name.replace('_', " "));
        let head = ["run", "recipe", "seed", "epochs", "steps"].map(str::to_owned);
        let tail = ["seconds", "samples/s"].map(str::to_owned);
        head.into_iter().chain(metrics).chain(tail).collect()
    }

    /// Its cells, for each of [`Comparison::rows`].
    pub(crate) fn cells(&self) -> Vec<Vec<String>> {
        let metrics = self.metrics();
        let cells = |row: &Row| {
            let seeds: Vec<String> = row.seeds.iter().map(u64::to_string).collect();
            let mut cells = vec![row.name(), row.recipe.clone(), seeds.join(", ")];
            cells.extend([row.epochs.count(), row.steps.count()]);
            let metric = |name: &&String| row.metrics.get(*name).map(|value| value.metric(name));
            cells.extend(metrics.iter().map(|name| metric(name).unwrap_or_else(|| "-".to_owned())));
            cells.extend([row.seconds.short(), row.samples_per_second.count()]);
            cells
        };
        self.rows.iter().map(cells).collect()
    }
}

/// A setting for display.
pub(crate) fn told(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) if text.is_empty() => "-".to_owned(),
        value => shown(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{record::EarlierLength, summary::example};

    fn run(name: &str, seed: u64, rate: f64, accuracy: f64) -> Finished {
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
        Finished::of(record, example(&json!({"seed": seed, "test": test})))
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
    fn runs_that_differ_in_their_seed_are_a_row() {
        let runs = [run("a", 0, 0.1, 0.5), run("b", 0, 0.2, 0.6), run("c", 1, 0.1, 0.7)];
        let comparison = Runs { finished: runs.into(), notes: Vec::new() }.compare();
        assert_eq!(
            comparison.columns().join(", "),
            "run, recipe, seed, epochs, steps, train loss, test loss, test accuracy, seconds, samples/s"
        );
        // The sample standard deviation of 0.5 and 0.7 is 0.2 / sqrt(2).
        assert_eq!(
            comparison.cells(),
            [
                [
                    "runs/a and 1 more",
                    "cnn",
                    "0, 1",
                    "2",
                    "40",
                    "0.2500",
                    "0.5000",
                    "60.00 ± 14.14 %",
                    "12.0",
                    "100"
                ],
                ["runs/b", "cnn", "0", "2", "40", "0.2500", "0.5000", "60.00 %", "12.0", "100"]
            ]
        );
        let keys: Vec<&String> = comparison.differences.keys().collect();
        assert_eq!(keys, ["optimizer.learning_rate"]);
        assert_eq!(comparison.differences["optimizer.learning_rate"], [json!(0.1), json!(0.2)]);
        let json = serde_json::to_value(&comparison).unwrap();
        assert_eq!(json["rows"][1]["metrics"]["test_accuracy"], json!({"mean": 0.6}));
        assert_eq!(json["rows"][0]["seeds"], json!([0, 1]));
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
    fn what_is_not_set_is_no_difference() {
        let mut runs = [run("a", 0, 0.1, 0.5), run("b", 1, 0.1, 0.6)];
        runs[0].record.settings.remove("data.path");
        let runs = runs.map(|Finished { record, summary, .. }| Finished::of(record, summary));
        let mut rows = Runs { finished: runs.into(), notes: Vec::new() }.compare().rows;
        assert_eq!(rows.len(), 1);
        rows.push(Row::of(&[&run("c", 0, 0.1, 0.5)]));
        rows[0].settings.insert("augment.rotate".to_owned(), json!(0.0));
        assert!(differences(&rows).is_empty(), "{:?}", differences(&rows));
        rows[0].settings.insert("augment.rotate".to_owned(), json!(15.0));
        assert_eq!(differences(&rows)["augment.rotate"], [json!(15.0), Value::Null]);
    }

    #[test]
    fn data_that_differ_within_a_row_are_noted() {
        let notes = |data: [&str; 2]| {
            let mut runs = [run("a", 0, 0.1, 0.5), run("b", 1, 0.1, 0.6)];
            for (run, data) in runs.iter_mut().zip(data) {
                run.record.environment = json!({ "data": data });
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
            run.record.environment = json!({ "data": data });
        }
        let comparison = Runs { finished: runs.into(), notes: Vec::new() }.compare();
        let seeds: Vec<&[u64]> = comparison.rows.iter().map(|row| row.seeds.as_slice()).collect();
        assert_eq!(seeds, [[0, 1].as_slice(), &[0]]);
        let hashes = ["01234567", "fedcba98"].map(Value::from).to_vec();
        assert_eq!(comparison.differences, [("data".to_owned(), hashes)].into());
    }

    #[test]
    fn a_page_has_a_line_for_each_run() {
        let epoch =
            crate::record::EpochRecord { epoch: 1, train_loss: Some(0.5), ..Default::default() };
        let mut runs = [run("a", 0, 0.1, 0.5), run("b", 1, 0.1, 0.6)];
        for run in &mut runs {
            run.record.epochs = vec![epoch.clone()];
        }
        let notes = vec!["left out: <x>".to_owned()];
        let runs = Runs { finished: runs.into(), notes };
        let page = runs.page(&runs.compare());
        assert!(page.contains(">a</text>") && page.contains(">b</text>"), "{page}");
        assert!(page.contains("55.00 ± 7.07 %") && !page.contains("http"), "{page}");
        assert!(page.contains("left out: &#60;x&#62;"), "{page}");
    }
}
