//! Evaluates a finished run, on its own data or on other data of the same kind.

mod images;
mod mistakes;
mod tables;
mod tally;
mod texts;

use std::{borrow::Cow, path::Path};

use backend::{Selected, device::Device};
use inference::{Description, InputKind, Model, Prediction};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use training::Metrics;

pub(crate) use self::mistakes::{Mistake, Sample};
pub(crate) use self::tally::ClassScores;
use crate::{
    ExitCode, Failure,
    config::{Check, Checker},
    image_set::Progress,
    paths::{self, of_same_name, or_moved, trained_on},
    record::{self, data_hash},
    registry,
    run_directory::ENVIRONMENT,
    shell::quoted_path,
    summary::{measured, of_finished},
};

/// The results of a run on a split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct EvaluationReport {
    /// `test`, `validation`, or `given` for data named by the user.
    pub(crate) split: Cow<'static, str>,
    /// The split of the given data, if it has several: `test`, else `validation`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) given_split: Option<Cow<'static, str>>,
    /// Samples, or predicted tokens of a text.
    pub(crate) samples: usize,
    /// The loss and other metrics.
    #[serde(deserialize_with = "measured")]
    pub(crate) metrics: Metrics,
    /// The names of the classes; none where no class is predicted.
    pub(crate) classes: Vec<String>,
    /// How well each class is recognised.
    pub(crate) per_class: Vec<ClassScores>,
    /// Samples by the true class, in rows, and the predicted one.
    pub(crate) confusion: Vec<Vec<u64>>,
    /// Notes to the user, such as which pictures were skipped, a sentence each.
    pub(crate) notes: Vec<String>,
}

impl EvaluationReport {
    /// A report where no class is predicted.
    pub(crate) fn of(split: &'static str, samples: usize, metrics: Metrics) -> Self {
        Self {
            split: split.into(),
            given_split: None,
            samples,
            metrics,
            classes: Vec::new(),
            per_class: Vec::new(),
            confusion: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// An evaluated run, with samples to look at.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Examined {
    pub(crate) report: EvaluationReport,
    /// Its worst mistakes, the worst first.
    pub(crate) mistakes: Vec<Mistake>,
    /// True and predicted values of a regression, those of some rows where there are many.
    #[serde(default)]
    pub(crate) values: Vec<(f64, f64)>,
    /// A note where much of a text is unknown words.
    #[serde(default)]
    pub(crate) unknown_words: Option<String>,
    /// The beginning of the held-out text, as a prompt.
    pub(crate) beginning: Option<String>,
}

/// Evaluates a run on its test split, or else on its validation split; likewise on `data`, or on all
/// of it if it has no such splits.
///
/// # Errors
///
/// Where the run or the data cannot be used.
pub(crate) fn examine(
    run: &Path,
    model: &Model<Selected>,
    data: Option<&Path>,
    device: &Device,
    progress: &mut Progress<'_>,
) -> Result<Examined, Failure> {
    let layers = paths::settings(run)?;
    let own = data.filter(|data| trained_on(&layers, data));
    let recipe = registry::find(&model.description().recipe)?;
    let mut examined = match model.description().input() {
        InputKind::Images => {
            let config = recipe.resolve(layers)?;
            images::examine(run, config, model, data, own.is_some(), device, progress)
        }
        InputKind::Rows => {
            tables::examine(run, recipe.resolve(layers)?, model, data, own.is_some(), device)
        }
        InputKind::Text => {
            texts::examine(run, recipe.resolve(layers)?, model, data, own.is_some(), device)
        }
    }?;
    let report = &mut examined.report;
    let own = own.filter(|_| report.given_split.is_none());
    report.notes.extend(own.map(|data| note_on_own(run, data)));
    Ok(examined)
}

/// The note where `data` is what a run was trained on.
fn note_on_own(run: &Path, data: &Path) -> String {
    let summary = of_finished(run).ok().flatten();
    let held_out = summary.is_none_or(|summary| record::held_out(&summary).is_some());
    let instead = match held_out {
        true => format!("; to measure it on what it held out: recipes eval {}", quoted_path(run)),
        false => String::new(),
    };
    format!(
        "the run was trained on `{}`, so this is not its performance on new data{instead}",
        data.display()
    )
}

/// Is given what a sample is called, its true class or value, and the prediction.
pub(crate) type Each<'a> =
    &'a mut dyn FnMut(String, String, &Prediction<'_>) -> Result<(), Failure>;

/// Predicts each sample that [`examine`] measures; returns notes to the user, a sentence each.
///
/// # Errors
///
/// As [`examine`], and that of `each`; a text has no samples.
pub(crate) fn predict_each(
    run: &Path,
    model: &Model<Selected>,
    data: Option<&Path>,
    progress: &mut Progress<'_>,
    each: Each<'_>,
) -> Result<Vec<String>, Failure> {
    let layers = paths::settings(run)?;
    let own = data.filter(|data| trained_on(&layers, data));
    let recipe = registry::find(&model.description().recipe)?;
    let (given_split, mut notes) = match model.description().input() {
        InputKind::Images => {
            let config = recipe.resolve(layers)?;
            images::predict_each(run, config, model, data, own.is_some(), progress, each)
        }
        InputKind::Rows => {
            tables::predict_each(run, recipe.resolve(layers)?, model, data, own.is_some(), each)
        }
        InputKind::Text => Err(Failure::new(
            ExitCode::Usage,
            "`--csv` prints the predictions of samples, and a text has none",
            "leave it out",
        )),
    }?;
    let own = own.filter(|_| given_split.is_none());
    notes.extend(own.map(|data| note_on_own(run, data)));
    Ok(notes)
}

/// The table `[model]` of any recipe, ignored.
impl Check for IgnoredAny {
    fn check(&self, _: &mut Checker<'_>) {}
}

/// Checks that the samples are those of the run, so that the held-out ones are evaluated.
fn check_same_data(run: &Path, fingerprint: &str, model: &Model<Selected>) -> Result<(), Failure> {
    match data_hash(run) {
        Some(recorded) if recorded == fingerprint => Ok(()),
        Some(_) => Err(of_same_name(run).unwrap_or_else(|| {
            Failure::new(
                ExitCode::UserData,
                "the run's data has changed since it was trained",
                format!(
                    "restore it, or name other {} to evaluate on: `--data PATH`",
                    model.description().input()
                ),
            )
        })),
        None => Err(Failure::new(
            ExitCode::UserData,
            format!(
                "whether these are the data that the run was trained on is unknown: `{}` is missing \
                 or damaged",
                run.join(ENVIRONMENT).display()
            ),
            format!(
                "restore it, or name {} to evaluate on: `--data PATH`",
                model.description().input()
            ),
        )),
    }
}

/// The error for a run's own data that cannot be read, for instance because it was moved.
fn or_elsewhere(run: &Path, error: impl Into<Failure>) -> Failure {
    let mut failure = or_moved(run, error.into());
    for problem in &mut failure.problems {
        let help = problem.help.take().map(|help| format!("{help}; or "));
        let help = help.unwrap_or_default();
        problem.help = Some(format!("{help}name data to evaluate on: `--data PATH`"));
    }
    failure
}

/// The error for a run without a split to evaluate on.
fn nothing_held_out(description: &Description) -> Failure {
    Failure::new(
        ExitCode::Usage,
        "the run held nothing out to measure on",
        format!("name {} to evaluate on: `--data PATH`", description.input()),
    )
}
