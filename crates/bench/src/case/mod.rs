//! What can be measured, by name.

mod parts;
mod series;
mod steps;

use std::path::Path;

use anyhow::Context;
use backend::{Precision, Selected, device::Device};
use models::{
    Architecture, CnnConfig, HeadConfig, ResNetConfig, TextLstmConfig, VggClassifierConfig,
    VggConfig, weights,
};
use store::TensorFile;

use crate::{
    Job, ON_GPU, Options,
    exchange::Exchange,
    peers::{self, Peer},
    work::{SourceJob, SourceKind, Stage, StageJob, TrainJob, Unit},
};

/// The first losses that must agree.
const COMPARED: u64 = 20;

/// A benchmark.
#[derive(Clone, Copy)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// What it measures, in a line.
    pub summary: &'static str,
    /// Where it runs by default.
    runs: Runs,
    trials: Trials,
}

impl Case {
    /// What it measures.
    ///
    /// # Errors
    ///
    /// Where an option or a feature of the build is missing that it needs.
    pub fn trials(&self, options: &Options) -> anyhow::Result<Vec<Trial>> {
        (self.trials)(options).context(self.name)
    }

    /// Whether this build runs it only when it is named.
    pub fn on_request(&self) -> bool {
        match self.runs {
            Runs::Everywhere => false,
            Runs::OnGpu => !ON_GPU,
            Runs::OnCuda => backend::NAME != "cuda",
            Runs::OnRequest => true,
        }
    }
}

#[derive(Clone, Copy)]
enum Runs {
    Everywhere,
    OnGpu,
    OnCuda,
    OnRequest,
}

/// All benchmarks, in the order in which they run.
pub const CASES: &[Case] = &[
    usual("mlp-step", "a step of the tutorial's MLP: 20-10-1, batch 40, Adam", steps::mlp),
    usual("cnn-step", "a step of Keras's network: 28x28, batch 128, Adam", steps::cnn),
    usual("simplenet-step", "a step of LeNet with 3x3 kernels: 32x32, batch 64", steps::simplenet),
    usual("resnet-step", "a step of ResNet-20: 3x32x32, batch 128, SGD", steps::resnet),
    usual("vgg-pretrain-step", "a step of a small VGG: 3x32x32, batch 128", steps::vgg_pretrain),
    usual("lstm-step", "a step of Keras's generator: 20 words, 128 units, batch 128", steps::lstm),
    usual("lstm-char-step", "a step by characters: windows of 64, 256 units", steps::lstm_char),
    usual("inference", "the forward pass alone: latency at batch 1, throughput", parts::inference),
    usual(
        "vgg16-forward",
        "VGG-16 with a small head on 8 images of 3x224x224",
        parts::vgg16_forward,
    ),
    usual(
        "vgg-head-epoch",
        "an epoch of a head: cached features, or VGG-16",
        parts::vgg_head_epoch,
    ),
    usual("first-step", "from the start of the process to the end of a step", steps::first_step),
    usual("memory-growth", "by how much memory grows in 10,000 steps", steps::memory_growth),
    usual("stages", "decode, upload, augment, forward, backward, update", parts::stages),
    usual("sources", "batches of each source, alone and while training", parts::sources),
    case(Runs::OnGpu, "large-batch", "a step of cnn and resnet at batch 1024", steps::large_batch),
    case(Runs::OnCuda, "bf16-step", "a step of mlp, cnn, lstm and resnet in bf16", steps::bf16),
    case(
        Runs::OnRequest,
        "scaling-batch",
        "a step at batch 1 to 4096, on a GPU to 16384",
        series::batch,
    ),
    case(Runs::OnRequest, "scaling-width", "a step of mlp and lstm by hidden units", series::width),
    case(
        Runs::OnRequest,
        "scaling-sequence",
        "a step of lstm by words per window",
        series::sequence,
    ),
    case(
        Runs::OnRequest,
        "scaling-data",
        "a step of mlp and cnn by the number of samples",
        series::data,
    ),
    case(
        Runs::OnRequest,
        "scaling-threads",
        "a step of cnn, lstm and resnet by threads",
        series::threads,
    ),
    case(Runs::OnRequest, "ranks", "a step of cnn and lstm by processes under MPI", series::ranks),
    case(
        Runs::OnRequest,
        "time-to-accuracy",
        "cnn on MNIST to 99 %; needs --data",
        steps::time_to_accuracy,
    ),
];

type Trials = fn(&Options) -> anyhow::Result<Vec<Trial>>;

const fn usual(name: &'static str, summary: &'static str, trials: Trials) -> Case {
    case(Runs::Everywhere, name, summary, trials)
}

const fn case(runs: Runs, name: &'static str, summary: &'static str, trials: Trials) -> Case {
    Case { name, summary, runs, trials }
}

/// A measurement, which becomes one entry.
#[derive(Clone)]
pub struct Trial {
    pub(crate) name: String,
    pub(crate) what: What,
    pub(crate) peers: &'static [Peer],
    /// Threads, if not the number given on the command line.
    pub(crate) threads: Option<usize>,
    /// Processes under MPI; none for a process without it.
    pub(crate) ranks: Option<usize>,
}

/// What is measured.
#[derive(Clone)]
pub(crate) enum What {
    /// Training by a recipe.
    Train(TrainJob),
    /// The same, from the start of the process to the end of the first step.
    FirstStep(TrainJob, Kernels),
    /// Training until an accuracy is reached.
    Reach(TrainJob),
    /// The forward pass on batches of samples of a shape.
    Infer { architecture: Architecture, sample: Vec<usize>, batch: usize, steps: u64 },
    /// A part of a step of a recipe.
    Stage { stage: Stage, recipe: &'static str, settings: Vec<String> },
    /// A source on its own.
    Source(SourceKind),
    /// A recipe that trains on a source.
    SourceInTraining(SourceKind),
    /// An epoch of a new head on a pretrained network from cached features, compared with one through
    /// the frozen network.
    Head { network: VggConfig, settings: Vec<String> },
}

/// Whether a GPU backend finds the kernels that it compiled and tuned before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernels {
    Kept,
    None,
}

