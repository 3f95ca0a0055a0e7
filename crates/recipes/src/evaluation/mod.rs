//! Evaluates a finished run, on its own data or on other data of the same kind.

mod images;
mod mistakes;
mod tables;
mod tally;
mod texts;

use std::{borrow::Cow, path::Path};

use backend::{Selected, device::Device};
use inference::{InputKind, Model, Prediction};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use training::Metrics;

pub(crate) use self::mistakes::{Mistake, Sample};
pub(crate) use self::tables::is_table;
pub(crate) use self::tally::ClassScores;
use crate::{
    ExitCode, Failure,
    config::{Check, Problems, SettingsLayer},
    paths::{self, last_named, of_same_name, or_moved, trained_on},
    registry::{self, Recipe},
    run::{
        directory::ENVIRONMENT,
        environment::Environment,
        start::WorkProgress,
        summary::{measured, of_finished},
    },
    shell::command,
};

/// The split of data named by the user.
const GIVEN: &str = "given";

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
    /// Whether each count of the confusion matrix has its classes, as in a file that nobody has changed.
    pub(crate) fn is_whole(&self) -> bool {
        let classes = self.classes.len();
        let of_rows = self.confusion.iter().all(|row| row.len() == classes);
        self.confusion.len() == classes && of_rows
    }

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

/// A run to evaluate: on its test split, or else on its validation split; likewise on other data, or on all
/// of them if they have no such splits.
pub(crate) struct Evaluated<'a> {
    run: &'a Path,
    model: &'a Model<Selected>,
    /// Other data; none where its own held-out samples are meant.
    given: Option<&'a Path>,
    /// Whether these are what the run was trained on.
    is_own: bool,
    recipe: &'static Recipe,
    layers: Vec<SettingsLayer>,
}

/// Samples to evaluate on.
struct Measured<S> {
    /// As in [`EvaluationReport`], like `given_split`.
    split: &'static str,
    given_split: Option<&'static str>,
    samples: S,
    /// What the user should know, a sentence each.
    notes: Vec<String>,
}

impl<S> Measured<S> {
    /// What a sample is called whose source has no name for it.
    fn place(&self, index: usize) -> String {
        format!("{}[{index}]", self.given_split.unwrap_or(self.split))
    }
}

/// Is given what a sample is called, its true class or value, and the prediction.
pub(crate) type Each<'a> =
    &'a mut dyn FnMut(String, String, &Prediction<'_>) -> Result<(), Failure>;

impl<'a> Evaluated<'a> {
    /// - `given`: data to evaluate on instead of the run's own
    pub(crate) fn open(
        run: &'a Path,
        model: &'a Model<Selected>,
        given: Option<&'a Path>,
    ) -> Result<Self, Failure> {
        let layers = paths::settings(run)?;
        let is_own = given.is_some_and(|given| trained_on(&layers, given));
        let recipe = registry::find(&model.description().recipe)?;
        Ok(Self { run, model, given, is_own, recipe, layers })
    }

    /// Measures the run.
    pub(crate) fn examine(
        &self,
        device: &Device,
        progress: &mut WorkProgress<'_>,
    ) -> Result<Examined, Failure> {
        let mut examined = match self.model.description().input() {
            InputKind::Images => images::examine(self, self.config()?, device, progress),
            InputKind::Rows => tables::examine(self, self.config()?, device),
            InputKind::Text => texts::examine(self, self.config()?, device),
        }?;
        let report = &mut examined.report;
        report.notes.extend(self.note_on_own(report.given_split.is_some()));
        report.notes.extend(note_on_absent(report));
        Ok(examined)
    }

    /// Predicts each sample that [`Self::examine`] measures; returns notes to the user, a sentence each.
    pub(crate) fn predict_each(
        &self,
        progress: &mut WorkProgress<'_>,
        each: Each<'_>,
    ) -> Result<Vec<String>, Failure> {
        let (given_split, mut notes) = match self.model.description().input() {
            InputKind::Images => images::predict_each(self, self.config()?, progress, each),
            InputKind::Rows => tables::predict_each(self, self.config()?, each),
            InputKind::Text => Err(Failure::new(
                ExitCode::Usage,
                "`--csv` prints the predictions of samples, and a text has none",
                "leave it out",
            )),
        }?;
        notes.extend(self.note_on_own(given_split.is_some()));
        Ok(notes)
    }

    fn config<C: DeserializeOwned + Check>(&self) -> Result<C, Problems> {
        self.recipe.resolve(self.layers.clone())
    }

    /// The note where the given data are what the run was trained on, and all of them are measured.
    fn note_on_own(&self, is_split: bool) -> Option<String> {
        let data = self.given.filter(|_| self.is_own && !is_split)?;
        let summary = of_finished(self.run).ok().flatten();
        let held_out = summary.is_none_or(|summary| summary.held_out().is_some());
        let own = command("eval", self.run);
        let instead = match held_out {
            true => format!("; to measure it on what it held out: {own}"),
            false => String::new(),
        };
        Some(format!(
            "the run was trained on `{}`, so this is not its performance on new data{instead}",
            data.display()
        ))
    }

    /// Checks that the samples are those of the run, so that the held-out ones are evaluated.
    fn check_same_data(&self, fingerprint: &str) -> Result<(), Failure> {
        let other = |alternative: &str| {
            format!(
                "restore it, or name {alternative} to evaluate on: `--data PATH`; a run of an earlier version \
                 may have divided them otherwise"
            )
        };
        let input = self.model.description().input();
        match Environment::of(self.run)?.and_then(|environment| environment.data) {
            Some(recorded) if recorded.samples == fingerprint => Ok(()),
            Some(_) => Err(of_same_name(self.run).unwrap_or_else(|| {
                let path = last_named(&self.layers, "data.path");
                let named = path.map(|path| format!(", `{}`,", path.display())).unwrap_or_default();
                let message = format!("the run's data{named} has changed since it was trained");
                Failure::new(ExitCode::UserData, message, other(&format!("other {input}")))
            })),
            None => Err(Failure::new(
                ExitCode::UserData,
                format!(
                    "whether these are the data that the run was trained on is unknown: `{}` is missing, \
                     or lacks their hash",
                    self.run.join(ENVIRONMENT).display()
                ),
                other(&input.to_string()),
            )),
        }
    }

    /// The error for the run's own data that cannot be read, for instance because it was moved.
    fn or_elsewhere(&self, error: impl Into<Failure>) -> Failure {
        or_moved(self.run, error.into()).or("to evaluate on other data: `--data PATH`")
    }

    /// The error for a run without a split to evaluate on.
    fn nothing_held_out(&self) -> Failure {
        Failure::new(
            ExitCode::Usage,
            "the run held nothing out to measure on",
            format!("name {} to evaluate on: `--data PATH`", self.model.description().input()),
        )
    }
}

/// What the user should know where classes are predicted that have no sample to measure on.
fn note_on_absent(report: &EvaluationReport) -> Option<String> {
    let is_predicted = |class: usize| report.confusion.iter().any(|counts| counts[class] > 0);
    let classes = report.per_class.iter().enumerate();
    let absent: Vec<&str> = classes
        .filter(|&(class, scores)| scores.samples == 0 && is_predicted(class))
        .map(|(_, scores)| scores.class.as_str())
        .collect();
    match absent[..] {
        [] => None,
        [class] => Some(format!(
            "class `{class}` is predicted and has no sample here: in macro_f1 it counts as 0"
        )),
        [first, ..] => Some(format!(
            "{} classes are predicted and have no sample here, such as `{first}`: in macro_f1 each counts \
             as 0",
            absent.len()
        )),
    }
}
