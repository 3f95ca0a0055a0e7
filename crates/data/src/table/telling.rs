//! Columns that tell the target by themselves.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use super::{
    Table,
    copies::{MOST_ROWS, column_ranges},
    notes::notes_on_columns,
};
use crate::{ColumnKind, TablePreprocessing, count::grouped, labels::count_labels};

/// In fewer rows a column may tell the target by chance.
const FEWEST_ROWS: usize = 20;
/// At least two classes have so many: a column that tells but a few rows apart may do so by chance.
const FEWEST_ROWS_OF_A_CLASS: usize = 5;
/// A value of a column recurs in so many rows, on the mean: others are unlikely to tell anything of rows
/// that are not there.
const ROWS_OF_A_VALUE: usize = 5;

/// Nearly all columns that tell nothing show it in so many rows.
const SOME_ROWS: usize = 1000;
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
    let values = train.targets.values();
    let classes = preprocessing.target.classes().len();
    let counts = count_labels(&labels[..rows.min(labels.len())], classes);
    let many = counts.iter().filter(|&&rows| rows >= FEWEST_ROWS_OF_A_CLASS).count();
    if !labels.is_empty() && many < 2 {
        return Vec::new();
    }
    let columns = preprocessing.columns.iter().zip(column_ranges(preprocessing));
    let used = columns.filter(|(column, _)| !matches!(column.kind, ColumnKind::Dropped { .. }));
    let telling = used.filter(|(column, range)| {
        let numbers = |stride: usize| {
            let column = train.features[range.start..].iter().step_by(preprocessing.width());
            column.take(rows).step_by(stride).map(|&number| f64::from(number))
        };
        let is_numeric = matches!(column.kind, ColumnKind::Numeric { .. });
        match labels {
            [] => {
                is_numeric
                    && is_strong(&|stride| correlation(numbers(stride), values, stride), rows)
            }
            _ => {
                each_value_has_one_class(train, range, rows)
                    || is_numeric
                        && are_apart(&|stride| bounds(numbers(stride), labels, stride), rows)
            }
        }
    });
    let which = match rows == train.rows() {
        true => "every row".to_owned(),
        false => format!("the first {} rows", grouped(rows)),
    };
    let telling: Vec<&str> = telling.map(|(column, _)| column.name.as_str()).collect();
    notes_on_columns(
        &telling,
        |name| {
            format!(
                "column `{name}` alone tells the target of {which} to train on: if it is not known \
                 before the target is, {}",
                leave_out(name)
            )
        },
        |columns, first| {
            format!(
                "{columns}, such as `{first}`, tell the target of {which} to train on, each alone: if \
                 they are not known before the target is, leave them out"
            )
        },
    )
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
///
/// - `bounds`: the least and the greatest number of each class, of one row in so many
fn are_apart(bounds: &dyn Fn(usize) -> Vec<[f64; 2]>, rows: usize) -> bool {
    let of_one_in = |stride| {
        let mut bounds = bounds(stride);
        bounds.sort_by(|[a, _], [b, _]| a.total_cmp(b));
        bounds.array_windows().all(|[[_, below], [above, _]]| below < above)
    };
    of_one_in(stride_of(rows)) && of_one_in(1)
}

/// From one row to the next of some that stand for all.
fn stride_of(rows: usize) -> usize {
    (rows / SOME_ROWS).max(1)
}

fn bounds(numbers: impl Iterator<Item = f64>, labels: &[u32], stride: usize) -> Vec<[f64; 2]> {
    let mut bounds = BTreeMap::<u32, [f64; 2]>::new();
    for (number, &label) in numbers.zip(labels.iter().step_by(stride)) {
        let [least, greatest] = bounds.entry(label).or_insert([number; 2]);
        (*least, *greatest) = (least.min(number), greatest.max(number));
    }
    bounds.into_values().collect()
}

/// - `correlation`: that of one row in so many
fn is_strong(correlation: &dyn Fn(usize) -> f64, rows: usize) -> bool {
    // Of some rows it may be unknown, or lower by chance.
    let of_some = correlation(stride_of(rows)).abs();
    (of_some.is_nan() || of_some > 0.9) && correlation(1).abs() > STRONGEST
}

/// Pearson's; NaN where one side does not vary.
///
/// - `numbers`: of one row in `stride`
fn correlation(numbers: impl Iterator<Item = f64> + Clone, values: &[f32], stride: usize) -> f64 {
    let values = values.iter().step_by(stride).map(|&value| f64::from(value));
    let pairs = || numbers.clone().zip(values.clone());
    let (mut count, mut sums) = (0.0, [0.0; 2]);
    pairs().for_each(|(number, value)| {
        count += 1.0;
        sums = [sums[0] + number, sums[1] + value];
    });
    let [of_numbers, of_values] = sums.map(|sum| sum / count);
    let mut products = [0.0; 3];
    pairs().for_each(|(number, value)| {
        let (number, value) = (number - of_numbers, value - of_values);
        let terms = [number * value, number * number, value * value];
        products.iter_mut().zip(terms).for_each(|(product, term)| *product += term);
    });
    products[0] / (products[1] * products[2]).sqrt()
}
