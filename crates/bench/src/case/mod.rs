//! What can be measured, by name.

mod steps;

use std::path::Path;

use models::{Architecture, CnnConfig, ResNetConfig, TextLstmConfig, VggConfig};

use crate::{
    Job, Options,
    exchange::{Described, Exchange},
    peers::{self, Peer},
    work::{SourceJob, SourceKind, Stage, StageJob, TrainJob, Unit},
};

pub use self::steps::CASES;

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
    pub(crate) trials: fn(&Options) -> anyhow::Result<Vec<Trial>>,
}

/// What becomes one entry.
pub(crate) struct Trial {
    pub(crate) name: String,
    pub(crate) what: What,
    pub(crate) peers: &'static [Peer],
    /// Where it is not the number that was asked for.
    pub(crate) threads: Option<usize>,
}

/// What is measured.
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
        Self { name: name.into(), what, peers, threads: None }
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
                (Some(exchange), 1, COMPARED)
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
