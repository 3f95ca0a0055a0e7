//! A small VGG network trained from scratch, whose features the recipe `vgg` reuses.

use backend::{AutodiffBackend, Selected};
use burn::backend::Autodiff;
use data::ImageShape;
use inference::InputKind;
use models::{Architecture, HeadConfig, Pass, VggClassifier, VggClassifierConfig, VggConfig};
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
    name: "vgg-pretrain",
    summary: "a small VGG network, as a backbone for the recipe vgg",
    input: InputKind::Images,
    divides: Divides::Batches,
    toml: include_str!("vgg_pretrain.toml"),
    train: |layers, start| RECIPE.train_here(layers, start, train::<Autodiff<Selected>>),
    plan: |layers, progress| {
        let config: ImageConfig<FixedNetwork> = RECIPE.resolve(layers)?;
        config.plan(&RECIPE, progress, |_, images, classes| {
            network(images, classes).map(Architecture::Vgg)
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
    let description = images.describe(RECIPE.name, Architecture::Vgg(network.clone()));
    let model = inputs.begin(network.init::<B>(seed, device), &description)?;

    // How good it is on images that it was not trained on.
    let measure = |split: &Option<ImageEvaluation<_>>, model: &VggClassifier<B::InnerBackend>| {
        let logits = |images| model.forward(images, &mut Pass::evaluation());
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
            let mut pass = config.training.pass(trainer.step_number(), batch.part);
            let logits = trainer.model().forward(batch.images.clone(), &mut pass);
            trainer.count_correct(&logits, &batch.main_labels());
            trainer.step(loss.of_each(logits, &batch), batch.part)?;
            trainer.map_model(|model| pass.update_statistics(model));
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
pub fn network(images: ImageShape, classes: usize) -> Result<VggClassifierConfig, Failure> {
    let features =
        VggConfig { channels: images.channels, size: images.height, ..VggConfig::small() };
    features.check()?;
    let inputs = features.features();
    let head = HeadConfig { inputs, hidden: Vec::new(), outputs: classes, dropout: 0.0 };
    Ok(VggClassifierConfig { features, head })
}
