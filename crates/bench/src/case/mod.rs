//! What can be measured, by name.

mod parts;
mod series;
mod steps;

use std::path::Path;

use anyhow::Context;

use models::{Architecture, CnnConfig, ResNetConfig, TextLstmConfig, VggConfig};

use crate::{
    Job, Options,
    exchange::{Described, Exchange},
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
    /// Whether it runs only when it is named.
    pub on_request: bool,
    pub(crate) trials: Trials,
}

/// All benchmarks, in the order in which they run.
pub const CASES: &[Case] = &[
    usual("mlp-step", "a step of the tutorial's MLP: 20-10-1, batch 40, Adam", steps::mlp),
    usual("cnn-step", "a step of Keras's network: 28x28, batch 128, Adam", steps::cnn),
    usual("simplenet-step", "a step of the second tutorial's: 32x32, batch 64", steps::simplenet),
    usual("resnet-step", "a step of ResNet-20: 3x32x32, batch 128, SGD", steps::resnet),
    usual("vgg-pretrain-step", "a step of a small VGG: 3x32x32, batch 128", steps::vgg_pretrain),
    usual("lstm-step", "a step of Keras's generator: 20 words, 128 units, batch 128", steps::lstm),
    usual("lstm-char-step", "a step by characters: 64 of them, 256 units", steps::lstm_char),
    usual("inference", "latency at batch 1 and throughput of the networks", parts::inference),
    usual("vgg16-forward", "the features of VGG-16 on 8 of 3x224x224", parts::vgg16_forward),
    usual("vgg-head-epoch", "an epoch of a head: kept features, or VGG-16", parts::vgg_head_epoch),
    usual("first-step", "from the process's start to the end of a step", steps::first_step),
    usual("memory-growth", "what 10,000 steps leave behind in memory", steps::memory_growth),
    usual("stages", "decode, upload, augment, forward, backward, update", parts::stages),
    usual("sources", "batches of each source, alone and while training", parts::sources),
    on_request("scaling-batch", "a step of mlp, cnn and lstm at batch 1 to 4096", series::batch),
    on_request("scaling-width", "a step of mlp and lstm by hidden units", series::width),
    on_request("scaling-sequence", "a step of lstm by the words of a window", series::sequence),
    on_request("scaling-data", "a step of mlp and cnn by the samples there are", series::data),
    on_request("scaling-threads", "a step of cnn, lstm and resnet by threads", series::threads),
    on_request("ranks", "a step of cnn and lstm by processes under MPI", series::ranks),
    on_request("time-to-accuracy", "cnn on MNIST to 99 %; needs --data", steps::time_to_accuracy),
];

type Trials = fn(&Options) -> anyhow::Result<Vec<Trial>>;

const fn usual(name: &'static str, summary: &'static str, trials: Trials) -> Case {
    Case { name, summary, on_request: false, trials }
}

const fn on_request(name: &'static str, summary: &'static str, trials: Trials) -> Case {
    Case { name, summary, on_request: true, trials }
}

/// What becomes one entry.
#[derive(Clone)]
pub(crate) struct Trial {
    pub(crate) name: String,
    pub(crate) what: What,
    pub(crate) peers: &'static [Peer],
    /// Where it is not the number that was asked for.
    pub(crate) threads: Option<usize>,
    /// Processes under MPI, if it is not one by itself.
    pub(crate) ranks: Option<usize>,
}

/// What is measured.
#[derive(Clone)]
pub(crate) enum What {
    /// Training by a recipe.
    Train(TrainJob),
    /// The same, from the start of the process to the end of the first step.
    FirstStep(TrainJob),
    /// Training to an accuracy, the whole of it.
    Reach(TrainJob),
    /// The forward pass on batches of samples of a shape.
    Infer { architecture: Described, sample: Vec<usize>, batch: usize, steps: u64 },
    /// A part of a step of a recipe.
    Stage { stage: Stage, recipe: &'static str, settings: Vec<String> },
    /// A source by itself.
    Source(SourceKind),
    /// A recipe that trains on a source.
    SourceInTraining(SourceKind),
    /// An epoch of a new head on a pretrained network, from kept features; against one through the
    /// frozen network.
    Head { backbone: &'static str, network: VggConfig, settings: Vec<String> },
}

impl Trial {
    fn new(name: impl Into<String>, peers: &'static [Peer], what: What) -> Self {
        Self { name: name.into(), what, peers, threads: None, ranks: None }
    }

    /// Weights and batches where there are any, the steps of a round, and how many are compared.
    pub(crate) fn exchange(&self, quick: bool) -> anyhow::Result<(Option<Exchange>, u64, u64)> {
        Ok(match &self.what {
            What::Train(job) | What::FirstStep(job) => {
                let job = shortened(job, quick);
                let compared = job.compared.max(1);
                let counted = job.unit == Unit::Step;
                let batches = compared as usize;
                let exchange =
                    counted.then(|| Exchange::of_training(&job.recipe, &job.settings, batches));
                (exchange.transpose()?.flatten(), job.steps, compared)
            }
            What::Reach(job) => {
                let exchange = Exchange::of_goal(&job.settings, job.accuracy.unwrap_or(1.0))?;
                (Some(exchange), 1, job.compared)
            }
            What::Infer { architecture, sample, batch, steps } => {
                let exchange = Exchange::of_inference(architecture, sample, *batch)?;
                (Some(exchange), if quick { 1 } else { *steps }, 1)
            }
            _ => (None, 0, 0),
        })
    }

    /// What our process does; what it needs is in `folder`, or written there now.
    pub(crate) fn job(&self, folder: &Path, quick: bool) -> anyhow::Result<Job> {
        Ok(match &self.what {
            What::Train(job) | What::FirstStep(job) => Job::Train(shortened(job, quick)),
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
            What::Head { backbone, network, settings } => {
                let weights = folder.join("backbone.safetensors");
                let described = Described::Features {
                    network: "vgg".to_owned(),
                    features: network.clone(),
                    head: None,
                };
                Exchange::of_inference(&described, &[1], 1)?.write_weights(&weights)?;
                head_job(backbone, &weights, settings, HEAD_EPOCHS, quick)
            }
        })
    }

    /// Another way of ours to do the same, which is measured beside it.
    pub(crate) fn against(&self, folder: &Path, quick: bool) -> Option<(&'static str, Job)> {
        let What::Head { backbone, settings, .. } = &self.what else { return None };
        let weights = folder.join("backbone.safetensors");
        let settings = [settings.clone(), vec!["model.most_kept=0".to_owned()]].concat();
        Some(("through the frozen network", head_job(backbone, &weights, &settings, 1, quick)))
    }
}

/// Epochs of a head from kept features: one would be too short to time.
const HEAD_EPOCHS: usize = 50;

fn head_job(
    backbone: &str,
    weights: &Path,
    settings: &[String],
    epochs: usize,
    quick: bool,
) -> Job {
    let own = [
        format!("model.backbone={backbone}"),
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

/// A few steps only, where a quick look is asked for.
fn shortened(job: &TrainJob, quick: bool) -> TrainJob {
    if !quick {
        return job.clone();
    }
    TrainJob { steps: job.steps.min(3), compared: job.compared.min(3), ..job.clone() }
}

/// Settings as their owner keeps them.
fn owned(settings: &[&str]) -> Vec<String> {
    settings.iter().map(|&setting| setting.to_owned()).collect()
}
