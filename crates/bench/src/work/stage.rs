//! The parts of a training step, each by itself: decode, upload, augment, forward, backward, update.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, bail};
use backend::{Packing, Part, Selected, device, device::Device};
use burn::{backend::Autodiff, tensor::Tensor};
use data::{
    ImageSource, Pixels,
    image_folder::{ImageFolder, ImageFolderOptions, open_image_folder},
};
use models::{Network, Pass, losses::cross_entropy};
use serde::{Deserialize, Serialize};
use training::{Stop, Trainer, TrainerConfig};

use super::{Work, floats, inputs_of, peak_memory, source_files, sync};
use crate::{
    entry::median,
    exchange::{Exchange, Images},
    job::{Measured, Ready},
};

type Recorded = Autodiff<Selected>;

/// A part of the training steps of a recipe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageJob {
    /// Which part.
    pub stage: Stage,
    /// The recipe whose first batch it is measured on.
    pub recipe: String,
    /// Settings that differ from the recipe's own.
    pub settings: Vec<String>,
    /// Repetitions in a round.
    pub repetitions: usize,
    /// Where files may be written.
    pub folder: PathBuf,
}

/// A part of a training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// PNG files to pixels, on one thread.
    Decode,
    /// A batch of images from bytes on the host to numbers on the device.
    Upload,
    /// What the recipe's `[augment]` asks for, and normalisation.
    Augment,
    /// From inputs to losses.
    Forward,
    /// From losses to gradients.
    Backward,
    /// From gradients to new weights.
    Update,
}

/// The stage as work.
pub(super) fn open(job: &StageJob) -> anyhow::Result<Box<dyn Work>> {
    let (device, _) = device::open()?;
    let images = || {
        let images = Images::of(&job.recipe, &job.settings)?;
        images.context("the recipe has no images to measure on")
    };
    let (samples, work) = match job.stage {
        Stage::Decode => decode(&job.folder)?,
        Stage::Upload => upload(&images()?, device)?,
        Stage::Augment => augment(images()?)?,
        stage => {
            let exchange = Exchange::of_training(&job.recipe, &job.settings, 1)?;
            let exchange = exchange.context("the recipe has no batch to measure on")?;
            (exchange.batch(), step(exchange, stage, device)?)
        }
    };
    Ok(Box::new(Repeated { samples: samples as u64, repetitions: job.repetitions, work }))
}

/// From a number of repetitions to the seconds that each takes.
type Timed = Box<dyn FnMut(usize) -> anyhow::Result<f64>>;

struct Repeated {
    samples: u64,
    repetitions: usize,
    work: Timed,
}

impl Work for Repeated {
    fn prepare(&mut self) -> anyhow::Result<Ready> {
        (self.work)(2)?;
        Ok(Ready::default())
    }

    fn round(&mut self, _: Option<u64>) -> anyhow::Result<Measured> {
        Ok(Measured {
            seconds: (self.work)(self.repetitions)?,
            samples: self.samples,
            peak_memory_bytes: peak_memory(),
            ..Measured::default()
        })
    }
}

/// Times work on inputs that are made before the clock starts, the device's part included. Results
/// are kept until it stops: a GPU backend need not compute what is dropped earlier.
fn timed<I, T>(
    input: impl Fn() -> I + 'static,
    mut work: impl FnMut(I) -> anyhow::Result<T> + 'static,
) -> Timed {
    Box::new(move |repetitions| {
        let inputs: Vec<I> = (0..repetitions).map(|_| input()).collect();
        sync();
        let start = Instant::now();
        let results: Vec<T> = inputs.into_iter().map(&mut work).collect::<Result<_, _>>()?;
        sync();
        let seconds = start.elapsed().as_secs_f64() / repetitions as f64;
        drop(results);
        Ok(seconds)
    })
}

fn decode(folder: &Path) -> anyhow::Result<(usize, Timed)> {
    source_files::image_folder(folder)?;
    let options = ImageFolderOptions::new(folder, [64, 64]);
    let images: ImageFolder = open_image_folder(&options)?.train;
    let count = images.labels().len();
    let mut pixels = vec![0; images.shape().bytes()];
    let work = move |()| {
        for index in 0..count {
            images.read(index, &mut pixels)?;
        }
        Ok(())
    };
    Ok((count, timed(|| (), work)))
}

