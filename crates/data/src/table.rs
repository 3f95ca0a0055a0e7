//! A table in memory: a row of features and a target per sample.

mod copies;
mod notes;
mod telling;
pub(crate) mod text_columns;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use preprocess::number_format::Number;
use rayon::prelude::*;
use store::{sha256_hex, sha256_hex_of_values};

pub use self::copies::note_on_rows_in_both;
pub(crate) use self::{
    copies::column_ranges,
    notes::{FAR_FROM_ALL, FEW_NOTES, note_on_skew, notes_on_columns, notes_on_splits},
};
use crate::{
    DataError, Shared, TablePreprocessing, Target, TargetKind, TargetScale, TargetScores, Task,
    count::grouped, labels::check_labels,
};

/// The standard score of a regression's target.
///
/// - `row`: where it stands in the file
pub(crate) fn target_score(
    value: f64,
    scores: &TargetScores,
    path: &Path,
    row: impl FnOnce() -> String,
) -> Result<f32, DataError> {
    scores.score(value).ok_or_else(|| {
        let (path, row) = (path.to_owned(), row());
        match scores.scale {
            TargetScale::Log if value <= 0.0 => DataError::NoLogarithm { path, row, value },
            TargetScale::Log | TargetScale::Linear => DataError::FarTarget { path, row, value },
        }
    })
}

/// A target of whole numbers is a class if it has at most this many.
pub(crate) const MOST_INTEGER_CLASSES: usize = 20;
/// There may be as many classes, or categories that are one-hot encoded.
pub(crate) const MOST_CLASSES: usize = 1000;

/// Samples ready for the device. Made by a source, or by [`Table::new`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Table {
    /// Encoded features, `[rows, width]`, row by row.
    pub features: Vec<f32>,
    /// What to predict, one per row.
    pub targets: Targets,
    /// Where each row comes from.
    pub origins: Origins,
}

/// Where each row of a table comes from, for the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Origins {
    /// From its place in what has no names for rows, such as an array.
    #[default]
    Places,
    /// From the line of a text file that it begins in, counted from 1.
    Lines(Vec<u64>),
    /// From a file of its own.
    Files(Vec<PathBuf>),
}

impl Origins {
    /// Those of the rows of these indices.
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        match self {
            Self::Places => Self::Places,
            Self::Lines(lines) => Self::Lines(rows.iter().map(|&row| lines[row]).collect()),
            Self::Files(files) => Self::Files(rows.iter().map(|&row| files[row].clone()).collect()),
        }
    }
}

/// What to predict, one per row.
#[derive(Debug, Clone, PartialEq)]
pub enum Targets {
    /// Labels, each below the number of classes.
    Classes(Vec<u32>),
    /// Values, standardised with the training split's mean and deviation.
    Values(Vec<f32>),
}

/// The samples to train on and those held out, with what was learnt from the former.
#[derive(Debug, Clone, PartialEq)]
pub struct TableSplits {
    /// The training split.
    pub train: Table,
    /// The split that guides the training.
    pub validation: Option<Table>,
    /// The split that is only reported.
    pub test: Option<Table>,
    /// How rows are encoded, learnt from the training split.
    pub preprocessing: TablePreprocessing,
    /// Whether the source has samples of its own to validate and to test on, so that none of the others are
    /// held out for that.
    pub has_own: [bool; 2],
    /// What the user should know, a line each: columns dropped, values imputed, files shared.
    pub notes: Vec<String>,
    /// Rows that are left out since they have no target.
    pub skipped: usize,
    /// Files that are in two splits; a new run refuses many ([`crate::refuse_shared`]).
    pub shared: Vec<Shared>,
}

impl TableSplits {
    /// A hash of all samples and of what was learnt from them, which changes if any of these does.
    pub fn fingerprint(&self) -> String {
        let splits = [Some(&self.train), self.validation.as_ref(), self.test.as_ref()];
        let splits = splits.map(|split| split.map(Table::fingerprint));
        let learnt = serde_json::to_string(&self.preprocessing).expect("it serialises to JSON");
        sha256_hex(format!("{learnt}\n{splits:?}").as_bytes())
    }
}

