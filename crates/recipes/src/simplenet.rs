//! SimpleNet, the small convolutional network of the tutorial on good practice.

use backend::{AutodiffBackend, Selected};
use burn::backend::Autodiff;
use data::ImageShape;
use inference::InputKind;
use models::{Architecture, SimpleNet, SimpleNetConfig};
use training::Trainer;

use crate::{
    Failure, Summary,
    config::ImageConfig,
    inputs::{initial_weights::FixedNetwork, training_images::TrainingImages},
    measure::images::ImageEvaluation,
    planning::memory::Divides,
    registry::Recipe,
    run::start::Begun,
};

/// The recipe, as listed in [`crate::registry`].
pub static RECIPE: Recipe = Recipe {
    name: "simplenet",
    summary: "a small convolutional network, LeNet with 3x3 kernels",
    input: InputKind::Images,
    divides: Divides::Batches,
    toml: include_str!("simplenet.toml"),
    train: |layers, start| RECIPE.train_here(layers, start, train::<Autodiff<Selected>>),
    plan: |layers, progress| {
        let config: ImageConfig<FixedNetwork> = RECIPE.resolve(layers)?;
        config.plan(&RECIPE, progress, |_, images, classes| {
            network(images, classes).map(Architecture::SimpleNet)
        })
    },
};

/// Trains on the configured data, and leaves a run directory.
fn train<B: AutodiffBackend>(
    mut config: ImageConfig<FixedNetwork>,
    mut begun: Begun<'_>,
    device: &B::Device,
) -> Result<Summary, Failure> {
    let seed = config.training.seed;
    config.check_size(|_, images, classes| network(images, classes))?;

    // The data: how it is read, batched and split.
    let images = TrainingImages::<B>::open(&mut config, &mut begun, device)?;
    let TrainingImages { train, augmentation, loss, validation, test, inputs, .. } = &images;

    // The network.
    let network = network(images.preprocessing.shape(), images.classes.len())?;
    let description = images.describe(RECIPE.name, Architecture::SimpleNet(network.clone()));
    let model = inputs.begin(network.init::<B>(seed, device), &description)?;

    // How good it is on images that it was not trained on.
    let measure = |split: &Option<ImageEvaluation<_>>, model: &SimpleNet<B::InnerBackend>| {
        let logits = |images| model.forward(images);
        split.as_ref().map(|split| split.measure(logits)).transpose()
    };

    // The loop.
    let mut run = begun.open(&config, inputs)?;
    let interrupt = run.interrupt();
    let settings = config.trainer(train.steps_per_epoch()).keep_best_if(validation.is_some());
    let settings = run.complete(settings, &description, &images.sample());
    let mut trainer = Trainer::new(model, settings, device, &mut run, interrupt)?;
    while let Some(epoch) = trainer.next_epoch() {
        for batch in epoch.batches(train.batches(epoch.index, epoch.position)) {
            let batch = augmentation.apply(batch?, epoch.index);
            let logits = trainer.model().forward(batch.images.clone());
            trainer.count_correct(&logits, &batch.main_labels());
            trainer.step(loss.of_each(logits, &batch), batch.part)?;
        }
        trainer.try_end_epoch(|model| measure(validation, model))?;
    }
    let trained = trainer.finish()?;
    let test = measure(test, &trained.model)?;
    run.finish(trained, &description, test)
}

/// The network for images of this shape.
///
/// # Errors
///
/// Where the images are too small for it.
pub fn network(images: ImageShape, classes: usize) -> Result<SimpleNetConfig, Failure> {
    let network = SimpleNetConfig { channels: images.channels, size: images.height, classes };
    network.check()?;
    Ok(network)
}
