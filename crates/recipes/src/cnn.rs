//! The convolutional network of the Keras tutorial, on digits or your own pictures.

use backend::{AutodiffBackend, Selected};
use burn::backend::Autodiff;
use data::ImageShape;
use inference::InputKind;
use models::{Architecture, Cnn, CnnConfig, Pass};
use serde::{Deserialize, Serialize};
use training::Trainer;

use crate::{
    Failure, Summary,
    config::{Check, Checker, ImageConfig, check_dropout, check_widths},
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
    name: "cnn",
    summary: "a convolutional network on pictures: drawn digits, MNIST, a folder of your own",
    input: InputKind::Images,
    divides: Divides::Batches,
    toml: include_str!("cnn.toml"),
    train: |layers, start| RECIPE.train_here(layers, start, train::<Autodiff<Selected>>),
    plan: |layers, progress| {
        let config: ImageConfig<Model> = RECIPE.resolve(layers)?;
        config.plan(&RECIPE, progress, |config, images, classes| {
            network(&config.model, images, classes).map(Architecture::Cnn)
        })
    },
};

/// The most channels; of more the weights would not fit anywhere.
const MOST_FILTERS: usize = 4096;

/// The table `[model]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Channels after each convolution.
    pub filters: [usize; 3],
    /// Units of the hidden dense layer.
    pub hidden: usize,
    /// The share of the hidden layer's output that is dropped while training.
    pub dropout: f64,
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
        let are_channels = self.filters.iter().all(|filters| (1..=MOST_FILTERS).contains(filters));
        checker.require("model.filters", are_channels, "1 to 4096 channels");
        check_widths("model.hidden", &[self.hidden], checker);
        check_dropout(self.dropout, None, checker);
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
    let network = network(&config.model, images.preprocessing.shape(), images.classes.len())?;
    let description = images.describe(RECIPE.name, Architecture::Cnn(network.clone()));
    let model = inputs.begin(network.init::<B>(seed, device), &description)?;

    // How good it is on images that it was not trained on.
    let measure = |split: &Option<ImageEvaluation<_>>, model: &Cnn<B::InnerBackend>| {
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
pub fn network(model: &Model, images: ImageShape, classes: usize) -> Result<CnnConfig, Failure> {
    let network = CnnConfig {
        channels: images.channels,
        size: images.height,
        classes,
        filters: model.filters,
        hidden: model.hidden,
        dropout: model.dropout,
    };
    network.check()?;
    Ok(network)
}
