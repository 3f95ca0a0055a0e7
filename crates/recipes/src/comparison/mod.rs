//! Finished runs side by side; those that differ only in their seed are one row.

mod best;
mod differences;
mod finished;
mod roles;
mod row;
mod sorted;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use askama::Template;
use serde::Serialize;
use serde_json::Value;

use self::{best::Best, differences::differences, finished::Finished, row::Row};
use crate::{
    ExitCode, Failure,
    chart::{self, Chart},
    config::in_backticks,
    names::{LONGEST_NAME, shortened},
    numbers::in_words,
    report::{overlaid, pieces},
    run::record::{Record, Standing},
    settings::{same, shown},
    shell::command,
};

/// The results of runs, and the settings in which they differ.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    pub(crate) rows: Vec<Row>,
    /// The value of each row, by key; null where it has none.
    pub(crate) differences: BTreeMap<String, Vec<Value>>,
    /// Null where there is nothing to choose from, or a note says why none can be called so.
    pub(crate) best: Option<Best>,
    /// Notes to the user, such as which runs are left out, a sentence each.
    pub(crate) notes: Vec<String>,
}

/// The finished runs of some directories.
pub(crate) struct Runs {
    finished: Vec<Finished>,
    /// Why others are left out, a sentence each.
    notes: Vec<String>,
}

impl Runs {
    pub(crate) fn read(directories: &[PathBuf]) -> Result<Self, Failure> {
        let (mut seen, mut finished) = (Vec::new(), Vec::new());
        let (mut left_out, mut no_runs) = (Vec::new(), Vec::new());
        for directory in directories {
            let path = directory.canonicalize().unwrap_or_else(|_| directory.clone());
            if seen.contains(&path) {
                let message = format!("the run `{}` is named twice", directory.display());
                return Err(Failure::new(ExitCode::UserData, message, "name each run once"));
            }
            seen.push(path);
            match Record::read(directory) {
                Ok(record) => match record.summary.clone() {
                    Some(summary) => finished.push(Finished::of(record, summary)),
                    None => left_out.push(unfinished(&record)),
                },
                // `runs/*` may name anything.
                Err(failure) if directory.exists() => no_runs.push(failure),
                Err(failure) => return Err(failure),
            }
        }
        left_out.extend(no_runs);
        if finished.len() < 2 && !left_out.is_empty() {
            return Err(left_out.remove(0));
        }
        let why = left_out.iter().flat_map(|failure| &failure.problems);
        let notes = why.map(|problem| format!("left out: {}", problem.message)).collect();
        Ok(Self { finished, notes })
    }

