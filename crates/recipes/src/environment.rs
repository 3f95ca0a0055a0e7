//! Where a run ran: `environment.json`.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::record;

/// The commit that was built, or `unknown`.
pub const COMMIT: &str = env!("BUILD_COMMIT");

/// Burn's version, as the lock file of the workspace has it.
const BURN: &str = "0.21.0";

/// Hashes by which data are recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DataHashes {
    /// Of all samples, and of the split that each is in: by it `resume` and `eval` know them.
    #[serde(rename = "data")]
    pub samples: String,
    /// Of the files of a table, and of pictures and tokens before some are held out: by it runs of several
    /// seeds, or with other columns, are known to have had the same. None of drawn samples.
    pub source: Option<String>,
}

/// Versions, machine and command of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Environment {
    version: &'static str,
    burn: &'static str,
    commit: &'static str,
    backend: &'static str,
    device: String,
    #[serde(flatten)]
    data: DataHashes,
    ranks: usize,
    threads: usize,
    operating_system: &'static str,
    architecture: &'static str,
    optimized: bool,
    /// That which the run began with. Invalid Unicode is replaced.
    command_line: Vec<String>,
    /// That of the last time that it was resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    resumed_by: Option<Vec<String>>,
    /// The folder in which the last command was given, from which relative paths count; none if unknown.
    folder: Option<PathBuf>,
    started: String,
}

impl Environment {
    pub(crate) fn new(device: &str, data: &DataHashes, ranks: usize) -> Self {
        let arguments = std::env::args_os();
        let command_line = arguments.map(|argument| argument.to_string_lossy().into_owned());
        Self {
            version: env!("CARGO_PKG_VERSION"),
            burn: BURN,
            commit: COMMIT,
            backend: backend::NAME,
            device: device.to_owned(),
            data: data.clone(),
            ranks,
            threads: backend::device::threads(),
            operating_system: std::env::consts::OS,
            architecture: std::env::consts::ARCH,
            optimized: !cfg!(debug_assertions),
            command_line: command_line.collect(),
            resumed_by: None,
            folder: std::env::current_dir().ok().filter(|folder| folder.to_str().is_some()),
            started: crate::time::now(),
        }
    }

    /// The same of a run that is resumed.
    pub(crate) fn resuming(mut self, run: &Path) -> Self {
        if let Some(first) = record::command_line(run) {
            self.resumed_by = Some(std::mem::replace(&mut self.command_line, first));
        }
        self
    }

    /// What the user should know where the steps so far of a run, if any, were computed on another kind
    /// of device.
    pub(crate) fn note_on_steps_before(&self, run: &Path) -> Option<String> {
        let [backend, device] = record::device_of(run)?;
        // A processor's name ends with the number of its threads, on which no result depends.
        let kind = |device: &str| device.split(" (").next().map(str::to_owned);
        (backend != self.backend || kind(&device) != kind(&self.device)).then(|| {
            format!(
                "the steps so far were computed on {device} by the backend `{backend}`; rounding may \
                 differ here, and the summary will name only this device"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::run_directory::ENVIRONMENT;

    #[test]
    fn another_device_is_noted_and_another_number_of_threads_is_none() {
        let data = DataHashes { samples: String::new(), source: None };
        let run = tempfile::tempdir().unwrap();
        let note = |before: &str| {
            let before = serde_json::json!({"backend": backend::NAME, "device": before});
            fs::write(run.path().join(ENVIRONMENT), before.to_string()).unwrap();
            Environment::new("A CPU (2 threads)", &data, 1).note_on_steps_before(run.path())
        };
        assert_eq!(note("A CPU (16 threads)"), None);
        assert!(note("A GPU").unwrap().starts_with("the steps so far were computed on A GPU by "));
        fs::remove_file(run.path().join(ENVIRONMENT)).unwrap();
        assert_eq!(Environment::new("A CPU", &data, 1).note_on_steps_before(run.path()), None);
    }

    #[test]
    fn the_version_of_burn_is_the_one_that_is_built() {
        let locked = include_str!("../../../Cargo.lock");
        let entry = format!("name = \"burn\"\nversion = \"{BURN}\"");
        assert!(locked.replace("\r\n", "\n").contains(&entry));
    }
}
