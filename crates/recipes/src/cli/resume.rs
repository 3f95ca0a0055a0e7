//! `recipes resume`.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use clap::ValueHint;
use training::{EndStatus, Group};

use super::{
    export::EXPORTS,
    model::unusable_model,
    output::{Output, print_note},
    panics::without_panics,
    processes::check_alike,
    report::write_at_the_end,
    signals::stop_on_signals,
    train::{Ended, describe, or_resume, tell_interruption},
};
use crate::{
    Failure, Start, Summary,
    config::SettingsLayer,
    console::{Console, ProgressMode},
    inputs::initial_weights::refuse_others,
    paths::{self, or_moved},
    registry,
    report::stable,
    run::{
        directory::{model_hash, newest_step, refuse_if_in_use},
        record::{Record, Standing, config_of},
        summary::of_finished,
    },
    settings::longer,
    shell::command,
};

#[derive(Debug, clap::Args)]
pub(super) struct ResumeArguments {
    /// The run directory
    #[arg(value_name = "RUN", value_hint = ValueHint::DirPath)]
    run: PathBuf,
    /// Make the run longer or shorter: `training.epochs=N` or `training.max_steps=N`, and
    /// `training.patience=` if it stopped early; or say where its files are now: `data.path=PATH`,
    /// and likewise `data.validation_path`, `data.test_path` and `model.weights`. `data.cache`,
    /// `data.residency`, `data.workers`, `output.tensorboard` and `[checkpoint]` may change too.
    /// May be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", allow_hyphen_values = true)]
    settings: Vec<String>,
}

pub(super) fn run(
    arguments: &ResumeArguments,
    progress: ProgressMode,
    output: &Output,
    began: Instant,
    group: &Group,
) -> Result<(), Failure> {
    let directory = &arguments.run;
    let layers = layers(directory, &arguments.settings, group)?;
    let recipe = registry::find(layers[0].recipe_name()?)?;
    let looks = group.is_rank_zero() && arguments.settings.is_empty();
    let record = if looks { Record::read(directory)? } else { Record::default() };
    if is_finished(directory, &record, group)? {
        return tell_finished(directory, record, output);
    }
    let (mut finished, mut exported) = (None, None);
    if group.is_rank_zero() {
        exported = has_exports(directory).then(|| model_hash(directory));
        refuse_if_in_use(directory)?; // before anything is read that takes its time
        let sets = SettingsLayer::sets(&arguments.settings);
        refuse_others(directory, &sets)?;
        let mut keys = sets.iter().flat_map(SettingsLayer::keys);
        let is_to_go_on = keys.any(|key| key.starts_with("training."));
        finished = of_finished(directory).ok().flatten().filter(|_| is_to_go_on);
        note_divergence(&record);
    }

    check_alike(group, &layers)?;
    let mut console = Console::new(progress);
    let start = Start {
        interrupt: stop_on_signals(group.is_rank_zero())?,
        resumes: true,
        began,
        group: group.clone(),
        ..Start::new(directory.clone(), &mut console)
    };
    let ended = without_panics(|| (recipe.train)(layers, start))
        .map_err(|failure| if console.has_begun() { failure } else { or_moved(directory, failure) })
        .map_err(|failure| or_resume(failure, directory, &console));
    if group.is_rank_zero() {
        write_at_the_end(directory, &ended, &mut console);
    }
    tell_interruption(&ended, directory, output);
    let ended = Ended::of(ended?, directory);
    if group.is_rank_zero() {
        if exported.is_some_and(|exported| exported != model_hash(directory)) {
            EXPORTS.iter().for_each(|(file, format)| note_outdated(directory, file, format));
        }
        if let Some(before) = finished {
            note_no_longer(directory, &before, &ended.summary);
        }
    }
    output.result(&ended, |ended| describe(&ended.summary, directory, false))
}

/// The run's settings, those of its files that have moved, and the arguments of `--set`. The first
/// process reads them, for all.
fn layers(
    directory: &Path,
    settings: &[String],
    group: &Group,
) -> Result<Vec<SettingsLayer>, Failure> {
    let config = if group.is_rank_zero() { config_of(directory)? } else { String::new() };
    let config = group.broadcast(config.into_bytes())?;
    let layer = paths::document(directory, &String::from_utf8(config).expect("it was text"));
    let moved = if group.is_rank_zero() { paths::moved(directory, &layer) } else { Vec::new() };
    let moved = group.broadcast(serde_json::to_vec(&moved).expect("texts have a form in JSON"))?;
    let moved: Vec<_> = serde_json::from_slice(&moved).expect("they were written above");
    let mut layers = vec![layer];
    layers.extend(paths::layers(directory, &moved));
    layers.extend(SettingsLayer::sets(settings));
    Ok(layers)
}

/// Whether there is nothing to resume: the run is finished, and its model is there and whole.
///
/// - `record`: empty but in the first process, and where settings are to change
fn is_finished(directory: &Path, record: &Record, group: &Group) -> Result<bool, Failure> {
    let lost = record.summary.as_ref().and_then(|_| unusable_model(record));
    let is_finished = record.summary.is_some() && lost.is_none();
    if let Some(lost) = lost {
        tell_rewriting(directory, lost)?;
    }
    Ok(group.broadcast(vec![u8::from(is_finished)])? == [1])
}

fn tell_finished(directory: &Path, record: Record, output: &Output) -> Result<(), Failure> {
    let Some(summary) = record.summary else { return Ok(()) }; // the first process tells
    output.result(&Ended::of(summary, directory), |Ended { summary, .. }| {
        let text = describe(summary, directory, false);
        let longer = longer(directory, &record.settings, summary);
        format!("the run is already finished\n{text}to make it longer: {longer}\n")
    })
}

fn note_divergence(record: &Record) {
    if record.standing() == Standing::Diverged {
        print_note(&format!(
            "the run diverged, and with the same settings will again; {}",
            stable(record)
        ));
    }
}

/// Says that a finished run writes its model again, where it has a checkpoint to do so.
///
/// - `lost`: what is wrong with its model
fn tell_rewriting(directory: &Path, lost: Failure) -> Result<(), Failure> {
    if newest_step(directory).is_none() {
        return Err(lost);
    }
    print_note(&format!("{lost}; it is written again from the last checkpoint"));
    Ok(())
}

/// Says how to go on where a run that had ended was to be made longer, and has as many steps as before:
/// of what could end it, another setting did.
fn note_no_longer(directory: &Path, before: &Summary, now: &Summary) {
    if now.steps != before.steps {
        return;
    }
    let Ok(record) = Record::read(directory) else { return };
    let (ended, why) = match now.status {
        EndStatus::StoppedEarly => ("stopped early", "its `training.patience`"),
        _ => ("ended", "its other settings"),
    };
    print_note(&format!(
        "the run had {ended} after step {}, and by {why} does not go on; to make it longer: {}",
        now.steps,
        longer(directory, &record.settings, now)
    ));
}

fn has_exports(directory: &Path) -> bool {
    EXPORTS.iter().any(|(file, _)| directory.join(file).is_file())
}

/// Says that an exported file has the model from before the run was resumed.
fn note_outdated(directory: &Path, file: &str, format: &str) {
    let path = directory.join(file);
    if path.is_file() {
        print_note(&format!(
            "`{}` has the model from before; to replace it: {} --format {format} --force, and the \
             `--precision` that it had",
            path.display(),
            command("export", directory)
        ));
    }
}
