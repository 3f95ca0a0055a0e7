//! Your own network in your own training loop, with this project's trainer.
//!
//! ```text
//! cargo run --release -p examples --example own_model
//! ```
//!
//! It fits a sine wave with a small custom network, writes its weights to a file, and evaluates what
//! it reads back.

#![allow(clippy::print_stdout)] // A program's result.

use std::path::Path;

use backend::{
    Backend, Part, Selected, Share,
    device::{self, Allocator},
};
use burn::{
    backend::Autodiff,
    module::Module,
    tensor::{ElementConversion, Tensor},
};
use mimalloc::MiMalloc;
use models::{Initialization, Initializer, layers::Linear, losses::squared_error, weights};
use store::TensorFile;
use training::{
    EpochReport, Event, OptimizerConfig, OptimizerKind, ScheduleConfig, ScheduleKind, Stop,
    Trainer, TrainerConfig,
};

// Reuses memory from step to step.
#[global_allocator]
static ALLOCATOR: Allocator<MiMalloc> = Allocator(MiMalloc);

type Recorded = Autodiff<Selected>;

const SAMPLES: usize = 250;
const BATCH: usize = 64;

#[derive(Module, Debug)]
struct Wave<B: Backend> {
    hidden: Linear<B>,
    output: Linear<B>,
}

impl<B: Backend> Wave<B> {
    /// A layer's weights follow from the seed and its name. Burn's own layers, of `burn::nn`, may be
    /// used as well, except where the documentation of `training` advises against it.
    fn new(initializer: &Initializer<B>) -> Self {
        Self {
            hidden: Linear::new(&initializer.at("hidden"), Initialization::Pytorch, 1, 64),
            output: Linear::new(&initializer.at("output"), Initialization::Pytorch, 64, 1),
        }
    }

    /// - `x`: `[batch, 1]`
    /// - returns: `[batch]`
    fn forward(&self, x: Tensor<B, 2>) -> Tensor<B, 1> {
        self.output.forward(self.hidden.forward(x).tanh()).flatten(0, 1)
    }
}

fn main() -> anyhow::Result<()> {
    device::prepare_process(Share::WHOLE); // first, since this thread computes as well
    let file = std::env::temp_dir().join("wave.safetensors");
    println!("mean squared error at the end: {:.5}", fit(500, &file)?);
    println!("the network is in {}", file.display());
    Ok(())
}

/// Trains for `epochs` passes, and returns the error of the network as written to `file`.
fn fit(epochs: usize, file: &Path) -> anyhow::Result<f32> {
    let (device, _) = device::open()?;
    let xs: Vec<f32> = (0..SAMPLES).map(|i| i as f32 / SAMPLES as f32 * 6.0 - 3.0).collect();
    let ys: Vec<f32> = xs.iter().map(|x| x.sin()).collect();
    let x = Tensor::<Recorded, 1>::from_floats(xs.as_slice(), &device).reshape([SAMPLES, 1]);
    let y = Tensor::<Recorded, 1>::from_floats(ys.as_slice(), &device);

    let adam = OptimizerConfig::new(OptimizerKind::Adam, 0.01);
    let mut config = TrainerConfig::new(adam, epochs, SAMPLES.div_ceil(BATCH));
    config.schedule = ScheduleConfig::new(ScheduleKind::Cosine); // ends calmly, without Adam's spikes
    let mut print = |event: &Event| {
        match event {
            Event::Epoch(EpochReport { epoch, train_loss, .. }) if epoch.is_multiple_of(100) => {
                println!("epoch {epoch}: mean squared error {train_loss:.5}");
            }
            Event::Warning { message } => println!("warning: {message}"),
            _ => {}
        }
        Ok(())
    };
    let wave = Wave::new(&Initializer::seeded(0, &device));
    let mut trainer = Trainer::new(wave, config, &device, &mut print, Stop::default())?;
    while let Some(epoch) = trainer.next_epoch() {
        // From where a run that resumes was stopped.
        for start in epoch.batches((0..SAMPLES).step_by(BATCH).skip(epoch.position)) {
            let samples = BATCH.min(SAMPLES - start); // the last batch is smaller
            let outputs = trainer.model().forward(x.clone().narrow(0, start, samples));
            let losses = squared_error(outputs, y.clone().narrow(0, start, samples));
            trainer.step(losses, Part::whole(samples))?;
        }
        trainer.end_epoch(|_| None)?;
    }
    let model: Wave<Selected> = trainer.finish()?.model;
    TensorFile { tensors: weights::to_tensors(&model), ..TensorFile::default() }.write(file)?;

    let blank = Wave::<Selected>::new(&Initializer::blank(&device));
    let model = weights::load(blank, TensorFile::read(file)?.tensors)?;
    let error = squared_error(model.forward(x.inner()), y.inner()).mean();
    Ok(error.into_scalar().elem())
}

#[test]
fn the_wave_is_fitted() {
    let folder = tempfile::tempdir().unwrap();
    let error = fit(500, &folder.path().join("wave.safetensors")).unwrap();
    assert!(error < 0.01, "{error}");
}
