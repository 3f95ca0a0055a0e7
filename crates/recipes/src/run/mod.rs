//! A run, from the point where everything before its first step has been checked, and the files that it
//! leaves.

// How it begins.
pub(crate) mod start;

// What it leaves.
pub(crate) mod directory;
pub(crate) mod environment;
pub(crate) mod event_lines;
pub(crate) mod metrics_csv;
pub(crate) mod record;
pub(crate) mod summary;
pub(crate) mod temporary;
pub(crate) mod tensorboard;

// What it asks of the machine.
pub(crate) mod out_of_memory;
pub(crate) mod peaks;
pub(crate) mod time;

use std::{collections::BTreeMap, path::Path};

use backend::{Backend, Selected, arithmetic, device, precision};
use burn::module::Module;
use inference::{Description, model_file};
use models::{losses_of_a_sample, weights};
use serde::Serialize;
use training::{
    CheckpointStore, EndStatus, EpochReport, Event, Group, Metrics, Observer, ObserverError, Stop,
    TrainError, Trained, TrainerConfig, Work,
};

use self::{
    directory::RunDirectory,
    environment::{DataHashes, Environment},
    peaks::known_peaks,
    record::Record,
    start::{Begun, Start},
};
use crate::{
    ExitCode, Failure, Summary,
    config::{Config, Training},
    inputs::{initial_weights::TrainedWeights, run_inputs::RunInputs},
    numbers::of_training,
    planning::{memory::Footprint, odd_settings::odd, plan::FrozenLayers},
    registry::Recipe,
    settings::{Resolved, chosen, leaves, or_end_it},
    shell::command,
};

/// A run in progress: its files and its observer.
pub(crate) struct Run<'a> {
    start: Start<'a>,
    device_name: String,
    files: Option<RunDirectory>, // none where another process writes them
    recipe: &'static Recipe,
    data: DataHashes,
    fingerprints: BTreeMap<String, String>, // hashes of what else the result depends on
    training: Training,
    frozen: FrozenLayers,
    notes: Vec<String>,
    skipped: usize,
    steps: u64,                      // that it is to have, once that is known
    seconds_preparing: f64,          // from the start to the first event
    seconds_validating: Option<f64>, // of the last epoch, unless that tuned kernels
    has_validated: bool,
}

impl<'a> Begun<'a> {
    /// Creates the run directory, or reopens it.
    pub(crate) fn open<Data: Serialize, Model: Serialize, Augment: Serialize>(
        self,
        config: &Config<Data, Model, Augment>,
        inputs: &RunInputs,
    ) -> Result<Run<'a>, Failure> {
        let resolved = Resolved::of(config)?;
        self.stop_if_asked()?;
        let RunInputs { weights, hashes: data, notes, skipped } = inputs;
        self.refuse_changes(&leaves(&resolved.settings), &data.samples)?;
        let Self { start, recipe, device_name, given, before } = self;
        let (directory, before) =
            (start.directory.clone(), before.and_then(|before| before.environment));
        let chosen = chosen(&given.settings, &resolved.settings);
        let resolved = Resolved { toml: given.toml, ..resolved };
        // A rank that cannot read its data ends all ranks before there is a directory.
        start.group.barrier()?;
        let ranks = start.group.share().of;
        let mut environment = Environment::new(&device_name, data, ranks);
        environment.chosen = chosen;
        let mut notes = notes.clone();
        if let Some(before) = before.as_ref().filter(|_| start.group.is_rank_zero()) {
            notes.extend(environment.notes_on_steps_before(before));
        }
        let files = match (start.group.is_rank_zero(), start.resumes) {
            (false, _) => None,
            (true, true) => {
                let environment = environment.resuming(before.as_ref());
                Some(RunDirectory::reopen(directory, resolved, environment, start.began)?)
            }
            (true, false) => {
                Some(RunDirectory::create(directory, resolved, environment, start.began)?)
            }
        };
        let (ranks, cores) = (start.group.share_of_cores().of, device::cores());
        if Selected::IS_SYNCHRONOUS && ranks > cores {
            notes.push(format!(
                "{ranks} ranks share {cores} cores: more ranks than cores do not train faster"
            ));
        }
        let mut run = Run {
            start,
            device_name,
            files,
            recipe,
            data: data.clone(),
            fingerprints: BTreeMap::new(),
            training: config.training.clone(),
            frozen: FrozenLayers::default(),
            notes,
            skipped: *skipped,
            steps: 0,
            seconds_preparing: 0.0,
            seconds_validating: None,
            has_validated: false,
        };
        run.begins_with(weights.as_ref());
        Ok(run)
    }
}

