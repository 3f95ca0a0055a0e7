//! A run as read back from its files.

use std::{
    collections::BTreeMap,
    fmt::Display,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use training::{EndStatus, ScheduleKind};

use crate::{
    ExitCode, Failure, Summary,
    numbers::{counted, grouped, ordered},
    run::{
        directory::{CONFIG, EVENTS, is_in_use},
        environment::Environment,
        event_lines::{End, EpochRecord, Length, Line, SampleRecord, StepRecord},
        summary,
    },
    settings::leaves,
    shell::quoted_path,
};

/// The help where the system refuses to read a file.
const CHECK_ACCESS: &str = "check the file's permissions and the disk";
const RESTORE: &str = "restore the file that the run wrote";

/// A run, finished or not, as read from its directory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    /// The run's directory, as it was named.
    pub(crate) directory: PathBuf,
    pub(crate) recipe: String,
    /// `config.toml`, as it stands.
    pub(crate) config: String,
    /// Its values by dotted key, with what the recipe chose where it leaves them open.
    pub(crate) settings: BTreeMap<String, Value>,
    /// `environment.json`; empty where there is none.
    pub(crate) environment: Environment,
    /// The results of a finished run.
    pub(crate) summary: Option<Summary>,
    /// How long the run is to be.
    pub(crate) planned: Option<Length>,
    /// How long it was to be before it was made longer or shorter.
    pub(crate) earlier_lengths: Vec<EarlierLength>,
    pub(crate) epochs: Vec<EpochRecord>,
    pub(crate) steps: Vec<StepRecord>,
    pub(crate) samples: Vec<SampleRecord>,
    pub(crate) warnings: Vec<String>,
    /// The lines of `events.jsonl` that cannot be read.
    pub(crate) damaged_lines: usize,
    pub(crate) end: Option<End>,
    /// How many times it was resumed.
    pub(crate) resumed: usize,
    /// Whether a process is training it now.
    pub(crate) in_use: bool,
}

/// How many steps a run was to have until it was resumed with more or fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EarlierLength {
    pub(crate) steps: u64,
    /// The step at which it was resumed.
    pub(crate) until: u64,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Finished,
    /// A process is training it now.
    InUse,
    /// By the user.
    Interrupted,
    Diverged,
    /// It failed or was killed.
    CutShort,
}

impl Record {
    /// Reads the directory of a run.
    pub(crate) fn read(directory: &Path) -> Result<Self, Failure> {
        let config = config_of(directory)?;
        let environment = Environment::of(directory)?.unwrap_or_default();
        let settings = settings_of(directory, &config, &environment)?;
        let recipe = settings.get("recipe").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut record = Self {
            directory: directory.to_owned(),
            recipe,
            config,
            settings,
            environment,
            summary: summary::of_finished(directory)?,
            in_use: is_in_use(directory),
            ..Self::default()
        };
        let events = events(&directory.join(EVENTS))?;
        for line in events.split_inclusive('\n') {
            match serde_json::from_str(line) {
                Ok(line) => record.hear(line),
                // The last line of a run that was killed may be cut short.
                Err(_) => record.damaged_lines += usize::from(line.ends_with('\n')),
            }
        }
        Ok(record)
    }

    /// A note where lines of `events.jsonl` are left out, a sentence.
    pub(crate) fn damage(&self) -> Option<String> {
        let lines = match self.damaged_lines {
            0 => return None,
            1 => "a damaged line, which is left out".to_owned(),
            lines => format!("{lines} damaged lines, which are left out"),
        };
        Some(format!("`{}` has {lines}", self.directory.join(EVENTS).display()))
    }

