//! The files that a run leaves.

use std::{
    error::Error,
    fs, io,
    path::{Path, PathBuf},
    time::Instant,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{
    AppendLog, StoreError, TensorFile, create_directory, is_unfinished, remove, write_whole,
};
use training::{Event, Keeper, Metrics, Observer, ObserverError, Pace};

use crate::{
    ExitCode, Failure, Summary, environment::Environment, settings::refuse_changes,
    shell::quoted_path, tensorboard::Scalars, time,
};

/// The resolved configuration.
pub(crate) const CONFIG: &str = "config.toml";
/// The results; a run that has them is finished.
pub(crate) const SUMMARY: &str = "summary.json";

/// The last columns of `metrics.csv`, which differ from run to run.
pub(crate) const TIME_COLUMNS: usize = 3;

/// A configuration in the two forms that a run keeps.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) toml: String,
    pub(crate) settings: Value,
}

/// The directory of a run, and its growing files.
#[derive(Debug)]
pub(crate) struct RunDirectory {
    path: PathBuf,
    config: Resolved,
    environment: Environment,
    opened: Instant,
    seconds_before: f64,        // of the run until it was resumed
    events: Option<AppendLog>,  // once it is known where they go on
    metrics: Option<AppendLog>, // from the first epoch on, when its columns are known
    scalars: Option<Scalars>,   // as `events`, where `output.tensorboard` asks for it
}

/// What lies in each checkpoint of a run.
#[derive(Debug, Serialize, Deserialize)]
struct Mark {
    settings: Value,
    seconds: f64,
    events_bytes: u64,
    metrics_bytes: u64,
    #[serde(default)] // earlier versions did not write for TensorBoard
    scalars_bytes: u64,
}

impl RunDirectory {
    /// Creates the directory of a new run.
    ///
    /// # Errors
    ///
    /// Where there is something already, or the system refuses.
    pub(crate) fn create(
        path: PathBuf,
        config: Resolved,
        environment: Environment,
    ) -> Result<Self, Failure> {
        refuse_if_used(&path)?;
        create_directory(&path).map_err(Failure::user_data)?;
        Ok(Self::of(path, config, environment))
    }

    /// The directory of a run, into which nothing is written before it is known to go on there.
    pub(crate) fn of(path: PathBuf, config: Resolved, environment: Environment) -> Self {
        Self {
            path,
            config,
            environment,
            opened: Instant::now(),
            seconds_before: 0.0,
            events: None,
            metrics: None,
            scalars: None,
        }
    }

    /// Writes the results, the summary last.
    pub(crate) fn finish(&self, model: &TensorFile, summary: &Summary) -> Result<(), StoreError> {
        model.write(&self.path.join("model.safetensors"))?;
        write_json(&self.path.join(SUMMARY), summary)
    }

    /// Seconds that earlier processes spent on this run, as far as they count.
    pub(crate) fn seconds_before(&self) -> f64 {
        self.seconds_before
    }

    fn append_metrics(&mut self, event: &Event) -> Result<(), StoreError> {
        let Event::Epoch {
            epoch,
            step,
            train_loss,
            validation,
            learning_rate,
            seconds,
            pace: Pace { samples_per_second, data_wait, .. },
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
        if let Some(events) = &mut self.events {
            events.append(&line)?;
        }
        if let Some(scalars) = &mut self.scalars {
            scalars.append(event)?;
        }
        Ok(self.append_metrics(event)?)
    }

    fn keeper(&mut self) -> Option<&mut dyn Keeper> {
        Some(self)
    }
}

impl Keeper for RunDirectory {
    fn checkpoints(&self) -> PathBuf {
        self.path.join("checkpoints")
    }

    fn mark(&mut self) -> Result<Value, ObserverError> {
        let length = |log: &mut Option<AppendLog>| log.as_mut().map_or(Ok(0), AppendLog::sync);
        Ok(serde_json::to_value(Mark {
            settings: self.config.settings.clone(),
            seconds: self.seconds_before + self.opened.elapsed().as_secs_f64(),
            events_bytes: length(&mut self.events)?,
            metrics_bytes: length(&mut self.metrics)?,
            scalars_bytes: self.scalars.as_mut().map_or(Ok(0), Scalars::sync)?,
        })?)
    }

    fn return_to(&mut self, mark: Option<&Value>) -> Result<(), ObserverError> {
        let (events, metrics) = (self.path.join("events.jsonl"), self.path.join("metrics.csv"));
        let mark = mark.map(Mark::deserialize).transpose()?;
        if let Some(mark) = &mark {
            refuse_changes(&mark.settings, &self.config.settings)?;
        }
        remove(&self.path.join(SUMMARY))?; // the run is not finished, or not any more
        write_whole(&self.path.join(CONFIG), self.config.toml.as_bytes())?;
        write_json(&self.path.join("environment.json"), &self.environment)?;
        if self.config.settings.pointer("/output/tensorboard") == Some(&Value::Bool(true)) {
            let length = mark.as_ref().map_or(0, |mark| mark.scalars_bytes);
            self.scalars = Some(Scalars::open(&self.path, length)?);
        }
        let Some(mark) = mark else {
            remove(&events)?;
            remove(&metrics)?;
            self.events = Some(AppendLog::create(&events)?);
            return Ok(());
        };
        self.seconds_before = mark.seconds;
        self.events = Some(AppendLog::reopen(&events, mark.events_bytes)?);
        if mark.metrics_bytes > 0 {
            self.metrics = Some(AppendLog::reopen(&metrics, mark.metrics_bytes)?);
        } else {
            remove(&metrics)?;
        }
        Ok(())
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
    let left = |entry: io::Result<fs::DirEntry>| {
        // What a start that was cut short leaves is nobody's.
        entry.map_or(true, |entry| !is_unfinished(&entry.path()))
    };
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries.into_iter().any(left),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => {
            return Err(Failure::new(
                ExitCode::UserData,
                format!("`{shown}` cannot be a run directory: {error}"),
                "name another with `--run-dir`",
            ));
        }
    };
    if path.join(CONFIG).is_file() {
        return Err(Failure::new(
            ExitCode::UserData,
            format!("the run directory `{shown}` has a run already"),
            format!(
                "to go on with it: recipes resume {}; or name another with `--run-dir`",
                quoted_path(path)
            ),
        ));
    }
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
