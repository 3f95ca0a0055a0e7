//! Verifies that a resumed run ends as one that was never stopped: runs both and compares them.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use store::{Hasher, TensorFile};
use training::{Event, Group, Observer, ObserverError, StepReport, Stop};

use crate::{
    ExitCode, Failure, Start, Summary,
    config::SettingsLayer,
    registry::Recipe,
    run::{
        directory::{CHECKPOINTS, MODEL, newest_step},
        metrics_csv::untimed_metrics,
        temporary::{nothing_kept, temporary_folder},
    },
};

/// The result of the comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ResumeCheck {
    /// The recipe.
    pub(crate) recipe: String,
    /// Whether weights, optimizer state and metrics are the same, bit for bit.
    pub(crate) identical: bool,
    /// Over all numbers in weights and optimizer state.
    pub(crate) largest_difference: f64,
    /// Updates that each run made.
    pub(crate) steps: u64,
    /// The steps after which the second run was stopped, from its checkpoints.
    pub(crate) stops: Vec<u64>,
    /// The SHA-256 of all that was compared, of the run that was never stopped.
    pub(crate) straight: String,
    /// The same of the one that was resumed.
    pub(crate) resumed: String,
}

/// The fewest updates within which a run can be stopped twice.
const FEWEST_STEPS: u64 = 3;

/// Runs to compare: one straight, and one with two stops. All processes of a group train them together,
/// and the first one compares.
pub(crate) struct Runs<'a> {
    pub(crate) recipe: &'a Recipe,
    pub(crate) layers: &'a [SettingsLayer],
    /// Updates of each, or as many as its settings ask for if those are fewer.
    pub(crate) steps: u64,
    /// Asks to stop, and to compare nothing.
    pub(crate) interrupt: Stop,
    pub(crate) group: &'a Group,
}

impl Runs<'_> {
    /// Trains both in a temporary folder, and compares them.
    ///
    /// - `progress`: is told the work, how much of it is done, and how much there is
    ///
    /// # Errors
    ///
    /// Whatever either run fails with; where they are too short for two stops, or do not stop;
    /// [`ExitCode::Interrupted`].
    pub(crate) fn verify(
        &self,
        progress: &mut dyn FnMut(&str, usize, usize),
    ) -> Result<ResumeCheck, Failure> {
        let folder = temporary_folder()?;
        let [straight, resumed] = ["straight", "resumed"].map(|name| folder.path().join(name));
        let ended = self.train(&straight, false, None, progress)?.ok_or_else(nothing_kept)?;
        let steps = ended.steps;
        if steps < FEWEST_STEPS {
            return Err(Failure::new(
                ExitCode::Usage,
                format!(
                    "this run of `{}` ends after step {steps}, too soon for two stops",
                    self.recipe.name
                ),
                "raise `training.epochs` or `training.max_steps`, or use more data",
            ));
        }
        let stops = vec![steps / 3, steps * 2 / 3 + 1];
        for (index, &stop_after) in stops.iter().enumerate() {
            let ended = self.train(&resumed, index > 0, Some(stop_after), progress)?;
            let newest = || newest_step(&resumed);
            if ended.is_some() || (self.group.is_rank_zero() && newest() != Some(stop_after)) {
                return Err(did_not_stop(stop_after));
            }
        }
        self.train(&resumed, true, None, progress)?;

        let check = match self.group.is_rank_zero() {
            true => {
                let check = compare(self.recipe, [&straight, &resumed], steps, stops)?;
                serde_json::to_vec(&check).expect("plain data has a form in JSON")
            }
            false => Vec::new(),
        };
        let check = self.group.broadcast(check)?;
        Ok(serde_json::from_slice(&check).expect("it was just written"))
    }

    /// Trains into this directory. The summary is none of a run that stopped after that step.
    fn train(
        &self,
        directory: &Path,
        resumes: bool,
        stop_after: Option<u64>,
        progress: &mut dyn FnMut(&str, usize, usize),
    ) -> Result<Option<Summary>, Failure> {
        let mut layers = self.layers.to_vec();
        let given = layers.iter().rev().find_map(|layer| layer.number("training.max_steps"));
        if given.flatten().is_none_or(|given| given > self.steps) {
            layers.push(SettingsLayer::max_steps(self.steps));
        }
        let interrupt = self.interrupt.inner();
        if let Some(step) = stop_after {
            interrupt.request_after(step);
        }
        let task = if resumes { "resumed run" } else { "run to compare" };
        let mut told = Told { task, step: 0, of: stop_after.unwrap_or(self.steps), progress };
        let new = Start::new(directory.to_owned(), &mut told);
        let start = Start { interrupt, resumes, group: self.group.clone(), ..new };
        let ended = (self.recipe.train)(layers, start);
        told.is_over();
        match ended {
            Err(failure) if failure.exit_code == ExitCode::Interrupted => {
                if self.interrupt.requested() { Err(nothing_kept()) } else { Ok(None) }
            }
            ended => ended.map(Some),
        }
    }
}

/// Tells of the steps of a run as of any work that takes time.
struct Told<'a> {
    task: &'static str,
    step: u64,
    of: u64,
    progress: &'a mut dyn FnMut(&str, usize, usize),
}

impl Told<'_> {
    fn reach(&mut self, step: u64) {
        self.step = step;
        (self.progress)(self.task, step as usize, self.of as usize);
    }

    fn is_over(&mut self) {
        self.of = self.step; // a run may have fewer steps than were asked for
        self.reach(self.step);
    }
}

impl Observer for Told<'_> {
    fn observe(&mut self, event: &Event) -> Result<(), ObserverError> {
        match event {
            Event::Preparation { task, done, of } => (self.progress)(task, *done, *of),
            &Event::Progress { step, .. } | &Event::Step(StepReport { step, .. }) => {
                self.reach(step);
            }
            _ => {}
        }
        Ok(())
    }
}