impl Trial {
    fn new(name: impl Into<String>, peers: &'static [Peer], what: What) -> Self {
        Self { name: name.into(), what, peers, threads: None, ranks: None }
    }

    /// Weights and batches, and how they are measured; none where peers cannot do the same.
    pub(crate) fn exchange(&self, quick: bool) -> anyhow::Result<Option<Exchange>> {
        let mut exchange;
        match &self.what {
            What::Train(job) | What::FirstStep(job, _) => {
                let job = shortened(job, quick);
                let compared = job.compared.max(1);
                let found = Exchange::of_training(&job.recipe, &job.settings, compared as usize)?;
                let Some(found) = found else { return Ok(None) };
                exchange = found;
                (exchange.case.steps, exchange.case.compared) = (job.steps, compared);
            }
            What::Reach(job) => {
                exchange = Exchange::of_goal(&job.settings, job.accuracy.unwrap_or(1.0))?;
                exchange.case.compared = job.compared;
            }
            What::Infer { architecture, sample, batch, steps } => {
                exchange = Exchange::of_inference(architecture, sample, *batch)?;
                exchange.case.steps = if quick { 1 } else { *steps };
                // For a latency each pass is waited for, for a throughput only the last.
                exchange.case.waits = *batch == 1;
            }
            _ => return Ok(None),
        }
        Ok(Some(exchange))
    }

    /// Whether a round may have any number of steps.
    pub(crate) fn is_of_steps(&self) -> bool {
        match &self.what {
            What::Train(job) => !job.watches_memory,
            What::SourceInTraining(_) | What::Infer { .. } => true,
            _ => false,
        }
    }

    /// The precision in which layers multiply while training.
    pub(crate) fn precision(&self) -> Precision {
        let (What::Train(job) | What::FirstStep(job, _) | What::Reach(job)) = &self.what else {
            return Precision::F32;
        };
        if job.settings.iter().any(|setting| setting == BF16) {
            Precision::Bf16
        } else {
            Precision::F32
        }
    }

    /// What our process does. The files that it needs are in `folder`, or are written there.
    pub(crate) fn job(&self, folder: &Path, quick: bool) -> anyhow::Result<Job> {
        Ok(match &self.what {
            What::Train(job) | What::FirstStep(job, _) => Job::Train(shortened(job, quick)),
            What::Reach(job) => Job::Train(job.clone()),
            What::Infer { .. } => Job::Infer(folder.to_owned()),
            What::Stage { stage, recipe, settings } => Job::Stage(StageJob {
                stage: *stage,
                recipe: (*recipe).to_owned(),
                settings: settings.clone(),
                repetitions: if quick { 1 } else { 10 },
                folder: folder.join("files"),
            }),
            What::Source(kind) => Job::Source(SourceJob { kind: *kind, folder: folder.to_owned() }),
            What::SourceInTraining(kind) => {
                kind.write(folder)?;
                let (recipe, settings) = kind.training(folder);
                let steps = if recipe == "mlp" { 2000 } else { 30 };
                let job =
                    TrainJob { recipe: recipe.to_owned(), settings, steps, ..TrainJob::default() };
                Job::Train(shortened(&job, quick))
            }
            What::Head { network, settings } => {
                let path = folder.join("backbone.safetensors");
                let network = network.init::<Selected>(0, &Device::default());
                let tensors = weights::to_tensors(&network);
                TensorFile { tensors, ..TensorFile::default() }.write(&path)?;
                head_job(&path, settings, HEAD_EPOCHS.0, quick)
            }
        })
    }

    /// Another way of ours to do the same, measured for comparison.
    pub(crate) fn against(&self, folder: &Path, quick: bool) -> Option<(&'static str, Job)> {
        let What::Head { settings, .. } = &self.what else { return None };
        let weights = folder.join("backbone.safetensors");
        let settings = [settings.clone(), vec!["model.most_kept=0".to_owned()]].concat();
        Some(("through the frozen network", head_job(&weights, &settings, HEAD_EPOCHS.1, quick)))
    }
}

/// Epochs of a head from cached features, of which one would be too short to time, and through the
/// frozen network. On a GPU those of the first updates do not count.
const HEAD_EPOCHS: (usize, usize) = if ON_GPU { (50, 4) } else { (50, 1) };

/// The setting with which layers multiply in bf16 while training.
const BF16: &str = "training.precision=bf16";

fn head_job(weights: &Path, settings: &[String], epochs: usize, quick: bool) -> Job {
    let own = [
        format!("model.weights={}", weights.display()),
        format!("training.epochs={}", if quick { 1 } else { epochs }),
    ];
    Job::Train(TrainJob {
        recipe: "vgg".to_owned(),
        settings: [settings, &own[..]].concat(),
        steps: 1_000_000,
        unit: Unit::Epoch,
        ..TrainJob::default()
    })
}

/// With `--quick` only a few steps.
fn shortened(job: &TrainJob, quick: bool) -> TrainJob {
    if !quick {
        return job.clone();
    }
    TrainJob { steps: job.steps.min(3), compared: job.compared.min(3), ..job.clone() }
}

/// Settings as owned strings.
fn owned(settings: &[&str]) -> Vec<String> {
    settings.iter().map(|&setting| setting.to_owned()).collect()
}
