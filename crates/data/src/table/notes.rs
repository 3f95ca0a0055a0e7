//! What the user should know of the splits of a table.

use super::{
    Moments, Table,
    copies::{note_on_contradictions, note_on_rows_in_both},
    telling::notes_on_telling_columns,
};
use crate::{
    TablePreprocessing, Target, TargetKind,
    count::{counted, grouped},
    labels::count_labels,
    split::classes_without_validation,
};

/// What the user should know of splits, a sentence each.
///
/// - `held_out`: the rows to validate and to test on, and what they are called, such as
///   ``rows of `test.csv` ``
/// - `leave_out`: how to leave the column of this name out
pub(crate) fn notes_on_splits(
    preprocessing: &TablePreprocessing,
    train: &Table,
    held_out: [(String, &Option<Table>); 2],
    leave_out: &dyn Fn(&str) -> String,
) -> Vec<String> {
    let [(_, validation), _] = &held_out;
    let mut notes = Vec::from_iter(validation.as_ref().and_then(|validation| {
        let [train, validation] = [train, validation].map(|split| split.targets.labels());
        classes_without_validation(preprocessing.target.classes(), train, validation)
    }));
    notes.extend(note_on_untrained(preprocessing, train));
    notes.extend(note_on_contradictions(preprocessing, train));
    notes.extend(notes_on_telling_columns(preprocessing, train, leave_out));
    notes.extend(held_out.into_iter().filter_map(|(rows, table)| {
        note_on_rows_in_both(preprocessing, train, table.as_ref()?, &rows)
    }));
    notes
}

/// Such a skewness is noted, if that of the logarithms is less than [`EVEN`]. House prices of Boston and of
/// California have 1.1 and 1.0; values whose logarithms are normal with a deviation of 0.6 have 2.3.
const SKEWED: f64 = 2.0;
const EVEN: f64 = 1.0;

/// A note on a target whose logarithm may be predicted better.
///
/// - `values`: those to train on
pub(crate) fn note_on_skew(
    target: &Target,
    values: impl Iterator<Item = f64> + Clone,
) -> Option<String> {
    let is_linear =
        matches!(&target.kind, TargetKind::Regression(scores) if scores.scale.is_linear());
    let is_skewed = is_linear
        && values.clone().all(|value| value > 0.0)
        && skewness(values.clone()) > SKEWED
        && skewness(values.map(f64::ln)).abs() < EVEN;
    is_skewed.then(|| {
        format!(
            "target `{}`: its values are positive, and a few are far larger than most; \
             `data.target_scale=log` may predict them better",
            target.name
        )
    })
}

/// The third standardised moment; 0 of equal numbers.
fn skewness(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let moments = Moments::of(values.clone());
    let cubes: f64 = values.map(|value| (value - moments.mean()).powi(3)).sum();
    match moments.deviation() {
        0.0 => 0.0,
        deviation => cubes / (moments.count() as f64 * deviation.powi(3)),
    }
}

/// What the user should know of classes that no row to train on has: held out with a group, or at the end.
fn note_on_untrained(preprocessing: &TablePreprocessing, train: &Table) -> Option<String> {
    let classes = preprocessing.target.classes();
    let trained = count_labels(train.targets.labels(), classes.len());
    let untrained = classes.iter().zip(trained).filter(|(_, trained)| *trained == 0);
    let names: Vec<&String> = untrained.map(|(class, _)| class).collect();
    match names[..] {
        [] => None,
        [class] => {
            Some(format!("class `{class}` has no rows to train on, so it is never predicted"))
        }
        [first, ..] => Some(format!(
            "{} classes have no rows to train on, so they are never predicted, such as `{first}`",
            grouped(names.len())
        )),
    }
}

/// What numbers are that are told where others are encoded.
pub(crate) const FAR_FROM_ALL: &str = "far from all in the training rows";

/// More notes of a kind would hide others among them.
pub(crate) const FEW_NOTES: usize = 8;

/// A note on each of some columns, or where there are so many that others would be hidden among them, one
/// on all of them.
///
/// - `one`: of this column
/// - `all`: of so many, the first of which is this one
pub(crate) fn notes_on_columns<T>(
    columns: &[T],
    one: impl Fn(&T) -> String,
    all: impl Fn(String, &T) -> String,
) -> Vec<String> {
    match columns {
        [first, ..] if columns.len() > FEW_NOTES => {
            vec![all(counted(columns.len(), "column"), first)]
        }
        _ => columns.iter().map(one).collect(),
    }
}