    pub(crate) fn compare(&self) -> Comparison {
        let mut notes = self.notes.clone();
        let groups = self.groups(&mut notes);
        let rows: Vec<Row> = groups.iter().map(|group| Row::of(group)).collect();
        let differences = differences(&rows);
        notes.extend(self.finished.iter().filter_map(|run| run.record.damage()));
        if self.finished.iter().any(|run| run.summary.kept_epoch.is_some()) {
            let note = "the train metrics are those of the last epoch, the others those of the \
                        epoch that was kept";
            notes.push(note.to_owned());
        }
        let spread = |group: &Vec<&Finished>| group.iter().any(|run| run.data() != group[0].data());
        let pairs = pairs(&rows).any(|(row, other)| row.has_samples_of_other_seeds(other));
        if groups.iter().any(spread) || pairs {
            let note = "with another seed other samples are held out or drawn, so the differences \
                        between seeds include those of the data";
            notes.push(note.to_owned());
        }
        notes.extend(note_on_losses(&rows));
        let best = match best::best(&rows) {
            Ok(best) => best.map(|(best, note)| {
                notes.extend(note);
                best
            }),
            Err(why) => {
                notes.push(format!("no run is named the best: {why}"));
                None
            }
        };
        Comparison { rows, differences, best, notes }
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

    /// The comparison with the curves of the runs of each row, as a page.
    pub(crate) fn page(&self, comparison: &Comparison) -> String {
        let of_row = |row: &Row| -> (String, Vec<(String, &Record)>) {
            // Not by the names, of which two may be displayed alike.
            let is_of_row = |run: &&Finished| row.directories.contains(&run.record.directory);
            let runs = self.finished.iter().filter(is_of_row);
            let runs: Vec<_> = runs.map(|run| (self.name(run), &run.record)).collect();
            (row.named(runs.first().map_or("", |(first, _)| first)), runs)
        };
        let rows: Vec<_> = comparison.rows.iter().map(of_row).collect();
        let text = |values: &Vec<Value>| values.iter().map(told).collect();
        let page = Page {
            style: chart::STYLE,
            title: format!("{} runs compared", self.finished.len()),
            columns: comparison.columns(),
            rows: comparison.cells(),
            spread: comparison.rows.iter().any(|row| row.runs.len() > 1),
            differences: comparison
                .differences
                .iter()
                .map(|(key, values)| (key.as_str(), text(values)))
                .collect(),
            best: comparison.best.as_ref().map(Best::sentence),
            notes: &comparison.notes,
            charts: overlaid(&rows).iter().map(Chart::inline).collect(),
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
    best: Option<String>,
    notes: &'a [String],
    charts: Vec<String>,
}

/// The error of a run without results.
fn unfinished(record: &Record) -> Failure {
    let (why, help) = match record.standing() {
        Standing::Diverged => ("diverged", "name two runs that are finished".to_owned()),
        Standing::InUse => ("is being trained now", "wait until it has ended".to_owned()),
        _ => (
            "is not finished",
            format!(
                "finish it: `{}`, or name two runs that are finished",
                command("resume", &record.directory)
            ),
        ),
    };
    let message = format!("the run `{}` {why}", record.directory.display());
    Failure::new(ExitCode::UserData, message, help)
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

    /// The column heads of the printed table.
    pub(crate) fn columns(&self) -> Vec<String> {
        let metrics = self.metrics();
        let metrics = metrics.iter().map(|name| in_words(name));
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

/// The settings that change the losses to train on, and no others.
const OF_TRAIN_LOSSES: [&str; 4] =
    ["augment.cutmix", "augment.label_smoothing", "augment.mixup", "data.class_weights"];

/// The setting that changes the losses of all splits.
const OF_LOSSES: &str = "data.target_scale";

/// The note where losses are not of the same.
fn note_on_losses(rows: &[Row]) -> Option<String> {
    let of_train: Vec<&str> =
        OF_TRAIN_LOSSES.into_iter().filter(|key| differ_in(key, rows)).collect();
    let (what, keys) = match differ_in(OF_LOSSES, rows) {
        true => ("losses cannot be compared, as errors can", vec![OF_LOSSES]),
        false if of_train.is_empty() => return None,
        false => ("train losses cannot be compared, as others can", of_train),
    };
    let keys = in_backticks(&keys, "and");
    Some(format!("{what}: they depend on {keys}, in which the runs differ"))
}

/// Whether rows that have a setting have other values of it.
fn differ_in(key: &str, rows: &[Row]) -> bool {
    let mut values = rows.iter().filter_map(|row| row.settings.get(key));
    values.next().is_some_and(|first| values.any(|other| !same(other, first)))
}

/// Each row with each later one.
fn pairs(rows: &[Row]) -> impl Iterator<Item = (&Row, &Row)> {
    let with_later = |(place, row)| rows[place + 1..].iter().map(move |other| (row, other));
    rows.iter().enumerate().flat_map(with_later)
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
    use serde_json::json;

    use super::{finished::example as run, *};
    use crate::run::environment;

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
    fn what_is_not_set_is_no_difference() {
        let mut runs = [run("a", 0, 0.1, 0.5), run("b", 1, 0.1, 0.6)];
        runs[0].record.settings.remove("data.path");
        let runs = runs.map(|Finished { record, summary, .. }| Finished::of(record, summary));
        let mut rows = Runs { finished: runs.into(), notes: Vec::new() }.compare().rows;
        assert_eq!(rows.len(), 1);
        rows.push(Row::of(&[&run("c", 0, 0.1, 0.5)]));
        rows[0].settings.remove("augment.rotate");
        assert!(differences(&rows).is_empty(), "{:?}", differences(&rows));
        rows[0].settings.insert("augment.rotate".to_owned(), json!(15.0));
        assert_eq!(differences(&rows)["augment.rotate"], [json!(15.0), json!(0.0)]);
    }

    #[test]
    fn rows_of_other_seeds_are_told_to_have_other_samples() {
        let notes = |seeds: [u64; 2], data: [&str; 2]| {
            let mut runs = [run("a", seeds[0], 0.1, 0.5), run("b", seeds[1], 0.2, 0.6)];
            for (run, data) in runs.iter_mut().zip(data) {
                run.record.environment = environment::example(&json!({ "data": data }));
            }
            let comparison = Runs { finished: runs.into(), notes: Vec::new() }.compare();
            assert_eq!(comparison.rows.len(), 2);
            comparison.notes
        };
        assert_eq!(notes([0, 0], ["one", "one"]), [""; 0]);
        assert_eq!(notes([0, 1], ["one", "one"]), [""; 0]);
        assert!(notes([0, 1], ["one", "other"])[0].starts_with("with another seed other samples"));
    }

    /// A run's settings leave it out where it is as in the recipe.
    #[test]
    fn what_is_left_out_is_as_in_the_recipe() {
        let mut runs = [run("a", 0, 0.1, 0.5), run("b", 1, 0.1, 0.6)];
        for run in &mut runs {
            run.record.recipe = "resnet".to_owned();
        }
        let key = "training.sync_batch_norm";
        runs[0].record.settings.insert(key.to_owned(), json!(true));
        let runs = runs.map(|Finished { record, summary, .. }| Finished::of(record, summary));
        let differences = Runs { finished: runs.into(), notes: Vec::new() }.compare().differences;
        assert_eq!(differences[key], [json!(true), json!(false)]);
    }

    #[test]
    fn a_page_has_a_line_for_each_run() {
        let epoch = crate::run::event_lines::EpochRecord {
            epoch: 1,
            train_loss: Some(0.5),
            ..Default::default()
        };
        let mut runs = [run("a", 0, 0.1, 0.5), run("b", 1, 0.1, 0.6)];
        for run in &mut runs {
            run.record.epochs = vec![epoch.clone()];
        }
        let notes = vec!["left out: <x>".to_owned()];
        let runs = Runs { finished: runs.into(), notes };
        let page = runs.page(&runs.compare());
        assert!(page.contains("<title>a: 1, 0.5</title>"), "{page}");
        assert!(page.contains("<title>b: 1, 0.5</title>"), "{page}");
        assert!(page.contains("55.00 ± 7.07 %") && !page.contains("http"), "{page}");
        assert!(page.contains("left out: &#60;x&#62;"), "{page}");
    }

    #[test]
    fn a_page_cuts_long_names_in_the_middle() {
        let name = |rate: f64| format!("{}-learning-rate-{rate}", "a-long-beginning".repeat(4));
        let runs = [0.1, 0.2].map(|rate| run(&name(rate), 0, rate, 0.5));
        let runs = Runs { finished: runs.into(), notes: Vec::new() };
        let page = runs.page(&runs.compare());
        let whole = format!("runs/{}", name(0.1));
        let short = shortened(&whole, LONGEST_NAME);
        assert!(short.ends_with("learning-rate-0.1"), "{short}");
        for of in ["td", "th"] {
            let cell = format!("<{of} title=\"{whole}\">{short}</{of}>");
            assert!(page.contains(&cell), "{cell}: {page}");
        }
    }
}
