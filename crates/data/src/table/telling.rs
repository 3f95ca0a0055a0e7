//! Columns that tell the target by themselves.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use super::{
    Table,
    copies::{MOST_ROWS, column_ranges},
};
use crate::{ColumnKind, TablePreprocessing, count::grouped};

/// In fewer rows a column may tell the target by chance.
const FEWEST_ROWS: usize = 20;
/// At least two classes have so many: a column that tells but a few rows apart may do so by chance.
const FEWEST_ROWS_OF_A_CLASS: usize = 5;
/// A value of a column recurs in so many rows, on the mean: others are unlikely to tell anything of rows
/// that are not there.
const ROWS_OF_A_VALUE: usize = 5;

/// A correlation of this strength leaves a hundredth of the target's deviation to be told by others.
const STRONGEST: f64 = 0.9999;

/// What the user should know of columns that tell the target by themselves in the rows to train on: such a
/// column often follows from the target, and is not known when it is to be predicted.
///
/// - `leave_out`: how to leave the column of this name out
pub(super) fn notes_on_telling_columns(
    preprocessing: &TablePreprocessing,
    train: &Table,
    leave_out: &dyn Fn(&str) -> String,
) -> Vec<String> {
    let rows = train.rows().min(MOST_ROWS);
    if rows < FEWEST_ROWS {
        return Vec::new();
    }
    let labels = train.targets.labels();
    let classes = rows_of_classes(&labels[..rows.min(labels.len())]);
    let many = classes.values().filter(|&&rows| rows >= FEWEST_ROWS_OF_A_CLASS).count();
    if !labels.is_empty() && many < 2 {
        return Vec::new();
    }
    let columns = preprocessing.columns.iter().zip(column_ranges(preprocessing));
    let used = columns.filter(|(column, _)| !matches!(column.kind, ColumnKind::Dropped { .. }));
    let telling = used.filter(|(column, range)| {
        let numbers = || {
            let width = preprocessing.width();
            let column = train.features[range.start..].iter().step_by(width).take(rows);
            column.map(|&number| f64::from(number))
        };
        let is_numeric = matches!(column.kind, ColumnKind::Numeric { .. });
        match labels {
            [] => is_numeric && correlation(numbers(), train.targets.values()).abs() > STRONGEST,
            _ => {
                each_value_has_one_class(train, range, rows)
                    || is_numeric && are_apart(numbers(), labels, classes.len())
            }
        }
    });
    let which = match rows == train.rows() {
        true => "every row".to_owned(),
        false => format!("the first {} rows", grouped(rows)),
    };
    let note = |name: &String| {
        format!(
            "column `{name}` alone tells the target of {which} to train on: if it is not known before \
             the target is, {}",
            leave_out(name)
        )
    };
    telling.map(|(column, _)| note(&column.name)).collect()
}

fn rows_of_classes(labels: &[u32]) -> BTreeMap<u32, usize> {
    let mut rows = BTreeMap::new();
    labels.iter().for_each(|&label| *rows.entry(label).or_insert(0) += 1);
    rows
}

fn each_value_has_one_class(train: &Table, column: &Range<usize>, rows: usize) -> bool {
    let mut classes = HashMap::new();
    let mut in_rows = train.rows_in_bits().take(rows);
    in_rows.all(|(features, label)| {
        *classes.entry(features.of(column)).or_insert(label) == label
            && classes.len() * ROWS_OF_A_VALUE <= rows
    })
}

/// Whether the numbers of each class lie between those of others, so that thresholds tell the class.
fn are_apart(numbers: impl Iterator<Item = f64>, labels: &[u32], classes: usize) -> bool {
    let mut bounds = BTreeMap::<u32, [f64; 2]>::new();
    for (number, &label) in numbers.zip(labels) {
        let [least, greatest] = bounds.entry(label).or_insert([number; 2]);
        (*least, *greatest) = (least.min(number), greatest.max(number));
    }
    let mut bounds: Vec<[f64; 2]> = bounds.into_values().collect();
    bounds.sort_by(|[a, _], [b, _]| a.total_cmp(b));
    bounds.len() == classes && bounds.array_windows().all(|[[_, below], [above, _]]| below < above)
}

/// Pearson's; NaN where one side does not vary.
fn correlation(numbers: impl Iterator<Item = f64>, values: &[f32]) -> f64 {
    let pairs: Vec<[f64; 2]> =
        numbers.zip(values).map(|(number, &value)| [number, value.into()]).collect();
    let mean = |side: usize| pairs.iter().map(|pair| pair[side]).sum::<f64>() / pairs.len() as f64;
    let means = [mean(0), mean(1)];
    let product = |a: usize, b: usize| {
        pairs.iter().map(|pair| (pair[a] - means[a]) * (pair[b] - means[b])).sum::<f64>()
    };
    product(0, 1) / (product(0, 0) * product(1, 1)).sqrt()
}
