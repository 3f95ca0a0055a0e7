//! Rows of a table that are there more than once.

use std::{
    collections::{HashMap, HashSet},
    hash::{Hash, Hasher},
    ops::Range,
};

use super::{MOST_INTEGER_CLASSES, Table, TableSplits, Targets};
use crate::{
    ColumnKind, TablePreprocessing,
    count::{counted, grouped},
};

/// Fewer rows may well be the same by chance.
const FEWEST_COPIES: usize = 5;
/// Copies are noted if chance would make so many times fewer.
const TIMES_CHANCE: f64 = 10.0;
/// Rows to train on of which copies are looked for; to know more would take much memory.
pub(super) const MOST_ROWS: usize = 1 << 20;

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
    if !has_varied_columns(preprocessing, train) {
        return None;
    }
    // Of the rows of the other file, which is smaller as a rule.
    let counts = counts(other.rows_in_bits());
    let copied: HashSet<_> = train.rows_in_bits().filter(|row| counts.contains_key(row)).collect();
    let (in_both, all) = (copied.iter().map(|row| counts[row]).sum(), other.rows());
    let chance = || chance(preprocessing, counts.keys().copied(), train.rows());
    are_many(in_both, all, 4, chance).then(|| {
        format!(
            "{} of {} {rows} are the same as rows to train on, targets included: results on them say \
             nothing about new data",
            grouped(in_both),
            grouped(all)
        )
    })
}

impl TableSplits {
    /// What the user should know where nothing is held out to validate on, and more than a quarter of
    /// the rows are there more than once: a split would have copies on both of its sides.
    pub fn note_on_copies(&self) -> Option<String> {
        let Self { train, validation: None, preprocessing, .. } = self else { return None };
        if !has_varied_columns(preprocessing, train) {
            return None;
        }
        let all = train.rows().min(MOST_ROWS);
        let counts = counts(train.rows_in_bits().take(all));
        let copies = counts.values().filter(|&&count| count > 1).sum();
        let chance = || chance(preprocessing, counts.keys().copied(), all);
        let first = if all < train.rows() { "the first " } else { "" };
        are_many(copies, all, 4, chance).then(|| {
            format!(
                "{} of {first}{} are the same as another one, targets included: rows held out of them may \
                 be copies of rows to train on, and results on such rows say nothing about new data",
                grouped(copies),
                counted(all, "row")
            )
        })
    }
}

/// What the user should know where more than a tenth of the rows to train on have the features of a row
/// of another class, as they hardly have by chance. Rows of categories and few different numbers may.
pub(super) fn note_on_contradictions(
    preprocessing: &TablePreprocessing,
    train: &Table,
) -> Option<String> {
    if train.targets.labels().is_empty() || !has_varied_columns(preprocessing, train) {
        return None;
    }
    // Of rows with the same features: how many there are, the class of the first, whether others differ.
    let all = train.rows().min(MOST_ROWS);
    let mut alike = HashMap::<Features<'_>, (usize, u32, bool)>::with_capacity(all);
    for (features, label) in train.rows_in_bits().take(all) {
        let (count, first, differ) = alike.entry(features).or_insert((0, label, false));
        *count += 1;
        *differ |= label != *first;
    }
    let differ = alike.values().filter(|&&(.., differ)| differ);
    let rows: usize = differ.map(|&(count, ..)| count).sum();
    let chance = || {
        chance(
            preprocessing,
            train.rows_in_bits().take(all).map(|(features, _)| (features, 0)),
            all,
        )
    };
    let first = if all < train.rows() { "the first " } else { "" };
    are_many(rows, all, 10, chance).then(|| {
        format!(
            "{} of {first}{} to train on have the same features as a row of another class, from which \
             nothing tells them: classes are wrong, a column is missing, or chance decides",
            grouped(rows),
            counted(all, "row")
        )
    })
}

/// Whether so many rows are copies that it is worth telling.
///
/// - `part`: more than one in so many
/// - `chance`: the share of the rows that chance makes copies
fn are_many(copies: usize, rows: usize, part: usize, chance: impl FnOnce() -> f64) -> bool {
    copies >= FEWEST_COPIES
        && part * copies > rows
        && copies as f64 > TIMES_CHANCE * chance() * rows as f64
}

/// The share of rows that are the same as one of others, if columns had nothing to do with each other: as
/// of ages and sexes, of which there are few pairs.
///
/// - `rows`: without copies that chance does not make
/// - `others`: how many others there are
fn chance<'a>(
    preprocessing: &TablePreprocessing,
    rows: impl Iterator<Item = (Features<'a>, u32)> + Clone,
    others: usize,
) -> f64 {
    let of_column =
        |column: Range<usize>| equal_pairs(rows.clone().map(|(row, _)| row.of(&column)));
    let of_target = equal_pairs(rows.clone().map(|(_, target)| target));
    let equal = column_ranges(preprocessing).map(of_column).product::<f64>() * of_target;
    1.0 - (-equal * others as f64).exp()
}

/// Which of the features are those of each column.
pub(crate) fn column_ranges(
    preprocessing: &TablePreprocessing,
) -> impl Iterator<Item = Range<usize>> {
    let mut next = 0;
    preprocessing.columns.iter().map(move |column| {
        let first = next;
        next += column.kind.width();
        first..next
    })
}

/// The share of all pairs of values in which the two are equal.
fn equal_pairs<T: Eq + Hash>(values: impl Iterator<Item = T>) -> f64 {
    let counts = counts(values);
    let all: usize = counts.values().sum();
    let equal: usize = counts.into_values().map(|count| count * (count - 1)).sum();
    equal as f64 / (all * all.saturating_sub(1)).max(1) as f64
}

/// The features of a row, the same where their bits are.
#[derive(Clone, Copy)]
pub(super) struct Features<'a>(&'a [f32]);

impl<'a> Features<'a> {
    /// Those of one column.
    pub(super) fn of(self, column: &Range<usize>) -> Features<'a> {
        Features(&self.0[column.clone()])
    }

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
    pub(super) fn rows_in_bits(&self) -> impl Iterator<Item = (Features<'_>, u32)> + Clone {
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

/// How often each value is there.
fn counts<T: Eq + Hash>(values: impl Iterator<Item = T>) -> HashMap<T, usize> {
    let mut counts = HashMap::with_capacity(values.size_hint().0);
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts
}

/// Whether a column of numbers or texts, or a target that is a number, has more different values than classes
/// do.
fn has_varied_columns(preprocessing: &TablePreprocessing, table: &Table) -> bool {
    fn are_varied<T: Eq + Hash>(mut values: impl Iterator<Item = T>) -> bool {
        let mut seen = HashSet::new();
        values.any(|value| {
            seen.insert(value);
            seen.len() > MOST_INTEGER_CLASSES
        })
    }
    let mut columns = preprocessing.columns.iter().zip(column_ranges(preprocessing));
    are_varied(table.targets.values().iter().map(|value| value.to_bits()))
        || columns.any(|(column, range)| {
            matches!(column.kind, ColumnKind::Numeric { .. } | ColumnKind::Text { .. })
                && are_varied(table.rows_in_bits().map(|(features, _)| features.of(&range)))
        })
}
