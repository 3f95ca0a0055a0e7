//! `recipes train`.

use std::{
    iter,
    path::{Path, PathBuf},
    time::Instant,
};

use data::csv_table::is_csv;
use serde::Serialize;
use training::{EndStatus, Group, Tuning};

use super::{
    arguments::{RecipeParser, at_least},
    given_data::training_on,
    output::{Output, print_note},
    panics::without_panics,
    processes::{check_alike, of_first},
    report,
    signals::stop_on_signals,
};
#[cfg(feature = "download")]
use crate::download;
use crate::{
    ExitCode, Failure, Start, Summary,
    config::SettingsLayer,
    console::{Console, ProgressMode},
    inputs::initial_weights::kept_instead,
    numbers::{counted, duration, listed, rate},
    paths,
    registry::{self, DEFAULT, Recipe},
    report::{REPORT, lacks_evaluation, stable, stopped_early},
    run::{
        directory::{CONFIG, Reserved, newest_step, refuse_if_used},
        record::Record,
    },
    settings::WEIGHTS,
    shell::{command, quoted_path},
};

#[derive(Debug, Default, clap::Args)]
pub(super) struct TrainArguments {
    /// A recipe's name, or a configuration file [default: mlp]
    #[arg(value_name = "RECIPE|FILE.toml", value_parser = RecipeParser, hide_possible_values = true)]
    recipe: Option<String>,
    /// Change a setting, such as `training.epochs=5`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", allow_hyphen_values = true)]
    settings: Vec<String>,
    /// The run directory; must be new or empty [default: runs/RECIPE-TIME]
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
    /// Random seed (sets `training.seed`)
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = at_least::<0>)]
    seed: Option<u64>,
    /// Make N steps at most (sets `training.max_steps`); the schedule of the learning rate ends there
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = at_least::<1>)]
    max_steps: Option<u64>,
}

pub(super) fn run(
    arguments: &TrainArguments,
    progress: ProgressMode,
    output: &Output,
    began: Instant,
    group: &Group,
) -> Result<(), Failure> {
    let named = arguments.recipe.as_deref().unwrap_or(DEFAULT);
    let (recipe, mut layers) = recipe_and_layers(named, &arguments.settings)?;
    let options = [
        ("--seed", "training.seed", arguments.seed.is_some()),
        ("--max-steps", "training.max_steps", arguments.max_steps.is_some()),
    ];
    refuse_twice(&arguments.settings, options)?;
    layers.extend(arguments.seed.map(SettingsLayer::seed));
    layers.extend(arguments.max_steps.map(SettingsLayer::max_steps));
    check_alike(group, &layers)?;

    let mut console = Console::new(progress);
    // The first process chooses the directory, before anything is read that takes its time.
    let reserved = match &arguments.run_dir {
        None if group.is_rank_zero() => Some(Reserved::below(Path::new("runs"), recipe.name)?),
        _ => None,
    };
    let named = arguments.run_dir.clone().unwrap_or_default();
    let directory = reserved.as_ref().map_or(named, |reserved| reserved.path.clone());
    if group.is_rank_zero() {
        refuse_if_used(&directory)?;
    }
    let directory = of_first(group, directory)?;
    let start = Start {
        interrupt: stop_on_signals(group.is_rank_zero())?,
        began,
        group: group.clone(),
        ..Start::new(directory.clone(), &mut console)
    };
    let ended = without_panics(|| (recipe.train)(layers, start))
        .map_err(|failure| or_resume(failure, &directory, &console));
    if group.is_rank_zero() {
        report::write_at_the_end(&directory, &ended, &mut console);
    }
    let is_default = arguments.recipe.is_none();
    tell_interruption(&ended, &directory, output);
    let ended = Ended::of(ended?, &directory);
    output.result(&ended, |ended| describe(&ended.summary, &directory, is_default))
}

/// The failure of a run with how to go on, if it failed in the middle and has a checkpoint. One
/// that was interrupted says so already, and one that diverged would again: it is told how to begin
/// another.
pub(super) fn or_resume(mut failure: Failure, directory: &Path, console: &Console) -> Failure {
    if failure.exit_code == ExitCode::Diverged
        && let (Ok(record), Some(problem)) = (Record::read(directory), failure.problems.last_mut())
    {
        problem.help = Some(stable(&record));
    }
    let is_told = matches!(failure.exit_code, ExitCode::Interrupted | ExitCode::Diverged);
    let newest = if is_told { None } else { newest_step(directory) };
    // A failure before the run began has nothing to do with its checkpoints.
    let step = newest.filter(|_| console.has_begun());
    match step {
        Some(step) => failure
            .or(&format!("to resume the run from step {step}: {}", command("resume", directory))),
        None => failure,
    }
}

/// A run that was interrupted, as JSON.
#[derive(Serialize)]
struct Interrupted {
    status: EndStatus,
    /// None where the run had not begun.
    run: Option<String>,
    steps: u64,
    resume: Option<String>,
}

