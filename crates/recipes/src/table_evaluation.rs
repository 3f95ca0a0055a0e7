//! Losses and metrics for rows of a table.

use backend::Backend;
use burn::tensor::{Int, Tensor};
use data::{
    Batching, Moments, Table, TableBatch, TableLoader, TablePreprocessing, TableTargets,
    TargetKind, Targets,
};
use models::{
    Mlp,
    losses::{binary_cross_entropy, cross_entropy, squared_error},
    metrics::{Evaluation, Summary as MetricSummary, binary_hits, hits},
};
use training::{Group, Metrics};

use crate::Failure;

/// Rows that are evaluated at a time.
const EVALUATION_BATCH: usize = 1024;

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

/// The scores of each sample, `[batch]`: the accuracy's, or those of MAE, RMSE and R².
fn scores<B: Backend>(outputs: Tensor<B, 2>, targets: TableTargets<B>) -> Vec<Tensor<B, 1>> {
    match targets {
        TableTargets::Binary(labels) => vec![binary_hits(outputs.flatten(0, 1), labels)],
        TableTargets::Classes(labels) => vec![hits(outputs, labels)],
        TableTargets::Values(values) => {
            let outputs = outputs.flatten(0, 1);
            let squares = squared_error(outputs.clone(), values.clone());
            vec![(outputs - values).abs(), squares.clone(), squares]
        }
    }
}

/// A split to measure on, on the device without gradients.
pub(crate) struct TableEvaluation<B: Backend> {
    loader: TableLoader<B>,
    /// One for each of [`scores`], of the last of which there may be none.
    metrics: Vec<(&'static str, MetricSummary)>,
    group: Group,
    device: B::Device,
}

impl<B: Backend> TableEvaluation<B> {
    /// # Errors
    ///
    /// Where the targets do not suit the preprocessing.
    pub(crate) fn new(
        table: Table,
        preprocessing: &TablePreprocessing,
        group: &Group,
        device: &B::Device,
    ) -> Result<Self, Failure> {
        let batching = Batching::evaluation(EVALUATION_BATCH).shared(group.share());
        let metrics = match (&preprocessing.target.kind, &table.targets) {
            (TargetKind::Regression { deviation, .. }, Targets::Values(values)) => {
                let variance = Moments::of(values.iter().map(|&value| value.into())).variance();
                // Equal values have no variance to explain.
                let explained =
                    (variance > 0.0).then_some(("r2", MetricSummary::Explained { variance }));
                let unit = *deviation;
                let errors = [
                    ("mae", MetricSummary::Scaled { unit }),
                    ("rmse", MetricSummary::Root { unit }),
                ];
                errors.into_iter().chain(explained).collect()
            }
            _ => vec![("accuracy", MetricSummary::Mean)],
        };
        let loader = TableLoader::new(table, preprocessing.task(), batching, device)?;
        Ok(Self { loader, metrics, group: group.clone(), device: device.clone() })
    }

    /// The mean loss, and the accuracy, or the errors of a regression.
    ///
    /// # Errors
    ///
    /// Where another process failed.
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
        let batches = self.loader.batches(0, 0).filter(|batch| batch.part.samples > 0);
        for TableBatch { features, targets, .. } in self.group.until_interrupted(batches) {
            let outputs = model.forward(features);
            match targets.clone() {
                TableTargets::Binary(labels) => {
                    let zero = outputs.zeros_like();
                    each(Tensor::cat(vec![zero, outputs.clone()], 1), labels.int());
                }
                TableTargets::Classes(labels) => each(outputs.clone(), labels),
                TableTargets::Values(_) => {}
            }
            let losses = table_losses(outputs.clone(), targets.clone());
            let scores = scores(outputs, targets);
            evaluation.add(losses, scores.into_iter().take(self.metrics.len()));
        }
        Ok(evaluation.finish_together(|sums| self.group.sum_f64(sums))?)
    }
}