/// Bytes on the host to numbers on the device, as batches of images that lie on the host get there.
fn upload(images: &Images, device: Device) -> anyhow::Result<(usize, Timed)> {
    let (source, shape) = (&images.train, images.train.shape());
    let samples = images.first_batch()?.samples;
    let mut bytes = vec![0; samples.len() * shape.bytes()];
    for (&sample, pixels) in samples.iter().zip(bytes.chunks_exact_mut(shape.bytes())) {
        source.read(sample, pixels)?;
    }
    let packing = Packing::of::<Selected>(&device);
    let work = move |bytes| Ok(Pixels::<Selected>::upload(bytes, shape, packing, &device).images());
    Ok((samples.len(), timed(move || bytes.clone(), work)))
}

fn augment(images: Images) -> anyhow::Result<(usize, Timed)> {
    let batch = images.first_batch()?;
    let samples = batch.samples.len();
    Ok((samples, timed(move || batch.clone(), move |batch| Ok(images.augmented(batch)))))
}

fn step(exchange: Exchange, stage: Stage, device: Device) -> anyhow::Result<Timed> {
    let (inputs, targets) = exchange.batches.into_iter().next().context("no batch")?;
    let labels = floats::<Recorded, 1>(targets, &device).int();
    let network = exchange.case.architecture.load::<Recorded>(exchange.weights, &device)?;
    if !matches!(network, Network::Cnn(_) | Network::ResNet(_) | Network::TextLstm(_)) {
        bail!("the stages of this network are not measured");
    }
    let inputs = inputs_of(&exchange.case.architecture, inputs, &device);
    let config = TrainerConfig::new(exchange.case.optimizer, 1, usize::MAX / 2);
    Ok(timed_step(stage, config, network, move |network, pass| {
        let logits = network.forward(inputs.clone(), pass).expect("it reads such inputs");
        cross_entropy(logits, labels.clone())
    }))
}

/// Times forward, backward and update separately.
///
/// - `losses`: of the batch, `[batch]`
fn timed_step(
    stage: Stage,
    config: TrainerConfig,
    model: Network<Recorded>,
    losses: impl Fn(&Network<Recorded>, &mut Pass<Recorded>) -> Tensor<Recorded, 1> + 'static,
) -> Timed {
    Box::new(move |repetitions| {
        let mut nobody = ();
        let interrupt = Stop::default();
        let (model, config) = (model.clone(), config.clone());
        let mut trainer = Trainer::new(model, config, &Device::default(), &mut nobody, interrupt)?;
        trainer.next_epoch().context("no epoch")?;
        let seconds = |work: &mut dyn FnMut() -> anyhow::Result<()>| {
            sync();
            let start = Instant::now();
            work()?;
            sync();
            Ok::<_, anyhow::Error>(start.elapsed().as_secs_f64())
        };
        let mut times: [Vec<f64>; 3] = Default::default();
        for _ in 0..repetitions.max(1) {
            let pass = || Pass::training(0, 0, 0);
            let mut found = None;
            times[0].push(seconds(&mut || {
                found = Some(losses(trainer.model(), &mut pass()));
                Ok(())
            })?);
            let loss = found.take().context("no losses")?.mean();
            let mut gradients = None;
            times[1].push(seconds(&mut || {
                gradients = Some(loss.backward());
                Ok(())
            })?);
            drop(gradients);
            let again = losses(trainer.model(), &mut pass());
            let part = Part::whole(again.dims()[0]);
            let mut again = Some(again); // consumed, so that the graph is dropped with it
            times[2].push(seconds(&mut || {
                Ok(trainer.step(again.take().context("no losses")?, part)?)
            })?);
        }
        let [forward, backward, whole] = times.map(|mut seconds| {
            seconds.sort_by(f64::total_cmp);
            median(&seconds)
        });
        Ok(match stage {
            Stage::Forward => forward,
            Stage::Backward => backward,
            // A step of the trainer is a backward pass and the update.
            _ => (whole - backward).max(0.0),
        })
    })
}
