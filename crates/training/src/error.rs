//! What ends a training run early, and what to do about it.

use std::{error::Error, path::PathBuf};

use backend::device::{largest_tensor_bytes, on_the_cpu};
use store::StoreError;

use crate::{GroupError, InvalidSetting};

/// Training stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum TrainError {
    /// A loss, a gradient or its sum of squares was not finite, and that update was skipped; or the model
    /// holds such a value at a checkpoint or the end, as running statistics may if activations overflow.
    #[error(
        "training diverged: {what} became infinite or NaN {}, at learning rate {}",
        among_steps(*after, *step), in_digits(*learning_rate, 3)
    )]
    Diverged {
        /// What is not finite at the last step, such as ``the gradient of `fc.weight`, or its square,``, or in the model:
        /// `` `norm.running_variance` ``.
        what: String,
        after: u64,
        step: u64,
        learning_rate: f64,
        clip_norm: Option<f64>,
    },
    /// A setting is out of range; nothing was started.
    #[error("`{}` is {}, and must be {}", .0.key, .0.value, .0.expected)]
    Config(InvalidSetting),
    /// A step was not given one loss for each sample.
    #[error("a part of {samples} samples came with {losses} losses instead of one for each")]
    Losses { losses: usize, samples: usize },
    /// Parts that do not add up to their update: too many samples, or too few with the last.
    #[error("parts of {samples} samples do not make an update of {of}")]
    Part { samples: usize, of: usize },
    /// An update where none is due.
    #[error(
        "no update is due after step {step}: an epoch has not begun, or the run's steps are made"
    )]
    NotDue { step: u64 },
    /// An epoch was ended that had not begun.
    #[error("no epoch is to be ended after {ended} of them: the next has not begun")]
    NoEpoch { ended: usize },
    /// An epoch with more or fewer updates than [`TrainerConfig`](crate::TrainerConfig) promises.
    #[error("epoch {epoch} comes to {updates} updates, and `steps_per_epoch` is {promised}")]
    EpochLength {
        /// Which one, from 1.
        epoch: usize,
        updates: usize,
        promised: usize,
        resumed: bool,
    },
    /// An epoch or the run ended between the parts of an update.
    #[error("training ended within an update: none of the parts since update {step} was the last")]
    NoLastPart { step: u64 },
    /// Nothing would be learnt from an update.
    #[error(
        "no parameter that is trained has a gradient: the losses do not depend on the model's \
         parameters"
    )]
    NoGradients,
    /// A validation did not measure the monitored metric.
    #[error("a validation measured {}, and not `{monitored}`", listed(.metrics))]
    NotMeasured { monitored: String, metrics: Vec<String> },
    /// A parameter that cannot be trained or saved.
    #[error(
        "the parameter `{path}` holds {kind}, and the trainer takes only floating-point numbers"
    )]
    NotFloat { path: String, kind: &'static str },
    /// One parameter in two places, which would drift apart.
    #[error("`{first}` and `{second}` are the same parameter, and tied weights are not supported")]
    Tied { first: String, second: String },
    /// A resumed run was given an end that it has passed.
    #[error("`{key}` is {value}, and the run has reached {done} already")]
    Passed { key: &'static str, value: u64, done: u64 },
    /// A file could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What was written does not read back, or cannot be read at all.
    #[error("`{}` cannot be read: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    /// Another trainer keeps its checkpoints there.
    #[error("another run keeps its checkpoints in `{}`, and has not ended", path.display())]
    InUse { path: PathBuf },
    /// The folder of the checkpoints was moved or removed while training.
    #[error("the checkpoints of this run are no longer in `{}`", path.display())]
    Gone { path: PathBuf },
    /// All checkpoints are damaged, and no new run overwrites them.
    #[error("{}; there is no other to resume from", damaged.join("; "))]
    NoneUsable { damaged: Vec<String> },
    /// A whole checkpoint, but of another model or other data.
    #[error("the checkpoint `{}` belongs to another run: {reason}", path.display())]
    OtherRun { path: PathBuf, reason: String },
    /// A whole checkpoint, but written by another version of the program.
    #[error("another version of this program wrote the checkpoint `{}`: {reason}", path.display())]
    OtherVersion { path: PathBuf, reason: String },
    /// The device had no room for a buffer, so what was computed since may be wrong.
    #[error("{}", no_room(*bytes))]
    OutOfMemory { bytes: u64 },
    /// The device did not do what it was asked to, so what was computed since may be wrong.
    #[error("the device failed: {reason}")]
    DeviceFailed { reason: String },
    /// The processes can no longer train together.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// An [`Observer`](crate::Observer) failed.
    #[error(transparent)]
    Observer(Box<dyn Error + Send + Sync>),
}

impl TrainError {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Diverged { step: 1, .. } => Some(
                "it did so in the first update: look for NaN, infinite or extreme values in the data, and in \
                 the weights that the network began with"
                    .to_owned(),
            ),
            Self::Diverged { learning_rate, clip_norm, .. } => Some(format!(
                "lower `optimizer.learning_rate`, for instance to {}, or {} `training.clip_norm`, \
                 and look for extreme values in the data",
                in_digits(learning_rate / 10.0, 1),
                if clip_norm.is_some() { "lower" } else { "set" }
            )),
            Self::Config(_) => None, // the message says it
            Self::Losses { .. } => Some(
                "pass them before any mean or sum: the part determines what they are divided by"
                    .to_owned(),
            ),
            Self::Part { .. } => Some(
                "`samples` are those of the batch, and `of` those of all batches of the update, the last \
                 of which has `last`; for an update of one batch use `Part::whole`; a loop that resumes \
                 skips `Epoch::position` updates, not batches"
                    .to_owned(),
            ),
            Self::NotDue { .. } => Some(
                "call `step` between `next_epoch` and `end_epoch`, and take the batches from \
                 `Epoch::batches`, which ends with the run"
                    .to_owned(),
            ),
            Self::NoEpoch { .. } => {
                Some("call `end_epoch` once for each epoch that `next_epoch` returns".to_owned())
            }
            Self::EpochLength { resumed: true, .. } => Some(
                "begin a resumed epoch with the batch at `Epoch::position`, as a loader's `batches` does"
                    .to_owned(),
            ),
            Self::EpochLength { .. } => Some(
                "set it to the number of updates that the loop makes, such as a loader's `steps_per_epoch()`; \
                 several batches are one update where each `Part` says so, which `Part::whole` does not; to \
                 end a run early, request its `Stop`"
                    .to_owned(),
            ),
            Self::NoLastPart { .. } => Some(
                "set `last` in the part that completes an update; for an update of one batch use \
                 `Part::whole`"
                    .to_owned(),
            ),
            Self::NoGradients => Some(
                "compute them from outputs of `trainer.model()` as it is at this step, neither of \
                 `valid()` nor of a copy made before, and do not detach them"
                    .to_owned(),
            ),
            Self::NotMeasured { monitored, .. } => Some(format!(
                "add `{monitored}`, which decides on the best epoch, `training.patience` and the \
                 plateau schedule, or monitor another metric"
            )),
            Self::NotFloat { .. } => Some(
                "keep counters and masks outside of the module, or in a field with \
                 `#[module(skip)]`"
                    .to_owned(),
            ),
            Self::Tied { .. } => Some(
                "give each its own parameter, since a clone of a layer shares those of the original; \
                 to use weights twice, keep them in one field and use that twice in `forward`"
                    .to_owned(),
            ),
            Self::Passed { key: "training.max_steps", done, .. } => {
                Some(format!("to end it here: `training.max_steps={done}`"))
            }
            Self::Passed { key, done, .. } => Some(format!(
                "set `{key}` to {done} or more; `training.max_steps` may end it sooner"
            )),
            Self::Store(error) => error.help(),
            Self::Unreadable { .. } => {
                Some("check the disk, and who may read it; all checkpoints are kept".to_owned())
            }
            Self::InUse { .. } => {
                Some("wait until it has ended, or keep these in another folder".to_owned())
            }
            Self::Gone { .. } => Some(
                "a run's folder stays where it is while it trains; one that was moved is resumed from \
                 where it is now"
                    .to_owned(),
            ),
            Self::NoneUsable { .. } => {
                Some("restore one of them from a backup, or start a new run".to_owned())
            }
            Self::OtherRun { .. } => Some(
                "resume with the data, the settings and the version of this program that the run \
                     began with, or begin a new run in another folder"
                    .to_owned(),
            ),
            Self::OtherVersion { .. } => {
                Some("resume with the version that wrote it, or start a new run".to_owned())
            }
            Self::OutOfMemory { .. } => {
                Some("use smaller batches, or compute each update in parts".to_owned())
            }
            Self::DeviceFailed { .. } => {
                Some(format!("update the GPU's driver, or {}", on_the_cpu()))
            }
            Self::Group(error) => error.help(),
            Self::Observer(_) => None,
        }
    }
}

