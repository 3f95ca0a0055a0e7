//! A run from the moment that its first step is sure to come.

use std::{
    error::Error,
    path::{Path, PathBuf},
    time::Instant,
};

use backend::Backend;
use burn::module::Module;
use inference::{Description, model_file};
use serde::Serialize;
use training::{EndStatus, Event, Metrics, Observer, Stop, Trained};

use crate::{
    ExitCode, Failure, Summary, config, environment::Environment, run_directory::RunDirectory,
};

/// What a recipe is given to run with.
pub struct Start<'a> {
    /// Hears what happens, beside the run's own files.
    pub observer: &'a mut dyn Observer,
    /// Asks the run to stop after its current step.
    pub interrupt: Stop,
    /// Where the run goes: nothing is there yet, or an empty directory.
    pub directory: PathBuf,
    /// The command, for the record.
    pub command_line: Vec<String>,
    /// When the command began.
    pub began: Instant,
}

/// A run under way: its files, and whoever else listens.
pub struct Run<'a> {
    start: Start<'a>,
    files: RunDirectory,
    recipe: String,
    device: String,
    seed: u64,
}

impl<'a> Start<'a> {
    /// Creates the run directory. Everything that the user may have got wrong was checked before.
    ///
    /// - `notes`: what the user should know, a sentence each
    ///
    /// # Errors
    ///
    /// Where the directory is in use, or the system refuses.
    pub fn open<C: Serialize>(
        self,
        recipe: &str,
        seed: u64,
        config: &C,
        device: &str,
        notes: &[String],
    ) -> Result<Run<'a>, Failure> {
        let config = config::to_toml(config).map_err(|error| {
            Failure::new(
                ExitCode::Usage,
                format!("the configuration cannot be written as TOML: {error}"),
                "use paths that are valid Unicode",
            )
        })?;
        let environment = Environment::new(device, self.command_line.clone());
        let files = RunDirectory::create(self.directory.clone(), &config, &environment)?;
        let mut run =
            Run { start: self, files, recipe: recipe.to_owned(), device: device.to_owned(), seed };
        for message in notes {
            run.observe(&Event::Warning { message: message.clone() })
                .map_err(training::TrainError::Observer)?;
        }
        Ok(run)
    }
}

impl Run<'_> {
    /// Where the run's files are.
    pub fn path(&self) -> &Path {
        self.files.path()
    }

    /// A flag that asks the run to stop.
    pub fn interrupt(&self) -> Stop {
        self.start.interrupt.clone()
    }

    /// Writes the model and the summary.
    ///
    /// # Errors
    ///
    /// [`ExitCode::Interrupted`] where training was; otherwise where the system refuses.
    pub fn finish<B: Backend, M: Module<B>>(
        self,
        trained: Trained<M>,
        description: &Description,
        test: Option<Metrics>,
    ) -> Result<Summary, Failure> {
        let shown = self.path().display();
        if trained.status == EndStatus::Interrupted {
            return Err(Failure::new(
                ExitCode::Interrupted,
                format!("interrupted after step {}, in `{shown}`", trained.steps),
                format!("to begin again: recipes train {shown}/config.toml"),
            ));
        }
        let parameters = trained.model.num_params();
        let summary = Summary {
            status: trained.status,
            backend: backend::NAME.to_owned(),
            epochs: trained.epochs,
            steps: trained.steps,
            samples: trained.samples,
            parameters,
            trainable_parameters: trained.trainable_parameters,
            seconds: self.start.began.elapsed().as_secs_f64(),
            seconds_training: trained.seconds_training,
            train: Metrics::from([("loss".to_owned(), trained.train_loss)]),
            validation: trained.validation,
            test,
            best: trained.best,
            skipped_records: 0,
            recipe: self.recipe,
            device: self.device,
            seed: self.seed,
        };
        self.files.finish(&model_file(&trained.model, description), &summary)?;
        Ok(summary)
    }
}

impl Observer for Run<'_> {
    fn observe(&mut self, event: &Event) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.files.observe(event)?;
        self.start.observer.observe(event)
    }
}
