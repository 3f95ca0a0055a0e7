//! Rows of a table that are there more than once.

use std::{
    collections::{HashMap, HashSet},
    hash::{Hash, Hasher},
};

use super::{MOST_INTEGER_CLASSES, Table, TableSplits, Targets};
use crate::{ColumnKind, TablePreprocessing};

/// Fewer rows may well be the same by chance.
const FEWEST_COPIES: usize = 5;

/// What the user should know where more than a quarter of the rows to measure on are the same as rows
/// to train on, as they hardly are by chance. Rows of categories and few different numbers may be.
///
/// - `rows`: what those to measure on are called, such as ``rows of `test.csv` ``
pub fn note_on_rows_in_both(
    preprocessing: &TablePreprocessing,
    train: &Table,
    other: &Table,
    rows: &str,
) -> Option<String> {
    if !has_varied_numbers(preprocessing, train) {
        return None;
    }
    // Of the rows of the other file, which is smaller as a rule.
    let mut counts = counts(other);
    let in_both: usize = train.rows_in_bits().filter_map(|row| counts.remove(&row)).sum();
    let all = other.rows();
    are_many(in_both, all).then(|| {
        format!(
            "{in_both} of {all} {rows} are the same as rows to train on, targets included: results on \
             them say nothing about new data"
        )
    })
}

impl TableSplits {
    /// What the user should know where nothing is held out to validate on, and more than a quarter of
    /// the rows are there more than once: a split would have copies on both of its sides.
    pub fn note_on_copies(&self) -> Option<String> {
        let Self { train, validation: None, preprocessing, .. } = self else { return None };
        if !has_varied_numbers(preprocessing, train) {
            return None;
        }
        let copies: usize = counts(train).into_values().filter(|&count| count > 1).sum();
        let all = train.rows();
        are_many(copies, all).then(|| {
            format!(
                "{copies} of {all} rows are the same as another one, targets included: rows held out of \
                 them may be copies of rows to train on, and results on such rows say nothing about new \
                 data"
            )
        })
    }
}

/// What the user should know where more than a tenth of the rows to train on have the features of a row
/// of another class, as they hardly have by chance. Rows of categories and few different numbers may.
pub(crate) fn note_on_contradictions(
    preprocessing: &TablePreprocessing,
    train: &Table,
) -> Option<String> {
    if train.targets.labels().is_empty() || !has_varied_numbers(preprocessing, train) {
        return None;
    }
    // Of rows with the same features: how many there are, the class of the first, whether others differ.
    let all = train.rows();
    let mut alike = HashMap::<Features<'_>, (usize, u32, bool)>::with_capacity(all);
    for (features, label) in train.rows_in_bits() {
        let (count, first, differ) = alike.entry(features).or_insert((0, label, false));
        *count += 1;
        *differ |= label != *first;
    }
    let rows: usize =
        alike.into_values().filter(|&(.., differ)| differ).map(|(count, ..)| count).sum();
    (rows >= FEWEST_COPIES && 10 * rows > all).then(|| {
        format!(
            "{rows} of {all} rows to train on have the same features as a row of another class: one of \
             each pair has the wrong class, or a column is missing that tells them apart"
        )
    })
}

/// Whether so many rows are copies that a split at random can hardly be trusted.
fn are_many(copies: usize, rows: usize) -> bool {
    copies >= FEWEST_COPIES && 4 * copies > rows
}

/// The features of a row, the same where their bits are.
#[derive(Clone, Copy)]
struct Features<'a>(&'a [f32]);

impl Features<'_> {
    fn bits(self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|value| value.to_bits())
    }
}

impl PartialEq for Features<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.bits().eq(other.bits())
    }
}

impl Eq for Features<'_> {}

impl Hash for Features<'_> {
    /// Mixes the bits first, as rustc does: a hasher that is safe from any input takes longer for each.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mix = |mixed: u64, bits| {
            (mixed.rotate_left(5) ^ u64::from(bits)).wrapping_mul(0x517c_c1b7_2722_0a95)
        };
        state.write_u64(self.bits().fold(0, mix));
    }
}

impl Table {
    /// The features of each row, and its target as bits.
    fn rows_in_bits(&self) -> impl Iterator<Item = (Features<'_>, u32)> {
        let width = self.features.len() / self.rows().max(1);
        (0..self.rows()).map(move |row| {
            let target = match &self.targets {
                Targets::Classes(labels) => labels[row],
                Targets::Values(values) => values[row].to_bits(),
            };
            (Features(&self.features[row * width..][..width]), target)
        })
    }
}

/// How often each row is there.
fn counts(table: &Table) -> HashMap<(Features<'_>, u32), usize> {
    let mut counts = HashMap::<_, usize>::with_capacity(table.rows());
    table.rows_in_bits().for_each(|row| *counts.entry(row).or_default() += 1);
    counts
}

/// Whether a column of numbers, or a target that is one, has more different values than classes do.
fn has_varied_numbers(preprocessing: &TablePreprocessing, table: &Table) -> bool {
    fn are_varied<'a>(numbers: impl Iterator<Item = &'a f32>) -> bool {
        let mut seen = HashSet::new();
        numbers.map(|number| number.to_bits()).any(|number| {
            seen.insert(number);
            seen.len() > MOST_INTEGER_CLASSES
        })
    }
    let (width, mut next) = (preprocessing.width(), 0);
    let mut columns = preprocessing.columns.iter().map(|column| {
        let first = next;
        next += column.kind.width();
        (first, &column.kind)
    });
    are_varied(table.targets.values().iter())
        || columns.any(|(first, kind)| {
            matches!(kind, ColumnKind::Numeric { .. })
                && are_varied(table.features.iter().skip(first).step_by(width))
        })
}