    fn hear(&mut self, line: Line) {
        match line {
            Line::Start(plan) => self.planned = Some(plan),
            Line::Resume { epochs, steps, step } => {
                let before = self.planned.replace(Length { epochs, steps });
                // A length counts if there were steps under it.
                let since = self.earlier_lengths.last().map_or(0, |earlier| earlier.until);
                if let Some(before) = before
                    && before.steps != steps
                    && since < step
                {
                    self.earlier_lengths.push(EarlierLength { steps: before.steps, until: step });
                }
                self.resumed += 1;
                self.end = None;
                // What came later was undone; it is only there where the log had lost lines before.
                self.steps.retain(|report| report.step <= step);
                self.epochs.retain(|epoch| epoch.step <= step);
                self.samples.retain(|sample| sample.step <= step);
            }
            Line::Step(step) => self.steps.push(step),
            Line::Epoch(epoch) => self.epochs.push(epoch),
            Line::Sample(sample) => self.samples.push(sample),
            // A process that resumes a run may repeat one.
            Line::Warning { message } if self.warnings.contains(&message) => {}
            Line::Warning { message } => self.warnings.push(message),
            Line::End(end) => self.end = Some(end),
            Line::Checkpoint | Line::Other => {}
        }
    }

    /// The last step of which something was reported while training, and the loss then.
    pub(crate) fn last_report(&self) -> Option<(u64, Option<f64>)> {
        let of_epoch = self.epochs.last().map(|epoch| (epoch.step, epoch.train_loss));
        let of_step = self.steps.last().map(|report| (report.step, report.loss));
        of_epoch.into_iter().chain(of_step).max_by_key(|&(step, _)| step)
    }

    /// The last step that is known to have been made.
    pub(crate) fn last_step(&self) -> u64 {
        let reported = self.last_report().map(|(step, _)| step);
        self.end.map(|end| end.step).max(reported).unwrap_or(0)
    }

    pub(crate) fn standing(&self) -> Standing {
        match self.end.map(|end| end.status) {
            _ if self.summary.is_some() => Standing::Finished,
            _ if self.in_use => Standing::InUse,
            Some(EndStatus::Interrupted) => Standing::Interrupted,
            Some(EndStatus::Diverged) => Standing::Diverged,
            // It ended without results where these could not be written.
            Some(EndStatus::Finished | EndStatus::StoppedEarly) | None => Standing::CutShort,
        }
    }

    /// A setting that is a string.
    pub(crate) fn setting(&self, key: &str) -> Option<&str> {
        self.settings.get(key).and_then(Value::as_str)
    }

    /// Whether its learning rates depend on how long it is to be.
    pub(crate) fn depends_on_length(&self) -> bool {
        let kind = self.settings.get("schedule.kind").map(ScheduleKind::deserialize);
        kind.is_some_and(|kind| kind.is_ok_and(ScheduleKind::depends_on_length))
    }

    /// The earlier lengths that its learning rates followed, if any: `100 steps, until step 60`.
    /// The settings alone do not make such a run again.
    pub(crate) fn followed_lengths(&self) -> Option<String> {
        if self.earlier_lengths.is_empty() || !self.depends_on_length() {
            return None;
        }
        let told = |&EarlierLength { steps, until }: &EarlierLength| {
            format!("{}, until step {}", counted(steps, "step"), grouped(until))
        };
        Some(self.earlier_lengths.iter().map(told).collect::<Vec<_>>().join("; "))
    }

    /// The names of the validation metrics, the loss first.
    pub(crate) fn validated(&self) -> Vec<&str> {
        let last = self.epochs.last().map(|epoch| ordered(&epoch.validation));
        last.into_iter().flatten().map(|(name, _)| name).collect()
    }
}

/// The settings of a run, as they stand.
pub(crate) fn config_of(directory: &Path) -> Result<String, Failure> {
    config_if_there(directory)?.ok_or_else(|| not_a_run(directory))
}

/// The same; none where its file is not there.
pub(crate) fn config_if_there(directory: &Path) -> Result<Option<String>, Failure> {
    let path = directory.join(CONFIG);
    match fs::read_to_string(&path) {
        Ok(config) => Ok(Some(config)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound => Ok(None),
            io::ErrorKind::NotADirectory => Err(not_a_run(directory)),
            io::ErrorKind::InvalidData => Err(unreadable(&path, "it is not UTF-8", RESTORE)),
            _ => Err(unreadable(&path, error, CHECK_ACCESS)),
        },
    }
}

/// The settings of a run by dotted key, with what the recipe chose where they leave it open.
///
/// - `config`: its file
pub(crate) fn settings_of(
    directory: &Path,
    config: &str,
    environment: &Environment,
) -> Result<BTreeMap<String, Value>, Failure> {
    let table: Value = toml::from_str(config)
        .map_err(|error| unreadable(&directory.join(CONFIG), error.message(), RESTORE))?;
    let mut settings = leaves(&table);
    environment.complete(&mut settings);
    Ok(settings)
}

