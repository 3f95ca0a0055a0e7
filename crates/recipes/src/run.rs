//! A run, from the point where everything before its first step has been checked.

use std::{collections::BTreeMap, path::Path};

use backend::{Backend, device, precision};
use burn::module::Module;
use inference::{Description, model_file};
use models::weights;
use serde::Serialize;
use training::{
    EndStatus, Event, Group, Keeper, Metrics, Observer, ObserverError, Stop, Trained,
    TrainerConfig, Work,
};

use crate::{
    ExitCode, Failure, Summary,
    config::{self, Config},
    environment::{DataHashes, Environment},
    initial_weights::TrainedWeights,
    memory::Footprint,
    odd_settings::odd,
    peaks::known_peaks,
    plan::FrozenLayers,
    record::Record,
    run_directory::{Resolved, RunDirectory},
    settings::or_end_it,
    shell::quoted_path,
    start::Start,
};

/// A run in progress: its files and its observer.
pub(crate) struct Run<'a> {
    start: Start<'a>,
    files: Option<RunDirectory>, // none where another process writes them
    recipe: String,
    rests_on: BTreeMap<String, String>, // hashes of the data and of what else the result depends on
    seed: u64,
    batch_size: usize,
    micro_batch: Option<usize>,
    frozen: FrozenLayers,
    notes: Vec<String>,
    skipped: usize,
    seconds_preparing: f64,          // from the start to the first event
    seconds_validating: Option<f64>, // of the last epoch
}

impl<'a> Start<'a> {
    /// Creates the run directory, or reopens it.
    ///
    /// - `notes`: notes to the user, a sentence each
    ///
    /// # Errors
    ///
    /// Where the directory is in use, the system refuses, or the user asked to stop.
    pub(crate) fn open<Data: Serialize, Model: Serialize, Augment: Serialize>(
        self,
        config: &Config<Data, Model, Augment>,
        data: &DataHashes,
        notes: &[String],
    ) -> Result<Run<'a>, Failure> {
        let unwritable = |error: String| {
            let message = format!("the configuration cannot be written: {error}");
            Failure::new(ExitCode::Usage, message, "use paths that are valid Unicode")
        };
        let resolved = Resolved {
            toml: config::to_toml(config).map_err(|error| unwritable(error.to_string()))?,
            settings: serde_json::to_value(config)
                .map_err(|error| unwritable(error.to_string()))?,
        };
        self.stop_if_asked()?;
        if self.resumes {
            // First, since the data may be other only because of them.
            self.refuse_changed_choices(&resolved.toml)?;
            self.refuse_other_data(&data.samples, &resolved.toml)?;
        }
        // A rank that cannot read its data ends all ranks before there is a directory.
        self.group.meet()?;
        let ranks = self.group.share().of;
        let environment = Environment::new(&self.device_name, data, ranks);
        let directory = self.directory.clone();
        let mut notes = notes.to_vec();
        notes.extend(environment.note_on_steps_before(&directory).filter(|_| self.group.leads()));
        let files = match (self.group.leads(), self.resumes) {
            (false, _) => None,
            (true, true) => {
                Some(RunDirectory::reopen(directory, resolved, environment, self.began)?)
            }
            (true, false) => {
                Some(RunDirectory::create(directory, resolved, environment, self.began)?)
            }
        };
        let (ranks, cores) = (self.group.share_of_cores().of, device::cores());
        if device::COMPUTES_AT_ONCE && ranks > cores {
            notes.push(format!(
                "{ranks} ranks share {cores} cores: more ranks than cores do not train faster"
            ));
        }
        Ok(Run {
            start: self,
            files,
            recipe: config.recipe.clone(),
            rests_on: BTreeMap::from([("its data".to_owned(), data.samples.clone())]),
            seed: config.training.seed,
            batch_size: config.training.batch_size,
            micro_batch: config.training.micro_batch,
            frozen: FrozenLayers::default(),
            notes,
            skipped: 0,
            seconds_preparing: 0.0,
            seconds_validating: None,
        })
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

    /// Records how many records could not be used.
    pub(crate) fn skipped(&mut self, records: usize) {
        self.skipped = records;
    }

    /// Records what the result depends on besides the settings and the data, by its hash.
    pub(crate) fn rests_on(&mut self, what: &str, hash: String) {
        self.rests_on.insert(what.to_owned(), hash);
    }

