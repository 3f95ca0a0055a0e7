//! The first batches of recipes on images.

use std::sync::Arc;

use anyhow::bail;
use backend::{Selected, device::Device};
use data::{Batching, ImageLoader, ImageSource, Residency, augment::Augmentation};
use models::{
    Architecture, CnnConfig, HeadConfig, ResNetConfig, SimpleNetConfig, VggClassifierConfig,
    VggConfig,
};
use recipes::{
    cnn,
    config::{Check, ImageConfig, NoSettings},
    image_set::ImageSet,
    registry::Recipe,
    resnet, simplenet, vgg_pretrain,
};
use serde::de::DeserializeOwned;
use store::StoredTensor;
use training::{OptimizerConfig, RunLength, ScheduleConfig};

use super::{Described, Exchange, Goal, Loss, Task, initial, resolved, stored};

/// What a network needs to know of the images.
struct Prepared<Model> {
    model: Model,
    channels: usize,
    size: usize,
    classes: usize,
    seed: u64,
    optimizer: OptimizerConfig,
    schedule: ScheduleConfig,
    epochs: usize,
    batches: Vec<(StoredTensor, StoredTensor)>,
    held_out: Arc<dyn ImageSource>,
    augmentation: Augmentation<Selected>,
}

impl<Model: DeserializeOwned + Check> Prepared<Model> {
    fn new(recipe: &Recipe, settings: &[String], batches: usize) -> anyhow::Result<Self> {
        let config: ImageConfig<Model> = resolved(recipe, settings)?;
        let device = Device::default();
        let ImageConfig { data, augment, training, .. } = &config;
        let (seed, batch_size) = (training.seed, training.batch_size);
        let images = ImageSet::read(data, seed, &mut |_, _, _| {})?;
        let preprocessing = images.preprocessing(data)?;
        let ImageSet { train, validation, .. } = images;
        let (shape, classes) = (train.shape(), train.classes().len());
        let batching = Batching::new(data.order, seed, batch_size);
        let loader =
            ImageLoader::<Selected>::new(train, batching, data.residency, data.workers, &device)?;
        let augmentation = Augmentation::new(augment, &preprocessing, seed, &device);
        let mut first = Vec::new();
        for batch in loader.batches(0, 0).take(batches) {
            let batch = batch?;
            let batch = augmentation.apply(batch.images, batch.labels, &batch.samples, 0);
            first.push((stored(batch.images)?, stored(batch.labels.float())?));
        }
        Ok(Self {
            epochs: config.training.epochs,
            model: config.model,
            channels: shape.channels,
            size: shape.height,
            classes,
            seed,
            optimizer: config.optimizer,
            schedule: config.schedule,
            batches: first,
            held_out: validation,
            augmentation,
        })
    }

    fn exchange(self, architecture: Architecture) -> Exchange {
        Exchange {
            task: Task::Train,
            loss: Loss::CrossEntropy,
            optimizer: self.optimizer,
            weights: initial(&architecture, self.seed, &Device::default()),
            architecture: Described::Whole(architecture),
            batches: self.batches,
            goal: None,
        }
    }
}

pub(super) fn cnn(settings: &[String], batches: usize) -> anyhow::Result<Exchange> {
    let images = Prepared::<NoSettings>::new(&cnn::RECIPE, settings, batches)?;
    let Prepared { channels, size, classes, .. } = images;
    Ok(images.exchange(Architecture::Cnn(CnnConfig { channels, size, classes })))
}

/// All full batches of the first epoch, and the split that is held out.
pub(super) fn cnn_goal(settings: &[String], accuracy: f64) -> anyhow::Result<Exchange> {
    let mut images = Prepared::<NoSettings>::new(&cnn::RECIPE, settings, usize::MAX)?;
    let Prepared { channels, size, classes, .. } = images;
    let batch = images.batches.first().map_or(0, |(inputs, _)| inputs.shape()[0]);
    images.batches.retain(|(inputs, _)| inputs.shape()[0] == batch);
    let steps_per_epoch = images.batches.len() as u64;
    let run = RunLength { steps: steps_per_epoch * images.epochs as u64, steps_per_epoch };
    let rate = |step| images.schedule.learning_rate(images.optimizer.learning_rate, step, run);
    let goal = Goal {
        accuracy,
        epochs: images.epochs,
        learning_rates: (0..run.steps).map(rate).collect(),
    };
    let device = Device::default();
    let count = images.held_out.labels().len();
    let held_out = Arc::clone(&images.held_out);
    let loader = ImageLoader::<Selected>::new(
        held_out,
        Batching::evaluation(count),
        Residency::Host,
        0,
        &device,
    )?;
    let Some(split) = loader.batches(0, 0).next() else { bail!("nothing is held out") };
    let split = split?;
    let inputs = stored(images.augmentation.normalise(split.images))?;
    let labels = stored(split.labels.float())?;
    let architecture = Architecture::Cnn(CnnConfig { channels, size, classes });
    let exchange = images.exchange(architecture);
    Ok(Exchange { task: Task::Reach, goal: Some((goal, inputs, labels)), ..exchange })
}

pub(super) fn simplenet(settings: &[String], batches: usize) -> anyhow::Result<Exchange> {
    let images = Prepared::<NoSettings>::new(&simplenet::RECIPE, settings, batches)?;
    let Prepared { channels, size, classes, .. } = images;
    Ok(images.exchange(Architecture::SimpleNet(SimpleNetConfig { channels, size, classes })))
}

pub(super) fn resnet(settings: &[String], batches: usize) -> anyhow::Result<Exchange> {
    let images = Prepared::<resnet::Model>::new(&resnet::RECIPE, settings, batches)?;
    let resnet::Model { depth, shortcut } = images.model;
    let config =
        ResNetConfig { depth, shortcut, channels: images.channels, classes: images.classes };
    Ok(images.exchange(Architecture::ResNet(config)))
}

pub(super) fn vgg_pretrain(settings: &[String], batches: usize) -> anyhow::Result<Exchange> {
    let images = Prepared::<NoSettings>::new(&vgg_pretrain::RECIPE, settings, batches)?;
    let Prepared { channels, size, classes, .. } = images;
    let features = VggConfig { channels, size, ..VggConfig::small() };
    let inputs = features.features();
    let head = HeadConfig { inputs, hidden: Vec::new(), outputs: classes, dropout: 0.0 };
    Ok(images.exchange(Architecture::Vgg(VggClassifierConfig { features, head })))
}
