//! The residual network for small pictures, with batch normalisation.

use backend::{AutodiffBackend, Selected};
use burn::backend::Autodiff;
use data::ImageShape;
use inference::InputKind;
use models::{Architecture, Pass, ResNet, ResNetConfig, Shortcut};
use serde::{Deserialize, Serialize};
use training::Trainer;

use crate::{
    ExitCode, Failure, Summary,
    config::{Check, Checker, ImageConfig, Training},
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
            fitting(config, images, classes, 1).map(Architecture::ResNet)
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
    let processes = begun.group().share().of;
    config.check_size(|config, images, classes| fitting(config, images, classes, processes))?;

    // The data: how it is read, batched and split.
    let images = TrainingImages::<B>::open(&mut config, &mut begun, device)?;
    let TrainingImages { train, augmentation, loss, validation, test, inputs, .. } = &images;

    // The network.
    let (shape, classes) = (images.preprocessing.shape(), images.classes.len());
    let network = fitting(&config, shape, classes, processes)?;
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

/// The network for images of this shape, if the batches of the configuration are enough for its norms.
///
/// - `processes`: how many train together
fn fitting(
    config: &ImageConfig<Model>,
    images: ImageShape,
    classes: usize,
    processes: usize,
) -> Result<ResNetConfig, Failure> {
    refuse_lone_values(&config.training, images, processes)?;
    network(&config.model, images, classes)
}

/// Refuses samples one at a time where the last maps have one pixel: normalised, a single value is 0
/// whatever it was.
fn refuse_lone_values(
    training: &Training,
    images: ImageShape,
    processes: usize,
) -> Result<(), Failure> {
    let ImageShape { height, width, .. } = images;
    let Training { batch_size, micro_batch, sync_batch_norm, .. } = *training;
    let normalised = if sync_batch_norm { batch_size } else { training.at_a_time(processes) };
    if normalised > 1 || height.max(width) > 4 {
        return Ok(());
    }
    let (is, enough) = match micro_batch {
        Some(1) => {
            ("`training.micro_batch` is 1".to_owned(), "`training.micro_batch` to 2".to_owned())
        }
        _ if processes == 1 || sync_batch_norm => {
            ("`training.batch_size` is 1".to_owned(), "`training.batch_size` to 2".to_owned())
        }
        _ => (
            format!(
                "`training.batch_size` is {batch_size}, at most 1 for each of {processes} processes"
            ),
            format!("`training.sync_batch_norm=true`, `training.batch_size` to {}", 2 * processes),
        ),
    };
    Err(Failure::new(
        ExitCode::Usage,
        format!(
            "{is}, and of pictures of {height}x{width} the last maps have one pixel: batch normalisation \
             needs more than one value"
        ),
        format!("set {enough} or more, or a larger `data.size`"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SettingsLayer;

    #[test]
    fn pictures_are_counted_for_each_process() {
        let images = ImageShape { channels: 3, height: 4, width: 4 };
        let refused = |settings: &[&str], processes| {
            let config: ImageConfig<Model> = RECIPE.resolve(SettingsLayer::sets(settings)).unwrap();
            let refused = fitting(&config, images, 10, processes).err()?;
            Some((refused.to_string(), refused.problems[0].help.clone().unwrap()))
        };
        let four = "training.batch_size=4";
        assert_eq!(refused(&[four], 3), None);
        let (message, help) = refused(&[four], 4).unwrap();
        let expected =
            "`training.batch_size` is 4, at most 1 for each of 4 processes, and of pictures";
        assert!(message.starts_with(expected), "{message}");
        assert!(help.contains("`training.batch_size` to 8 or more"), "{help}");
        assert_eq!(refused(&[four, "training.sync_batch_norm=true"], 4), None);
        let (message, _) = refused(&[four, "training.micro_batch=1"], 4).unwrap();
        assert!(message.starts_with("`training.micro_batch` is 1, and"), "{message}");
        assert!(refused(&["training.batch_size=1", "training.sync_batch_norm=true"], 4).is_some());
    }
}