fn unreadable(path: &Path, reason: impl Display, help: &str) -> Failure {
    let message = format!("`{}` cannot be read: {reason}", path.display());
    Failure::new(ExitCode::UserData, message, help)
}

/// What a run's file of JSON holds; none where it is not there.
///
/// - `help`: what to do where it is damaged
pub(crate) fn json_of<T: DeserializeOwned>(path: &Path, help: &str) -> Result<Option<T>, Failure> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, error, help)),
        Ok(bytes) => {
            let content = serde_json::from_slice(&bytes);
            content.map(Some).map_err(|error| unreadable(path, error, help))
        }
    }
}

/// The content of a run's file; none where it is not there.
pub(crate) fn content_of(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, error, CHECK_ACCESS)),
    }
}

/// The lines of `events.jsonl`; a run that was stopped before its first step has none.
fn events(path: &Path) -> Result<String, Failure> {
    let bytes = content_of(path)?.unwrap_or_default();
    // The last line may have been cut within a character.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether a run has ever written a checkpoint, whatever has become of it. The line of the one that it
/// was resumed from is no longer there.
pub(crate) fn wrote_checkpoint(directory: &Path) -> Result<bool, Failure> {
    let is_checkpoint = |line: &str| {
        matches!(serde_json::from_str(line), Ok(Line::Checkpoint | Line::Resume { .. }))
    };
    Ok(events(&directory.join(EVENTS))?.lines().any(is_checkpoint))
}

/// The error for a directory that is not a run.
fn not_a_run(directory: &Path) -> Failure {
    let shown = directory.display();
    let message = if directory.is_dir() {
        format!("`{shown}` is not a run: it has no `{CONFIG}`")
    } else {
        format!("there is no run directory `{shown}`")
    };
    let run =
        directory.parent().filter(|above| directory.is_file() && above.join(CONFIG).is_file());
    let help = match run {
        Some(run) => format!("name the run that the file belongs to: {}", quoted_path(run)),
        None => "name the run directory that `recipes train` printed at its end".to_owned(),
    };
    Failure::new(ExitCode::UserData, message, help)
}

#[cfg(test)]
mod tests {
    use training::{EpochReport, Event, StepReport};

    use super::*;
    use crate::run::event_lines::WrittenLine;

    #[test]
    fn the_files_of_a_run_are_read_as_far_as_they_go() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path();
        let config = "recipe = \"mlp\"\n[training]\nseed = 18446744073709551615\n\
                      [schedule]\nkind = \"one_cycle\"\n";
        fs::write(run.join(CONFIG), config).unwrap();
        let line = |event| serde_json::to_string(&WrittenLine::new(&event)).unwrap();
        let step = |epoch, step| Event::Step(StepReport { epoch, step, ..StepReport::default() });
        let epoch = |epoch, step, train_loss| {
            let metrics = [("loss", 0.6), ("accuracy", 0.7)];
            let validation = Some(metrics.map(|(name, value)| (name.to_owned(), value)).into());
            Event::Epoch(EpochReport { epoch, step, train_loss, validation, ..Default::default() })
        };
        let sample = |epoch, step, text: &str| {
            let (prompt, text) = ("The".to_owned(), text.to_owned());
            Event::Sample { epoch, step, prompt, text }
        };
        let events = [
            line(Event::Start { epochs: 2, steps: 4, trainable_parameters: 7 }),
            line(Event::Warning { message: "odd".to_owned() }),
            r#"{"kind":"warning","mess"#.to_owned(),
            line(step(1, 2)),
            line(epoch(1, 2, f64::NAN)),
            line(sample(1, 2, " GPU")),
            line(Event::Checkpoint { epoch: 1, step: 2 }),
            // Undone by the resume from step 2, and only left where the log has lost lines.
            line(step(2, 3)),
            line(epoch(2, 4, 0.4)),
            line(sample(2, 4, " CPU")),
            line(Event::End { status: EndStatus::Interrupted, epoch: 2, step: 4 }),
            line(Event::Resume { epochs: 3, steps: 6, epoch: 1, step: 2 }),
            r#"{"kind":"step","epoch":2,"st"#.to_owned(),
        ];
        fs::write(run.join(EVENTS), events.join("\n")).unwrap();

        let record = Record::read(run).unwrap();
        assert_eq!(record.recipe, "mlp");
        assert_eq!(record.settings["training.seed"], u64::MAX);
        assert_eq!(record.planned, Some(Length { epochs: 3, steps: 6 }));
        assert_eq!(record.followed_lengths().as_deref(), Some("4 steps, until step 2"));
        assert_eq!((record.steps.len(), record.resumed, record.end), (1, 1, None));
        assert_eq!((record.epochs.len(), record.epochs[0].train_loss), (1, None));
        assert_eq!(record.epochs[0].validation("accuracy"), Some(0.7));
        assert_eq!(record.validated(), ["loss", "accuracy"]);
        assert_eq!((record.samples.len(), record.samples[0].text.as_str()), (1, " GPU"));
        assert_eq!(record.warnings, ["odd"]);
        let damage = record.damage().unwrap();
        assert!(
            damage.ends_with("events.jsonl` has a damaged line, which is left out"),
            "{damage}"
        );
        assert!(record.summary.is_none());
    }

    #[test]
    fn a_line_that_was_cut_within_a_character_loses_no_other() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(CONFIG), "recipe = \"mlp\"\n").unwrap();
        let events = folder.path().join("events.jsonl");
        let lines = "{\"kind\":\"warning\",\"message\":\"süß\"}\n{\"kind\":\"ü";
        fs::write(&events, &lines.as_bytes()[..lines.len() - 1]).unwrap();
        let record = Record::read(folder.path()).unwrap();
        assert_eq!((record.damage(), record.warnings), (None, vec!["süß".to_owned()]));

        fs::remove_file(&events).unwrap();
        assert!(Record::read(folder.path()).unwrap().warnings.is_empty());
        fs::create_dir(&events).unwrap();
        let message = Record::read(folder.path()).unwrap_err().to_string();
        assert!(message.contains("events.jsonl` cannot be read: "), "{message}");
    }

    #[test]
    fn how_a_run_stands_follows_from_its_summary_then_its_lock_then_its_end() {
        let standing = |is_finished: bool, in_use: bool, status: Option<EndStatus>| {
            let summary = is_finished.then(|| summary::example(&serde_json::json!({})));
            let end = status.map(|status| End { status, step: 4 });
            Record { summary, in_use, end, ..Record::default() }.standing()
        };
        let diverged = Some(EndStatus::Diverged);
        assert_eq!(standing(true, true, diverged), Standing::Finished);
        assert_eq!(standing(false, true, diverged), Standing::InUse);
        assert_eq!(standing(false, false, diverged), Standing::Diverged);
        let interrupted = Some(EndStatus::Interrupted);
        assert_eq!(standing(false, false, interrupted), Standing::Interrupted);
        assert_eq!(standing(false, false, Some(EndStatus::Finished)), Standing::CutShort);
        assert_eq!(standing(false, false, None), Standing::CutShort);
    }

    #[test]
    fn what_is_no_run_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let message = |path: &Path| Record::read(path).unwrap_err().to_string();
        assert!(message(folder.path()).ends_with("is not a run: it has no `config.toml`"));
        assert!(message(&folder.path().join("none")).starts_with("there is no run directory"));
        let run = tempfile::tempdir().unwrap();
        fs::write(run.path().join(CONFIG), "").unwrap();
        fs::write(run.path().join("model.safetensors"), "").unwrap();
        let failure = Record::read(&run.path().join("model.safetensors")).unwrap_err();
        let help = failure.problems[0].help.clone().unwrap();
        assert_eq!(
            help,
            format!("name the run that the file belongs to: {}", quoted_path(run.path()))
        );
        fs::write(folder.path().join(CONFIG), "recipe = ").unwrap();
        assert!(message(folder.path()).contains("config.toml` cannot be read"));
        fs::write(folder.path().join(CONFIG), b"\xff").unwrap();
        assert!(message(folder.path()).contains("config.toml` cannot be read: "));
    }
}
