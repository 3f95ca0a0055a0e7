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
    table::{moments, target_note},
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
    let [features, targets] =
        read_pair(&folder, "")?.ok_or_else(|| folder.missing(&["features.npy".to_owned()]))?;
    let width = features.width;
    let plan = Plan::new(&targets, options.task)?;
    let mut train = table(&features, &targets, &plan)?;
    drop((features, targets)); // as large again as the table
    let mut validation = read_other(&folder, "validation_", width, &plan)?;
    let mut test = read_other(&folder, "test_", width, &plan)?;

    if validation.is_none() && options.validation > 0.0 {
        let samples = train.rows();
        let classes = match &train.targets {
            Targets::Classes(labels) => labels.clone(),
            Targets::Values(_) => vec![0; samples],
        };
        let split = split::stratified(&classes, options.validation, seed)
            .ok_or(DataError::TooFewSamples { samples })?;
        validation = Some(train.select(&split.held_out)?);
        train = train.select(&split.train)?;
    }
    let preprocessing = fit(&train, width, &plan);
    for table in [Some(&mut train), validation.as_mut(), test.as_mut()].into_iter().flatten() {
        standardise_table(table, &preprocessing);
    }
    let notes = vec![target_note(&preprocessing)];
    Ok(TableSplits { train, validation, test, preprocessing, notes })
}

/// The features and targets of a split, if their files are there.
fn read_pair(folder: &Folder, prefix: &str) -> Result<Option<[Array; 2]>, DataError> {
    let [features, targets] = ["features", "targets"].map(|array| [format!("{prefix}{array}.npy")]);
    let Some([features, targets]) = folder.find_pair([&features, &targets])? else {
        return Ok(None);
    };
    let (features, targets) = (Array::read(&features)?, Array::read(&targets)?);
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
    Ok(Some([features, targets]))
}

/// A split beside that to train on, if its files are there.
fn read_other(
    folder: &Folder,
    prefix: &str,
    width: usize,
    plan: &Plan,
) -> Result<Option<Table>, DataError> {
    let Some([features, targets]) = read_pair(folder, prefix)? else { return Ok(None) };
    if features.width != width {
        let (path, found) = (features.path, features.width);
        return Err(NpyError::Width { path, found, expected: width }.into());
    }
    table(&features, &targets, plan).map(Some)
}

/// The samples as they are in the files.
fn table(features: &Array, targets: &Array, plan: &Plan) -> Result<Table, DataError> {
    Ok(Table { features: features.to_floats()?, targets: plan.encode(targets)? })
}

/// Learns how samples are encoded from those to train on.
fn fit(train: &Table, width: usize, plan: &Plan) -> TablePreprocessing {
    let column = |index| {
        let (mean, deviation) =
            moments(|| train.features.iter().skip(index).step_by(width).copied())
                .unwrap_or((0.0, 0.0));
        Column { name: format!("x{index}"), kind: ColumnKind::Numeric { mean, deviation } }
    };
    TablePreprocessing {
        header: true,
        columns: (0..width).map(column).collect(),
        target: Target { name: TARGET.to_owned(), index: width, kind: plan.kind(&train.targets) },
    }
}

/// Encodes samples in place, as [`TablePreprocessing::encode`] would their text.
fn standardise_table(table: &mut Table, preprocessing: &TablePreprocessing) {
    for row in table.features.chunks_exact_mut(preprocessing.columns.len()) {
        for (feature, column) in row.iter_mut().zip(&preprocessing.columns) {
            if let ColumnKind::Numeric { mean, deviation } = column.kind {
                *feature = standardise(Some(*feature), mean, deviation);
            }
        }
    }
    if let (Targets::Values(values), &TargetKind::Regression { mean, deviation }) =
        (&mut table.targets, &preprocessing.target.kind)
    {
        values.iter_mut().for_each(|value| *value = standardise(Some(*value), mean, deviation));
    }
}
