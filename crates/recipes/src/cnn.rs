//! The convolutional network of the Keras tutorial, on digits or your own pictures.

use backend::{AutodiffBackend, Selected, device};
use burn::backend::Autodiff;
use models::{Architecture, CnnConfig};
use training::Trainer;

use crate::{
    Failure, Start, Summary,
    config::{self, ImageConfig, Layer, NoSettings},
    image_evaluation::image_losses,
    image_set::TrainingImages,
    registry::Recipe,
};

/// The recipe as [`crate::registry`] lists it.
pub const RECIPE: Recipe = Recipe {
    name: "cnn",
    summary: "a convolutional network on pictures: drawn digits, MNIST, a folder of your own",
    task: "image classification",
    toml: include_str!("cnn.toml"),
    train: |layers, start| {
        let config = config::resolve(Layer::recipe(RECIPE.name, RECIPE.toml), layers)?;
        let (device, name) = device::open()?;
        train::<Autodiff<Selected>>(config, start, &device, &name)
    },
};

/// Trains on what the configuration names, and leaves a run directory.
///
/// # Errors
///
/// Whatever is wrong with the data, the run directory or the training itself.
pub fn train<B: AutodiffBackend>(
    config: ImageConfig<NoSettings>,
    mut start: Start<'_>,
    device: &B::Device,
    device_name: &str,
) -> Result<Summary, Failure> {
    let seed = config.training.seed;
    config.training.choose_arithmetic::<B>(device)?;

    // The data: what is read, how it is batched, and what is measured on.
    let images = TrainingImages::<B>::open(&config, &mut start, device)?;
    let TrainingImages { train, augmentation, validation, test, .. } = &images;

    // The network.
    let network = CnnConfig {
        channels: images.preprocessing.channels,
        size: images.preprocessing.size[0],
        classes: images.classes.len(),
    };
    let architecture = Architecture::Cnn(network.clone());
    architecture.check()?;
    let description = images.describe(RECIPE.name, architecture);
    let model = network.init::<B>(seed, device);

    // The loop.
    let mut run = start.open(RECIPE.name, seed, &config, device_name, &images.notes)?;
    run.skipped(images.skipped);
    let interrupt = run.interrupt();
    let settings = config.trainer(train.steps_per_epoch(), &description);
    let mut trainer = Trainer::new(model, settings, device, &mut run, interrupt)?;
    while let Some(epoch) = trainer.next_epoch() {
        for batch in epoch.batches(train.batches(epoch.index, epoch.position)) {
            let batch = batch?;
            let part = batch.part;
            let batch = augmentation.apply(batch.images, batch.labels, &batch.samples, epoch.index);
            let logits = trainer.model().forward(batch.images.clone());
            trainer.step(image_losses(logits, &batch, config.augment.label_smoothing), part)?;
        }
        trainer.try_end_epoch(|model| {
            let metrics = validation.measure(|images| model.forward(images))?;
            Ok::<_, Failure>(Some(metrics))
        })?;
    }
    let trained = trainer.finish()?;
    let model = &trained.model;
    let test =
        test.as_ref().map(|split| split.measure(|images| model.forward(images))).transpose()?;
    run.finish(trained, &description, test)
}
