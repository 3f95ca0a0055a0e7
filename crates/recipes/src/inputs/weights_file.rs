//! A file of weights that the user names, and what it says about itself.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use inference::{Description, check_format};
use models::import;
use store::{StoredTensor, TensorFile, folder_of};

use crate::{
    ExitCode, Failure,
    run::{
        directory::{CONFIG, MODEL, SUMMARY, is_in_use, newest_step},
        environment::{DataHashes, Environment},
    },
    shell::command,
};

/// Weights, and the description of their network if they are of this project.
pub(crate) struct WeightsFile {
    /// Where they are.
    pub(crate) origin: PathBuf,
    pub(crate) tensors: BTreeMap<String, StoredTensor>,
    pub(crate) description: Option<Description>,
}

impl WeightsFile {
    /// Reads those tensors whose names are `wanted`.
    ///
    /// - `path`: a file of weights, or a run
    pub(crate) fn read(path: &Path, wanted: impl Fn(&str) -> bool) -> Result<Self, Failure> {
        let origin = model_at(path)?;
        let file = import::read_where(&origin, wanted)?;
        Self::new(origin, file)
    }

    /// Weights that were read from `origin`.
    pub(crate) fn new(origin: PathBuf, file: TensorFile) -> Result<Self, Failure> {
        check_format(&file, &origin)?;
        // Null where the file is not of this project.
        let description = serde_json::from_value(file.metadata).map_err(|error| {
            Failure::new(
                ExitCode::UserData,
                format!("`{}` has a description that cannot be read: {error}", origin.display()),
                "name a run that this version has trained, or export the weights anew with it",
            )
        })?;
        Ok(Self { origin, tensors: file.tensors, description })
    }
}

/// What the user should know where a run's weights were trained on these data, divided otherwise.
///
/// - `origin`: the file of the weights
pub(crate) fn note_on_division(origin: &Path, data: &DataHashes) -> Option<String> {
    let run = origin.parent().filter(|_| origin.is_file())?;
    let theirs = Environment::of(run).ok()??.data?; // a damaged one says nothing of the weights
    let is_same = data.source.is_some() && theirs.source == data.source;
    (is_same && theirs.samples != data.samples).then(|| {
        format!(
            "the weights in `{}` were trained on the same data, divided otherwise: what is held out here, \
             if anything, may be among what they learnt, and results on it look better than \
             they are",
            origin.display()
        )
    })
}

/// What the user should know where a run's model is taken that may yet change.
pub(crate) fn note_on_unfinished(run: &Path) -> Option<String> {
    if !run.join(CONFIG).is_file() || run.join(SUMMARY).exists() {
        return None;
    }
    let newest = newest_step(run);
    let newest = newest.map(|step| format!("; its newest checkpoint is of step {step}"));
    let newest = newest.unwrap_or_default();
    let (is, to_go_on) = match is_in_use(run) {
        true => ("being trained", String::new()),
        false => ("not finished", format!("; to go on: {}", command("resume", run))),
    };
    Some(format!(
        "the run `{}` is {is}: this is its model from when it last stopped{newest}{to_go_on}",
        run.display(),
    ))
}

/// [`note_on_unfinished`], of the run that a file of weights is the model of, if it is that of one.
///
/// - `origin`: the file of the weights
pub(crate) fn note_on_unfinished_of(origin: &Path) -> Option<String> {
    let is_model = origin.file_name() == Some(MODEL.as_ref());
    if is_model { note_on_unfinished(folder_of(origin)) } else { None }
}

/// The file of weights that a path names: of a run directory its model.
fn model_at(path: &Path) -> Result<PathBuf, Failure> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let model = path.join(MODEL);
    if model.is_file() {
        return Ok(model);
    }
    Err(Failure::new(
        ExitCode::UserData,
        format!("`model.weights` is the folder `{}`, which has no `{MODEL}`", path.display()),
        "name a finished run, or a file of weights",
    ))
}
