//! Which rows of a comparison are the best, as far as that can be told.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{OF_LOSSES, differ_in, finished::seed_chooses_samples, pairs, row::Row};
use crate::{
    numbers::{self, in_words},
    spread::Spread,
};

/// The 97.5 % quantiles of Student's t distribution with 1, 2, ... degrees of freedom: of one fewer than
/// there are differences.
const QUANTILES: [f64; 9] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26];

/// The rows that are best by a metric of held-out data: more than one where they are equal as printed,
/// since what differs then is rounding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Best {
    /// Such as `validation_loss`: what all runs monitored, or the loss.
    pub(crate) metric: String,
    pub(crate) higher_is_better: bool,
    /// The seeds whose runs are averaged: all, or, where another seed holds out other samples, those that
    /// every row has.
    pub(crate) seeds: Vec<u64>,
    /// All runs of the rows.
    pub(crate) runs: Vec<String>,
    #[serde(skip)]
    names: Vec<String>, // of the rows
    /// Whether some rows have other seeds, too.
    #[serde(skip)]
    of_some_seeds: bool,
}

impl Best {
    /// `lowest validation loss: runs/a`
    pub(crate) fn sentence(&self) -> String {
        let end = if self.higher_is_better { "highest" } else { "lowest" };
        let metric = in_words(&self.metric);
        let seeds: Vec<String> = self.seeds.iter().map(u64::to_string).collect();
        let seeds = match seeds.len() {
            _ if !self.of_some_seeds => String::new(),
            1 => format!(" of seed {}", seeds[0]),
            _ => format!(" of seeds {}", seeds.join(", ")),
        };
        let alike = if self.names.len() > 1 { " (equal)" } else { "" };
        format!("{end} {metric}{seeds}: {}{alike}", self.names.join(", "))
    }
}

/// The best of the rows, none where there is nothing to choose from, and a note where chance may have
/// chosen.
///
/// # Errors
///
/// Why none can be called the best, after `no run is named the best: `.
pub(super) fn best(rows: &[Row]) -> Result<Option<(Best, Option<String>)>, &'static str> {
    let Some((metric, higher_is_better)) = decisive(rows).filter(|_| rows.len() > 1) else {
        return Ok(None);
    };
    if pairs(rows).any(|(row, other)| !row.learnt_the_same(other)) {
        return Err("not all had the same task and the same held-out data");
    }
    if pairs(rows).any(|(row, other)| row.has_other_data(other)) {
        return Err("the data changed from run to run");
    }
    if pairs(rows).any(|(row, other)| row.has_other_vocabulary(other)) {
        return Err("they read the text with other vocabularies");
    }
    if metric.ends_with("_loss") && differ_in(OF_LOSSES, rows) {
        return Err("their losses are of other target scales");
    }
    let shared = shared_seeds(rows);
    if shared.as_ref().is_some_and(Vec::is_empty) {
        return Err("they share no seed, and each holds out or draws other samples");
    }

    let counts = |seed: u64| shared.as_ref().is_none_or(|shared| shared.contains(&seed));
    let error = |value: f64| if higher_is_better { -value } else { value };
    let errors = |row: &Row| -> BTreeMap<u64, f64> {
        let values = row.values(&metric).into_iter().filter(|&(seed, _)| counts(seed));
        values.map(|(seed, value)| (seed, error(value))).collect()
    };
    let mean = |row: &Row| {
        let errors: Vec<f64> = errors(row).into_values().collect();
        (!errors.is_empty()).then(|| Spread::of(&errors).mean).filter(|mean| mean.is_finite())
    };
    let mut ranked: Vec<(&Row, f64)> =
        rows.iter().filter_map(|row| Some((row, mean(row)?))).collect();
    ranked.sort_by(|(_, mean), (_, other)| mean.total_cmp(other));
    let Some(&(first, lowest)) = ranked.first() else { return Ok(None) };
    let printed = |mean: f64| numbers::metric(&metric, error(mean));
    let is_best = |mean: f64| printed(mean) == printed(lowest);
    let equal = ranked.iter().take_while(|&&(_, mean)| is_best(mean)).count();
    let (best, others) = ranked.split_at(equal);
    let of_some_seeds = rows.iter().any(|row| row.seeds.iter().any(|&seed| !counts(seed)));
    let note = others.first().and_then(|&(next, _)| {
        let names = [first.name(), next.name()];
        let is_by_one = shared.as_ref().is_some_and(|shared| shared.len() == 1);
        let differences = differences(&errors(first), &errors(next));
        match differences.len() {
            _ if is_by_one && of_some_seeds => Some(by_one_common_seed(&names)),
            0 | 1 if errors(first).len().max(errors(next).len()) > 1 => {
                Some(by_other_seeds(&names))
            }
            0 | 1 => Some(by_one_seed(&names)),
            _ => by_chance(&names, &differences, &metric),
        }
    });

    let mut seeds: Vec<u64> = rows.iter().flat_map(|row| row.seeds.clone()).collect();
    seeds.retain(|&seed| counts(seed));
    seeds.sort_unstable();
    seeds.dedup();
    let runs = best.iter().flat_map(|(row, _)| row.runs.clone()).collect();
    let names = best.iter().map(|(row, _)| row.name()).collect();
    Ok(Some((Best { metric, higher_is_better, seeds, runs, names, of_some_seeds }, note)))
}

