//! The files that a run leaves.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use serde::Serialize;
use store::{AppendLog, StoreError, TensorFile, create_directory, write_whole};
use training::{Event, Metrics, Observer};

use crate::{ExitCode, Failure, Summary, environment::Environment, time};

/// The directory of a run, and its growing files.
#[derive(Debug)]
pub(crate) struct RunDirectory {
    path: PathBuf,
    events: AppendLog,
    metrics: Option<AppendLog>, // from the first epoch on, when its columns are known
}

impl RunDirectory {
    /// Creates the directory with what is known before the first step.
    ///
    /// # Errors
    ///
    /// Where there is something already, or the system refuses.
    pub(crate) fn create(
        path: PathBuf,
        config: &str,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        refuse_if_used(&path)?;
        create_directory(&path).map_err(Failure::user_data)?;
        write_whole(&path.join("config.toml"), config.as_bytes())?;
        write_json(&path.join("environment.json"), environment)?;
        let events = AppendLog::create(&path.join("events.jsonl"))?;
        Ok(Self { path, events, metrics: None })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the results, the summary last.
    pub(crate) fn finish(&self, model: &TensorFile, summary: &Summary) -> Result<(), StoreError> {
        model.write(&self.path.join("model.safetensors"))?;
        write_json(&self.path.join("summary.json"), summary)
    }

    fn append_metrics(&mut self, event: &Event) -> Result<(), StoreError> {
        let Event::Epoch {
            epoch,
            step,
            train_loss,
            validation,
            learning_rate,
            seconds,
            samples_per_second,
            data_wait,
            ..
        } = event
        else {
            return Ok(());
        };
        let none = Metrics::new();
        let validation = ordered(validation.as_ref().unwrap_or(&none));
        let log = match &mut self.metrics {
            Some(log) => log,
            None => {
                let mut log = AppendLog::create(&self.path.join("metrics.csv"))?;
                let names: String =
                    validation.iter().map(|(name, _)| format!("validation_{name},")).collect();
                log.append(&format!(
                    "epoch,step,train_loss,{names}learning_rate,seconds,samples_per_second,data_wait"
                ))?;
                self.metrics.insert(log)
            }
        };
        let values: String = validation.iter().map(|(_, value)| format!("{value},")).collect();
        log.append(&format!(
            "{epoch},{step},{train_loss},{values}{learning_rate},{seconds:.6},\
             {samples_per_second:.1},{data_wait:.6}"
        ))
    }
}

impl Observer for RunDirectory {
    fn observe(&mut self, event: &Event) -> Result<(), Box<dyn Error + Send + Sync>> {
        #[derive(Serialize)]
        struct Line<'a> {
            time: String,
            #[serde(flatten)]
            event: &'a Event,
        }
        let line = serde_json::to_string(&Line { time: time::now(), event })?;
        self.events.append(&line)?;
        Ok(self.append_metrics(event)?)
    }
}

/// The loss first, the other metrics by name.
pub(crate) fn ordered(metrics: &Metrics) -> Vec<(&str, f64)> {
    let mut ordered: Vec<(&str, f64)> =
        metrics.iter().map(|(name, &value)| (name.as_str(), value)).collect();
    ordered.sort_by_key(|&(name, _)| name != "loss");
    ordered
}

fn refuse_if_used(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    let entries = match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => {
            return Err(Failure::new(
                ExitCode::UserData,
                format!("`{shown}` cannot be a run directory: {error}"),
                "name another with `--run-dir`",
            ));
        }
    };
    if entries {
        return Err(Failure::new(
            ExitCode::UserData,
            format!("the run directory `{shown}` exists and is not empty"),
            "name another with `--run-dir`, or leave the option out for a new one under `runs/`",
        ));
    }
    Ok(())
}

/// A name under `runs/` that nothing has yet.
pub(crate) fn unused_name(recipe: &str) -> PathBuf {
    let name = PathBuf::from("runs").join(format!("{recipe}-{}", time::now_compact()));
    let numbered = (2..).map(|number| {
        let mut name = name.clone().into_os_string();
        name.push(format!("-{number}"));
        PathBuf::from(name)
    });
    std::iter::once(name.clone())
        .chain(numbered)
        .find(|name| !name.exists())
        .expect("an unlimited supply of names")
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    let mut text = serde_json::to_string_pretty(value).expect("plain data has a form in JSON");
    text.push('\n');
    write_whole(path, text.as_bytes())
}
