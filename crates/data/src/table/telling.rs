//! Columns that tell the target by themselves.

use std::collections::HashMap;

use super::{
    Table,
    copies::{MOST_ROWS, column_ranges},
};
use crate::{ColumnKind, TablePreprocessing, count::grouped, csv_table::column_setting};

/// In fewer rows a column may tell the target by chance.
const FEWEST_ROWS: usize = 20;
/// At least two classes have so many: a column that tells but a few rows apart may do so by chance.
const FEWEST_ROWS_OF_A_CLASS: usize = 5;
/// A value of a column recurs in so many rows, on the mean: others are unlikely to tell anything of rows
/// that are not there.
const ROWS_OF_A_VALUE: usize = 5;

/// What the user should know of columns of which each value has one class, in the rows to train on: such a
/// column often follows from the target, and is not known when it is to be predicted.
pub(crate) fn notes_on_telling_columns(
    preprocessing: &TablePreprocessing,
    train: &Table,
) -> Vec<String> {
    let rows = train.rows().min(MOST_ROWS);
    let labels = train.targets.labels();
    if labels.is_empty() || rows < FEWEST_ROWS {
        return Vec::new();
    }
    let mut of_class = HashMap::new();
    labels[..rows].iter().for_each(|label| *of_class.entry(label).or_insert(0) += 1);
    if of_class.values().filter(|&&rows| rows >= FEWEST_ROWS_OF_A_CLASS).count() < 2 {
        return Vec::new();
    }
    let columns = preprocessing.columns.iter().zip(column_ranges(preprocessing));
    let used = columns.filter(|(column, _)| !matches!(column.kind, ColumnKind::Dropped { .. }));
    let telling = used.filter(|(_, range)| {
        let mut classes = HashMap::new();
        let mut in_rows = train.rows_in_bits().take(rows);
        in_rows.all(|(features, label)| {
            *classes.entry(features.of(range)).or_insert(label) == label
                && classes.len() * ROWS_OF_A_VALUE <= rows
        })
    });
    let which = match rows == train.rows() {
        true => "every row".to_owned(),
        false => format!("the first {} rows", grouped(rows)),
    };
    let note = |name: &String| {
        format!(
            "column `{name}` alone tells the target of {which} to train on: if it is not known before \
             the target is, `{}` leaves it out",
            column_setting(name, "drop")
        )
    };
    telling.map(|(column, _)| note(&column.name)).collect()
}
