//! The NPY source: arrays that NumPy saved become splits of encoded samples.
//!
//! `features.npy` has a row a sample, dimensions after the first being flattened, and `targets.npy`
//! a value a sample. The columns are called `x0`, `x1`, and so on, and encoded as those of a table
//! of numbers, so a CSV file with these names in its header can be predicted.

mod array;
mod error;
mod header;
mod target;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use self::{array::Array, target::Plan};
use crate::{
    Column, ColumnKind, DataError, Table, TablePreprocessing, TableSplits, Target, TargetKind,
    Targets, Task,
    files::Folder,
    preprocess::standardise,
    split,
    table::{matrix, target_note},
};

pub use self::error::NpyError;

/// What the column to predict is called.
const TARGET: &str = "target";

/// What the user says about a folder of NumPy's files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NpyOptions {
    /// The folder.
    pub path: PathBuf,
    /// What is to be predicted. If not said, integers are classes if there are at most 20 different
    /// ones, and everything else is regressed.
    #[serde(default)]
    pub task: Option<Task>,
    /// The fraction of samples held out for validation, where no files are there for it.
    #[serde(default)]
    pub validation: f64,
}

/// Reads the arrays of a folder, and encodes them by what the training split is like.
///
/// `validation_features.npy` and `validation_targets.npy` take the place of samples held out;
/// `test_features.npy` and `test_targets.npy` are the test split.
///
/// # Errors
///
/// Where a file is missing, damaged, or does not fit the others; names it, and the row.
pub fn read_npy(options: &NpyOptions, seed: u64) -> Result<TableSplits, DataError> {
    if !(0.0..1.0).contains(&options.validation) {
        return Err(DataError::Fraction { fraction: options.validation });
    }
    let folder = Folder::open(&options.path)?;
    let arrays =
        find_pair(&folder, "")?.ok_or_else(|| folder.missing(&["features.npy".to_owned()]))?;
    let [features, targets] = read_pair(&arrays)?;
    let width = features.width;
    let plan = Plan::new(&targets, options.task)?;
    let samples = Samples::new([features, targets], &plan)?;
    let [validation, test] = [find_pair(&folder, "validation_")?, find_pair(&folder, "test_")?];

    let (train_rows, held_out) = if validation.is_none() && options.validation > 0.0 {
        let split = split::stratified(&samples.classes(), options.validation, seed)
            .ok_or(DataError::TooFewSamples { samples: samples.rows() })?;
        (split.train, Some(split.held_out))
    } else {
        ((0..samples.rows()).collect(), None)
    };
    let learnt = Learnt {
        moments: samples.features.moments(&train_rows),
        target: plan.kind(&samples.targets, &train_rows),
    };
    let train = samples.encode(&train_rows, &learnt)?;
    let held_out = held_out.map(|rows| samples.encode(&rows, &learnt)).transpose()?;
    drop(samples); // larger than the tables

    let other = |arrays: [PathBuf; 2]| -> Result<Table, DataError> {
        let [features, targets] = read_pair(&arrays)?;
        if features.width != width {
            let (path, found) = (features.path, features.width);
            return Err(NpyError::Width { path, found, expected: width }.into());
        }
        let samples = Samples::new([features, targets], &plan)?;
        samples.encode(&(0..samples.rows()).collect::<Vec<_>>(), &learnt)
    };
    let validation = validation.map(other).transpose()?.or(held_out);
    let test = test.map(other).transpose()?;
    let preprocessing = learnt.preprocessing();
    let notes = vec![target_note(&preprocessing)];
    Ok(TableSplits { train, validation, test, preprocessing, notes })
}

/// The files of a split, if they are there.
fn find_pair(folder: &Folder, prefix: &str) -> Result<Option<[PathBuf; 2]>, DataError> {
    let [features, targets] = ["features", "targets"].map(|array| [format!("{prefix}{array}.npy")]);
    folder.find_pair([&features, &targets])
}

/// The features and targets of a split.
fn read_pair([features, targets]: &[PathBuf; 2]) -> Result<[Array; 2], DataError> {
    let (features, targets) = (Array::read(features)?, Array::read(targets)?);
    if targets.width != 1 {
        let Array { path, shape, .. } = targets;
        return Err(NpyError::TargetShape { path, shape }.into());
    }
    if features.rows != targets.rows {
        return Err(NpyError::Disagree {
            features: features.path,
            feature_rows: features.rows,
            targets: targets.path,
            target_rows: targets.rows,
        }
        .into());
    }
    Ok([features, targets])
}

/// The samples of a split as they are in its files, checked.
struct Samples {
    features: Array,
    targets: Array,
    /// None in a regression.
    labels: Option<Vec<u32>>,
}

impl Samples {
    fn new([features, targets]: [Array; 2], plan: &Plan) -> Result<Self, DataError> {
        features.check_finite()?;
        let labels = plan.labels(&targets)?;
        Ok(Self { features, targets, labels })
    }

    fn rows(&self) -> usize {
        self.features.rows
    }

    /// The class of each row, by which a split is stratified; one and the same in a regression.
    fn classes(&self) -> Vec<u32> {
        self.labels.clone().unwrap_or_else(|| vec![0; self.rows()])
    }

    /// Encodes some of the rows, as [`TablePreprocessing::encode`] would their text.
    fn encode(&self, rows: &[usize], learnt: &Learnt) -> Result<Table, DataError> {
        let mut features = matrix(rows.len(), self.features.width)?;
        let mut numbers = vec![0.0; self.features.width];
        for &row in rows {
            self.features.read_row(row, &mut numbers);
            let columns = numbers.iter().zip(&learnt.moments);
            features.extend(
                columns.map(|(&number, &(mean, deviation))| {
                    standardise(Some(number), mean, deviation)
                }),
            );
        }
        let value = |&row: &usize, mean, deviation| {
            let mut value = [0.0];
            self.targets.read_row(row, &mut value);
            standardise(Some(value[0]), mean, deviation)
        };
        let targets = match (&self.labels, &learnt.target) {
            (Some(labels), _) => Targets::Classes(rows.iter().map(|&row| labels[row]).collect()),
            (None, &TargetKind::Regression { mean, deviation }) => {
                Targets::Values(rows.iter().map(|row| value(row, mean, deviation)).collect())
            }
            (None, _) => Targets::Values(Vec::new()),
        };
        Ok(Table { features, targets })
    }
}

/// What the training split is like.
struct Learnt {
    /// Mean and deviation of each feature.
    moments: Vec<(f64, f64)>,
    target: TargetKind,
}

impl Learnt {
    fn preprocessing(self) -> TablePreprocessing {
        let index = self.moments.len();
        let column = |(index, (mean, deviation))| Column {
            name: format!("x{index}"),
            kind: ColumnKind::Numeric { mean, deviation },
        };
        TablePreprocessing {
            header: true,
            columns: self.moments.into_iter().enumerate().map(column).collect(),
            target: Target { name: TARGET.to_owned(), index, kind: self.target },
        }
    }
}