/// Why the device had no room for a buffer of so many bytes.
fn no_room(bytes: u64) -> String {
    let size = |bytes: u64| match bytes {
        0..1_000_000 => format!("{bytes} bytes"),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    };
    match largest_tensor_bytes().filter(|&most| bytes > most) {
        Some(most) => {
            format!("the device takes no tensor of {}: of {} at most", size(bytes), size(most))
        }
        None => {
            format!("the device is out of memory: it had no room for {}", size(bytes))
        }
    }
}

/// One of the steps after `after`, up to `step`.
fn among_steps(after: u64, step: u64) -> String {
    let first = after + 1;
    if first < step {
        format!("in one of steps {first} to {step}")
    } else {
        format!("in step {step}")
    }
}

/// Names, quoted.
fn listed(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        _ => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    }
}

/// A number with that many significant digits, and an exponent only where there would be many zeros.
pub(crate) fn in_digits(value: f64, digits: usize) -> String {
    let kept: f64 = format!("{value:.*e}", digits - 1).parse().unwrap_or(value);
    match kept.abs() {
        0.0 | 1e-3..1e6 => kept.to_string(),
        _ => format!("{kept:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_diverged_is_reported_in_readable_numbers() {
        let told = |learning_rate, clip_norm| {
            let what = "the loss".to_owned();
            let error = TrainError::Diverged { what, after: 2, step: 4, learning_rate, clip_norm };
            (error.to_string(), error.help().unwrap())
        };
        let (message, help) = told(99.441_543_545_091_18, None);
        let expected = "training diverged: the loss became infinite or NaN in one of steps 3 to 4, at \
                        learning rate 99.4";
        assert_eq!(message, expected);
        assert!(help.contains("to 10, or set `training.clip_norm`"), "{help}");
        assert!(told(1e30, None).0.ends_with("learning rate 1e30"));
        let (_, help) = told(2e-3, Some(1.0));
        assert!(help.contains("to 2e-4, or lower `training.clip_norm`"), "{help}");
        assert_eq!([among_steps(3, 4), among_steps(4, 4)], ["in step 4", "in step 4"]);
    }
}
