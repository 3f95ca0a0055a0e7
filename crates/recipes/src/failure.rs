//! Everything that ends a command early: its message and the exit code.

use std::{fmt, path::Path};

use data::DataError;
use inference::{InferenceError, InputKind};
use models::{ArchitectureError, import::ImportError, weights::WeightsError};
use store::StoreError;
use training::{GroupError, ObserverError, TrainError};

use crate::{
    config::{Problem, Problems},
    run::{directory::CONFIG, environment::other_version_of, out_of_memory},
    shell::command,
};

/// The kind of a failure; its number is the program's exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCode {
    /// Nothing failed: the reader of the results closed the pipe.
    Done = 0,
    /// A bug, or something unexpected such as a full disk.
    Unexpected = 1,
    /// The command line or the configuration.
    Usage = 2,
    /// The user's data, weights or run directory.
    UserData = 3,
    /// The device or its driver.
    Device = 4,
    /// Training diverged.
    Diverged = 5,
    /// A signal asked to stop.
    Interrupted = 130,
}

impl ExitCode {
    /// The exit code of another process.
    fn of(number: u8) -> Self {
        let all = [Self::Usage, Self::UserData, Self::Device, Self::Diverged, Self::Interrupted];
        all.into_iter().find(|&code| code as u8 == number).unwrap_or(Self::Unexpected)
    }
}

/// Why a command ended early: one problem or several of one kind, or none if they were reported
/// already, or another process reports them.
#[derive(Debug)]
pub struct Failure {
    /// Its kind.
    pub exit_code: ExitCode,
    /// What is wrong, where, and what to do.
    pub problems: Vec<Problem>,
}

impl Failure {
    /// A failure of one problem.
    pub fn new(exit_code: ExitCode, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { exit_code, problems: vec![Problem::new(message).with_help(help)] }
    }

    fn of(exit_code: ExitCode, error: &dyn std::error::Error, help: Option<String>) -> Self {
        let problem = Problem { message: error.to_string(), help };
        Self { exit_code, problems: vec![problem] }
    }

    /// Says what else the user can do about the last problem.
    pub(crate) fn or(mut self, help: &str) -> Self {
        if let Some(problem) = self.problems.last_mut() {
            let before = problem.help.take().map(|help| format!("{help}; ")).unwrap_or_default();
            problem.help = Some(before + help);
        }
        self
    }

    /// A problem with a path that the user named: exit code 3 instead of 1.
    pub(crate) fn user_data(error: StoreError) -> Self {
        Self { exit_code: ExitCode::UserData, ..error.into() }
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        Self { exit_code: ExitCode::Usage, problems: problems.iter().cloned().collect() }
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        let exit_code = match error {
            DataError::Stopped => ExitCode::Interrupted,
            _ => ExitCode::UserData,
        };
        Self::of(exit_code, &error, error.help())
    }
}

impl From<ArchitectureError> for Failure {
    fn from(error: ArchitectureError) -> Self {
        Self::of(ExitCode::Usage, &error, Some(error.help()))
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        Self::of(ExitCode::UserData, &error, Some(error.help()))
    }
}

impl From<WeightsError> for Failure {
    fn from(error: WeightsError) -> Self {
        Self::of(ExitCode::UserData, &error, Some(error.help()))
    }
}

impl From<InferenceError> for Failure {
    fn from(error: InferenceError) -> Self {
        // Where the crate's help names a method, it is a command here.
        let command = match &error {
            InferenceError::Kind { is: InputKind::Rows, .. } => {
                "name CSV files: `recipes predict RUN rows.csv`"
            }
            InferenceError::Kind { is: InputKind::Images, .. } => {
                "name image files or folders: `recipes predict RUN picture.jpg`"
            }
            InferenceError::Kind { is: InputKind::Text, .. } => {
                "generate text with it: `recipes generate RUN --prompt TEXT`"
            }
            InferenceError::TooLargeForOnnx { .. } => {
                "export it as safetensors: `--format safetensors`"
            }
            InferenceError::Sampling { setting, value, expected } => {
                let option = setting.replace('_', "-");
                let message = format!("`--{option}` is {value}, and must be {expected}");
                let problem = Problem { message, help: error.help() };
                return Self { exit_code: ExitCode::Usage, problems: vec![problem] };
            }
            _ => return Self::of(ExitCode::UserData, &error, error.help()),
        };
        Self::of(ExitCode::UserData, &error, Some(command.to_owned()))
    }
}

impl From<GroupError> for Failure {
    fn from(error: GroupError) -> Self {
        let exit_code = match error {
            GroupError::Another { exit_code, .. } => {
                return Self { exit_code: ExitCode::of(exit_code), problems: Vec::new() };
            }
            GroupError::Differs { .. } | GroupError::WithoutMpi { .. } => ExitCode::Usage,
            GroupError::Unusable { .. } => ExitCode::Device,
        };
        Self::of(exit_code, &error, error.help())
    }
}

impl From<backend::device::DeviceError> for Failure {
    fn from(error: backend::device::DeviceError) -> Self {
        Self::of(ExitCode::Device, &error, Some(error.help()))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::of(ExitCode::Unexpected, &error, error.help())
    }
}

impl From<TrainError> for Failure {
    fn from(error: TrainError) -> Self {
        let help = match error {
            TrainError::OutOfMemory { .. } => out_of_memory::advice().map(str::to_owned),
            TrainError::OtherVersion { ref path, .. } => with_its_version(path),
            _ => None,
        };
        let help = help.or_else(|| error.help());
        let exit_code = match error {
            TrainError::Diverged { .. } => ExitCode::Diverged,
            TrainError::Config(_) | TrainError::Passed { .. } => ExitCode::Usage,
            TrainError::InUse { .. }
            | TrainError::Gone { .. }
            | TrainError::OtherRun { .. }
            | TrainError::OtherVersion { .. }
            | TrainError::NoneUsable { .. } => ExitCode::UserData,
            TrainError::OutOfMemory { .. } | TrainError::DeviceFailed { .. } => ExitCode::Device,
            TrainError::Group(error) => return error.into(),
            TrainError::Observer(error) => return Self::observed(error),
            _ => ExitCode::Unexpected, // of a loop that is wrong, or of the system
        };
        Self::of(exit_code, &error, help)
    }
}

/// How to go on from a run's checkpoint of another version of this program, if that is known.
fn with_its_version(checkpoint: &Path) -> Option<String> {
    let run = checkpoint.ancestors().nth(2)?;
    let version = other_version_of(run)?;
    let again = command("train", &run.join(CONFIG));
    Some(format!("resume with that version ({version}), or train again: {again}"))
}

impl Failure {
    /// The run's own failure while observing training.
    fn observed(error: ObserverError) -> Self {
        let error = match error.downcast::<Self>() {
            Ok(failure) => return *failure,
            Err(error) => error,
        };
        match error.downcast::<StoreError>() {
            Ok(error) => (*error).into(),
            Err(error) => Self::of(ExitCode::Unexpected, &*error, None),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let messages: Vec<&str> =
            self.problems.iter().map(|problem| problem.message.as_str()).collect();
        f.write_str(&messages.join("; "))
    }
}

impl std::error::Error for Failure {}
