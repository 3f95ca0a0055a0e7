//! A table in memory: a row of features and a target per sample.

use rayon::prelude::*;
use store::sha256_hex;

use crate::{DataError, TablePreprocessing, TargetKind};

/// A target of whole numbers is a class if it has at most this many.
pub(crate) const MOST_INTEGER_CLASSES: usize = 20;

/// Samples ready for the device.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Encoded features, `[rows, width]`, row by row.
    pub features: Vec<f32>,
    /// What to predict, one per row.
    pub targets: Targets,
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
    /// What the user should know, a line each: columns dropped, values imputed.
    pub notes: Vec<String>,
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
    fn fingerprint(&self) -> String {
        /// Values that are hashed at a time.
        const CHUNK: usize = 1 << 20;
        let hash = |values: &[f32]| {
            sha256_hex(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
        };
        let features: String = self.features.par_chunks(CHUNK).map(hash).collect();
        let targets = match &self.targets {
            Targets::Classes(labels) => sha256_hex(format!("{labels:?}").as_bytes()),
            Targets::Values(values) => hash(values),
        };
        features + &targets
    }

    /// The number of samples.
    pub fn rows(&self) -> usize {
        self.targets.len()
    }

    /// The samples of these indices.
    pub(crate) fn select(&self, rows: &[usize]) -> Result<Self, DataError> {
        let width = self.features.len() / self.rows().max(1);
        let mut features = matrix(rows.len(), width)?;
        for &row in rows {
            features.extend_from_slice(&self.features[row * width..][..width]);
        }
        let targets = match &self.targets {
            Targets::Classes(labels) => Targets::Classes(rows.iter().map(|&i| labels[i]).collect()),
            Targets::Values(values) => Targets::Values(rows.iter().map(|&i| values[i]).collect()),
        };
        Ok(Self { features, targets })
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

/// A regression's target, by the moments of the training split.
pub(crate) fn regression(moments: &Moments) -> TargetKind {
    // Other splits may deviate where the training split does not.
    let deviation = if moments.deviation() > 0.0 { moments.deviation() } else { 1.0 };
    TargetKind::Regression { mean: moments.mean(), deviation }
}

/// The kind of prediction, as a line for the user.
pub(crate) fn target_note(preprocessing: &TablePreprocessing) -> String {
    let (name, task) = (&preprocessing.target.name, preprocessing.task());
    match preprocessing.target.classes() {
        [] => format!("target `{name}`: {task}"),
        classes => format!("target `{name}`: {task}, {} classes", classes.len()),
    }
}