/// The metric of held-out data that all runs monitored, or else the first, a loss; and whether more of it
/// is better.
fn decisive(rows: &[Row]) -> Option<(String, bool)> {
    let mut names = rows.iter().flat_map(|row| &row.order);
    let loss = names.find(|name| !name.starts_with("train_"))?;
    let (split, _) = loss.split_once('_')?;
    let monitored = |row: &Row| row.settings.get("training.monitor")?.as_str().map(str::to_owned);
    let of_first = rows.first().and_then(monitored);
    let of_all = of_first.filter(|metric| {
        let name = format!("{split}_{metric}");
        let by_it =
            |row: &Row| monitored(row).as_ref() == Some(metric) && row.metrics.contains_key(&name);
        metric != "loss" && rows.iter().all(by_it)
    });
    Some(match of_all {
        Some(metric) => (format!("{split}_{metric}"), true),
        None => {
            // The loss of values is in units of those that were trained on.
            let error = format!("{split}_rmse");
            let have_errors = rows.iter().all(|row| row.metrics.contains_key(&error));
            (if have_errors { error } else { loss.clone() }, false)
        }
    })
}

/// The seeds that all rows have, where runs of others had other samples.
fn shared_seeds(rows: &[Row]) -> Option<Vec<u64>> {
    let mut hashes = rows.iter().flat_map(|row| &row.samples).map(|samples| &samples.hash);
    let first = hashes.next()?;
    let all_alike = first.is_some() && hashes.all(|hash| hash == first);
    if all_alike || !rows.iter().any(|row| seed_chooses_samples(&row.settings)) {
        return None;
    }
    let in_all = |seed: &&u64| rows.iter().all(|row| row.seeds.contains(seed));
    Some(rows[0].seeds.iter().filter(in_all).copied().collect())
}

/// By how much the errors of the second are higher, for each seed of both.
fn differences(best: &BTreeMap<u64, f64>, next: &BTreeMap<u64, f64>) -> Vec<f64> {
    let differences = best.iter().map(|(seed, error)| Some(next.get(seed)? - error));
    differences.flatten().collect()
}

/// The note where rows are ranked by runs of one seed.
fn by_one_seed([best, next]: &[String; 2]) -> String {
    format!(
        "chance may have decided: `{best}` and `{next}` are compared by one run each; runs with other \
         seeds (`--seed N`) would tell"
    )
}

/// The note where rows are ranked by the means over seeds of which at most one is the same.
fn by_other_seeds([best, next]: &[String; 2]) -> String {
    format!(
        "chance may have decided: `{best}` and `{next}` are compared by the means of runs with other seeds; \
         runs with the same seeds (`--seed N`) would tell"
    )
}

/// The note where rows of several seeds are ranked by the only one that all rows have.
fn by_one_common_seed([best, next]: &[String; 2]) -> String {
    format!(
        "chance may have decided: `{best}` and `{next}` are compared by one seed, the only one that all \
         have, since runs of other seeds were measured on other samples"
    )
}