    /// Records the weights that training begins with, if they are not drawn.
    pub(crate) fn begins_with(&mut self, weights: Option<&TrainedWeights>) {
        let Some(weights) = weights else { return };
        self.rests_on("its initial weights", weights.hash());
        if let Some(files) = self.files.as_mut().filter(|_| !self.start.resumes) {
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
        if !self.start.resumes {
            self.notes.extend(odd(&config, self.batch_size, precision())); // which may change no more
        }
        let architecture = &description.architecture;
        let layers = architecture.layers(sample);
        let memory = Footprint {
            sample,
            layers: &layers,
            frozen: self.frozen,
            batch: self.micro_batch.unwrap_or(self.batch_size) / self.start.group.share().of,
            // At least: the last batch of an epoch may be smaller.
            samples: config.steps_per_epoch.saturating_sub(1) * self.batch_size + 1,
            trainer: &config,
        };
        self.notes.extend(memory.bytes(0).advice(device::memory_bytes()));
        let of_sample = self.frozen.training_multiply_adds(&layers);
        let losses = architecture.losses_of_a_sample(sample) as f64;
        TrainerConfig {
            rests_on: self.rests_on.clone(),
            work: self.work(of_sample / losses),
            group: self.group(),
            ..config
        }
    }

    /// The work of so many multiply-adds per loss on this device, if its peak in the run's precision is known.
    pub(crate) fn work(&self, multiply_adds_per_sample: f64) -> Option<Work> {
        let of_each = known_peaks(&self.start.device_name)?.multiply_adds_in(precision())?;
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
            return Err(Failure::new(
                ExitCode::Interrupted,
                format!("interrupted after step {}, in `{shown}`", trained.steps),
                format!(
                    "to resume it: recipes resume {}{}",
                    quoted_path(self.path()),
                    or_end_it(self.path(), Some(trained.steps))
                ),
            ));
        }
        if test.is_some() && self.group().was_interrupted()? {
            if let (Some(files), Some(model)) = (&self.files, &model) {
                files.keep_model(model)?;
            }
            return Err(Failure::new(
                ExitCode::Interrupted,
                format!("interrupted while the test split was measured, in `{shown}`"),
                format!("to measure it: recipes resume {}", quoted_path(self.path())),
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
            seconds_measuring: validating.map(|seconds| self.seconds_preparing + seconds),
            train: Metrics::from([("loss".to_owned(), trained.train_loss)]),
            validation: trained.validation,
            test,
            best: trained.best,
            kept_epoch: trained.kept_epoch,
            skipped_records: self.skipped,
            recipe: self.recipe,
            device: self.start.device_name,
            ranks,
            seed: self.seed,
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
                device::steps_begin();
                self.seconds_preparing = self.start.began.elapsed().as_secs_f64();
            }
            &Event::Epoch { validation_seconds, .. } => {
                self.seconds_validating = validation_seconds;
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
        if !event.is_of_a_moment() {
            files.observe(event)?;
        }
        self.start.observer.observe(event)
    }

    fn validates(&self) -> bool {
        self.start.observer.validates()
    }

    fn keeper(&mut self) -> Option<&mut dyn Keeper> {
        self.files.as_mut()?.keeper()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use data::{ImagePreprocessing, ImageShape, Resize};
    use inference::Preprocessing;
    use models::{Architecture, MlpConfig};
    use store::fault;

    use super::*;
    use crate::{
        config::{SettingsLayer, TableData},
        metrics_csv::untimed_metrics,
        mlp,
    };

    /// Two epochs of two steps, with a checkpoint after every step.
    fn train(directory: &Path, resumes: bool) -> Result<Summary, Failure> {
        let settings = [
            "data.samples=40",
            "data.labels=linear",
            "training.epochs=2",
            "training.batch_size=16",
            "checkpoint.every_steps=1",
            "checkpoint.keep=1",
            "output.log_every_steps=1",
        ];
        let mut nobody = ();
        let start = Start { resumes, ..Start::new(directory.to_owned(), &mut nobody) };
        (mlp::RECIPE.train)(SettingsLayer::sets(&settings), start)
    }

    #[test]
    fn what_does_not_fit_into_memory_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let mut nobody = ();
        let start = Start::new(folder.path().join("run"), &mut nobody);
        let config: Config<TableData, mlp::Model> = mlp::RECIPE.resolve(Vec::new()).unwrap();
        let data = DataHashes { samples: "data".to_owned(), source: None };
        let mut run = start.open(&config, &data, &[]).unwrap();
        let hidden = vec![1_000_000; 2]; // a matrix of 4 TB
        let network = MlpConfig { inputs: 1, hidden, outputs: 1, embeddings: vec![], dropout: 0.0 };
        let shape = ImageShape { channels: 1, height: 1, width: 1 };
        let description = Description {
            recipe: "mlp".to_owned(),
            architecture: Architecture::Mlp(network),
            preprocessing: Preprocessing::Image(ImagePreprocessing::identity(shape, Resize::Crop)),
            classes: Vec::new(),
        };
        run.complete(config.trainer(10), &description, &[1]);
        let told = run.notes.iter().any(|note| note.contains("of memory, but only"));
        assert_eq!(told, device::memory_bytes().is_some(), "{:?}", run.notes);
    }

    #[test]
    fn a_stop_before_the_first_step_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("run");
        let interrupt = Stop::default();
        interrupt.request();
        let mut nobody = ();
        let start = Start { interrupt, ..Start::new(directory.clone(), &mut nobody) };
        let failure = (mlp::RECIPE.train)(Vec::new(), start).unwrap_err();
        assert_eq!(failure.exit_code, ExitCode::Interrupted);
        assert_eq!(failure.to_string(), "interrupted before the first step");
        assert!(!directory.exists());
    }

    /// Asks the run to stop at such an event.
    struct StopsAt(Stop, fn(&Event) -> bool);

    impl Observer for StopsAt {
        fn observe(&mut self, event: &Event) -> Result<(), ObserverError> {
            if self.1(event) {
                self.0.request();
            }
            Ok(())
        }
    }

    #[test]
    fn a_stop_before_the_first_update_is_resumed() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("run");
        let interrupt = Stop::default();
        let start = |event: &Event| matches!(event, Event::Start { .. });
        let mut observer = StopsAt(interrupt.clone(), start);
        let start = Start { interrupt, ..Start::new(directory.clone(), &mut observer) };
        let layers = SettingsLayer::sets(&["training.epochs=1"]);
        let failure = (mlp::RECIPE.train)(layers.clone(), start).unwrap_err();
        assert_eq!(failure.exit_code, ExitCode::Interrupted);
        let mut nobody = ();
        let start = Start { resumes: true, ..Start::new(directory, &mut nobody) };
        assert_eq!((mlp::RECIPE.train)(layers, start).unwrap().epochs, 1);
    }

    #[test]
    fn a_stop_while_the_test_split_is_measured_is_resumed() {
        let folder = tempfile::tempdir().unwrap();
        let [path, directory] = ["table.csv", "run"].map(|name| folder.path().join(name));
        let rows: String = (0..40).map(|row| format!("{row},{}\n", row % 2)).collect();
        fs::write(&path, format!("x,y\n{rows}")).unwrap();
        fs::write(folder.path().join("test.csv"), "x,y\n0.5,1\n1.5,0\n").unwrap();
        let test = format!("data.test_path={}", folder.path().join("test.csv").display());
        let path = format!("data.path={}", path.display());
        let settings = ["data.source=csv", &path, &test, "data.target=y", "training.epochs=2"];
        let interrupt = Stop::default();
        let end = |event: &Event| matches!(event, Event::End { .. });
        let mut observer = StopsAt(interrupt.clone(), end);
        let start = Start { interrupt, ..Start::new(directory.clone(), &mut observer) };
        let failure = (mlp::RECIPE.train)(SettingsLayer::sets(&settings), start).unwrap_err();
        assert_eq!(failure.exit_code, ExitCode::Interrupted);
        assert!(failure.to_string().starts_with("interrupted while the test split"), "{failure}");
        assert!(directory.join("model.safetensors").exists());
        assert!(!directory.join("summary.json").exists());

        let mut nobody = ();
        let start = Start { resumes: true, ..Start::new(directory, &mut nobody) };
        let summary = (mlp::RECIPE.train)(SettingsLayer::sets(&settings), start).unwrap();
        assert_eq!(summary.status, EndStatus::Finished);
        assert!(summary.test.is_some_and(|test| test["loss"].is_finite()));
    }

    #[test]
    fn what_was_told_at_the_start_is_not_told_again() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("run");
        let told = |resumes, epochs: &str| {
            let mut nobody = ();
            let start = Start { resumes, ..Start::new(directory.clone(), &mut nobody) };
            let settings = ["training.minimum_improvement=0.1", epochs];
            (mlp::RECIPE.train)(SettingsLayer::sets(&settings), start).unwrap();
            Record::read(&directory).unwrap().warnings
        };
        let warnings = told(false, "training.epochs=10");
        assert_eq!(warnings.len(), 1);
        assert_eq!(told(true, "training.epochs=11"), warnings);
    }

