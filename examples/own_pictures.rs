//! Your own network on your own pictures: batch normalisation, dropout, augmentation, a learning-rate
//! schedule, a validation on pictures that are held out, and a file from which it is used afterwards.
//!
//! ```text
//! cargo run --release -p examples --example own_pictures
//! ```
//!
//! Drawn digits stand for your pictures. For a folder of them take
//! `data::image_folder::open_image_folder`, for any other source see `own_data`.

#![allow(clippy::print_stdout)] // A program's result.

use std::{path::Path, sync::Arc};

use backend::{
    Backend, Selected, Share,
    device::{self, Allocator, Device},
    functional::{PoolOptions, max_pool2d},
};
use burn::{
    backend::Autodiff,
    module::Module,
    tensor::{ElementConversion, Tensor, TensorData},
};
use data::{
    Batching, DataError, ImageBatch, ImageLoader, ImagePreprocessing, ImageShape, ImageSource,
    Order, Residency, Resize, Subset,
    augment::{AugmentOptions, Augmentation},
    drawn, measure_images, silent,
};
use mimalloc::MiMalloc;
use models::{
    Initialization, Initializer, Pass,
    layers::{BatchNorm2d, Conv2d, Conv2dConfig, Dropout, Linear},
    losses::cross_entropy,
    metrics::{Evaluation, Reduction, hits},
    weights,
};
use store::TensorFile;
use training::{
    EpochReport, Event, Metrics, OptimizerConfig, OptimizerKind, ScheduleConfig, ScheduleKind,
    Stop, Trained, Trainer, TrainerConfig,
};

// Reuses memory from step to step.
#[global_allocator]
static ALLOCATOR: Allocator<MiMalloc> = Allocator(MiMalloc);

/// Of the initial weights, the split, the order of the pictures, augmentation and dropout.
const SEED: u64 = 0;

/// Three convolutions with batch normalisation, each followed by pooling, and a dense layer.
#[derive(Module, Debug)]
struct Net<B: Backend> {
    conv1: Conv2d<B>,
    bn1: BatchNorm2d<B>,
    conv2: Conv2d<B>,
    bn2: BatchNorm2d<B>,
    conv3: Conv2d<B>,
    bn3: BatchNorm2d<B>,
    dropout: Dropout,
    fc: Linear<B>,
}

impl<B: Backend> Net<B> {
    /// Each layer has a name, from which and the seed its weights follow.
    fn new(initializer: &Initializer<B>, classes: usize) -> Self {
        let conv = |name, inputs, outputs| {
            let sizes = Conv2dConfig::square(3, inputs, outputs);
            // The normalisation that follows has a bias.
            let sizes = Conv2dConfig { padding: [1; 2], bias: false, ..sizes };
            sizes.build(&initializer.at(name), Initialization::He)
        };
        let norm = |name, channels| BatchNorm2d::new(&initializer.at(name), channels);
        Self {
            conv1: conv("conv1", 1, 16),
            bn1: norm("bn1", 16),
            conv2: conv("conv2", 16, 32),
            bn2: norm("bn2", 32),
            conv3: conv("conv3", 32, 64),
            bn3: norm("bn3", 64),
            dropout: Dropout::new(0.2),
            fc: Linear::new(&initializer.at("fc"), Initialization::Pytorch, 3 * 3 * 64, classes),
        }
    }

    /// - `images`: `[batch, 1, 28, 28]`
    /// - returns logits: `[batch, classes]`
    fn forward(&self, images: Tensor<B, 4>, pass: &mut Pass<B>) -> Tensor<B, 2> {
        let half = |maps| max_pool2d(maps, &PoolOptions::square(2));
        let maps = half(self.bn1.forward_relu(self.conv1.forward(images), pass)); // [batch, 16, 14, 14]
        let maps = half(self.bn2.forward_relu(self.conv2.forward(maps), pass)); // [batch, 32, 7, 7]
        let maps = half(self.bn3.forward_relu(self.conv3.forward(maps), pass)); // [batch, 64, 3, 3]
        self.fc.forward(self.dropout.forward(maps.flatten(1, 3), pass))
    }
}

fn main() -> anyhow::Result<()> {
    device::prepare_process(Share::WHOLE); // first, since this thread computes as well
    let pictures = Arc::new(drawn::digits(0..2000, SEED)?);
    let file = std::env::temp_dir().join("own_pictures.safetensors");
    let trained = train(pictures.clone(), 8, &file)?;
    println!("the best epoch's network is in {}: {:?}", file.display(), trained.best);

    let mut pixels = vec![0; pictures.shape().bytes()];
    pictures.read(0, &mut pixels)?;
    let label = pictures.labels()[0] as usize;
    println!("a {} is taken for a {}", pictures.classes()[label], predict(&file, &pixels)?);
    Ok(())
}

