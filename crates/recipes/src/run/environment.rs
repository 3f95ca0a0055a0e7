//! Where a run ran: `environment.json`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Failure,
    run::{directory::ENVIRONMENT, record::json_of},
};

/// The commit that was built, or `unknown`.
pub const COMMIT: &str = env!("BUILD_COMMIT");
const UNKNOWN: &str = "unknown";
/// The digits of a commit that tell it apart.
const DIGITS: usize = 10;

/// Burn's version, as the lock file of the workspace has it.
const BURN: &str = "0.21.0";

/// Hashes by which data are recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataHashes {
    /// Of all samples and the split of each; `resume` and `eval` recognise them by it.
    #[serde(rename = "data")]
    pub samples: String,
    /// Of the files of a table, and of pictures and tokens before some are held out: it shows that runs of
    /// several seeds, or with other columns, had the same. `None` for drawn samples.
    pub source: Option<String>,
}

/// Versions, machine and command of a run. Read back, what was not recorded is empty.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Environment {
    version: String,
    burn: String,
    commit: String,
    backend: String,
    pub(crate) device: String,
    #[serde(flatten)]
    pub(crate) data: Option<DataHashes>,
    /// What else the result depends on, such as `its initial weights`, by its hash or value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) fingerprints: BTreeMap<String, String>,
    /// The settings that the recipe chose, since the configuration left them open, by dotted key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) chosen: BTreeMap<String, Value>,
    ranks: Option<usize>,
    threads: Option<usize>,
    operating_system: String,
    architecture: String,
    optimized: Option<bool>,
    /// The one that started the run. Invalid Unicode is replaced.
    command_line: Vec<String>,
    /// Of a run that was resumed, the commit that started it, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    began_with: Option<String>,
    /// The command line that last resumed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    resumed_by: Option<Vec<String>>,
    /// The folder in which the last command was given, from which relative paths count; none if unknown.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) started: String,
}

impl Environment {
    pub(crate) fn new(device: &str, data: &DataHashes, ranks: usize) -> Self {
        let arguments = std::env::args_os();
        let command_line = arguments.map(|argument| argument.to_string_lossy().into_owned());
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            burn: BURN.to_owned(),
            commit: COMMIT.to_owned(),
            backend: backend::NAME.to_owned(),
            device: device.to_owned(),
            data: Some(data.clone()),
            fingerprints: BTreeMap::new(),
            chosen: BTreeMap::new(),
            ranks: Some(ranks),
            threads: Some(backend::device::threads()),
            operating_system: std::env::consts::OS.to_owned(),
            architecture: std::env::consts::ARCH.to_owned(),
            optimized: Some(!cfg!(debug_assertions)),
            command_line: command_line.collect(),
            began_with: None,
            resumed_by: None,
            folder: std::env::current_dir().ok().filter(|folder| folder.to_str().is_some()),
            started: crate::run::time::now(),
        }
    }

    /// That of a run, when it was started or last resumed; none where the file is not there.
    pub(crate) fn of(run: &Path) -> Result<Option<Self>, Failure> {
        let help =
            "restore the file; a run without it can be resumed, but not evaluated on its own data";
        json_of(&run.join(ENVIRONMENT), help)
    }

    /// Adds what the recipe chose to settings that leave it open.
    pub(crate) fn complete(&self, settings: &mut BTreeMap<String, Value>) {
        for (key, value) in &self.chosen {
            if settings.get(key).is_none_or(|given| given == "") {
                settings.insert(key.clone(), value.clone());
            }
        }
    }

    /// The same of a run that is resumed.
    ///
    /// - `before`: when the run was started or last resumed
    pub(crate) fn resuming(self, before: Option<&Self>) -> Self {
        match before {
            None => self,
            Some(before) => Self {
                began_with: before.first_commit(),
                resumed_by: Some(self.command_line),
                command_line: before.command_line.clone(),
                ..self
            },
        }
    }

    /// The commit that started the run, if that is known: a version that did not record it may have resumed it.
    fn first_commit(&self) -> Option<String> {
        let is_first = self.resumed_by.is_none() && is_known(&self.commit);
        self.began_with.clone().or_else(|| is_first.then(|| self.commit.clone()))
    }

    /// The version of this program that was recorded, if it is another and known: `commit 0123456789, used on
    /// 2026-11-23`.
    fn other_version(&self) -> Option<String> {
        let Self { commit, started, .. } = self;
        let is_other = commit != COMMIT && is_known(commit) && is_known(COMMIT);
        let short = commit.get(..DIGITS).unwrap_or(commit);
        let used = match started.split_once('T') {
            Some((day, _)) => format!(", used on {day}"),
            None => String::new(),
        };
        is_other.then(|| format!("commit {short}{used}"))
    }

    /// What the user should know where the steps so far of a run were computed by another version of this program,
    /// or on another kind of device, a sentence each.
    ///
    /// - `before`: when the run was started or last resumed
    pub(crate) fn notes_on_steps_before(&self, before: &Self) -> impl Iterator<Item = String> {
        let version = before.other_version().map(|version| {
            format!(
                "another version of this program computed the steps so far ({version}); this one may \
                 round otherwise"
            )
        });
        version.into_iter().chain(self.note_on_device_before(before))
    }

    fn note_on_device_before(&self, before: &Self) -> Option<String> {
        let Self { backend, device, .. } = before;
        // A processor's name ends with the number of its threads, on which no result depends.
        let kind = |device: &str| device.split(" (").next().map(str::to_owned);
        let is_other = backend != &self.backend || kind(device) != kind(&self.device);
        (is_other && !device.is_empty()).then(|| {
            format!(
                "the steps so far were computed on {device} by the backend `{backend}`; rounding may \
                 differ here, and the summary will name only this device"
            )
        })
    }
}

