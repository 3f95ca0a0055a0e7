//! What is measured.

use std::{error::Error, time::Instant};

use anyhow::{Context, anyhow};
use recipes::{Start, Summary, config::Layer, registry};
use training::{Event, Observer, Stop};

use crate::Entry;

/// A benchmark: whole training steps of a recipe.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// What it measures, in a line.
    pub summary: &'static str,
    recipe: &'static str,
    settings: &'static [&'static str],
}

/// All benchmarks.
pub const CASES: &[Case] = &[
    Case {
        name: "mlp-step",
        summary: "a step of the tutorial's MLP: 40 samples of 20 features, 10 hidden units, Adam",
        recipe: "mlp",
        settings: &["training.epochs=100"],
    },
    Case {
        name: "mlp-wide-step",
        summary: "a step of a wide MLP: 128 samples of 64 features, 256 hidden units, Adam",
        recipe: "mlp",
        settings: &[
            "data.samples=4096",
            "data.features=64",
            "model.hidden=[256]",
            "training.batch_size=128",
            "training.epochs=30",
        ],
    },
];

impl Case {
    /// Runs the case `runs` times, after once to warm up.
    ///
    /// # Errors
    ///
    /// Where the recipe fails.
    pub fn run(&self, runs: usize) -> anyhow::Result<Entry> {
        let mut seconds = Vec::new();
        let mut batch = 0;
        for run in 0..=runs.max(1) {
            let summary = self.train()?;
            batch = summary.samples / summary.steps.max(1);
            if run > 0 {
                seconds.push(summary.seconds_training / summary.steps as f64);
            }
        }
        Ok(Entry::new(self.name, batch, seconds))
    }

    fn train(&self) -> anyhow::Result<Summary> {
        let folder = tempfile::tempdir().context("no temporary folder for the runs")?;
        let layers = self.settings.iter().map(|setting| Layer::set(setting)).collect();
        let start = Start {
            observer: &mut Silent,
            interrupt: Stop::default(),
            directory: folder.path().join("run"),
            resumes: false,
            command_line: std::env::args().collect(),
            began: Instant::now(),
        };
        let trained = registry::find(self.recipe).and_then(|recipe| (recipe.train)(layers, start));
        trained.map_err(|failure| {
            let problems: Vec<&str> =
                failure.problems.iter().map(|problem| problem.message.as_str()).collect();
            anyhow!("{}: {}", self.name, problems.join("; "))
        })
    }
}

struct Silent;

impl Observer for Silent {
    fn observe(&mut self, _: &Event) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_runs() {
        for case in CASES {
            let short = ["training.max_steps=3"];
            let settings = [case.settings, &short].concat().leak();
            let entry = Case { settings, ..*case }.run(2).unwrap();
            assert!(entry.median_seconds > 0.0 && entry.batch > 0, "{entry:?}");
        }
    }
}