fn did_not_stop(step: u64) -> Failure {
    Failure::new(
        ExitCode::Unexpected,
        format!("the run did not stop after step {step} as requested"),
        "nothing was verified; this is a bug: please report it",
    )
}

fn compare(
    recipe: &Recipe,
    runs: [&Path; 2],
    steps: u64,
    stops: Vec<u64>,
) -> Result<ResumeCheck, Failure> {
    let [straight, resumed] = runs.map(Outcome::read);
    let (straight, resumed) = (straight?, resumed?);
    Ok(ResumeCheck {
        recipe: recipe.name.to_owned(),
        identical: straight == resumed,
        largest_difference: straight.largest_difference(&resumed),
        steps,
        stops,
        straight: straight.hash(),
        resumed: resumed.hash(),
    })
}

/// What a run leaves, without times.
#[derive(PartialEq)]
struct Outcome {
    /// The bits of all tensors, by file and name.
    tensors: BTreeMap<String, Vec<u32>>,
    /// `metrics.csv` without the columns of times.
    metrics: String,
}

impl Outcome {
    fn read(run: &Path) -> Result<Self, Failure> {
        let mut tensors = BTreeMap::new();
        let mut files = vec![run.join(MODEL)];
        let checkpoints = run.join(CHECKPOINTS);
        let newest = newest_step(run).ok_or_else(|| lost("checkpoint", run))?;
        files.extend(tensor_files(&checkpoints.join(format!("step-{newest}")))?);
        for path in files {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            for (name, tensor) in TensorFile::read(&path)?.tensors {
                let bits = tensor.values().iter().map(|value| value.to_bits()).collect();
                let of_checkpoint = path.parent() != Some(run);
                let place = if of_checkpoint { "checkpoint" } else { "run" };
                tensors.insert(format!("{place}/{file}/{name}"), bits);
            }
        }
        let metrics = untimed_metrics(run);
        if metrics.is_empty() {
            return Err(lost("metrics", run));
        }
        Ok(Self { tensors, metrics })
    }

    fn hash(&self) -> String {
        let mut hasher = Hasher::default();
        hasher.update(self.metrics.as_bytes());
        for (name, bits) in &self.tensors {
            hasher.update(name.as_bytes());
            bits.iter().for_each(|bits| hasher.update(&bits.to_le_bytes()));
        }
        hasher.finish()
    }

    /// Infinite where there are other tensors, or numbers that are none.
    fn largest_difference(&self, other: &Self) -> f64 {
        if !self.tensors.keys().eq(other.tensors.keys()) {
            return f64::INFINITY;
        }
        let pairs = self.tensors.values().flatten().zip(other.tensors.values().flatten());
        let number = |bits: &u32| f64::from(f32::from_bits(*bits));
        let difference = |(a, b): (&u32, &u32)| match a == b {
            true => 0.0,
            false => (number(a) - number(b)).abs(),
        };
        let or_infinite = |value: f64| if value.is_nan() { f64::INFINITY } else { value };
        pairs.map(difference).map(or_infinite).fold(0.0, f64::max)
    }
}

/// The error for a run that left nothing to compare.
fn lost(what: &str, run: &Path) -> Failure {
    let message = format!("`{}` has lost its {what}: there is nothing to compare", run.display());
    Failure::new(ExitCode::Unexpected, message, "try again; nothing else may write there")
}

fn tensor_files(checkpoint: &Path) -> Result<Vec<PathBuf>, Failure> {
    let paths: Result<Vec<PathBuf>, io::Error> = fs::read_dir(checkpoint)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut paths = paths.map_err(|error| {
        let message = format!("`{}` cannot be read: {error}", checkpoint.display());
        Failure::new(ExitCode::Unexpected, message, "try again; nothing else may write there")
    })?;
    paths.retain(|path| path.extension().is_some_and(|name| name == "safetensors"));
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mlp;

    fn verify_mlp(recipe: &Recipe, settings: &[&str], steps: u64) -> Result<ResumeCheck, Failure> {
        let small = ["data.samples=80", "training.batch_size=40"];
        let layers = &SettingsLayer::sets(&[&small[..], settings].concat());
        let (interrupt, group) = (Stop::default(), &Group::alone());
        Runs { recipe, layers, steps, interrupt, group }.verify(&mut |_, _, _| ())
    }

    #[test]
    fn what_is_told_is_what_was_done() {
        let told = |settings: &[&str], steps| {
            let check = verify_mlp(&mlp::RECIPE, settings, steps).unwrap();
            assert!(check.identical, "{check:?}");
            (check.steps, check.stops)
        };
        assert_eq!(told(&[], 9), (9, vec![3, 7]));
        assert_eq!(told(&["training.epochs=2"], 40), (4, vec![1, 3]));
        assert_eq!(told(&["training.max_steps=5"], 40), (5, vec![1, 4]));
        assert_eq!(told(&["training.max_steps=50"], 9), (9, vec![3, 7]));
        assert_eq!(told(&[], 3), (3, vec![1, 3]));
    }

    #[test]
    fn a_run_that_does_not_stop_proves_nothing() {
        let deaf = Recipe {
            train: |layers, start| {
                (mlp::RECIPE.train)(layers, Start { interrupt: Stop::default(), ..start })
            },
            ..mlp::RECIPE
        };
        let failure = verify_mlp(&deaf, &[], 9).unwrap_err();
        assert_eq!(failure.exit_code, ExitCode::Unexpected);
        assert!(failure.to_string().contains("did not stop after step 3"), "{failure}");
    }
}
