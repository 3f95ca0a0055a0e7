//! The data, the network and the first batches of the recipes on images.

use std::{ops::ControlFlow, sync::Arc};

use anyhow::Context;
use backend::{Selected, device::Device};
use data::{
    Batching, ImageBatch, ImageLoader, ImageShape, ImageSource, Residency,
    augment::{Augmentation, Augmented},
};
use models::Architecture;
use recipes::{
    Failure, cnn,
    config::{Check, ImageConfig, SettingsLayer},
    image_set::ImageSet,
    initial_weights::FixedNetwork,
    registry::Recipe,
    resnet, simplenet, vgg_pretrain,
};
use serde::de::DeserializeOwned;
use store::StoredTensor;
use training::{OptimizerConfig, RunLength, ScheduleConfig};

use super::{Exchange, Goal, Loss, Task, stored};

/// The images that a recipe trains on, and its network.
pub(crate) struct Images {
    pub(crate) train: Arc<dyn ImageSource>,
    loader: ImageLoader<Selected>,
    augmentation: Augmentation<Selected>,
    held_out: Arc<dyn ImageSource>,
    architecture: Architecture,
    optimizer: OptimizerConfig,
    schedule: ScheduleConfig,
    batch_size: usize,
    epochs: usize,
    seed: u64,
}

impl Images {
    /// Those of a recipe; none where it does not train a whole network on images.
    pub(crate) fn of(recipe: &str, settings: &[String]) -> anyhow::Result<Option<Self>> {
        let images = match recipe {
            "cnn" => Self::read(&cnn::RECIPE, settings, |model, images, classes| {
                cnn::network(model, images, classes).map(Architecture::Cnn)
            }),
            "simplenet" => {
                Self::read(&simplenet::RECIPE, settings, |_: &FixedNetwork, images, classes| {
                    simplenet::network(images, classes).map(Architecture::SimpleNet)
                })
            }
            "resnet" => Self::read(&resnet::RECIPE, settings, |model, images, classes| {
                resnet::network(model, images, classes).map(Architecture::ResNet)
            }),
            "vgg-pretrain" => {
                Self::read(&vgg_pretrain::RECIPE, settings, |_: &FixedNetwork, images, classes| {
                    vgg_pretrain::network(images, classes).map(Architecture::Vgg)
                })
            }
            _ => return Ok(None),
        };
        images.map(Some)
    }

    /// - `network`: from the settings of the model, the form of the images and the number of classes
    fn read<Model: DeserializeOwned + Check>(
        recipe: &Recipe,
        settings: &[String],
        network: impl FnOnce(&Model, ImageShape, usize) -> Result<Architecture, Failure>,
    ) -> anyhow::Result<Self> {
        let config: ImageConfig<Model> = recipe.resolve(SettingsLayer::sets(settings))?;
        let device = Device::default();
        let ImageConfig { data, augment, training, .. } = &config;
        let (seed, batch_size) = (training.seed, training.batch_size);
        let mut silent = |_: &str, _, _| ControlFlow::Continue(());
        let images = ImageSet::read(data, seed, &mut silent)?;
        let preprocessing = images.preprocessing(data, &mut silent)?;
        let ImageSet { train, validation, .. } = images;
        let batching = Batching::new(data.order, seed, batch_size);
        let (residency, workers) = (data.residency, data.workers);
        Ok(Self {
            architecture: network(&config.model, train.shape(), train.classes().len())?,
            loader: ImageLoader::new(Arc::clone(&train), batching, residency, workers, &device)?,
            augmentation: Augmentation::new(augment, &preprocessing, seed, &device),
            train,
            held_out: validation.context("the recipe holds nothing out")?,
            optimizer: config.optimizer,
            schedule: config.schedule,
            batch_size,
            epochs: config.training.epochs,
            seed,
        })
    }

    /// The first batch of a run, as it is before augmentation.
    pub(crate) fn first_batch(&self) -> anyhow::Result<ImageBatch<Selected>> {
        Ok(self.loader.batches(0, 0).next().context("there are no images to train on")??)
    }

    /// A batch of the first epoch, as the network gets it.
    pub(crate) fn augmented(&self, batch: ImageBatch<Selected>) -> Augmented<Selected> {
        self.augmentation.apply(batch, 0)
    }

    /// The first batches of a run.
    pub(super) fn exchange(self, batches: usize) -> anyhow::Result<Exchange> {
        let first = self.loader.batches(0, 0).take(batches).map(|batch| {
            let batch = self.augmented(batch?);
            Ok::<_, anyhow::Error>((stored(batch.images)?, stored(batch.labels.float())?))
        });
        let first = first.collect::<Result<_, _>>()?;
        let Self { architecture, seed, optimizer, .. } = self;
        Ok(Exchange::new(architecture, seed, Loss::CrossEntropy, optimizer, first))
    }

    /// All full batches of the first epoch, and the split that is held out.
    pub(super) fn goal(self, accuracy: f64) -> anyhow::Result<Exchange> {
        let (inputs, labels) = self.validation()?;
        let full = self.loader.samples() / self.batch_size;
        let steps_per_epoch = full as u64;
        let run = RunLength { steps: steps_per_epoch * self.epochs as u64, steps_per_epoch };
        let rate = |step| self.schedule.learning_rate(self.optimizer.learning_rate, step, run);
        let learning_rates = (0..run.steps).map(rate).collect();
        let goal = Goal { accuracy, epochs: self.epochs, learning_rates };
        let mut exchange = self.exchange(full)?;
        (exchange.case.task, exchange.case.goal) = (Task::Reach, Some(goal));
        exchange.held_out = Some((inputs, labels));
        Ok(exchange)
    }

    /// The inputs and labels that are held out, as one batch.
    fn validation(&self) -> anyhow::Result<(StoredTensor, StoredTensor)> {
        let source = Arc::clone(&self.held_out);
        let batching = Batching::evaluation(source.labels().len());
        let device = Device::default();
        let loader = ImageLoader::<Selected>::new(source, batching, Residency::Host, 0, &device)?;
        let split = loader.batches(0, 0).next().context("nothing is held out")??;
        Ok((stored(self.augmentation.normalise(split.images))?, stored(split.labels.float())?))
    }
}