impl Table {
    /// Your own samples.
    ///
    /// - `features`: `[rows, width]`, row by row
    /// - `targets`: one per row
    /// - `classes`: the number of classes; 0 for values
    ///
    /// # Errors
    ///
    /// Where the features cannot be divided among the rows, a label is not below `classes`, or a number is
    /// not finite.
    ///
    /// # Examples
    ///
    /// ```
    /// use data::{Table, Targets};
    ///
    /// let table = Table::new(vec![0.1, 0.2, 0.3, 0.4], Targets::Classes(vec![1, 0]), 2)?;
    /// assert_eq!(table.rows(), 2);
    /// assert!(Table::new(vec![0.1, 0.2], Targets::Classes(vec![1, 2]), 2).is_err());
    /// # Ok::<(), data::DataError>(())
    /// ```
    pub fn new(features: Vec<f32>, targets: Targets, classes: usize) -> Result<Self, DataError> {
        let (values, rows) = (features.len(), targets.len());
        if !values.is_multiple_of(rows) {
            return Err(DataError::FeatureCount { values, rows });
        }
        check_labels(targets.labels(), classes)?;
        let width = values / rows.max(1);
        let is_undefined = |values: &[f32]| values.iter().position(|value| !value.is_finite());
        let row = is_undefined(&features).map(|place| place / width);
        if let Some(row) = row.or_else(|| is_undefined(targets.values())) {
            return Err(DataError::NotFinite { row });
        }
        Ok(Self { features, targets, origins: Origins::Places })
    }

    /// A hash of all features and targets.
    pub fn fingerprint(&self) -> String {
        /// Values that a thread hashes at a time; part of the hash, which runs keep.
        const CHUNK: usize = 1 << 20;
        let features: String = self.features.par_chunks(CHUNK).map(sha256_hex_of_values).collect();
        let targets = match &self.targets {
            Targets::Classes(labels) => sha256_hex(format!("{labels:?}").as_bytes()),
            Targets::Values(values) => sha256_hex_of_values(values),
        };
        features + &targets
    }

    /// The number of samples.
    pub fn rows(&self) -> usize {
        self.targets.len()
    }

    /// The samples of these indices.
    ///
    /// # Errors
    ///
    /// Where there is no memory for them.
    ///
    /// # Panics
    ///
    /// If an index is not below the number of samples.
    pub fn select(&self, rows: &[usize]) -> Result<Self, DataError> {
        let width = self.features.len() / self.rows().max(1);
        let mut features = matrix(rows.len(), width)?;
        for &row in rows {
            features.extend_from_slice(&self.features[row * width..][..width]);
        }
        let targets = match &self.targets {
            Targets::Classes(labels) => Targets::Classes(rows.iter().map(|&i| labels[i]).collect()),
            Targets::Values(values) => Targets::Values(rows.iter().map(|&i| values[i]).collect()),
        };
        Ok(Self { features, targets, origins: self.origins.select(rows) })
    }
}

impl Targets {
    /// The number of samples.
    pub fn len(&self) -> usize {
        match self {
            Self::Classes(labels) => labels.len(),
            Self::Values(values) => values.len(),
        }
    }

    /// The labels; none in a regression.
    pub fn labels(&self) -> &[u32] {
        match self {
            Self::Classes(labels) => labels,
            Self::Values(_) => &[],
        }
    }

