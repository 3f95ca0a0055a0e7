//! Fine-tuning: a network that was trained on many pictures learns something else from a few.
//!
//! ```text
//! cargo run --release -p examples --example fine_tune
//! ```
//!
//! The weights may come from anywhere: PyTorch's files (`.pth`), safetensors, the model of a run. Here
//! the program makes them itself: a network learns to read digits, and then from 30 more to tell even
//! from odd.

#![allow(clippy::print_stdout)] // A program's result.

use std::{ops::Range, path::Path, sync::Arc};

use backend::{
    Selected, Share,
    device::{self, Allocator, Device},
};
use burn::backend::Autodiff;
use data::{
    Batching, DataError, ImageLoader, ImageSource, ImagesInMemory, Order, Residency, drawn,
};
use mimalloc::MiMalloc;
use models::{
    Cnn, CnnConfig, Pass, import,
    losses::cross_entropy,
    metrics::{Evaluation, Reduction, hits},
    weights,
};
use store::TensorFile;
use training::{
    Event, OptimizerConfig, OptimizerKind, ParameterGroup, Stop, Trainer, TrainerConfig,
};

// Reuses memory from step to step.
#[global_allocator]
static ALLOCATOR: Allocator<MiMalloc> = Allocator(MiMalloc);

const SEED: u64 = 0;

fn main() -> anyhow::Result<()> {
    device::prepare_process(Share::WHOLE); // first, since this thread computes as well
    let file = std::env::temp_dir().join("digits.safetensors");
    pretrain(&file)?;
    println!("accuracy of a new network: {:.3}", even_or_odd(None)?);
    println!("with the weights in {}: {:.3}", file.display(), even_or_odd(Some(&file))?);
    Ok(())
}

/// Learns from 30 digits to tell even from odd, by default with new weights; returns the accuracy on
/// other digits.
fn even_or_odd(weights: Option<&Path>) -> anyhow::Result<f64> {
    let (device, _) = device::open()?;
    let mut network = CnnConfig { classes: 2, ..CnnConfig::default() }.init(SEED, &device);
    let mut groups = Vec::new();
    if let Some(file) = weights {
        // The last layer has other classes, so it stays as it is.
        let is_wanted = |name: &str| !name.starts_with("dense2.");
        network = weights::load_part(network, import::read(file)?.tensors, is_wanted)?;
        // What was learnt is to change little. `no_grad()` on a layer of yours would freeze it.
        let slow =
            |part: &str| ParameterGroup { prefix: part.to_owned(), learning_rate_factor: 0.1 };
        groups = ["conv1", "conv2", "conv3", "dense1"].map(slow).into();
    }
    let network = train(network, parities(1000..1030)?, 40, groups, &device)?;
    accuracy(&network, parities(2000..2300)?, &device)
}

/// Learns to read digits, and writes the weights to a file, for instance for PyTorch.
fn pretrain(file: &Path) -> anyhow::Result<()> {
    let (device, _) = device::open()?;
    let network = CnnConfig::default().init(SEED, &device);
    let network = train(network, drawn::digits(0..1000, SEED)?, 3, Vec::new(), &device)?;
    let tensors = weights::to_tensors(&network);
    Ok(TensorFile { tensors, ..TensorFile::default() }.write(file)?)
}

/// Digits with the labels 0 for even and 1 for odd.
fn parities(samples: Range<usize>) -> Result<ImagesInMemory, DataError> {
    let mut digits = drawn::digits(samples, SEED)?;
    digits.labels.iter_mut().for_each(|label| *label %= 2);
    digits.classes = ["even", "odd"].map(str::to_owned).to_vec();
    Ok(digits)
}

fn train(
    network: Cnn<Autodiff<Selected>>,
    images: ImagesInMemory,
    epochs: usize,
    groups: Vec<ParameterGroup>,
    device: &Device,
) -> anyhow::Result<Cnn<Selected>> {
    let batching = Batching::new(Order::Shuffled, SEED, 25);
    let loader = ImageLoader::new(Arc::new(images), batching, Residency::Auto, 0, device)?;
    let adam = OptimizerConfig::new(OptimizerKind::Adam, 1e-3);
    let mut config = TrainerConfig::new(adam, epochs, loader.steps_per_epoch());
    config.parameter_groups = groups;
    let mut silent = |_: &Event| Ok(());
    let mut trainer = Trainer::new(network, config, device, &mut silent, Stop::default())?;
    while let Some(epoch) = trainer.next_epoch() {
        for batch in epoch.batches(loader.batches(epoch.index, epoch.position)) {
            let batch = batch?;
            let mut pass = Pass::training(SEED, trainer.step_number(), batch.part.first);
            let logits = trainer.model().forward(batch.images, &mut pass);
            trainer.step(cross_entropy(logits, batch.labels), batch.part)?;
        }
        trainer.end_epoch(|_| None)?;
    }
    Ok(trainer.finish()?.model)
}

fn accuracy(
    network: &Cnn<Selected>,
    images: ImagesInMemory,
    device: &Device,
) -> anyhow::Result<f64> {
    let batching = Batching::evaluation(images.labels().len());
    let loader = ImageLoader::new(Arc::new(images), batching, Residency::Auto, 0, device)?;
    let mut evaluation = Evaluation::new(&[("accuracy", Reduction::Mean)], device);
    for batch in loader.batches(0, 0) {
        let batch = batch?;
        let logits = network.forward(batch.images, &mut Pass::evaluation());
        let losses = cross_entropy(logits.clone(), batch.labels.clone());
        evaluation.add(losses, [hits(logits, batch.labels)]);
    }
    Ok(evaluation.finish()["accuracy"])
}

#[test]
fn trained_weights_help_where_pictures_are_few() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("digits.safetensors");
    pretrain(&file).unwrap();
    let [new, tuned] = [None, Some(file.as_path())].map(|file| even_or_odd(file).unwrap());
    assert!(tuned > new + 0.03 && tuned > 0.8, "{tuned}, {new} without them");
}