fn is_known(commit: &str) -> bool {
    !commit.is_empty() && commit != UNKNOWN
}

/// The version of this program by which a run was started or last resumed, if it is another and known.
pub(crate) fn other_version_of(run: &Path) -> Option<String> {
    Environment::of(run).ok()??.other_version()
}

/// One with these values.
#[cfg(test)]
pub(crate) fn example(values: &serde_json::Value) -> Environment {
    Environment::deserialize(values).unwrap()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn another_device_is_noted_and_another_number_of_threads_is_none() {
        let data = DataHashes { samples: String::new(), source: None };
        let on = |device: &str| Environment::new(device, &data, 1);
        let note = |before: &str| on("A CPU (2 threads)").notes_on_steps_before(&on(before)).next();
        assert_eq!(note("A CPU (16 threads)"), None);
        assert!(note("A GPU").unwrap().starts_with("the steps so far were computed on A GPU by "));
        assert_eq!(note(""), None, "it was not recorded");
    }

    #[test]
    fn another_version_is_told_and_the_first_is_kept() {
        let of = |commit: &str| Environment {
            commit: commit.to_owned(),
            started: "2026-11-23T10:00:00.000Z".to_owned(),
            ..Environment::default()
        };
        let version = |commit: &str| of(commit).other_version();
        assert_eq!([COMMIT, UNKNOWN, ""].map(version), [None, None, None]);
        let undated = Environment { started: String::new(), ..of("abc") };
        assert_eq!(undated.other_version().unwrap(), "commit abc");
        let other = "0123456789abcdef";
        assert_eq!(version(other).unwrap(), "commit 0123456789, used on 2026-11-23");
        let notes: Vec<String> = of(COMMIT).notes_on_steps_before(&of(other)).collect();
        assert!(notes.len() == 1 && notes[0].contains("another version"), "{notes:?}");

        let resumed = of(COMMIT).resuming(Some(&of(other)));
        assert_eq!((resumed.commit.as_str(), resumed.began_with.as_deref()), (COMMIT, Some(other)));
        let again = of(COMMIT).resuming(Some(&resumed));
        assert_eq!(again.began_with.as_deref(), Some(other));
        let unknown = Environment { resumed_by: Some(Vec::new()), ..of(other) };
        for before in [unknown, of(UNKNOWN), of("")] {
            assert_eq!(of(COMMIT).resuming(Some(&before)).began_with, None);
        }
    }

    #[test]
    fn what_was_written_is_read_and_what_is_damaged_is_refused() {
        let run = tempfile::tempdir().unwrap();
        let written = |text: &str| {
            fs::write(run.path().join(ENVIRONMENT), text).unwrap();
            Environment::of(run.path())
        };
        assert!(Environment::of(run.path()).unwrap().is_none());
        let data = DataHashes { samples: "a hash".to_owned(), source: None };
        let environment = Environment::new("A CPU", &data, 1);
        let read = written(&serde_json::to_string(&environment).unwrap()).unwrap().unwrap();
        assert_eq!((read.data, read.command_line), (Some(data), environment.command_line));
        assert_eq!(written(r#"{"device": "A CPU"}"#).unwrap().unwrap().data, None);
        let message = written(r#"{"device": "#).unwrap_err().to_string();
        assert!(message.contains("environment.json` cannot be read: EOF"), "{message}");
    }

    #[test]
    fn what_the_recipe_chose_completes_what_is_open() {
        let of = |values: &[(&str, i64)]| -> BTreeMap<String, Value> {
            values.iter().map(|&(key, value)| (key.to_owned(), value.into())).collect()
        };
        let chosen = of(&[("data.size", 32), ("data.channels", 3), ("data.new", 7)]);
        let environment = Environment { chosen, ..Environment::default() };
        let mut settings = of(&[("data.channels", 1)]);
        settings.insert("data.size".to_owned(), "".into());
        environment.complete(&mut settings);
        assert_eq!(settings, of(&[("data.channels", 1), ("data.new", 7), ("data.size", 32)]));
    }

    #[test]
    fn the_version_of_burn_is_the_one_that_is_built() {
        let locked = include_str!("../../../../Cargo.lock");
        let entry = format!("name = \"burn\"\nversion = \"{BURN}\"");
        assert!(locked.replace("\r\n", "\n").contains(&entry));
    }
}