impl Run<'_> {
    /// Where the run's files are.
    fn path(&self) -> &Path {
        &self.start.directory
    }

    /// The processes that train together.
    pub(crate) fn group(&self) -> Group {
        self.start.group.clone()
    }

    /// Records what the result depends on besides the settings and the data, by its hash.
    pub(crate) fn record_fingerprint(&mut self, what: &str, hash: String) {
        self.fingerprints.insert(what.to_owned(), hash);
    }

    /// Records the weights that training begins with, if they are not drawn.
    fn begins_with(&mut self, weights: Option<&TrainedWeights>) {
        let Some(weights) = weights else { return };
        self.notes.extend(weights.note_on_division(&self.data));
        self.record_fingerprint("its initial weights", weights.hash());
        if let Some(files) = self.files.as_mut().filter(|_| !weights.are_kept()) {
            files.keep_initial(weights.file());
        }
    }

    /// A flag that asks the run to stop.
    pub(crate) fn interrupt(&self) -> Stop {
        self.start.interrupt.clone()
    }

    /// Records which layers are not trained.
    pub(crate) fn freezes(&mut self, layers: FrozenLayers) {
        self.frozen = layers;
    }

    /// Adds what the trainer needs besides its settings: what the run rests on, and how much there is to
    /// compute. Settings that make little sense are noted, and what does not fit into memory.
    ///
    /// - `sample`: the shape of a sample, as [`Architecture::layers`](models::Architecture::layers)
    ///   takes it
    pub(crate) fn complete(
        &mut self,
        config: TrainerConfig,
        description: &Description,
        sample: &[usize],
    ) -> TrainerConfig {
        let batch_size = self.training.batch_size;
        self.steps = config.length().steps;
        self.notes.extend(odd(&config, batch_size, precision()));
        let layers = description.architecture.layers(sample);
        let memory = Footprint {
            sample,
            layers: &layers,
            frozen: self.frozen,
            // At least: the last batch of an epoch may be smaller.
            samples: config.steps_per_epoch.saturating_sub(1) * batch_size + 1,
            divides: self.recipe.divides,
            training: &self.training,
            processes: self.start.group.share().of,
            trainer: &config,
        };
        let advice = memory.bytes(0).advice(device::memory_bytes(), &memory.fewer_at_a_time());
        self.notes.extend(advice);
        self.notes.extend(device::caution(&self.device_name).map(str::to_owned));
        self.notes.extend(device::unwritable_kernels().map(|folder| {
            format!(
                "`{}` cannot be written, so the fastest kernels are not remembered there",
                folder.display()
            )
        }));
        let of_sample = self.frozen.training_multiply_adds(&layers);
        let losses = losses_of_a_sample(&layers) as f64;
        let mut fingerprints = self.fingerprints.clone();
        if let Some(files) = &mut self.files {
            files.record_fingerprints(fingerprints.clone());
        }
        fingerprints.insert("its data".to_owned(), self.data.samples.clone());
        TrainerConfig {
            fingerprints,
            work: self.work(of_sample / losses),
            group: self.group(),
            ..config
        }
    }

    /// The work of so many multiply-adds per loss on this device, if its peak in the run's precision and
    /// arithmetic is known.
    pub(crate) fn work(&self, multiply_adds_per_sample: f64) -> Option<Work> {
        let peaks = known_peaks(&self.device_name)?;
        let of_each = peaks.multiply_adds_in(precision(), arithmetic())?;
        let peak_per_second = of_each * self.start.group.share().of as f64;
        Some(Work { multiply_adds_per_sample, peak_per_second })
    }

    /// Writes the model, and the summary of a run that has ended. One that was interrupted leaves the
    /// model that it would have ended with now.
    ///
    /// # Errors
    ///
    /// [`ExitCode::Interrupted`] where training or the test was; otherwise where the system refuses.
    pub(crate) fn finish<B: Backend, M: Module<B>>(
        self,
        trained: Trained<M>,
        description: &Description,
        test: Option<Metrics>,
    ) -> Result<Summary, Failure> {
        let shown = self.path().display();
        let model = self.files.as_ref().map(|_| model_file(&trained.model, description));
        if trained.status == EndStatus::Interrupted {
            if let (Some(files), Some(model), 1..) = (&self.files, &model, trained.steps) {
                files.keep_model(model)?;
            }
            // After the last step only what follows it is left, wherever the run ends.
            let steps = Some(trained.steps).filter(|&steps| steps < self.steps);
            return Err(Failure::new(
                ExitCode::Interrupted,
                format!("interrupted after step {}, in `{shown}`", trained.steps),
                format!(
                    "to resume it: {}{}",
                    command("resume", self.path()),
                    or_end_it(self.path(), steps)
                ),
            ));
        }
        if let Some(bytes) = device::refused_bytes() {
            // What was measured since the trainer last asked may be wrong.
            return Err(TrainError::OutOfMemory { bytes }.into());
        }
        if test.is_some() && self.group().was_interrupted()? {
            if let (Some(files), Some(model)) = (&self.files, &model) {
                files.keep_model(model)?;
            }
            return Err(Failure::new(
                ExitCode::Interrupted,
                format!("interrupted while the test split was measured, in `{shown}`"),
                format!("to measure it: {}", command("resume", self.path())),
            ));
        }
        let parameters = weights::count(&trained.model);
        let ranks = self.start.group.share().of;
        let validating = self.seconds_validating.map(|seconds| seconds * ranks as f64);
        let summary = Summary {
            status: trained.status,
            backend: backend::NAME.to_owned(),
            epochs: trained.epochs,
            steps: trained.steps,
            samples: trained.samples,
            parameters,
            trainable_parameters: trained.trainable_parameters,
            seconds: self.files.as_ref().map_or(0.0, RunDirectory::seconds_before)
                + self.start.began.elapsed().as_secs_f64(),
            seconds_training: trained.seconds_training,
            tuning: trained.tuning,
            seconds_measuring: validating.map(|seconds| self.seconds_preparing + seconds),
            train: of_training(trained.train_loss, trained.train_accuracy),
            validation: trained.validation,
            test,
            best: trained.best,
            kept_epoch: trained.kept_epoch,
            skipped_records: self.skipped,
            recipe: self.recipe.name.to_owned(),
            device: self.device_name,
            ranks,
            seed: self.training.seed,
        };
        if let (Some(files), Some(model)) = (&self.files, &model) {
            files.finish(model, &summary)?;
        }
        Ok(summary)
    }
}

