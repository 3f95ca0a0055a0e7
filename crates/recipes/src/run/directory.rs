//! The files of a run.

use std::{
    collections::BTreeMap,
    error::Error,
    fs::{self, File},
    io, mem,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{
    AppendLog, FileLock, StoreError, TensorFile, create_directory, create_new_directory,
    is_unfinished, remove, sha256_hex_of, whole_lines, write_whole,
};
use training::{CheckpointStore, Event, Observer, ObserverError, TrainError};

use crate::{
    ExitCode, Failure, Summary, registry,
    run::{
        environment::Environment,
        event_lines::WrittenLine,
        metrics_csv::{METRICS, MetricsLog},
        out_of_memory,
        record::wrote_checkpoint,
        tensorboard::Scalars,
        time,
    },
    settings::{Resolved, refuse_changes},
    shell::command,
};

/// The configuration, as it was given.
pub(crate) const CONFIG: &str = "config.toml";
/// What happened.
pub(crate) const EVENTS: &str = "events.jsonl";
/// How it was run.
pub(crate) const ENVIRONMENT: &str = "environment.json";
/// The results; a run that has them is finished.
pub(crate) const SUMMARY: &str = "summary.json";
/// What a run resumes from.
pub(crate) const CHECKPOINTS: &str = "checkpoints";
/// The trained model, or what an interrupted run had of it.
pub(crate) use inference::MODEL;
/// The trained weights that it began with, so that it can resume without their source.
pub(crate) const INITIAL: &str = "initial.safetensors";
/// What the report tells of the model on held-out data, as long as it is this model.
pub(crate) const EVALUATION: &str = "evaluation.json";
/// Held by the process that writes the run. It remains afterwards, without meaning.
const LOCK: &str = ".lock";
/// Attempts to take the lock, and the pause between them: [`is_in_use`] holds it for a moment.
const LOCK_ATTEMPTS: usize = 5;
const ASKING: Duration = Duration::from_millis(10);

/// The number of updates at a run's newest checkpoint, unverified; none if there are no checkpoints.
pub(crate) fn newest_step(run: &Path) -> Option<u64> {
    training::newest_step(&run.join(CHECKPOINTS))
}

/// The hash of a run's model as it is, if there is one.
pub(crate) fn model_hash(run: &Path) -> Option<String> {
    File::open(run.join(MODEL)).and_then(sha256_hex_of).ok()
}

/// The directory of a run, and its growing files.
#[derive(Debug)]
pub(crate) struct RunDirectory {
    path: PathBuf,
    created: Vec<PathBuf>, // by this process, the innermost first; none where it was found empty
    initial: Option<TensorFile>,
    lock: Option<FileLock>, // until it is dropped
    config: Resolved,
    environment: Environment,
    began: Instant,              // the process
    seconds_before: f64,         // of the run until it was resumed
    events: Option<AppendLog>,   // once it is known where they continue
    metrics: Option<MetricsLog>, // from the first epoch on, when its columns are known
    scalars: Option<Scalars>,    // as `events`, where `output.tensorboard` asks for it
    scalars_bytes: u64,          // where it resumed, which an earlier process may have written
    lost: Vec<String>,           // what was found to be missing
}

/// What a run stores in each of its checkpoints.
#[derive(Debug, Serialize, Deserialize)]
struct Mark {
    settings: Value,
    seconds: f64,
    events_bytes: u64,
    metrics_bytes: u64,
    scalars_bytes: u64,
}

impl RunDirectory {
    /// Creates the directory of a new run.
    ///
    /// # Errors
    ///
    /// Where the directory is used, another process is starting a run there, or the system refuses.
    pub(crate) fn create(
        path: PathBuf,
        config: Resolved,
        environment: Environment,
        began: Instant,
    ) -> Result<Self, Failure> {
        refuse_if_used(&path)?;
        let is_new = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let created = path.ancestors().take_while(is_new).map(Path::to_owned).collect();
        create_directory(&path).map_err(Failure::user_data)?;
        let mut directory = Self::reopen(path, config, environment, began)?;
        directory.created = created;
        refuse_if_used(&directory.path)?; // by a process that has released it since
        Ok(directory)
    }

    /// Opens the directory of a run. Nothing is written before the run begins or resumes.
    pub(crate) fn reopen(
        path: PathBuf,
        config: Resolved,
        environment: Environment,
        began: Instant,
    ) -> Result<Self, Failure> {
        Ok(Self {
            lock: Some(lock(&path)?),
            path,
            created: Vec::new(),
            initial: None,
            config,
            environment,
            began,
            seconds_before: 0.0,
            events: None,
            metrics: None,
            scalars: None,
            scalars_bytes: 0,
            lost: Vec::new(),
        })
    }

    /// Whether the directory was moved or removed, and perhaps another run is there now.
    fn is_elsewhere(&self) -> bool {
        let is_replaced = |lock: &FileLock| lock.is_replaced(&self.path.join(LOCK));
        !self.path.is_dir() || self.lock.as_ref().is_some_and(is_replaced)
    }

    /// Writes the model.
    pub(crate) fn keep_model(&self, model: &TensorFile) -> Result<(), StoreError> {
        remove(&self.path.join(EVALUATION))?; // of the model from before
        model.write(self.path.join(MODEL))
    }

    /// Writes the results, the summary last.
    pub(crate) fn finish(&self, model: &TensorFile, summary: &Summary) -> Result<(), StoreError> {
        self.keep_model(model)?;
        write_json(&self.path.join(SUMMARY), summary)
    }

    /// Seconds that earlier processes spent on this run up to where it resumed.
    pub(crate) fn seconds_before(&self) -> f64 {
        self.seconds_before
    }

    fn events_path(&self) -> PathBuf {
        self.path.join(EVENTS)
    }

    fn metrics_path(&self) -> PathBuf {
        self.path.join(METRICS)
    }

    /// Records hashes of what the result depends on besides the settings and the data.
    pub(crate) fn record_fingerprints(&mut self, fingerprints: BTreeMap<String, String>) {
        self.environment.fingerprints = fingerprints;
    }

    /// Has a run that begins keep the weights that it begins with.
    pub(crate) fn keep_initial(&mut self, weights: TensorFile) {
        self.initial = Some(weights);
    }

    fn write_settings(&self) -> Result<(), StoreError> {
        write_whole(&self.path.join(CONFIG), self.config.toml.as_bytes())?;
        write_json(&self.path.join(ENVIRONMENT), &self.environment)?;
        match &self.initial {
            Some(weights) => weights.write(self.path.join(INITIAL)),
            None => Ok(()),
        }
    }

    /// Creates the logs, or truncates them to their state at `mark`.
    fn open_logs(&mut self, mark: Option<&Mark>) -> Result<(), StoreError> {
        let (events, metrics) = (self.events_path(), self.metrics_path());
        match mark {
            Some(mark) => self.keep_logs(mark)?,
            None => {
                remove(&events)?;
                remove(&metrics)?;
            }
        }
        if self.events.is_none() {
            self.events = Some(AppendLog::create(&events)?);
        }
        self.scalars_bytes = mark.map_or(0, |mark| mark.scalars_bytes);
        if self.config.settings.pointer("/output/tensorboard") == Some(&Value::Bool(true)) {
            self.scalars = Some(Scalars::open(&self.path, self.scalars_bytes, &mut self.lost)?);
        }
        Ok(())
    }

    /// Opens what is left of the logs at `mark`. Of one that lost its end, as after a fault of the file
    /// system, the rest is missed, but no weights depend on it.
    fn keep_logs(&mut self, mark: &Mark) -> Result<(), StoreError> {
        let (events, metrics) = (self.events_path(), self.metrics_path());
        let events_bytes = whole_lines(&events, mark.events_bytes)?;
        let metrics_bytes = whole_lines(&metrics, mark.metrics_bytes)?;
        match events_bytes {
            0 => remove(&events)?,
            length => self.events = Some(AppendLog::reopen(&events, length)?),
        }
        match metrics_bytes {
            0 => remove(&metrics)?, // the next epoch writes the columns
            length => self.metrics = Some(MetricsLog::reopen(&metrics, length)?),
        }
        for (path, kept, had) in [
            (events, events_bytes, mark.events_bytes),
            (metrics, metrics_bytes, mark.metrics_bytes),
        ] {
            if kept < had {
                let what = if kept == 0 { "all its lines" } else { "its last lines" };
                let path = path.display();
                self.lost
                    .push(format!("`{path}` has lost {what}, and the run goes on without them"));
            }
        }
        Ok(())
    }

    /// What the run was found to have lost, a sentence each; once.
    pub(crate) fn take_lost(&mut self) -> Vec<String> {
        mem::take(&mut self.lost)
    }

    /// Refuses to overwrite the results of a run, or the history of one that lost its checkpoints.
    fn refuse_to_begin_again(&self) -> Result<(), Failure> {
        let shown = self.path.display();
        let result = [SUMMARY, MODEL].into_iter().find(|name| self.path.join(name).exists());
        let message = match result {
            Some(result) => {
                format!("the run `{shown}` has a `{result}`, but no checkpoint to resume from")
            }
            None if wrote_checkpoint(&self.path)? => {
                format!("the checkpoints of the run `{shown}` are gone: `{EVENTS}` names one")
            }
            None => return Ok(()),
        };
        Err(Failure::new(
            ExitCode::UserData,
            message,
            format!(
                "restore `{shown}/checkpoints`, or start another run: {}",
                command("train", &self.path.join(CONFIG))
            ),
        ))
    }
}

/// A run that was refused before its settings were written leaves nothing.
impl Drop for RunDirectory {
    fn drop(&mut self) {
        if self.path.join(CONFIG).exists() || self.is_elsewhere() {
            return;
        }
        // Still held, so no other process writes here.
        let _ = fs::remove_file(self.path.join(LOCK));
        // Some file systems of Windows keep an open file in its folder until it is closed.
        drop(self.lock.take());
        remove_empty(&self.created);
    }
}

impl Observer for RunDirectory {
    fn observe(&mut self, event: &Event) -> Result<(), Box<dyn Error + Send + Sync>> {
        let line = serde_json::to_string(&WrittenLine::new(event))?;
        if let Some(events) = &mut self.events {
            events.append(&line)?;
        }
        if let Some(scalars) = &mut self.scalars {
            scalars.append(event)?;
        }
        Ok(MetricsLog::append_to(&mut self.metrics, &self.path.join(METRICS), event)?)
    }

    fn checkpoint_store(&mut self) -> Option<&mut dyn CheckpointStore> {
        Some(self)
    }
}

impl CheckpointStore for RunDirectory {
    fn checkpoints(&self) -> PathBuf {
        self.path.join(CHECKPOINTS)
    }

    fn mark(&mut self) -> Result<Value, ObserverError> {
        if self.is_elsewhere() {
            return Err(Failure::from(TrainError::Gone { path: self.checkpoints() }).into());
        }
        Ok(serde_json::to_value(Mark {
            settings: self.config.settings.clone(),
            seconds: self.seconds_before + self.began.elapsed().as_secs_f64(),
            events_bytes: self.events.as_mut().map_or(Ok(0), AppendLog::sync)?,
            metrics_bytes: self.metrics.as_mut().map_or(Ok(0), MetricsLog::sync)?,
            scalars_bytes: self.scalars.as_mut().map_or(Ok(self.scalars_bytes), Scalars::sync)?,
        })?)
    }

    fn check(&self, mark: &Value) -> Result<(), ObserverError> {
        let mark = Mark::deserialize(mark)?;
        let now = &self.config.settings;
        let recipe = registry::find(now["recipe"].as_str().unwrap_or_default())
            .map(|recipe| recipe.settings())
            .unwrap_or_default();
        Ok(refuse_changes(&self.path, &recipe, &mark.settings, now)?)
    }

    fn rewind_to(&mut self, mark: Option<&Value>) -> Result<(), ObserverError> {
        let mark = mark.map(Mark::deserialize).transpose()?;
        match &mark {
            Some(mark) => {
                self.seconds_before = mark.seconds;
                self.open_logs(Some(mark))?;
                // First, so that no results lie beside settings that they are not of.
                remove(&self.path.join(SUMMARY))?;
                self.write_settings()?;
            }
            None => {
                self.refuse_to_begin_again()?; // where there are results
                if self.path.join(CONFIG).exists() {
                    self.lost.push(
                        "the run had no checkpoint to resume from, and began anew".to_owned(),
                    );
                }
                self.write_settings()?; // so that a start that is cut short here counts as a run
                self.open_logs(None)?;
            }
        }
        Ok(())
    }
}

/// Refuses a directory for a new run if it is not empty.
pub(crate) fn refuse_if_used(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    let left = |entry: io::Result<fs::DirEntry>| {
        // What a start that was cut short leaves does not count.
        entry.map_or(true, |entry| !is_unfinished(&entry.path()) && entry.file_name() != LOCK)
    };
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries.into_iter().any(left),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => {
            return Err(Failure::new(
                ExitCode::UserData,
                format!("`{shown}` cannot be used as a run directory: {error}"),
                "name another with `--run-dir`",
            ));
        }
    };
    if path.join(CONFIG).is_file() {
        return Err(Failure::new(
            ExitCode::UserData,
            format!("the run directory `{shown}` already has a run"),
            format!("to resume it: {}; or name another with `--run-dir`", command("resume", path)),
        ));
    }
    if entries {
        return Err(Failure::new(
            ExitCode::UserData,
            format!("the run directory `{shown}` exists and is not empty"),
            "name another with `--run-dir`, or omit the option for a new one under `runs/`",
        ));
    }
    Ok(())
}

