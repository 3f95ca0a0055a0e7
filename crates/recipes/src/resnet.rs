//! The residual network for small pictures, with batch normalisation.

use backend::{AutodiffBackend, Selected};
use burn::backend::Autodiff;
use data::ImageShape;
use inference::InputKind;
use models::{Architecture, Pass, ResNet, ResNetConfig, Shortcut};
use serde::{Deserialize, Serialize};
use training::Trainer;

use crate::{
    Failure, Summary,
    config::{Check, Checker, ImageConfig},
    inputs::{
        initial_weights::{InitialWeights, Initialised},
        training_images::TrainingImages,
    },
    measure::images::ImageEvaluation,
    planning::memory::Divides,
    registry::Recipe,
    run::start::Begun,
};

/// The recipe, as listed in [`crate::registry`].
pub static RECIPE: Recipe = Recipe {
    name: "resnet",
    summary: "a residual network on small pictures, CIFAR-10's kind",
    input: InputKind::Images,
    divides: Divides::Batches,
    toml: include_str!("resnet.toml"),
    train: |layers, start| RECIPE.train_here(layers, start, train::<Autodiff<Selected>>),
    plan: |layers, progress| {
        let config: ImageConfig<Model> = RECIPE.resolve(layers)?;
        config.plan(&RECIPE, progress, |config, images, classes| {
            network(&config.model, images, classes).map(Architecture::ResNet)
        })
    },
};

/// The table `[model]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Layers with weights: 6 n + 2.
    pub depth: usize,
    /// The shortcut of a block that changes the shape.
    pub shortcut: Shortcut,
    /// The weights that training begins with.
    pub weights: InitialWeights,
}

impl Initialised for Model {
    fn weights(&self) -> &InitialWeights {
        &self.weights
    }
}

impl Check for Model {
    fn check(&self, checker: &mut Checker<'_>) {
        let depth = (8..10_000).contains(&self.depth) && self.depth % 6 == 2;
        let depths = "6 n + 2 and below 10,000, such as 20, 32, 44 or 56";
        checker.require("model.depth", depth, depths);
        self.weights.check(checker);
    }
}

/// Trains on the configured data, and leaves a run directory.
fn train<B: AutodiffBackend>(
    mut config: ImageConfig<Model>,
    mut begun: Begun<'_>,
    device: &B::Device,
) -> Result<Summary, Failure> {
    let seed = config.training.seed;
    config.check_size(|config, images, classes| network(&config.model, images, classes))?;

    // The data: how it is read, batched and split.
    let images = TrainingImages::<B>::open(&mut config, &mut begun, device)?;
    let TrainingImages { train, augmentation, loss, validation, test, inputs, .. } = &images;

    // The network.
    let (shape, classes) = (images.preprocessing.shape(), images.classes.len());
    let network = network(&config.model, shape, classes)?;
    let description = images.describe(RECIPE.name, Architecture::ResNet(network.clone()));
    let model = inputs.begin(network.init::<B>(seed, device), &description)?;

    // How good it is on images that it was not trained on.
    let measure = |split: &Option<ImageEvaluation<_>>, model: &ResNet<B::InnerBackend>| {
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
/// Where there is no network of this depth.
pub fn network(
    settings: &Model,
    images: ImageShape,
    classes: usize,
) -> Result<ResNetConfig, Failure> {
    let &Model { depth, shortcut, .. } = settings;
    let network = ResNetConfig { depth, shortcut, channels: images.channels, classes };
    network.check()?;
    Ok(network)
}
