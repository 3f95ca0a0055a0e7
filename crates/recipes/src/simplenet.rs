//! The small convolutional network of the second tutorial.

use backend::{AutodiffBackend, Selected, device};
use burn::backend::Autodiff;
use data::{ImageLoader, augment::Augmentation};
use inference::{Description, Preprocessing};
use models::{Architecture, SimpleNetConfig};
use serde::{Deserialize, Serialize};
use training::Trainer;

use crate::{
    Failure, Start, Summary,
    config::{self, Check, Checker, ImageConfig, Layer},
    image_evaluation::{ImageEvaluation, image_losses},
    image_set::ImageSet,
    registry::Recipe,
};

/// The recipe as [`crate::registry`] lists it.
pub const RECIPE: Recipe = Recipe {
    name: "simplenet",
    summary: "the second tutorial's small convolutional network, made runnable",
    task: "image classification",
    toml: include_str!("simplenet.toml"),
    train: |layers, start| {
        let config = config::resolve(Layer::recipe(RECIPE.name, RECIPE.toml), layers)?;
        let (device, name) = device::open()?;
        train::<Autodiff<Selected>>(config, start, &device, &name)
    },
};

/// The table `[model]`, which has no keys: the network is the tutorial's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {}

impl Check for Model {
    fn check(&self, _: &mut Checker<'_>) {}
}

/// Trains on what the configuration names, and leaves a run directory.
///
/// # Errors
///
/// Whatever is wrong with the data, the run directory or the training itself.
pub fn train<B: AutodiffBackend>(
    config: ImageConfig<Model>,
    mut start: Start<'_>,
    device: &B::Device,
    device_name: &str,
) -> Result<Summary, Failure> {
    let ImageConfig { data, augment, training, .. } = &config;
    let seed = training.seed;
    training.choose_convolution();

    // The data.
    let images = ImageSet::read(data, seed, &mut start)?;
    let classes = images.classes().to_vec();
    let preprocessing = images.preprocessing;
    let augmentation = Augmentation::<B>::new(augment, &preprocessing, seed, device);
    let batching = training.batching(data.order);
    let train =
        ImageLoader::<B>::new(images.train, batching, data.residency, data.workers, device)?;
    let evaluation = |split| ImageEvaluation::new(split, data, &preprocessing, device);
    let validation = evaluation(images.validation)?;
    let test = images.test.map(evaluation).transpose()?;

    // The network.
    let network = SimpleNetConfig {
        channels: preprocessing.channels,
        size: preprocessing.size[0],
        classes: classes.len(),
    };
    let architecture = Architecture::SimpleNet(network.clone());
    architecture.check()?;
    let model = network.init::<B>(seed, device);
    let description = Description {
        recipe: RECIPE.name.to_owned(),
        architecture,
        classes,
        preprocessing: Preprocessing::Image(preprocessing.clone()),
    };

    // The loop.
    let mut run = start.open(RECIPE.name, seed, &config, device_name, &images.notes)?;
    run.skipped(images.skipped);
    let interrupt = run.interrupt();
    let settings = config.trainer(train.steps_per_epoch());
    let mut trainer = Trainer::new(model, settings, device, &mut run, interrupt)?;
    while let Some(epoch) = trainer.next_epoch() {
        for batch in epoch.batches(train.batches(epoch.index, epoch.position)) {
            let batch = batch?;
            let part = batch.part;
            let batch = augmentation.apply(batch.images, batch.labels, &batch.samples, epoch.index);
            let logits = trainer.model().forward(batch.images.clone());
            trainer.step(image_losses(logits, &batch, augment.label_smoothing), part)?;
        }
        trainer.try_end_epoch(|model| {
            let metrics = validation.measure(|images| model.forward(images))?;
            Ok::<_, Failure>(Some(metrics))
        })?;
    }
    let trained = trainer.finish()?;
    let model = &trained.model;
    let test = test.map(|split| split.measure(|images| model.forward(images))).transpose()?;
    run.finish(trained, &description, test)
}