    #[test]
    fn a_start_that_the_trainer_refuses_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (new, empty) = (folder.path().join("new"), folder.path().join("empty"));
        fs::create_dir(&empty).unwrap();
        for directory in [&new, &empty] {
            let mut nobody = ();
            let start = Start::new(directory.clone(), &mut nobody);
            let settings = vec![SettingsLayer::set("training.epochs=1000000000000000000")];
            let failure = (mlp::RECIPE.train)(settings, start).unwrap_err();
            assert!(failure.to_string().starts_with("`training.epochs` is 1000"), "{failure}");
        }
        assert!(!new.exists());
        assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
    }

    /// The weights, the metrics without their times, and the names of all files.
    fn outcome(directory: &Path) -> (Vec<u8>, String, Vec<String>) {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        let weights = fs::read(directory.join("model.safetensors")).unwrap();
        (weights, untimed_metrics(directory), names)
    }

    #[test]
    fn whichever_write_fails_the_run_ends_as_it_would_have() {
        let folder = tempfile::tempdir().unwrap();
        let straight = folder.path().join("straight");
        train(&straight, false).unwrap();
        for failing_write in 0.. {
            let directory = folder.path().join(failing_write.to_string());
            fault::arm(failing_write);
            let result = train(&directory, false);
            if fault::disarm() {
                assert!(failing_write > 80, "only {failing_write} writes");
                break;
            }
            let told = match result {
                Ok(_) => Record::read(&directory).unwrap().warnings.concat(), // something may stay
                Err(failure) => failure.to_string(),
            };
            assert!(told.contains("injected"), "{told}");
            let begun = directory.join("config.toml").exists();
            train(&directory, begun).unwrap();
            assert_eq!(outcome(&directory), outcome(&straight), "write {failing_write}");
        }
    }
}
