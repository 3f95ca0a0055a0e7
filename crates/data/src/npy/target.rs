//! Whether the targets are classes or values.

use std::{collections::HashMap, path::Path};

use super::{TARGET, array::Array, error::NpyError};
use crate::{
    DataError, Target, TargetKind, Task,
    table::{MOST_CLASSES, MOST_INTEGER_CLASSES, may_be_classes, regression},
};

/// What to predict; classes are in ascending order.
#[derive(Debug, PartialEq)]
pub(super) enum Plan {
    Binary([i64; 2]),
    Multiclass(Vec<i64>),
    Regression {
        /// Whether its values are few whole numbers, each of many rows.
        may_be_classes: bool,
    },
}

impl Plan {
    /// What the user says, else classes if the targets are few whole numbers.
    pub(super) fn new(targets: &Array, task: Option<Task>) -> Result<Self, DataError> {
        let path = || targets.path.clone();
        let Some(mut classes) = targets.integers() else {
            targets.check_finite()?;
            let all: Vec<usize> = (0..targets.rows).collect();
            if let [target] = targets.moments(&all)[..]
                && target.variance() == 0.0
            {
                let value = (target.mean() as f32).to_string();
                return Err(NpyError::SingleValue { path: path(), value }.into());
            }
            return match task {
                None | Some(Task::Regression) => Ok(Self::Regression { may_be_classes: false }),
                Some(_) => Err(NpyError::FloatClasses { path: path() }.into()),
            };
        };

        classes.sort_unstable();
        classes.dedup();
        if let [value] = classes[..] {
            return Err(NpyError::SingleValue { path: path(), value: value.to_string() }.into());
        }
        // Whole numbers that are there once each are values.
        let many = classes.len() > MOST_INTEGER_CLASSES || classes.len() == targets.rows;
        let may_be_classes = may_be_classes(classes.len(), targets.rows as u64);
        if task == Some(Task::Multiclass) && classes.len() > MOST_CLASSES {
            let classes = classes.len();
            return Err(NpyError::TooManyClasses { path: path(), classes }.into());
        }
        match (task, <[i64; 2]>::try_from(classes)) {
            (Some(Task::Regression), _) => Ok(Self::Regression { may_be_classes }),
            (None, Err(_)) if many => Ok(Self::Regression { may_be_classes }),
            (Some(Task::Multiclass), Ok(two)) => Ok(Self::Multiclass(two.into())),
            (None | Some(Task::Binary), Ok(two)) => Ok(Self::Binary(two)),
            (None | Some(Task::Multiclass), Err(classes)) => Ok(Self::Multiclass(classes)),
            (Some(Task::Binary), Err(classes)) => {
                let classes = classes.len();
                Err(DataError::NotBinary { path: path(), target: TARGET.to_owned(), classes })
            }
        }
    }

    /// What a model predicts; `path` is the file of targets, for errors.
    pub(super) fn of_model(target: &Target, path: &Path) -> Result<Self, NpyError> {
        let number = |class: &String| {
            class.parse().map_err(|_| NpyError::NotNumbers {
                path: path.to_owned(),
                what: format!("class `{class}`"),
            })
        };
        Ok(match &target.kind {
            TargetKind::Binary { classes: [first, second] } => {
                Self::Binary([number(first)?, number(second)?])
            }
            TargetKind::Multiclass { classes } => {
                Self::Multiclass(classes.iter().map(number).collect::<Result<_, _>>()?)
            }
            TargetKind::Regression { .. } => Self::Regression { may_be_classes: false },
        })
    }

    /// The label of each target; 0 in a regression, whose targets are checked to be finite.
    pub(super) fn labels(&self, targets: &Array) -> Result<Vec<u32>, DataError> {
        match self {
            Self::Binary(classes) => labels(targets, classes),
            Self::Multiclass(classes) => labels(targets, classes),
            Self::Regression { .. } => targets.check_finite().map(|()| vec![0; targets.rows]),
        }
    }

    /// What a prediction means, learnt from the targets of the training rows.
    pub(super) fn kind(&self, targets: &Array, rows: &[usize]) -> TargetKind {
        let name = |class: &i64| class.to_string();
        match self {
            Self::Binary(classes) => TargetKind::Binary { classes: classes.each_ref().map(name) },
            Self::Multiclass(classes) => {
                TargetKind::Multiclass { classes: classes.iter().map(name).collect() }
            }
            Self::Regression { .. } => regression(&targets.moments(rows).pop().unwrap_or_default()),
        }
    }
}

fn labels(targets: &Array, classes: &[i64]) -> Result<Vec<u32>, DataError> {
    let path = || targets.path.clone();
    let integers = targets.integers().ok_or_else(|| NpyError::FloatClasses { path: path() })?;
    let known: HashMap<i64, u32> = classes.iter().copied().zip(0..).collect();
    let label = |(row, &class): (usize, &i64)| match known.get(&class) {
        Some(&label) => Ok(label),
        None => Err(NpyError::UnknownClass { path: path(), row, class }.into()),
    };
    integers.iter().enumerate().map(label).collect()
}