/// Trains on four fifths of the pictures, and writes the network that is best on the others.
fn train(
    pictures: Arc<dyn ImageSource>,
    epochs: usize,
    file: &Path,
) -> anyhow::Result<Trained<Net<Selected>>> {
    let (device, _) = device::open()?;
    let (train, held_out) = Subset::divide(&pictures, 0.2, SEED)?;
    let preprocessing = measure_images(&train, Resize::Crop, &mut silent)?;
    let batching = Batching::new(Order::Shuffled, SEED, 50);
    let train = ImageLoader::new(Arc::new(train), batching, Residency::Auto, 2, &device)?;
    let batching = Batching::evaluation(100);
    let held_out = ImageLoader::new(Arc::new(held_out), batching, Residency::Auto, 2, &device)?;

    let options = AugmentOptions { rotate: 10.0, translate: 0.1, ..Default::default() };
    let augmentation = Augmentation::new(&options, &preprocessing, SEED, &device);
    let plain = Augmentation::new(&AugmentOptions::default(), &preprocessing, SEED, &device);

    let adam = OptimizerConfig::new(OptimizerKind::AdamW, 3e-3);
    let mut config = TrainerConfig::new(adam, epochs, train.steps_per_epoch());
    config.schedule = ScheduleConfig::new(ScheduleKind::OneCycle);
    config.keep_best = true;
    let mut print = |event: &Event| {
        match event {
            Event::Epoch(EpochReport { epoch, train_loss, validation: Some(held_out), .. }) => {
                println!("epoch {epoch}: loss {train_loss:.4}, held out {held_out:.4?}");
            }
            Event::Warning { message } => println!("warning: {message}"),
            _ => {}
        }
        Ok(())
    };
    let initializer = Initializer::<Autodiff<Selected>>::seeded(SEED, &device);
    let net = Net::new(&initializer, pictures.classes().len());
    let mut trainer = Trainer::new(net, config, &device, &mut print, Stop::default())?;
    while let Some(epoch) = trainer.next_epoch() {
        for batch in epoch.batches(train.batches(epoch.index, epoch.position)) {
            let batch = augmentation.apply(batch?, epoch.index);
            let mut pass = Pass::training(SEED, trainer.step_number(), batch.part.first);
            let logits = trainer.model().forward(batch.images.clone(), &mut pass);
            // Where `mixup` or `cutmix` mixes pictures, each has two labels.
            let losses = batch.losses(|labels| cross_entropy(logits.clone(), labels));
            trainer.step(losses, batch.part)?;
            trainer.map_model(|net| pass.update_statistics(net)); // after the step
        }
        trainer.try_end_epoch(|net| anyhow::Ok(Some(measure(net, &held_out, &plain, &device)?)))?;
    }
    let trained = trainer.finish()?;
    // With all that it takes to use it.
    let metadata = serde_json::to_value((&preprocessing, pictures.classes()))?;
    TensorFile { tensors: weights::to_tensors(&trained.model), metadata }.write(file)?;
    Ok(trained)
}

/// The class of a picture, by the network in a file.
///
/// - `pixels`: `[1, 28, 28]`
fn predict(file: &Path, pixels: &[u8]) -> anyhow::Result<String> {
    let (device, _) = device::open()?;
    let TensorFile { tensors, metadata } = TensorFile::read(file)?;
    let (preprocessing, classes): (ImagePreprocessing, Vec<String>) =
        serde_json::from_value(metadata)?;
    let blank = Net::<Selected>::new(&Initializer::blank(&device), classes.len());
    let net = weights::load(blank, tensors)?;

    let ImageShape { channels, height, width } = preprocessing.shape();
    let image = TensorData::new(preprocessing.normalise(pixels), [1, channels, height, width]);
    let logits = net.forward(Tensor::from_data(image, &device), &mut Pass::evaluation());
    let class: u32 = logits.argmax(1).into_scalar().elem();
    Ok(classes[class as usize].clone())
}

/// The mean loss and the accuracy on a split.
fn measure(
    net: &Net<Selected>,
    split: &ImageLoader<Selected>,
    plain: &Augmentation<Selected>,
    device: &Device,
) -> Result<Metrics, DataError> {
    let mut evaluation = Evaluation::new(&[("accuracy", Reduction::Mean)], device);
    for batch in split.batches(0, 0) {
        let ImageBatch { images, labels, .. } = batch?;
        let logits = net.forward(plain.normalise(images), &mut Pass::evaluation());
        let losses = cross_entropy(logits.clone(), labels.clone());
        evaluation.add(losses, [hits(logits, labels)]);
    }
    Ok(evaluation.finish())
}

#[test]
fn digits_are_learned() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("net.safetensors");
    let pictures = Arc::new(drawn::digits(0..1000, SEED).unwrap());
    let trained = train(pictures.clone(), 5, &file).unwrap();
    let accuracy = trained.validation.unwrap()["accuracy"];
    assert!(accuracy > 0.8, "{accuracy}");

    let mut pixels = vec![0; pictures.shape().bytes()];
    let right = (0..50).filter(|&index| {
        pictures.read(index, &mut pixels).unwrap();
        let label = pictures.labels()[index] as usize;
        predict(&file, &pixels).unwrap() == pictures.classes()[label]
    });
    assert!(right.count() > 40);
}
