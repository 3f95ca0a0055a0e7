//! Training by a recipe, from its settings to its summary.

use std::time::Instant;

use anyhow::{Context, anyhow, bail};
use backend::{Backend, Selected, device::Device};
use recipes::{Failure, Start, Summary, config::SettingsLayer, registry};
use serde::{Deserialize, Serialize};
use training::{EpochReport, Event, Group, Observer, ObserverError, Stop};

use super::{Work, peak_memory};
use crate::{
    ON_GPU, WARM,
    job::{Measured, Ready},
};

/// Training by a recipe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainJob {
    /// The recipe.
    pub recipe: String,
    /// Settings that differ from the recipe's own.
    pub settings: Vec<String>,
    /// Steps of a round.
    pub steps: u64,
    /// The first steps, whose losses are compared.
    pub compared: u64,
    /// What is timed.
    pub unit: Unit,
    /// Whether memory is watched.
    pub watches_memory: bool,
    /// Ends a round once validation reaches this accuracy; it is timed until then.
    pub accuracy: Option<f64>,
}

/// What is timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// One update.
    #[default]
    Step,
    /// One pass over the data.
    Epoch,
}

pub(super) struct Train {
    job: TrainJob,
    group: Group,
}

impl Train {
    pub(super) fn new(job: TrainJob, group: &Group) -> Self {
        Self { job, group: group.clone() }
    }

    fn train(&self, steps: u64, more: &[String], heard: &mut Heard) -> anyhow::Result<Summary> {
        let settings = [&self.job.settings, more].concat();
        train(&self.job.recipe, &settings, steps, heard, Stop::default(), &self.group)
    }

    /// Trains until validation reaches the accuracy.
    fn reach(&self, accuracy: f64) -> anyhow::Result<Measured> {
        let stop = Stop::default();
        let mut heard = Heard { goal: Some((accuracy, stop.clone())), ..Heard::default() };
        // A run that is stopped there ends like one that was interrupted.
        let ended = train(
            &self.job.recipe,
            &self.job.settings,
            self.job.steps,
            &mut heard,
            stop,
            &self.group,
        );
        let Some(seconds) = heard.reached else {
            ended?;
            bail!("no epoch ended with an accuracy of {accuracy}");
        };
        let peak_memory_bytes = peak_memory();
        Ok(Measured { seconds, samples: 1, peak_memory_bytes, ..Measured::default() })
    }
}

/// Trains in a temporary run directory.
pub(super) fn train(
    recipe: &str,
    settings: &[String],
    steps: u64,
    observer: &mut dyn Observer,
    interrupt: Stop,
    group: &Group,
) -> anyhow::Result<Summary> {
    // `Child::ours` names its own temporary folder here, which it removes even if this process is killed.
    let folder = recipes::cache_folder().context("no folder for a run is named")?;
    let folder =
        tempfile::tempdir_in(folder).context("cannot create a temporary folder for a run")?;
    let mut layers = SettingsLayer::sets(settings);
    layers.push(SettingsLayer::max_steps(steps));
    let mut start = Start::new(folder.path().join("run"), observer);
    start.interrupt = interrupt;
    start.group = group.clone();
    let trained = registry::find(recipe).and_then(|recipe| (recipe.train)(layers, start));
    trained.map_err(|failure| failed(&failure))
}

/// A failure of `recipes` with all its messages.
pub(crate) fn failed(failure: &Failure) -> anyhow::Error {
    let problems: Vec<&str> = failure.problems.iter().map(|problem| &*problem.message).collect();
    anyhow!(problems.join("; "))
}

impl Work for Train {
    fn prepare(&mut self) -> anyhow::Result<Ready> {
        let mut every_step = vec!["output.log_every_steps=1".to_owned()];
        if self.job.accuracy.is_some() {
            // The schedule of so short a run would differ from the whole run's.
            every_step.push("schedule.kind=constant".to_owned());
        }
        let mut heard = Heard::default();
        self.train(self.job.compared.max(1), &every_step, &mut heard)?;
        if !self.group.is_rank_zero() {
            return Ok(Ready::default());
        }
        let first = heard.first_step.context("the recipe made no step")?;
        let since_first_step = first.elapsed().as_secs_f64();
        Ok(Ready { losses: heard.losses, since_first_step, ..Ready::default() })
    }

