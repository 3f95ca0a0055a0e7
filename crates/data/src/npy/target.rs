//! What the targets are: classes or values.

use super::{TARGET, array::Array, error::NpyError};
use crate::{
    DataError, TargetKind, Targets, Task,
    table::{MOST_INTEGER_CLASSES, moments, regression},
};

/// What is to be predicted; classes are in ascending order.
#[derive(Debug, PartialEq)]
pub(super) enum Plan {
    Binary([i64; 2]),
    Multiclass(Vec<i64>),
    Regression,
}

impl Plan {
    /// What the user says, else classes if the targets are few integers.
    pub(super) fn new(targets: &Array, task: Option<Task>) -> Result<Self, DataError> {
        let path = || targets.path.clone();
        let Some(mut classes) = targets.values.integers() else {
            let values = targets.to_floats()?;
            if values.iter().all(|value| *value == values[0]) {
                let value = values[0].to_string();
                return Err(NpyError::SingleValue { path: path(), value }.into());
            }
            return match task {
                None | Some(Task::Regression) => Ok(Self::Regression),
                Some(_) => Err(NpyError::FloatClasses { path: path() }.into()),
            };
        };

        classes.sort_unstable();
        classes.dedup();
        if let [value] = classes[..] {
            return Err(NpyError::SingleValue { path: path(), value: value.to_string() }.into());
        }
        let many = classes.len() > MOST_INTEGER_CLASSES;
        match (task, <[i64; 2]>::try_from(classes)) {
            (Some(Task::Regression), _) => Ok(Self::Regression),
            (None, Err(_)) if many => Ok(Self::Regression),
            (Some(Task::Multiclass), Ok(two)) => Ok(Self::Multiclass(two.into())),
            (None | Some(Task::Binary), Ok(two)) => Ok(Self::Binary(two)),
            (None | Some(Task::Multiclass), Err(classes)) => Ok(Self::Multiclass(classes)),
            (Some(Task::Binary), Err(classes)) => {
                let classes = classes.len();
                Err(DataError::NotBinary { path: path(), target: TARGET.to_owned(), classes })
            }
        }
    }

    /// The targets as labels, or as values in the user's unit.
    pub(super) fn encode(&self, targets: &Array) -> Result<Targets, DataError> {
        match self {
            Self::Binary(classes) => Ok(Targets::Classes(labels(targets, classes)?)),
            Self::Multiclass(classes) => Ok(Targets::Classes(labels(targets, classes)?)),
            Self::Regression => Ok(Targets::Values(targets.to_floats()?)),
        }
    }

    /// What a prediction means, by what the targets of the training split are.
    pub(super) fn kind(&self, train: &Targets) -> TargetKind {
        let name = |class: &i64| class.to_string();
        match self {
            Self::Binary(classes) => TargetKind::Binary { classes: classes.each_ref().map(name) },
            Self::Multiclass(classes) => {
                TargetKind::Multiclass { classes: classes.iter().map(name).collect() }
            }
            Self::Regression => regression(moments(|| train.values().iter().copied())),
        }
    }
}

fn labels(targets: &Array, classes: &[i64]) -> Result<Vec<u32>, DataError> {
    let path = || targets.path.clone();
    let integers =
        targets.values.integers().ok_or_else(|| NpyError::FloatClasses { path: path() })?;
    let label = |(row, &class): (usize, &i64)| match classes.binary_search(&class) {
        Ok(label) => Ok(label as u32),
        Err(_) => Err(NpyError::UnknownClass { path: path(), row, class }.into()),
    };
    integers.iter().enumerate().map(label).collect()
}
