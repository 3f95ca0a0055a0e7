//! Whether the targets are classes or values.

use std::collections::HashMap;

use super::{TARGET, array::Array, error::NpyError};
use crate::{
    DataError, TargetKind, Task,
    table::{MOST_CLASSES, MOST_INTEGER_CLASSES, may_be_classes},
};

/// What to predict: what the user says, else classes if the targets are few whole numbers, in ascending
/// order; `None` for a regression, whose moments are those of the rows to train on. Also whether its values
/// are whole numbers that [may be classes](may_be_classes).
pub(super) fn plan(
    targets: &Array,
    task: Option<Task>,
) -> Result<(Option<TargetKind>, bool), DataError> {
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
            None | Some(Task::Regression) => Ok((None, false)),
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
    if task == Some(Task::Regression) || task.is_none() && many && classes.len() > 2 {
        return Ok((None, may_be_classes));
    }
    let classes = classes.iter().map(i64::to_string).collect();
    let kind = TargetKind::of_classes(classes, task).map_err(|classes| DataError::NotBinary {
        path: path(),
        target: TARGET.to_owned(),
        classes,
    })?;
    Ok((Some(kind), may_be_classes))
}

/// The label of each target; 0 in a regression, whose targets are checked to be finite.
///
/// - `classes`: those to tell apart; none in a regression
pub(super) fn labels(targets: &Array, classes: &[String]) -> Result<Vec<u32>, DataError> {
    if classes.is_empty() {
        return targets.check_finite().map(|()| vec![0; targets.rows]);
    }
    let path = || targets.path.clone();
    let number = |class: &String| {
        class
            .parse()
            .map_err(|_| NpyError::NotNumbers { path: path(), what: format!("class `{class}`") })
    };
    let numbers: Vec<i64> = classes.iter().map(number).collect::<Result<_, _>>()?;
    let integers = targets.integers().ok_or_else(|| NpyError::FloatClasses { path: path() })?;
    let known: HashMap<i64, u32> = numbers.into_iter().zip(0..).collect();
    let label = |(row, &class): (usize, &i64)| match known.get(&class) {
        Some(&label) => Ok(label),
        None => Err(NpyError::UnknownClass { path: path(), row, class }.into()),
    };
    integers.iter().enumerate().map(label).collect()
}