/// Refuses a run that another process is writing.
pub(crate) fn refuse_if_in_use(path: &Path) -> Result<(), Failure> {
    lock(path).map(drop)
}

/// Whether another process is writing a run, as far as the system tells.
pub(crate) fn is_in_use(path: &Path) -> bool {
    let lock = path.join(LOCK);
    lock.is_file() && matches!(FileLock::take(&lock), Ok(None))
}

fn lock(path: &Path) -> Result<FileLock, Failure> {
    for _ in 0..LOCK_ATTEMPTS {
        let file = path.join(LOCK);
        let lock = FileLock::take(&file).map_err(Failure::user_data)?;
        // A run that was refused removes the file, which this process may have opened just before.
        if let Some(lock) = lock.filter(|_| file.exists()) {
            return Ok(lock);
        }
        thread::sleep(ASKING);
    }
    Err(Failure::new(
        ExitCode::UserData,
        format!("the run directory `{}` is in use by another process", path.display()),
        "wait until it has ended, or stop it first",
    ))
}

/// A new directory for a run, removed on drop if it is still empty.
#[derive(Debug)]
pub(crate) struct Reserved {
    pub(crate) path: PathBuf,
    created: Vec<PathBuf>, // the innermost first
}

impl Reserved {
    /// Creates a directory below `folder` that is named after the recipe and the time.
    pub(crate) fn below(folder: &Path, recipe: &str) -> Result<Self, Failure> {
        let name = format!("{recipe}-{}", time::now_compact());
        let above = (!folder.exists()).then(|| folder.to_owned());
        let mut path = folder.join(&name);
        let mut number = 1;
        while !create_new_directory(&path).map_err(Failure::user_data)? {
            number += 1;
            path = folder.join(format!("{name}-{number}"));
        }
        let created: Vec<PathBuf> = std::iter::once(path.clone()).chain(above).collect();
        out_of_memory::remove(&created);
        Ok(Self { path, created })
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        remove_empty(&self.created);
    }
}

