//! A finished run, measured again: on its own data, or on other data of the same kind.

mod images;
mod mistakes;
mod tables;
mod texts;

use std::path::Path;

use backend::{Selected, device::Device};
use inference::{Description, InputKind, Model};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use training::Metrics;

pub(crate) use self::mistakes::{Mistake, Sample};
pub use crate::confusion::ClassScores;
use crate::{
    ExitCode, Failure,
    config::{self, Check, Checker, Layer},
    image_set::Progress,
    registry,
    run_directory::CONFIG,
};

/// What a run came to on a split.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvaluationReport {
    /// `test`, `validation`, or `given` for data that was named.
    pub split: &'static str,
    /// Samples, or tokens of a text that were predicted.
    pub samples: usize,
    /// The loss and what else is measured.
    pub metrics: Metrics,
    /// The names of the classes; none where no class is predicted.
    pub classes: Vec<String>,
    /// How well each class is told from the others.
    pub per_class: Vec<ClassScores>,
    /// Samples by the true class, in rows, and the predicted one.
    pub confusion: Vec<Vec<u64>>,
}

impl EvaluationReport {
    /// A report where no class is predicted.
    fn of(split: &'static str, samples: usize, metrics: Metrics) -> Self {
        let (classes, per_class, confusion) = (Vec::new(), Vec::new(), Vec::new());
        Self { split, samples, metrics, classes, per_class, confusion }
    }
}

/// A run measured, with what a person wants to look at.
#[derive(Debug)]
pub(crate) struct Examined {
    pub(crate) report: EvaluationReport,
    /// What it was most wrong about, the worst first.
    pub(crate) mistakes: Vec<Mistake>,
    /// How the text that was held out begins, to be continued.
    pub(crate) beginning: Option<String>,
}

/// Measures a run on its test split, else on its validation split, or on all of `data`.
///
/// # Errors
///
/// Where the run or the data cannot be used.
pub fn evaluate(
    run: &Path,
    model: &Model<Selected>,
    data: Option<&Path>,
    device: &Device,
    progress: &mut Progress<'_>,
) -> Result<EvaluationReport, Failure> {
    Ok(examine(run, model, data, device, progress)?.report)
}

/// As [`evaluate`], with what a person wants to look at.
///
/// # Errors
///
/// As [`evaluate`].
pub(crate) fn examine(
    run: &Path,
    model: &Model<Selected>,
    data: Option<&Path>,
    device: &Device,
    progress: &mut Progress<'_>,
) -> Result<Examined, Failure> {
    let layer = Layer::file(&run.join(CONFIG));
    let recipe = registry::find(&model.description().recipe)?;
    let recipe = Layer::recipe(recipe.name, recipe.toml);
    match model.description().input() {
        InputKind::Images => {
            let config = config::resolve(recipe, vec![layer])?;
            images::examine(config, model, data, device, progress)
        }
        InputKind::Rows => {
            tables::examine(config::resolve(recipe, vec![layer])?, model, data, device)
        }
        InputKind::Text => {
            texts::examine(config::resolve(recipe, vec![layer])?, model, data, device)
        }
    }
}

/// The table `[model]` of any recipe, which is not looked at.
#[derive(Debug, Deserialize)]
struct AnyModel(IgnoredAny);

impl Check for AnyModel {
    fn check(&self, _: &mut Checker<'_>) {}
}

/// The error of data that is no longer what the model was trained on.
fn changed(description: &Description) -> Failure {
    Failure::new(
        ExitCode::UserData,
        "the data of the run is not what it was when the run was trained",
        format!(
            "bring it back, or name other {} to measure on: `--data PATH`",
            description.input()
        ),
    )
}
