//! A source of data of your own, under the loader, a network and the trainer of these crates.
//!
//! ```text
//! cargo run -p examples --example own_data
//! ```
//!
//! Threads draw these pictures ahead of the training; yours may come from anywhere.

#![allow(clippy::print_stdout)] // A program's result.

use std::{error::Error, sync::Arc};

use backend::{
    Selected, device,
    random::{Purpose, Random},
};
use burn::{backend::Autodiff, tensor::ElementConversion};
use data::{Batching, DataError, ImageLoader, ImageShape, ImageSource, Order, Residency};
use models::{CnnConfig, losses::cross_entropy, metrics::hits};
use training::{Event, Observer, OptimizerConfig, OptimizerKind, Stop, Trainer, TrainerConfig};

const SIDE: usize = 28;

/// Pictures of stripes, which run across, down or aslant; each has its own phase and noise.
struct Stripes {
    classes: Vec<String>,
    labels: Vec<u32>,
    seed: u64,
}

impl Stripes {
    fn new(pictures: u32, seed: u64) -> Self {
        let classes = ["across", "down", "aslant"].map(str::to_owned).to_vec();
        Self { classes, labels: (0..pictures).map(|picture| picture % 3).collect(), seed }
    }
}

impl ImageSource for Stripes {
    fn shape(&self) -> ImageShape {
        ImageShape { channels: 1, height: SIDE, width: SIDE }
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// Called by several threads at once, in any order; a picture depends on its index alone.
    fn read(&self, index: usize, pixels: &mut [u8]) -> Result<(), DataError> {
        let drawn = Random::new(self.seed, Purpose::Synthetic, index as u64);
        let phase = 8.0 * drawn.uniform(0);
        for (place, pixel) in pixels.iter_mut().enumerate() {
            let (row, column) = ((place / SIDE) as f32, (place % SIDE) as f32);
            let along = [row, column, row + column][self.labels[index] as usize];
            let stripe = if (along + phase) % 8.0 < 4.0 { 150.0 } else { 0.0 };
            *pixel = (stripe + 100.0 * drawn.uniform(1 + place as u64)) as u8;
        }
        Ok(())
    }
}

/// Prints each epoch.
struct Printer;

impl Observer for Printer {
    fn observe(&mut self, event: &Event) -> Result<(), Box<dyn Error + Send + Sync>> {
        if let Event::Epoch { epoch, train_loss, .. } = event {
            println!("epoch {epoch}: loss {train_loss:.4}");
        }
        Ok(())
    }
}

fn main() -> anyhow::Result<()> {
    println!("accuracy on new pictures: {:.3}", learn(600, 4)?);
    Ok(())
}

/// The accuracy on new pictures after `epochs` passes over `pictures`.
fn learn(pictures: u32, epochs: usize) -> anyhow::Result<f64> {
    let (device, _) = device::open()?;
    let batching = Batching::new(Order::Shuffled, 0, 32);
    let source = Arc::new(Stripes::new(pictures, 0));
    let train = ImageLoader::new(source, batching, Residency::Host, 2, &device)?;
    let network = CnnConfig { channels: 1, size: SIDE, classes: 3 };
    let network = network.init::<Autodiff<Selected>>(0, &device);
    let adam = OptimizerConfig::new(OptimizerKind::Adam, 1e-3);
    let config = TrainerConfig::new(adam, epochs, train.steps_per_epoch());
    let mut printer = Printer;
    let mut trainer = Trainer::new(network, config, &device, &mut printer, Stop::default())?;
    while let Some(epoch) = trainer.next_epoch() {
        for batch in epoch.batches(train.batches(epoch.index, epoch.position)) {
            let batch = batch?;
            let logits = trainer.model().forward(batch.images);
            trainer.step(cross_entropy(logits, batch.labels), batch.part)?;
        }
        trainer.end_epoch(|_| None)?;
    }
    let network = trainer.finish()?.model;

    let new = Arc::new(Stripes::new(150, 1));
    let new = ImageLoader::new(new, Batching::evaluation(50), Residency::Device, 0, &device)?;
    let mut right = 0.0;
    for batch in new.batches(0, 0) {
        let batch = batch?;
        let hits = hits(network.forward(batch.images), batch.labels).sum();
        right += hits.into_scalar().elem::<f64>();
    }
    Ok(right / new.samples() as f64)
}

#[test]
fn stripes_are_told_apart() {
    let accuracy = learn(300, 2).unwrap();
    assert!(accuracy > 0.9, "{accuracy}");
}
