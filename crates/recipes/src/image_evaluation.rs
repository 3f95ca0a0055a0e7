//! What is asked of the logits of images: the losses to train on, and the measures of a split.

use std::sync::Arc;

use backend::Backend;
use burn::tensor::{Int, Tensor, activation::log_softmax};
use data::{
    Batching, DataError, ImageLoader, ImagePreprocessing, ImageSource,
    augment::{AugmentOptions, Augmentation, Augmented},
};
use models::{
    losses::cross_entropy,
    metrics::{Evaluation, Summary as MetricSummary, hits},
};
use training::{Group, Metrics};

use crate::{Failure, config::ImageData};

/// Images that are evaluated at a time.
const EVALUATION_BATCH: usize = 256;

/// The cross-entropy of each image, against both of its labels where images were mixed.
///
/// - `logits`: `[batch, classes]`
/// - `label_smoothing`: the share of the target that is spread evenly over all classes
/// - returns: `[batch]`
pub(crate) fn image_losses<B: Backend>(
    logits: Tensor<B, 2>,
    batch: &Augmented<B>,
    label_smoothing: f64,
) -> Tensor<B, 1> {
    let losses = batch.losses(|labels| cross_entropy(logits.clone(), labels));
    if label_smoothing == 0.0 {
        return losses;
    }
    let [samples, _] = logits.dims();
    let even = log_softmax(logits, 1).mean_dim(1).neg().reshape([samples]);
    losses * (1.0 - label_smoothing) + even * label_smoothing
}

/// A split to measure on, without gradients.
pub(crate) struct ImageEvaluation<B: Backend> {
    loader: ImageLoader<B>,
    augmentation: Augmentation<B>, // asked to normalise only
    group: Group,
    device: B::Device,
}

impl<B: Backend> ImageEvaluation<B> {
    /// # Errors
    ///
    /// Where the images cannot be read.
    pub(crate) fn new(
        source: Arc<dyn ImageSource>,
        data: &ImageData,
        preprocessing: &ImagePreprocessing,
        group: &Group,
        device: &B::Device,
    ) -> Result<Self, DataError> {
        let batching = Batching::evaluation(EVALUATION_BATCH).shared(group.share());
        let loader = ImageLoader::new(source, batching, data.residency, data.workers, device)?;
        let augmentation = Augmentation::new(&AugmentOptions::default(), preprocessing, 0, device);
        Ok(Self { loader, augmentation, group: group.clone(), device: device.clone() })
    }

    /// The mean loss and the accuracy of a network, which `forward` takes from images to logits.
    ///
    /// # Errors
    ///
    /// Where an image can no longer be read, or another process failed.
    pub(crate) fn measure(
        &self,
        forward: impl Fn(Tensor<B, 4>) -> Tensor<B, 2>,
    ) -> Result<Metrics, Failure> {
        self.measure_each(forward, |_, _| ())
    }

    /// As [`ImageEvaluation::measure`]; `each` is shown the logits and the labels of each batch.
    ///
    /// # Errors
    ///
    /// Where an image can no longer be read, or another process failed.
    pub(crate) fn measure_each(
        &self,
        forward: impl Fn(Tensor<B, 4>) -> Tensor<B, 2>,
        mut each: impl FnMut(Tensor<B, 2>, Tensor<B, 1, Int>),
    ) -> Result<Metrics, Failure> {
        let metrics = [("accuracy", MetricSummary::Mean)];
        let mut evaluation = Evaluation::new(&metrics, &self.device);
        for batch in self.group.until_interrupted(self.loader.batches(0, 0)) {
            let batch = batch?;
            if batch.part.samples == 0 {
                continue;
            }
            let logits = forward(self.augmentation.normalise(batch.images));
            each(logits.clone(), batch.labels.clone());
            let losses = cross_entropy(logits.clone(), batch.labels.clone());
            evaluation.add(losses, [hits(logits, batch.labels)]);
        }
        Ok(evaluation.finish_together(|sums| self.group.sum_f64(sums))?)
    }
}