/// Removes folders, the innermost first, up to one that has something in it, which the system refuses to
/// remove.
fn remove_empty(folders: &[PathBuf]) {
    let _ = folders.iter().try_for_each(fs::remove_dir);
}

/// Writes a file of JSON for people to read, too.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    let mut text = serde_json::to_string_pretty(value).expect("plain data has a form in JSON");
    text.push('\n');
    write_whole(path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_given_once_and_goes_again_if_nothing_comes_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("runs");
        let reserved: Vec<Reserved> =
            (0..3).map(|_| Reserved::below(&runs, "mlp").unwrap()).collect();
        let paths: Vec<PathBuf> = reserved.iter().map(|reserved| reserved.path.clone()).collect();
        assert!(paths.iter().all(|path| path.is_dir()), "{paths:?}");
        assert!(paths[0] != paths[1] && paths[1] != paths[2] && paths[0] != paths[2], "{paths:?}");

        fs::write(paths[1].join(CONFIG), "").unwrap();
        drop(reserved);
        assert_eq!(fs::read_dir(&runs).unwrap().count(), 1);
        fs::remove_dir_all(&runs).unwrap();
        drop(Reserved::below(&runs, "mlp").unwrap());
        assert!(!runs.exists());
    }

    #[test]
    fn a_directory_with_nothing_but_a_lock_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock(folder.path()).unwrap();
        refuse_if_used(folder.path()).unwrap();
        let refused = refuse_if_in_use(folder.path()).unwrap_err();
        assert!(refused.to_string().ends_with("is in use by another process"), "{refused}");
        drop(held);
        refuse_if_in_use(folder.path()).unwrap();
    }
}