/// Under `--json`, prints that a run was interrupted.
pub(super) fn tell_interruption(
    ended: &Result<Summary, Failure>,
    directory: &Path,
    output: &Output,
) {
    let is_interrupted =
        ended.as_ref().is_err_and(|failure| failure.exit_code == ExitCode::Interrupted);
    if !output.json || !is_interrupted {
        return;
    }
    let run = directory.join(CONFIG).is_file().then(|| directory.display().to_string());
    let interrupted = Interrupted {
        status: EndStatus::Interrupted,
        resume: run.as_ref().map(|_| command("resume", directory)),
        steps: newest_step(directory).unwrap_or(0),
        run,
    };
    // The failure that follows is what ends the command.
    let _ = output.result(&interrupted, |_| String::new());
}

/// The result of a command that trained.
#[derive(Serialize)]
pub(super) struct Ended {
    #[serde(flatten)]
    pub(super) summary: Summary,
    run: String,
    report: Option<String>,
}

impl Ended {
    pub(super) fn of(summary: Summary, directory: &Path) -> Self {
        let report = directory.join(REPORT);
        let report = report.is_file().then(|| report.display().to_string());
        Self { summary, run: directory.display().to_string(), report }
    }
}

/// The recipe that an argument names, and what is on top of its own settings: the layer of the file,
/// if the argument names one, and those of `--set`.
pub(super) fn recipe_and_layers(
    named: &str,
    settings: &[String],
) -> Result<(&'static Recipe, Vec<SettingsLayer>), Failure> {
    let (recipe, file) = match registry::find(named) {
        Ok(recipe) => (recipe, None),
        Err(failure) => {
            refuse_run(Path::new(named))?;
            refuse_data(Path::new(named))?;
            if !is_file(named) {
                return Err(failure);
            }
            let file = SettingsLayer::file(Path::new(named));
            (registry::find(file.recipe_name()?)?, Some(file))
        }
    };
    let sets = SettingsLayer::sets(settings);
    let moved = file.as_ref().map(|file| of_run(Path::new(named), file, &sets)).unwrap_or_default();
    Ok((recipe, file.into_iter().chain(moved).chain(sets).collect()))
}

/// Where a configuration is that of a run, the paths that lead to its files from here, and to the weights that
/// it began with, unless `sets` name others.
fn of_run(named: &Path, file: &SettingsLayer, sets: &[SettingsLayer]) -> Vec<SettingsLayer> {
    let Some(run) = named.parent().filter(|_| named.ends_with(CONFIG)) else {
        return Vec::new();
    };
    let mut layers = paths::layers(run, &paths::moved(run, file));
    let settings: Vec<_> = iter::once(file).chain(&layers).cloned().collect();
    let names_others = sets.iter().any(|set| set.has(WEIGHTS));
    if !names_others && let Some(kept) = kept_instead(run, &settings) {
        print_note(&format!(
            "`model.weights` of `{run}` leads to other weights by now, or to none: this run begins with those \
             that `{run}` has kept",
            run = run.display()
        ));
        layers.push(kept);
    }
    layers
}

/// Refuses a run directory, where the user may have meant its configuration.
fn refuse_run(named: &Path) -> Result<(), Failure> {
    let config = named.join(CONFIG);
    if !config.is_file() {
        return Ok(());
    }
    Err(Failure::new(
        ExitCode::Usage,
        format!("`{}` is a run, not a recipe or a configuration", named.display()),
        format!(
            "to resume it: {}; its settings are in {}",
            command("resume", named),
            quoted_path(&config)
        ),
    ))
}

/// Refuses an option beside the setting that it stands for.
fn refuse_twice(settings: &[String], options: [(&str, &str, bool); 2]) -> Result<(), Failure> {
    let sets = SettingsLayer::sets(settings);
    let is_twice = |key: &str, is_given| is_given && sets.iter().any(|set| set.has(key));
    match options.into_iter().find(|&(_, key, is_given)| is_twice(key, is_given)) {
        None => Ok(()),
        Some((option, key, _)) => Err(Failure::new(
            ExitCode::Usage,
            format!("`{option}` and `--set {key}=` are one setting, given twice"),
            "leave out one of them",
        )),
    }
}

/// Refuses data in place of a recipe, and says how to train on them.
fn refuse_data(named: &Path) -> Result<(), Failure> {
    let shown = named.display();
    let refused = |what: &str, help: String| {
        Err(Failure::new(ExitCode::Usage, format!("`{shown}` {what}"), help))
    };
    if let Some(arguments) = training_on(named, None) {
        let help = format!("to train on it: recipes train {arguments}");
        return refused("is neither a recipe nor a configuration", help);
    }
    if is_csv(named) || named.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("txt")) {
        return refused("does not exist", "check the path of the file to train on".to_owned());
    }
    #[cfg(feature = "download")]
    if download::names().any(|name| named == Path::new(name)) {
        let help = format!(
            "`recipes data get {shown}` downloads it, and prints the command that trains on it"
        );
        return refused("is a data set, not a recipe", help);
    }
    Ok(())
}