    fn round(&mut self, steps: Option<u64>) -> anyhow::Result<Measured> {
        if let Some(accuracy) = self.job.accuracy {
            return self.reach(accuracy);
        }
        let asked = steps.unwrap_or(self.job.steps);
        let (steps, more) = if ON_GPU && self.job.unit == Unit::Step {
            (asked + WARM, ENDLESS.map(str::to_owned).to_vec())
        } else {
            (asked, Vec::new())
        };
        let mut heard = Heard { watches_memory: self.job.watches_memory, ..Heard::default() };
        let summary = self.train(steps, &more, &mut heard)?;
        if !self.group.is_rank_zero() {
            return Ok(Measured::default()); // the first process hears of the run, and measures it
        }
        let (units, seconds) = match self.job.unit {
            Unit::Step if ON_GPU => {
                let timed = summary.seconds_training - summary.tuning.seconds;
                (summary.steps, timed / summary.steps.saturating_sub(WARM).max(1) as f64)
            }
            Unit::Step => (summary.steps, summary.seconds_training / summary.steps as f64),
            Unit::Epoch => {
                let seconds = summary.seconds_training / summary.epochs as f64;
                (summary.epochs as u64, mean(&heard.epochs).unwrap_or(seconds))
            }
        };
        Ok(Measured {
            seconds,
            samples: summary.samples / units,
            peak_memory_bytes: heard.device_memory.max(peak_memory()),
            data_wait: mean(&heard.waits),
            communication_wait: mean(&heard.communication_waits),
            memory_growth_bytes: heard.growth(),
            ..Measured::default()
        })
    }
}

/// Lets a run have as many steps as are asked for, without checkpoints between them.
const ENDLESS: [&str; 3] =
    ["training.epochs=1000000", "checkpoint.every_epochs=", "checkpoint.every_minutes="];

fn mean(shares: &[f64]) -> Option<f64> {
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// What a run reported.
#[derive(Default)]
struct Heard {
    losses: Vec<f64>,
    first_step: Option<Instant>,
    waits: Vec<f64>,
    communication_waits: Vec<f64>,
    watches_memory: bool,
    resident: Vec<u64>,
    began: Option<Instant>,
    goal: Option<(f64, Stop)>,
    /// Seconds from the start of training to the goal.
    reached: Option<f64>,
    /// Updates made by the end of the last epoch.
    steps: u64,
    /// Seconds of the epochs that began after the first updates.
    epochs: Vec<f64>,
    /// The peak of what was reserved on a GPU.
    device_memory: Option<u64>,
}

impl Heard {
    /// From the first tenth of the measurements to the last.
    fn growth(&self) -> Option<i64> {
        let (first, last) = (self.resident.get(self.resident.len() / 10)?, self.resident.last()?);
        Some(*last as i64 - *first as i64)
    }
}

impl Observer for Heard {
    fn observe(&mut self, event: &Event) -> Result<(), ObserverError> {
        match event {
            Event::Step(report) => {
                self.first_step.get_or_insert_with(Instant::now);
                self.losses.push(report.loss);
                if self.watches_memory {
                    self.resident.extend(Selected::memory_in_use(&Device::default()));
                }
            }
            Event::Start { .. } => self.began = Some(Instant::now()),
            Event::Epoch(EpochReport { throughput, validation, step, seconds, .. }) => {
                // Not `>=`: on a CPU, where `WARM` is 0, Clippy refuses a comparison that always holds.
                if !(0..WARM).contains(&self.steps) {
                    self.epochs.push(*seconds);
                }
                self.steps = *step;
                if ON_GPU {
                    self.device_memory =
                        self.device_memory.max(Selected::memory_in_use(&Device::default()));
                }
                self.waits.push(throughput.data_wait);
                self.communication_waits.extend(throughput.communication_wait);
                let accuracy = validation.as_ref().and_then(|found| found.get("accuracy"));
                if let (Some((goal, stop)), Some(accuracy)) = (&self.goal, accuracy)
                    && accuracy >= goal
                    && self.reached.is_none()
                {
                    self.reached = self.began.map(|began| began.elapsed().as_secs_f64());
                    stop.request();
                }
            }
            _ => {}
        }
        Ok(())
    }
}