impl Observer for Run<'_> {
    fn observe(&mut self, event: &Event) -> Result<(), ObserverError> {
        match event {
            Event::Start { .. } | Event::Resume { .. } => {
                out_of_memory::steps_begin();
                self.seconds_preparing = self.start.began.elapsed().as_secs_f64();
            }
            &Event::Epoch(EpochReport { validation_seconds, .. }) => {
                let is_first = !std::mem::replace(&mut self.has_validated, true);
                let tunes = is_first && !Selected::IS_SYNCHRONOUS;
                self.seconds_validating = validation_seconds.filter(|_| !tunes);
            }
            _ => {}
        }
        let told = match event {
            Event::Start { .. } => Some(Vec::new()),
            // Other settings, or another machine, may give rise to others.
            Event::Resume { .. } => Record::read(self.path()).ok().map(|record| record.warnings),
            _ => None,
        };
        if let Some(told) = told {
            let mut messages = std::mem::take(&mut self.notes);
            messages.retain(|message| !told.contains(message));
            messages.extend(self.files.as_mut().map(RunDirectory::take_lost).unwrap_or_default());
            for message in messages {
                self.observe(&Event::Warning { message })?;
            }
        }
        let Some(files) = &mut self.files else { return Ok(()) };
        if !event.is_transient() {
            files.observe(event)?;
        }
        self.start.observer.observe(event)
    }

    fn validates(&self) -> bool {
        self.start.observer.validates()
    }

    fn checkpoint_store(&mut self) -> Option<&mut dyn CheckpointStore> {
        self.files.as_mut()?.checkpoint_store()
    }
}

#[cfg(test)]
mod tests;
