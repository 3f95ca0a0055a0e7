//! Losses and metrics for rows of a table.

use backend::Backend;
use burn::tensor::{Int, Tensor};
use data::{
    Batching, Moments, Table, TableBatch, TableLoader, TablePreprocessing, TableTargets,
    TargetKind, TargetScale, TargetScores, Targets,
};
use models::{
    Mlp, Pass,
    losses::{binary_cross_entropy, cross_entropy, squared_error},
    metrics::{Evaluation, Reduction, binary_hits, hits},
};
use training::{Group, Metrics};

use crate::{Failure, config::Monitored};

/// Rows that are evaluated at a time, or fewer if they have texts.
const EVALUATION_BATCH: usize = 1024;

/// The logarithm of a value that is larger, divided by that of score 0, counts as this one. An f32 holds the
/// sum of the squares of a hundred thousand such values.
const LARGEST_LOGARITHM: f32 = 38.0;

/// A loss for each sample, of the kind that suits the targets.
///
/// - `outputs`: `[batch, outputs]`
/// - returns: `[batch]`
pub(crate) fn table_losses<B: Backend>(
    outputs: Tensor<B, 2>,
    targets: TableTargets<B>,
) -> Tensor<B, 1> {
    match targets {
        TableTargets::Binary(labels) => binary_cross_entropy(outputs.flatten(0, 1), labels),
        TableTargets::Classes(labels) => cross_entropy(outputs, labels),
        TableTargets::Values(values) => squared_error(outputs.flatten(0, 1), values),
    }
}

/// What the metrics beside the loss are means of: whether the class is predicted, or the absolute error
/// of a value and its squared error, which is given for `rmse` and again for `r2`.
///
/// - `outputs`: `[batch, outputs]`
/// - `losses`: `[batch]`
/// - `logarithms`: of values whose logarithms have scores; their errors are those of the values, divided by
///   the value of score 0, and of any other those of the scores
/// - returns: `[batch]` each
fn scores<B: Backend>(
    outputs: Tensor<B, 2>,
    targets: TableTargets<B>,
    losses: &Tensor<B, 1>,
    logarithms: Option<TargetScores>,
) -> Vec<Tensor<B, 1>> {
    let values = match targets {
        TableTargets::Binary(labels) => return vec![binary_hits(outputs.flatten(0, 1), labels)],
        TableTargets::Classes(labels) => return vec![hits(outputs, labels)],
        TableTargets::Values(values) => values,
    };
    let outputs = outputs.flatten(0, 1);
    let (errors, squares) = match logarithms {
        None => ((outputs - values).abs(), losses.clone()),
        Some(TargetScores { deviation, .. }) => {
            let [outputs, values] = [outputs, values]
                .map(|scores| (scores * deviation).clamp_max(LARGEST_LOGARITHM).exp());
            ((outputs.clone() - values.clone()).abs(), squared_error(outputs, values))
        }
    };
    vec![errors, squares.clone(), squares]
}

/// The metrics of a regression, of values or of their scores.
///
/// - `unit`: by which a value was divided
fn of_values(values: impl Iterator<Item = f64>, unit: f64) -> Vec<(&'static str, Reduction)> {
    let variance = Moments::of(values).variance();
    let mut metrics = vec![("mae", Reduction::Scaled { unit }), ("rmse", Reduction::Root { unit })];
    // Equal values have no variance to explain.
    if variance > 0.0 {
        metrics.push(("r2", Reduction::Explained { variance }));
    }
    metrics
}

/// A split to measure on, on the device without gradients.
pub(crate) struct TableEvaluation<B: Backend> {
    loader: TableLoader<B>,
    metrics: Vec<(&'static str, Reduction)>, // beside the loss
    logarithms: Option<TargetScores>,        // where these have the scores
    macro_f1_of: Option<usize>,              // classes, if it is monitored
    group: Group,
    device: B::Device,
}

impl<B: Backend> TableEvaluation<B> {
    pub(crate) fn new(
        table: Table,
        preprocessing: &TablePreprocessing,
        monitored: Monitored,
        group: &Group,
        device: &B::Device,
    ) -> Result<Self, Failure> {
        let rows = preprocessing.rows_at_a_time(EVALUATION_BATCH);
        let batching = Batching::evaluation(rows).shared(group.share());
        let (metrics, logarithms) = match (&preprocessing.target.kind, &table.targets) {
            (TargetKind::Regression(scores), Targets::Values(values)) => match scores.scale {
                TargetScale::Linear => {
                    let values = values.iter().map(|&score| score.into());
                    (of_values(values, scores.deviation), None)
                }
                TargetScale::Log => {
                    let value = |&score: &f32| (f64::from(score) * scores.deviation).exp();
                    (of_values(values.iter().map(value), scores.value(0.0)), Some(*scores))
                }
            },
            _ => (vec![("accuracy", Reduction::Mean)], None),
        };
        let loader = TableLoader::new(table, preprocessing.task(), batching, device)?;
        let classes = preprocessing.target.classes().len();
        let macro_f1_of = monitored.macro_f1_of(classes);
        Ok(Self {
            loader,
            metrics,
            logarithms,
            macro_f1_of,
            group: group.clone(),
            device: device.clone(),
        })
    }

    /// The mean loss, and the accuracy and what is monitored, or the errors of a regression.
    pub(crate) fn measure(&self, model: &Mlp<B>) -> Result<Metrics, Failure> {
        self.measure_each(model, |_, _| ())
    }

    /// As [`TableEvaluation::measure`]; `each` is shown the logits and the labels of each batch of
    /// classes, a binary target's as two logits.
    pub(crate) fn measure_each(
        &self,
        model: &Mlp<B>,
        mut each: impl FnMut(Tensor<B, 2>, Tensor<B, 1, Int>),
    ) -> Result<Metrics, Failure> {
        let mut evaluation = Evaluation::new(&self.metrics, &self.device);
        if let Some(classes) = self.macro_f1_of {
            evaluation = evaluation.with_macro_f1(classes, &self.device);
        }
        let batches = self.loader.batches(0, 0).filter(|batch| batch.part.samples > 0);
        for TableBatch { features, targets, .. } in self.group.until_interrupted(batches) {
            let outputs = model.forward(features, &mut Pass::evaluation());
            if let Some(labels) = targets.labels() {
                let logits = match targets {
                    TableTargets::Binary(_) => {
                        Tensor::cat(vec![outputs.zeros_like(), outputs.clone()], 1)
                    }
                    _ => outputs.clone(),
                };
                evaluation.add_classes(&logits, &labels);
                each(logits, labels);
            }
            let losses = table_losses(outputs.clone(), targets.clone());
            let scores = scores(outputs, targets, &losses, self.logarithms).into_iter();
            evaluation.add(losses, scores.take(self.metrics.len())); // `r2` may be left out
        }
        Ok(evaluation.finish_together(|sums| self.group.all_reduce_f64(sums))?)
    }
}