    /// The values; none in a classification.
    pub fn values(&self) -> &[f32] {
        match self {
            Self::Classes(_) => &[],
            Self::Values(values) => values,
        }
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Room for a matrix, or an error where memory does not suffice.
pub(crate) fn matrix<T>(rows: usize, width: usize) -> Result<Vec<T>, DataError> {
    let mut values = Vec::new();
    rows.checked_mul(width)
        .and_then(|length| values.try_reserve_exact(length).ok())
        .ok_or(DataError::OutOfMemory { rows, width })?;
    Ok(values)
}

/// Mean and variance of a population of numbers, added one at a time (Welford, 1962).
///
/// Equal numbers have exactly their value as mean, and no variance.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moments {
    count: u64,
    mean: f64,
    /// The sum of the squared distances from the mean.
    squares: f64,
}

impl Moments {
    /// Those of `numbers`.
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Self {
        let mut moments = Self::default();
        numbers.into_iter().for_each(|number| moments.add(number));
        moments
    }

    pub(crate) fn add(&mut self, number: f64) {
        self.count += 1;
        let distance = number - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (number - self.mean);
    }

    /// How many numbers there were.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Whether there was no number.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The mean; 0 of no number.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The variance; 0 of no number.
    pub fn variance(&self) -> f64 {
        self.squares / self.count.max(1) as f64
    }