/// A note where the mean of the [`differences`] of two rows is not far above 0.
fn by_chance([best, next]: &[String; 2], differences: &[f64], metric: &str) -> Option<String> {
    let Spread { mean, deviation } = Spread::of(differences);
    let error = deviation? / (differences.len() as f64).sqrt();
    let freedom = differences.len() - 1;
    // Of more it is within 0.03 of this.
    let of_many = 1.96 + 2.4 / freedom as f64;
    let quantile = QUANTILES.get(freedom - 1).copied().unwrap_or(of_many);
    (mean < quantile * error).then(|| {
        format!(
            "chance may have decided: with the {} seeds of both, `{next}` is {} than `{best}` by {} on \
             the mean, with a standard error of {}",
            differences.len(),
            if mean < 0.0 { "better" } else { "worse" },
            numbers::metric(metric, mean.abs()),
            numbers::metric(metric, error)
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{
        comparison::{
            Comparison, Runs,
            finished::{Finished, example as run},
        },
        run::environment,
    };

    /// The runs that are told to be the best: of one seed, each with other settings and data.
    fn best_of(settings: [&[(&str, Value)]; 2], data: [&str; 2], losses: [f64; 2]) -> Vec<String> {
        let run = |place: usize| {
            let name = ["a", "b"][place];
            let Finished { mut record, mut summary, .. } = run(name, 0, 0.1, 0.5);
            let set = settings[place].iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
            record.settings.extend(set);
            record.environment = environment::example(&json!({ "data": data[place] }));
            summary.test = Some([("loss".to_owned(), losses[place])].into());
            Finished::of(record, summary)
        };
        let comparison = Runs { finished: [0, 1].map(run).into(), notes: Vec::new() }.compare();
        assert_eq!(comparison.rows.len(), 2);
        comparison.best.map(|best| best.runs).unwrap_or_default()
    }

    #[test]
    fn losses_on_other_data_have_no_winner() {
        let [small, large] = [16, 64].map(|size| [("training.batch_size", json!(size))]);
        let check = |settings: [&[(&str, Value)]; 2], data: [&str; 2], expected: &[&str]| {
            assert_eq!(best_of(settings, data, [0.5, 0.25]), expected, "{settings:?}");
        };
        check([&small, &large], ["one", "one"], &["runs/b"]);
        check([&small, &large], ["one", "other"], &[]);
        // The samples are others because others were asked for.
        let [all, whole] = ["error", "skip"].map(|act| ("data.on_bad_image", json!(act)));
        check([&[all], &[whole]], ["one", "other"], &["runs/b"]);
        // Of more drawn samples, others are held out.
        let [few, many] = [100, 200].map(|samples| ("data.samples", json!(samples)));
        check([&[few], &[many]], ["one", "other"], &[]);
        // The hash tells nothing of the size of pictures, but of their files.
        let [narrow, wide] = [32, 64].map(|side| ("data.size", json!(side)));
        check([&[narrow], &[wide]], ["one", "other"], &[]);
        let text = ("data.source", json!("text"));
        let words = |count: usize| [text.clone(), ("data.vocabulary", json!(count))];
        check([&words(2), &words(1000)], ["one", "one"], &[]);
        let with = |size: &[(&'static str, Value); 1]| [text.clone(), size[0].clone()];
        check([&with(&small), &with(&large)], ["one", "one"], &["runs/b"]);
        check([&with(&small), &with(&large)], ["one", "other"], &[]);
    }

    #[test]
    fn data_at_two_paths_are_the_same_where_their_hashes_are() {
        let settings = ["a.csv", "b.csv"].map(|path| [("data.path", json!(path))]);
        let best_on = |data| best_of(settings.each_ref().map(|set| &set[..]), data, [0.5, 0.25]);
        assert_eq!(best_on(["one", "one"]), ["runs/b"]);
        assert!(best_on(["one", "other"]).is_empty());
    }

    /// Runs that monitored the accuracy are ranked by it, unless one did not.
    #[test]
    fn the_metric_that_all_monitored_decides() {
        let best = |monitored: [&str; 2]| {
            let run = |place: usize| {
                let (name, accuracy) = [("a", 0.7), ("b", 0.6)][place];
                let Finished { mut record, mut summary, .. } = run(name, 0, 0.1, accuracy);
                record.settings.insert("optimizer.learning_rate".to_owned(), json!(place));
                record.settings.insert("training.monitor".to_owned(), json!(monitored[place]));
                let test = summary.test.as_mut().unwrap();
                test.insert("loss".to_owned(), 0.5 - place as f64 / 4.0);
                test.insert("macro_f1".to_owned(), accuracy);
                Finished::of(record, summary)
            };
            let runs = Runs { finished: [0, 1].map(run).into(), notes: Vec::new() };
            runs.compare().best.unwrap().sentence()
        };
        assert_eq!(best(["accuracy", "accuracy"]), "highest test accuracy: runs/a");
        assert_eq!(best(["loss", "accuracy"]), "lowest test loss: runs/b");
        assert_eq!(best(["macro_f1", "macro_f1"]), "highest test macro F1: runs/a");
        assert_eq!(best(["macro_f1", "accuracy"]), "lowest test loss: runs/b");
    }

    /// The loss of values is that of standard scores, whose unit another split may change.
    #[test]
    fn errors_decide_rather_than_losses_where_all_have_them() {
        let best = |errors: [Option<f64>; 2]| {
            let run = |place: usize| {
                let Finished { mut record, mut summary, .. } = run(["a", "b"][place], 0, 0.1, 0.5);
                record.settings.insert("optimizer.learning_rate".to_owned(), json!(place));
                let loss = ("loss".to_owned(), 0.5 - place as f64 / 4.0);
                let error = errors[place].map(|error| ("rmse".to_owned(), error));
                summary.test = Some([loss].into_iter().chain(error).collect());
                Finished::of(record, summary)
            };
            let runs = Runs { finished: [0, 1].map(run).into(), notes: Vec::new() };
            runs.compare().best.unwrap().sentence()
        };
        assert_eq!(best([Some(1.0), Some(2.0)]), "lowest test RMSE: runs/a");
        assert_eq!(best([Some(1.0), None]), "lowest test loss: runs/b");
    }

    #[test]
    fn a_run_without_a_number_is_not_the_best() {
        let run = |place: usize| {
            let (name, accuracy) = [("a", f64::NAN), ("b", 0.6)][place];
            let Finished { mut record, summary, .. } = run(name, 0, 0.1, accuracy);
            record.settings.insert("optimizer.learning_rate".to_owned(), json!(place));
            record.settings.insert("training.monitor".to_owned(), json!("accuracy"));
            Finished::of(record, summary)
        };
        let runs = Runs { finished: [0, 1].map(run).into(), notes: Vec::new() };
        assert_eq!(runs.compare().best.unwrap().sentence(), "highest test accuracy: runs/b");
    }

    /// Other seeds hold out other samples, so that only those of the same seed are compared.
    #[test]
    fn rows_are_ranked_by_the_seeds_that_they_share() {
        let compared = |runs: &[(u64, f64, f64)]| {
            let run = |(place, &(seed, rate, loss)): (usize, &(u64, f64, f64))| {
                let Finished { mut record, mut summary, .. } =
                    run(&place.to_string(), seed, rate, 0.5);
                record.environment = environment::example(&json!({ "data": seed.to_string() }));
                summary.test = Some([("loss".to_owned(), loss)].into());
                Finished::of(record, summary)
            };
            Runs { finished: runs.iter().enumerate().map(run).collect(), notes: Vec::new() }
                .compare()
        };
        let sentence = |comparison: Comparison| comparison.best.map(|best| best.sentence());
        // The second is worse on the mean of its own, for the seed that the first lacks.
        let one = (0, 0.1, 0.25);
        let two = [(0, 0.2, 0.125), (1, 0.2, 2.0)];
        let by_one = compared(&[one, two[0], two[1]]);
        let told = |comparison: &Comparison| {
            comparison.notes.iter().any(|note| note.contains("by one seed, the only one"))
        };
        assert!(told(&by_one), "{:?}", by_one.notes);
        let best = sentence(by_one).unwrap();
        assert_eq!(best, "lowest test loss of seed 0: runs/1 and 1 more");
        let of_one_each = compared(&[one, two[0]]);
        assert!(!told(&of_one_each), "neither has another");
        let note = "`runs/1` and `runs/0` are compared by one run each; runs with other seeds";
        assert!(
            of_one_each.notes.iter().any(|told| told.contains(note)),
            "{:?}",
            of_one_each.notes
        );
        let third = (2, 0.2, 0.5);
        assert!(!told(&compared(&[one, (1, 0.1, 0.25), two[0], two[1], third])));
        let apart = compared(&[one, two[1]]);
        assert!(apart.notes[1].starts_with("no run is named the best: they share no seed"));
        assert_eq!(sentence(apart), None);
    }

    #[test]
    fn means_over_other_seeds_are_told() {
        let run = |(seed, rate): (u64, f64)| {
            let Finished { mut record, mut summary, .. } = run("a", seed, rate, 0.5);
            record.environment = environment::example(&json!({ "data": "same" }));
            summary.test = Some([("loss".to_owned(), rate)].into());
            Finished::of(record, summary)
        };
        let notes = |runs: [(u64, f64); 4]| {
            Runs { finished: runs.map(run).into(), notes: Vec::new() }.compare().notes
        };
        let told = |notes: Vec<String>| notes.iter().any(|note| note.contains("with other seeds;"));
        assert!(told(notes([(0, 0.1), (1, 0.1), (2, 0.2), (3, 0.2)])));
        assert!(told(notes([(0, 0.1), (1, 0.1), (1, 0.2), (2, 0.2)])));
        assert!(!told(notes([(0, 0.1), (1, 0.1), (0, 0.2), (1, 0.2)])));
    }

    /// By the seeds that decide, and by fewer of them only where the difference is clearer.
    #[test]
    fn a_difference_that_chance_may_have_made_is_told() {
        let note = |data: fn(u64) -> String, monitored: &str, rows: [&[f64]; 2]| {
            let run = |row: usize, seed: usize| {
                let (name, value) = (format!("{row}-{seed}"), rows[row][seed]);
                let Finished { mut record, mut summary, .. } =
                    run(&name, seed as u64, 0.1 + row as f64, value);
                record.environment = environment::example(&json!({ "data": data(seed as u64) }));
                record.settings.insert("training.monitor".to_owned(), json!(monitored));
                summary.test.as_mut().unwrap().insert("loss".to_owned(), value);
                Finished::of(record, summary)
            };
            let of_row = |row: usize| (0..rows[row].len()).map(move |seed| (row, seed));
            let finished = [0, 1].into_iter().flat_map(of_row);
            let finished = finished.map(|(row, seed)| run(row, seed)).collect();
            let notes = Runs { finished, notes: Vec::new() }.compare().notes;
            notes.into_iter().find(|note| note.starts_with("chance may"))
        };
        let same = |_| "same".to_owned();
        let each_its_own = |seed: u64| seed.to_string();

        let told = note(same, "loss", [&[1.0, 2.0], &[1.5, 1.75]]).unwrap();
        let expected = "with the 2 seeds of both, `runs/1-0 and 1 more` is worse than `runs/0-0 and 1 \
                        more` by 0.1250 on the mean, with a standard error of 0.3750";
        assert!(told.ends_with(expected), "{told}");
        // 0.5 on the mean, with a standard error of 0.25, is far from 0 for many seeds only.
        let few = [[1.0, 2.0, 1.0], [1.25, 2.5, 1.75]];
        assert!(note(same, "loss", [&few[0], &few[1][..3]]).is_some());
        let many = few.map(|losses| losses.repeat(4));
        assert_eq!(note(same, "loss", [&many[0], &many[1]]), None);
        // Of accuracies the higher is better.
        let told = note(same, "accuracy", [&[0.9, 0.5], &[0.7, 0.6]]).unwrap();
        assert!(told.contains("worse than `runs/0-0 and 1 more` by 5.0 % on the mean"), "{told}");
        // The row with a seed that the other lacks may be the best by it, and worse with those of both.
        let told = note(same, "loss", [&[1.0, 1.0, 0.0], &[0.9, 0.9]]).unwrap();
        assert!(told.contains("is better than `runs/0-0 and 2 more` by 0.1000"), "{told}");
        // Seeds that hold out other samples do not decide, and are not looked at.
        let rows: [&[f64]; 2] = [&[1.0, 1.5, 9.0], &[1.5, 2.0]];
        assert_eq!(note(each_its_own, "loss", rows), None);
    }

    #[test]
    fn settings_that_change_losses_are_told() {
        let of = |settings: [&[(&str, Value)]; 2]| {
            let run = |place: usize| {
                let Finished { mut record, summary, .. } = run(["a", "b"][place], 0, 0.1, 0.5);
                let set = settings[place].iter();
                let set = set.map(|(key, value)| ((*key).to_owned(), value.clone()));
                record.settings.extend(set);
                Finished::of(record, summary)
            };
            let notes =
                Runs { finished: [0, 1].map(run).into(), notes: Vec::new() }.compare().notes;
            let told = notes.into_iter().filter(|note| note.contains("losses cannot"));
            told.collect::<Vec<_>>()
        };
        let note = |keys: &str| {
            [format!(
                "train losses cannot be compared, as others can: they depend on {keys}, in which the runs \
                 differ"
            )]
        };
        let balanced = [("data.class_weights", json!("balanced"))];
        assert_eq!(of([&[], &balanced]), note("`data.class_weights`"));
        assert_eq!(of([&balanced, &balanced]), [""; 0]);
        let mixed = [("augment.mixup", json!(0.2)), ("augment.label_smoothing", json!(0))];
        let both = note("`augment.mixup` and `data.class_weights`");
        assert_eq!(of([&mixed, &balanced]), both);
        let smooth = [("augment.label_smoothing", json!(0.1)), ("augment.cutmix", json!(1.0))];
        assert_eq!(of([&smooth, &[]]), note("`augment.cutmix` and `augment.label_smoothing`"));
        let [plain, log] = ["linear", "log"].map(|scale| [("data.target_scale", json!(scale))]);
        let all = "losses cannot be compared, as errors can: they depend on `data.target_scale`, in which \
                   the runs differ";
        let both = [log[0].clone(), balanced[0].clone()];
        assert_eq!(of([&plain, &both]), [all]);
        assert!(best_of([&plain, &log], ["one"; 2], [0.5, 0.25]).is_empty());
    }

    /// What chooses samples counts only where it is not known that they are the same.
    #[test]
    fn samples_may_be_chosen_in_other_words() {
        let csv = [("data.source", json!("csv")), ("data.path", json!("a.csv"))];
        for chosen in [
            ("data.missing", json!(["-999"])),
            ("data.on_missing_target", json!("skip")),
            ("data.header", json!(true)),
            ("data.validation", json!(0.2)),
            ("data.test", json!(0.1)),
        ] {
            let other = [&csv[..], &[chosen]].concat();
            let best = |data| best_of([&csv, &other], data, [0.5, 0.25]);
            assert_eq!(best(["one", "one"]), ["runs/b"], "{other:?}");
            assert!(best(["one", "other"]).is_empty(), "{other:?}");
        }
    }

    #[test]
    fn one_row_has_no_winner() {
        let runs = [run("a", 0, 0.1, 0.5), run("b", 1, 0.1, 0.6)];
        let comparison = Runs { finished: runs.into(), notes: Vec::new() }.compare();
        assert_eq!((comparison.rows.len(), comparison.best), (1, None));
    }

    #[test]
    fn runs_with_the_same_lowest_loss_are_all_named() {
        let settings = [16, 64].map(|size| [("training.batch_size", json!(size))]);
        for loss in [0.5, 0.500_000_1] {
            let settings = settings.each_ref().map(|set| &set[..]);
            assert_eq!(best_of(settings, ["one", "one"], [0.5, loss]), ["runs/a", "runs/b"]);
        }
    }
}
