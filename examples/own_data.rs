//! Your own data source, with these crates' loader, network and trainer.
//!
//! ```text
//! cargo run --release -p examples --example own_data
//! ```
//!
//! Threads draw these pictures ahead of training; yours may come from anywhere. The trained network
//! then predicts, as the model of a recipe's run does.

#![allow(clippy::print_stdout)] // A program's result.

use std::sync::Arc;

use backend::{
    Selected, Share,
    device::{self, Allocator},
    random::{Purpose, Random},
};
use burn::backend::Autodiff;
use data::{
    Batching, DataError, ImageLoader, ImagePreprocessing, ImageShape, ImageSource, Order,
    Residency, Resize,
};
use inference::{Description, Model, Prediction, Preprocessing};
use mimalloc::MiMalloc;
use models::{Architecture, CnnConfig, Pass, losses::cross_entropy};
use training::{EpochReport, Event, OptimizerConfig, OptimizerKind, Stop, Trainer, TrainerConfig};

// Reuses memory from step to step.
#[global_allocator]
static ALLOCATOR: Allocator<MiMalloc> = Allocator(MiMalloc);

const SIDE: usize = 28;
const NETWORK: CnnConfig = CnnConfig {
    channels: 1,
    size: SIDE,
    classes: 3,
    filters: [16, 32, 32],
    hidden: 32,
    dropout: 0.0,
};

/// Pictures of stripes that run across, down or diagonally; each has its own phase and noise.
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
    ///
    /// Errors here, such as of a database, are reported as `DataError::Source`.
    fn read(&self, index: usize, pixels: &mut [u8]) -> Result<(), DataError> {
        let Some(&label) = self.labels.get(index) else {
            return Err(DataError::Source(format!("there is no picture {index}").into()));
        };
        let drawn = Random::new(self.seed, Purpose::Synthetic, index as u64);
        let phase = 8.0 * drawn.uniform(0);
        for (place, pixel) in pixels.iter_mut().enumerate() {
            let (row, column) = ((place / SIDE) as f32, (place % SIDE) as f32);
            let along = [row, column, row + column][label as usize];
            let stripe = if (along + phase) % 8.0 < 4.0 { 150.0 } else { 0.0 };
            *pixel = (stripe + 100.0 * drawn.uniform(1 + place as u64)) as u8;
        }
        Ok(())
    }
}

fn main() -> anyhow::Result<()> {
    device::prepare_process(Share::WHOLE); // first, since this thread computes as well
    println!("accuracy on new pictures: {:.3}", accuracy(&learn(600, 4)?)?);
    Ok(())
}

/// Makes `epochs` passes over `pictures`.
fn learn(pictures: u32, epochs: usize) -> anyhow::Result<Model<Selected>> {
    let (device, _) = device::open()?;
    let batching = Batching::new(Order::Shuffled, 0, 32);
    let source = Arc::new(Stripes::new(pictures, 0));
    let description = Description {
        recipe: "own_data".to_owned(),
        architecture: Architecture::Cnn(NETWORK),
        preprocessing: Preprocessing::Image(ImagePreprocessing::identity(
            source.shape(),
            Resize::Crop,
        )),
        classes: source.classes().to_vec(),
    };
    let train = ImageLoader::new(source, batching, Residency::Host, 2, &device)?;
    let network = NETWORK.init::<Autodiff<Selected>>(0, &device);
    let adam = OptimizerConfig::new(OptimizerKind::Adam, 1e-3);
    let config = TrainerConfig::new(adam, epochs, train.steps_per_epoch());
    let mut print = |event: &Event| {
        match event {
            Event::Epoch(EpochReport { epoch, train_loss, .. }) => {
                println!("epoch {epoch}: loss {train_loss:.4}")
            }
            Event::Warning { message } => println!("warning: {message}"),
            _ => {}
        }
        Ok(())
    };
    let mut trainer = Trainer::new(network, config, &device, &mut print, Stop::default())?;
    while let Some(epoch) = trainer.next_epoch() {
        for batch in epoch.batches(train.batches(epoch.index, epoch.position)) {
            let batch = batch?;
            let mut pass = Pass::training(0, trainer.step_number(), batch.part.first);
            let logits = trainer.model().forward(batch.images, &mut pass);
            trainer.step(cross_entropy(logits, batch.labels), batch.part)?;
        }
        trainer.end_epoch(|_| None)?;
    }
    // `model_file` makes the file of it that `Model::read` and `recipes predict` read.
    Ok(Model::new(&trainer.finish()?.model, &description, &device)?)
}

/// The accuracy on new pictures.
fn accuracy(model: &Model<Selected>) -> anyhow::Result<f64> {
    let new = Stripes::new(150, 1);
    let mut pixels = vec![0; new.labels.len() * new.shape().bytes()];
    for (index, pixels) in pixels.chunks_exact_mut(new.shape().bytes()).enumerate() {
        new.read(index, pixels)?;
    }
    let is_right = |(prediction, label): &(Prediction<'_>, &u32)| match prediction {
        Prediction::Class { top } => top[0].class == new.classes[**label as usize],
        Prediction::Value(_) => false,
    };
    let predictions = model.predict_images(&pixels)?;
    let right = predictions.into_iter().zip(&new.labels).filter(is_right).count();
    Ok(right as f64 / new.labels.len() as f64)
}

#[test]
fn stripes_are_told_apart() {
    let accuracy = accuracy(&learn(300, 2).unwrap()).unwrap();
    assert!(accuracy > 0.9, "{accuracy}");
}