    /// The standard deviation; 0 of no number.
    pub fn deviation(&self) -> f64 {
        self.variance().sqrt()
    }
}

/// A regression's target, by the moments of the training split on its scale.
pub(crate) fn regression(moments: &Moments, scale: TargetScale) -> TargetKind {
    // Other splits may deviate where the training split does not.
    let deviation = if moments.deviation() > 0.0 { moments.deviation() } else { 1.0 };
    TargetKind::Regression(TargetScores { mean: moments.mean(), deviation, scale })
}

/// Whether values recur, as classes do: there are at most half as many as rows.
pub(crate) fn recur(values: usize, rows: u64) -> bool {
    values > 0 && 2 * values as u64 <= rows
}

/// Whether the values of a regression may be classes after all: these are few, and each has rows
/// enough to be learnt from, unlike ages or years.
pub(crate) fn may_be_classes(values: usize, rows: u64) -> bool {
    (1..=100).contains(&values) && 10 * values as u64 <= rows
}

/// The kind of prediction, as a line for the user.
///
/// - `asked`: the task that the user chose
/// - `may_be_classes`: whether the values of a regression are whole numbers that [may be
///   classes](may_be_classes)
pub(crate) fn target_note(
    preprocessing: &TablePreprocessing,
    asked: Option<Task>,
    may_be_classes: bool,
) -> String {
    let Target { name, kind, .. } = &preprocessing.target;
    let scale = match kind {
        TargetKind::Regression(scores) if !scores.scale.is_linear() => ", of its logarithm",
        _ => "",
    };
    let note = format!("target `{name}`: {}{scale}", preprocessing.task());
    match preprocessing.target.classes() {
        [] if asked.is_none() && may_be_classes => format!(
            "{note}; if its numbers are classes, `--set data.task=multiclass` tells them apart"
        ),
        [] => note,
        classes if asked.is_none() && may_be_quantities(classes) => {
            let count = grouped(classes.len());
            format!(
                "{note}, {count} classes; if these are quantities, `--set data.task=regression` \
                 predicts a number"
            )
        }
        classes => {
            let note = format!("{note}, {} classes", grouped(classes.len()));
            match differ_in_case(classes) {
                Some([one, other]) => format!("{note}; `{one}` and `{other}` are two of them"),
                None => note,
            }
        }
    }
}

/// Two classes or categories that differ only in the case of letters.
pub(crate) fn differ_in_case(classes: &[String]) -> Option<[&str; 2]> {
    let mut seen = HashMap::new();
    classes.iter().find_map(|class| {
        let other = seen.insert(class.to_lowercase(), class)?;
        Some([other.as_str(), class.as_str()])
    })
}

/// Whether classes may be quantities: more than two integers, perhaps formatted, or numbers of which some are
/// no integers; and no codes with leading zeros.
fn may_be_quantities(classes: &[String]) -> bool {
    let numbers: Vec<String> = classes
        .iter()
        .filter_map(|class| Some(Number::parse(class, '.')?.plain().to_string()))
        .collect();
    let is_integer =
        |plain: &String| plain.parse::<i64>().is_ok_and(|number| number.to_string() == *plain);
    let is_fraction = |plain: &String| plain.contains('.');
    let are_plain = numbers.iter().all(|plain| is_integer(plain) || is_fraction(plain));
    let are_several = classes.len() > 2 || numbers.iter().any(is_fraction);
    numbers.len() == classes.len() && are_plain && are_several
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_with_many_rows_each_may_be_classes() {
        assert!(may_be_classes(30, 300) && may_be_classes(100, 1000));
        assert!(!may_be_classes(30, 299), "too few rows of each");
        assert!(!may_be_classes(101, 100_000) && !may_be_classes(0, 100), "a quantity");
    }

    #[test]
    fn numbers_that_are_no_codes_may_be_quantities() {
        let may_be = |classes: &[&str]| {
            may_be_quantities(&classes.iter().map(|&c| c.to_owned()).collect::<Vec<_>>())
        };
        assert!(may_be(&["1", "2", "3"]) && may_be(&["1.5", "2.5"]) && may_be(&["1", "2.5"]));
        assert!(!may_be(&["0", "1"]) && !may_be(&["01", "1.5", "2"]) && !may_be(&["1.5", "x"]));
    }

    /// Other splits may deviate where the training split does not.
    #[test]
    fn values_that_are_all_the_same_are_standardised_by_1() {
        let scale = TargetScale::Linear;
        let kind = regression(&Moments::of([5.0; 3]), scale);
        let expected = TargetScores { mean: 5.0, deviation: 1.0, scale };
        assert_eq!(kind, TargetKind::Regression(expected));
    }

    #[test]
    fn a_fingerprint_is_of_all_splits_and_of_what_was_learnt() {
        let table = |target| Table::new(vec![0.5], Targets::Values(vec![target]), 0).unwrap();
        let fingerprint = |[train, validation, test]: [f32; 3], mean: f64| {
            let scale = TargetScale::Linear;
            let kind = TargetKind::Regression(TargetScores { mean, deviation: 1.0, scale });
            TableSplits {
                train: table(train),
                validation: Some(table(validation)),
                test: Some(table(test)),
                preprocessing: TablePreprocessing::of_numbers([(0.0, 1.0)].into_iter(), "y", kind),
                has_own: [false; 2],
                notes: Vec::new(),
                skipped: 0,
                shared: Vec::new(),
            }
            .fingerprint()
        };
        let same = fingerprint([1.0, 2.0, 3.0], 0.0);
        assert_eq!(fingerprint([1.0, 2.0, 3.0], 0.0), same);
        for splits in [[9.0, 2.0, 3.0], [1.0, 9.0, 3.0], [1.0, 2.0, 9.0]] {
            assert_ne!(fingerprint(splits, 0.0), same, "{splits:?}");
        }
        assert_ne!(fingerprint([1.0, 2.0, 3.0], 0.5), same);
    }

    #[test]
    fn rows_that_do_not_hold_together_are_refused() {
        let check = |features, targets, classes, expected: &str| {
            let error = Table::new(vec![0.5; features], targets, classes).unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert!(error.help().is_some());
        };
        let values = || Targets::Values(vec![1.0; 3]);
        check(7, values(), 0, "7 features cannot be divided among 3 rows");
        check(1, Targets::Values(vec![]), 0, "1 features cannot be divided among 0 rows");
        let labels = || Targets::Classes(vec![0, 3, 1]);
        check(6, labels(), 3, "sample 1 has label 3, there are 3 classes");
        let huge = Targets::Classes(vec![1 << 31]);
        let expected =
            format!("sample 0 has label {}, there are {} classes", 1u32 << 31, usize::MAX);
        check(2, huge, usize::MAX, &expected);
        assert_eq!(Table::new(vec![0.5; 6], values(), 0).unwrap().rows(), 3);
        assert_eq!(Table::new(vec![0.5; 6], labels(), 4).unwrap().rows(), 3);
    }
}
