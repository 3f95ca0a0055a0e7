//! The model of a run, for the commands that use it.

use std::path::{Path, PathBuf};

use backend::{Arithmetic, set_arithmetic};
use serde::Deserialize;
use serde_json::Value;
use store::{StoreError, TensorFile, folder_of};

use super::output::print_note;
use crate::{
    ExitCode, Failure,
    inputs::weights_file::note_on_unfinished,
    report::stable,
    run::{
        directory::{CONFIG, MODEL, newest_step},
        record::{Record, Standing, config_of},
    },
    settings::{or_end_it, rewrite},
    shell::command,
};

/// As [`model_of`], of what is a run or a model file itself.
pub(super) fn model_at(path: &Path) -> Result<PathBuf, Failure> {
    if !path.is_file() {
        return model_of(path);
    }
    if path.extension().is_none_or(|ending| ending != "safetensors") {
        return Err(Failure::new(
            ExitCode::UserData,
            format!("`{}` is neither a run directory nor named as a model", path.display()),
            "name the run directory that `recipes train` printed at its end, or a file that ends in \
             .safetensors",
        ));
    }
    let run = folder_of(path);
    match path.ends_with(MODEL) && run.join(CONFIG).is_file() {
        true => model_of(run),
        false => Ok(path.to_owned()),
    }
}

/// The model file of a run; notes where the run is not finished.
pub(super) fn model_of(run: &Path) -> Result<PathBuf, Failure> {
    let path = run.join(MODEL);
    let is_run = run.join(CONFIG).is_file();
    if !path.is_file() || (is_run && flaw(&path).is_some()) {
        unusable_model(&Record::read(run)?).map_or(Ok(()), Err)?;
    }
    if let Some(note) = note_on_unfinished(run) {
        print_note(&note);
    }
    Ok(path)
}

/// Has this process compute in the arithmetic of the run that a model file lies in, where its settings are
/// there: a model may come without them.
pub(super) fn compute_as(model: &Path) {
    let config = config_of(folder_of(model)).ok();
    let settings: Option<Value> = config.and_then(|text| toml::from_str(&text).ok());
    let arithmetic = settings.as_ref().and_then(|all| all.pointer("/training/arithmetic"));
    if let Some(Ok(arithmetic)) = arithmetic.map(Arithmetic::deserialize) {
        set_arithmetic(arithmetic);
    }
}

/// The failure where a run's model is missing or damaged, with how to get it.
pub(super) fn unusable_model(record: &Record) -> Option<Failure> {
    let path = record.directory.join(MODEL);
    if !path.is_file() {
        return Some(without_model(record));
    }
    let mut failure = Failure::user_data(flaw(&path)?);
    let again = without_model(record).problems.pop();
    if let (Some(problem), Some(again)) = (failure.problems.last_mut(), again) {
        problem.help = again.help;
    }
    Some(failure)
}

/// Why a model file cannot be read, if it lacks anything that its header names.
fn flaw(path: &Path) -> Option<StoreError> {
    TensorFile::read_where(path, |_| false).err() // of which no tensor is wanted
}

/// Why a run has no model, and how to get it.
fn without_model(record: &Record) -> Failure {
    let run = &record.directory;
    let newest = newest_step(run);
    let is_within = |newest: &u64| record.planned.is_none_or(|length| *newest < length.steps);
    let ended = || or_end_it(run, newest.filter(is_within));
    let (why, help) = match record.standing() {
        Standing::InUse => ("it is being trained now", "wait until it has ended".to_owned()),
        Standing::Finished => {
            ("its `model.safetensors` is missing", rewrite(run, newest.is_some()))
        }
        Standing::Diverged => ("it diverged", stable(record) + &ended()),
        Standing::Interrupted | Standing::CutShort => {
            ("it did not finish", format!("to resume it: {}{}", command("resume", run), ended()))
        }
    };
    let message = format!("the run `{}` has no model: {why}", run.display());
    Failure::new(ExitCode::UserData, message, help)
}