/// Whether the argument of `train` is a file rather than a recipe's name.
fn is_file(named: &str) -> bool {
    let path = Path::new(named);
    path.extension().is_some_and(|extension| extension == "toml") || path.components().count() > 1
}

pub(super) fn describe(summary: &Summary, directory: &Path, is_default: bool) -> String {
    let shown = directory.display();
    let Tuning { samples, seconds } = summary.tuning;
    let tuning = match (1..summary.samples).contains(&samples) {
        true => format!(" after {} of tuning", duration(seconds)),
        false => String::new(),
    };
    let mut text = format!(
        "trained {} for {} in {} ({} of it in steps, at {} samples/s{tuning}), on {}{}\n",
        summary.recipe,
        counted(summary.steps, "step"),
        duration(summary.seconds),
        duration(summary.seconds_training),
        rate(summary.samples_per_second()),
        summary.device,
        if summary.ranks > 1 { format!(", {} ranks", summary.ranks) } else { String::new() },
    );
    if summary.status == EndStatus::StoppedEarly
        && let Ok(record) = Record::read(directory)
        && let Some(why) = stopped_early(&record)
    {
        text += &format!("stopped early: {why}\n");
    }
    for (split, metrics) in summary.splits() {
        let epoch = match summary.kept_epoch {
            None => String::new(),
            Some(_) if split == "train" => format!(" (epoch {}, the last)", summary.epochs),
            Some(kept) => format!(" (epoch {kept}, kept)"),
        };
        text += &format!("  {split:<10} {}{epoch}\n", listed(metrics));
    }
    text += &format!("the run is in {shown}");
    text += if directory.join(REPORT).is_file() { ", its report in report.html\n" } else { "\n" };
    if lacks_evaluation(directory, summary) {
        text += &format!(
            "evaluating the model again for its mistakes would take long; to add them to the report: \
             recipes report {}\n",
            quoted_path(directory)
        );
    }
    if is_default {
        text += "\nnext, try:\n  \
                 recipes list\n  \
                 recipes train mlp --set data.labels=linear\n  \
                 recipes train mlp --set data.source=csv --set data.path=YOUR.csv --set data.target=-1\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::run::summary::example;

    #[test]
    fn measures_of_two_epochs_say_of_which() {
        let told = |best: usize| {
            let summary = example(&json!({
                "epochs": 5, "validation": {"loss": 0.5}, "test": {"loss": 0.75},
                "best": {"epoch": best, "metric": "loss", "value": 0.5},
                "kept_epoch": (best < 5).then_some(best),
            }));
            describe(&summary, Path::new("a"), false)
        };
        for line in [
            "  train      loss 0.2500 (epoch 5, the last)\n",
            "  validation loss 0.5000 (epoch 2, kept)\n",
            "  test       loss 0.7500 (epoch 2, kept)\n",
        ] {
            assert!(told(2).contains(line), "{}", told(2));
        }
        assert!(told(5).contains("  test       loss 0.7500\n"), "{}", told(5));
    }

    #[test]
    fn a_speed_is_told_beside_the_tuning_that_it_leaves_out() {
        let told = |samples: u64| {
            let summary = example(&json!({"tuning": {"samples": samples, "seconds": 9.0}}));
            describe(&summary, Path::new("a"), false)
        };
        let expected = "(10 s of it in steps, at 900 samples/s after 9.0 s of tuning)";
        assert!(told(100).contains(expected), "{}", told(100));
        assert!(told(1000).contains("at 100 samples/s), on"), "{}", told(1000));
    }

    #[test]
    fn a_report_without_mistakes_says_how_to_add_them() {
        let summary_of = |seconds_training: f64, held_out: bool| -> Summary {
            let validation = if held_out { json!({"loss": 0.5}) } else { json!(null) };
            example(&json!({
                "seconds": 100.0, "seconds_training": seconds_training, "validation": validation,
            }))
        };
        let told = |seconds_training, held_out| {
            describe(&summary_of(seconds_training, held_out), Path::new("my runs/a"), false)
        };
        let command = command("report", Path::new("my runs/a"));
        let added = format!("to add them to the report: {command}\n");
        assert!(told(50.0, true).ends_with(&added), "{}", told(50.0, true));
        assert!(!told(99.0, true).contains("recipes report"));
        assert!(!told(50.0, false).contains("recipes report"));

        let mut summary = summary_of(50.0, true);
        summary.seconds_measuring = Some(0.5);
        let quick = describe(&summary, Path::new("a"), false);
        assert!(!quick.contains("recipes report"), "{quick}");
    }
}
