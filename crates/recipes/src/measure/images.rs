//! What is computed from the logits of images: the losses to train on, and the metrics of a split.

use std::sync::Arc;

use backend::Backend;
use burn::tensor::{Int, Tensor};
use data::{
    DataError, ImageBatch, ImageLoader, ImagePreprocessing, ImageSource,
    augment::{AugmentOptions, Augmentation, Augmented},
};
use models::{
    losses::{cross_entropy, label_smoothed},
    metrics::{Evaluation, Reduction, hits},
};
use training::{Group, Metrics};

use crate::{Failure, config::ImageConfig, inputs::class_weights::ClassWeights};

/// The loss that a network for images is trained on.
#[derive(Clone, Debug)]
pub(crate) struct ImageLoss<B: Backend> {
    /// The share of the target that is spread evenly over all classes.
    label_smoothing: f64,
    class_weights: ClassWeights<B>,
}

impl<B: Backend> ImageLoss<B> {
    /// As configured, for images to train on.
    pub(crate) fn new<Model>(
        config: &ImageConfig<Model>,
        train: &dyn ImageSource,
        device: &B::Device,
    ) -> Self {
        let (labels, classes) = (train.labels(), train.classes().len());
        let weighting = config.data.class_weights;
        Self {
            label_smoothing: config.augment.label_smoothing,
            class_weights: ClassWeights::new(weighting, labels, classes, device),
        }
    }

    /// The cross-entropy of each image, against both of its labels where images were mixed.
    ///
    /// - `logits`: `[batch, classes]`
    /// - returns: `[batch]`
    pub(crate) fn of_each(&self, logits: Tensor<B, 2>, batch: &Augmented<B>) -> Tensor<B, 1> {
        let losses = batch.losses(|labels| {
            let losses = cross_entropy(logits.clone(), labels.clone());
            self.class_weights.weigh(losses, labels)
        });
        label_smoothed(losses, logits, self.label_smoothing, self.class_weights.of_classes())
    }
}

/// The mean loss and the accuracy, and what is monitored besides, of a network on batches of its inputs,
/// without gradients.
///
/// - `macro_f1_of`: the classes whose mean F1 is measured, if it is
/// - `forward`: from images, or features in their place, to logits, `[batch, classes]`
/// - `each`: is shown the logits and the labels of each batch
pub(crate) fn measure_batches<B: Backend>(
    batches: impl Iterator<Item = Result<Augmented<B>, DataError>>,
    forward: impl Fn(Tensor<B, 4>) -> Tensor<B, 2>,
    mut each: impl FnMut(Tensor<B, 2>, Tensor<B, 1, Int>),
    macro_f1_of: Option<usize>,
    group: &Group,
    device: &B::Device,
) -> Result<Metrics, Failure> {
    let mut evaluation = Evaluation::new(&[("accuracy", Reduction::Mean)], device);
    if let Some(classes) = macro_f1_of {
        evaluation = evaluation.with_macro_f1(classes, device);
    }
    for batch in group.until_interrupted(batches) {
        let Augmented { images, labels, part, .. } = batch?;
        if part.samples == 0 {
            continue;
        }
        let logits = forward(images);
        each(logits.clone(), labels.clone());
        evaluation.add_classes(&logits, &labels);
        let losses = cross_entropy(logits.clone(), labels.clone());
        evaluation.add(losses, [hits(logits, labels)]);
    }
    Ok(evaluation.finish_together(|sums| group.all_reduce_f64(sums))?)
}

/// A split to measure on, without gradients.
pub(crate) struct ImageEvaluation<B: Backend> {
    loader: ImageLoader<B>,
    augmentation: Augmentation<B>, // asked to normalise only
    macro_f1_of: Option<usize>,    // classes, if it is monitored
    group: Group,
    device: B::Device,
}

impl<B: Backend> ImageEvaluation<B> {
    pub(crate) fn new<Model>(
        source: Arc<dyn ImageSource>,
        config: &ImageConfig<Model>,
        preprocessing: &ImagePreprocessing,
        group: &Group,
        device: &B::Device,
    ) -> Result<Self, DataError> {
        let ImageConfig { data, training, .. } = config;
        let batching = training.evaluation_batching().shared(group.share());
        let macro_f1_of = training.monitor.macro_f1_of(source.classes().len());
        let loader = ImageLoader::new(source, batching, data.residency, data.workers, device)?;
        let augmentation = Augmentation::new(&AugmentOptions::default(), preprocessing, 0, device);
        let (group, device) = (group.clone(), device.clone());
        Ok(Self { loader, augmentation, macro_f1_of, group, device })
    }

    /// The mean loss and the accuracy, and what is monitored, of a network, which `forward` takes from
    /// images to logits.
    pub(crate) fn measure(
        &self,
        forward: impl Fn(Tensor<B, 4>) -> Tensor<B, 2>,
    ) -> Result<Metrics, Failure> {
        self.measure_each(forward, |_, _| ())
    }

    /// As [`ImageEvaluation::measure`]; `each` is shown the logits and the labels of each batch.
    pub(crate) fn measure_each(
        &self,
        forward: impl Fn(Tensor<B, 4>) -> Tensor<B, 2>,
        each: impl FnMut(Tensor<B, 2>, Tensor<B, 1, Int>),
    ) -> Result<Metrics, Failure> {
        let normalise = |ImageBatch { images, labels, part, .. }: ImageBatch<B>| {
            let images = self.augmentation.normalise(images);
            Augmented { images, labels, mixed: None, part }
        };
        let batches = self.loader.batches(0, 0).map(|batch| batch.map(normalise));
        measure_batches(batches, forward, each, self.macro_f1_of, &self.group, &self.device)
    }
}
