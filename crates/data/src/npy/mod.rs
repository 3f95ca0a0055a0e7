//! The NPY source: arrays that NumPy saved become splits of encoded samples.
//!
//! `features.npy` has a row per sample, dimensions after the first being flattened, and
//! `targets.npy` a value per sample. The columns are called `x0`, `x1`, and so on, and encoded as
//! those of a table of numbers, so a CSV file with these names in its header can be predicted as an
//! array can.

mod array;
mod error;
mod header;
mod target;

use std::path::{Path, PathBuf};

use preprocess::{FAR, standardise};

use self::array::Array;
pub use self::error::NpyError;
use crate::{
    Column, ColumnKind, DataError, Fractions, HoldOut, Origins, Shared, Table, TablePreprocessing,
    TableSplits, TargetKind, TargetScale, Targets, Task,
    count::such_as_are,
    files::Folder,
    shared, split,
    table::{
        FAR_FROM_ALL, matrix, notes_on_columns, notes_on_splits, regression, target_note,
        target_score,
    },
};

/// The name of the column to predict.
const TARGET: &str = "target";
const ROWS_TO_VALIDATE_ON: &str = "rows to validate on";
const ROWS_TO_TEST_ON: &str = "rows to test on";

/// What the user says about a folder of NumPy's files.
#[derive(Debug, Clone, PartialEq)]
pub struct NpyOptions {
    /// The folder.
    pub path: PathBuf,
    /// The kind of prediction. By default whole numbers are classes if at most 20 of them differ, and
    /// everything else is a regression.
    pub task: Option<Task>,
    /// How many samples are held out where there are no files for it, and trained on.
    pub fractions: Fractions,
    /// How to hold out samples; without effect where there are files for them.
    pub hold_out: HoldOut,
}

impl NpyOptions {
    /// A folder of which everything else is inferred, and nothing is held out.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            task: None,
            fractions: Fractions::default(),
            hold_out: HoldOut::default(),
        }
    }
}

/// Reads the arrays of a folder and encodes them with the statistics of the training split.
///
/// `validation_features.npy` and `validation_targets.npy` take the place of samples held out;
/// `test_features.npy` and `test_targets.npy` are the test split.
///
/// # Errors
///
/// Where a file is missing, damaged, or does not fit the others; names it, and the row.
pub fn read_npy(options: &NpyOptions, seed: u64) -> Result<TableSplits, DataError> {
    options.fractions.check()?;
    let folder = Folder::open(&options.path)?;
    let arrays =
        find_pair(&folder, "")?.ok_or_else(|| folder.missing(&["features.npy".to_owned()]))?;
    let [features, targets] = read_pair(&arrays)?;
    let (kind, may_be_classes) = target::plan(&targets, options.task)?;
    let classes = kind.as_ref().map_or(&[][..], TargetKind::classes);
    let samples = Samples::new([features, targets], classes)?;
    let [validation, test] = [find_pair(&folder, "validation_")?, find_pair(&folder, "test_")?];
    let of =
        |split: &Option<[PathBuf; 2]>| split.iter().map(|[features, _]| features.clone()).collect();
    let files: [Vec<PathBuf>; 3] = [vec![arrays[0].clone()], of(&validation), of(&test)];
    let shared = shared::find_files(shared::OF_A_FOLDER, files.each_ref().map(Vec::as_slice));

    let has_own = [validation.is_some(), test.is_some()];
    let fractions = options.fractions.unless_there(has_own[0], has_own[1]);
    let parts = split::hold_out_rows(options.hold_out, &samples.labels, None, fractions, seed)?;
    let preprocessing = learn(&samples, &parts.train, kind);
    let train = samples.encode(&parts.train, &preprocessing)?;
    let held_out = [parts.validation, parts.test]
        .map(|rows| rows.map(|rows| samples.encode(&rows, &preprocessing)).transpose());
    drop(samples); // larger than the tables

    let other = |arrays: [PathBuf; 2]| -> Result<Table, DataError> {
        let samples = Samples::new(read_pair(&arrays)?, preprocessing.target.classes())?;
        samples.encode(&samples.all(), &preprocessing)
    };
    let [validate, measure] = held_out;
    let validation = validation.map(other).transpose()?.or(validate?);
    let test = test.map(other).transpose()?.or(measure?);
    let mut notes: Vec<String> = shared.iter().map(Shared::note).collect();
    notes.push(target_note(&preprocessing, options.task, may_be_classes));
    let constant =
        |column: &&Column| matches!(column.kind, ColumnKind::Numeric { deviation: 0.0, .. });
    let constant: Vec<&Column> = preprocessing.columns.iter().filter(constant).collect();
    notes.extend(notes_on_columns(
        &constant,
        |column| format!("column `{}` has the same value in every row to train on", column.name),
        |columns, first| {
            format!(
                "{columns} have the same value in every row to train on, such as `{}`",
                first.name
            )
        },
    ));
    let held_out = [(ROWS_TO_VALIDATE_ON, &validation), (ROWS_TO_TEST_ON, &test)];
    let held_out = held_out.map(|(rows, table)| (rows.to_owned(), table));
    let leave_out = |_: &str| "leave it out of the arrays".to_owned();
    notes.extend(notes_on_splits(&preprocessing, &train, held_out, &leave_out));
    let skipped = 0;
    Ok(TableSplits { train, validation, test, preprocessing, has_own, notes, shared, skipped })
}

/// Whether a file is named like an array.
pub fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"))
}

/// Reads rows to predict from an array whose columns are those that a model was trained on, in
/// their order.
///
/// # Errors
///
/// Where the file cannot be read, or its rows do not fit the model; a row with a value that is not
/// finite is among those [refused](NpyRows::refused).
pub fn read_npy_rows(
    path: &Path,
    preprocessing: &TablePreprocessing,
) -> Result<NpyRows, DataError> {
    let array = Array::read(path)?;
    let refused: Vec<(usize, DataError)> = array.not_finite().collect();
    let is_refused = |row: usize| refused.binary_search_by_key(&row, |&(row, _)| row).is_ok();
    let rows: Vec<usize> = (0..array.rows).filter(|&row| !is_refused(row)).collect();
    let features = encode_features(&array, &rows, preprocessing)?;
    let notes = notes_on_far(&array, &rows, &features);
    Ok(NpyRows { features, rows, refused, notes })
}

/// Rows of an array to predict.
#[derive(Debug)]
pub struct NpyRows {
    /// Encoded features, `[rows, width]`, row by row.
    pub features: Vec<f32>,
    /// The index of each row in the array, from 0.
    pub rows: Vec<usize>,
    /// The rows that cannot be predicted, by their indices.
    pub refused: Vec<(usize, DataError)>,
    /// What the user should know, a line for each column with numbers that are far from those trained on.
    pub notes: Vec<String>,
}

/// - `features`: of these rows, `[rows, width]`
fn notes_on_far(array: &Array, rows: &[usize], features: &[f32]) -> Vec<String> {
    // Of each column, how many numbers are far, and the row of the first.
    let mut far = vec![(0usize, 0usize); array.width];
    for (&row, features) in rows.iter().zip(features.chunks_exact(array.width)) {
        for ((count, first), feature) in far.iter_mut().zip(features) {
            if feature.abs() > FAR {
                *first = if *count == 0 { row } else { *first };
                *count += 1;
            }
        }
    }
    let far = far.into_iter().enumerate().filter(|&(_, (count, _))| count > 0);
    let far: Vec<(usize, usize, f32)> = far
        .map(|(column, (count, row))| {
            let mut numbers = vec![0.0; array.width];
            array.read_row(row, &mut numbers);
            (column, count, numbers[column] as f32)
        })
        .collect();
    let path = array.path.display();
    let told = |&(column, count, value): &(usize, usize, f32)| {
        let values = such_as_are(count, "value", format_args!("{value:e}"), FAR_FROM_ALL);
        format!("`{path}`: column {column}: {values}")
    };
    notes_on_columns(&far, told, |columns, (first, _, value)| {
        format!(
            "`{path}`: {columns} have values {FAR_FROM_ALL}, such as `{value:e}` in column {first}"
        )
    })
}

/// Reads the samples of a folder, targets included, as a model encodes them: those of the test
/// split if it has one, else of the validation split, else those to train on.
///
/// - returns the name of the split, if it is one of the first two, and its samples
///
/// # Errors
///
/// Where a file is missing, damaged, or does not fit the model; names it, and the row.
pub fn read_npy_table(
    path: &Path,
    preprocessing: &TablePreprocessing,
) -> Result<(Option<&'static str>, Table), DataError> {
    let folder = Folder::open(path)?;
    let splits = [("test_", Some("test")), ("validation_", Some("validation")), ("", None)];
    for (prefix, split) in splits {
        let Some(arrays) = find_pair(&folder, prefix)? else { continue };
        let samples = Samples::new(read_pair(&arrays)?, preprocessing.target.classes())?;
        return Ok((split, samples.encode(&samples.all(), preprocessing)?));
    }
    Err(folder.missing(&["features.npy".to_owned()]))
}

/// What is learnt from the training split.
///
/// - `kind`: what to predict; `None` for a regression
fn learn(samples: &Samples, rows: &[usize], kind: Option<TargetKind>) -> TablePreprocessing {
    let moments = samples.features.moments(rows);
    let moments = moments.iter().map(|column| (column.mean(), column.deviation()));
    let target = || samples.targets.moments(rows).pop().unwrap_or_default();
    let regression = || regression(&target(), TargetScale::Linear);
    TablePreprocessing::of_numbers(moments, TARGET, kind.unwrap_or_else(regression))
}

/// The mean and deviation of each column that was learnt; those of `array` must be as many.
fn moments(preprocessing: &TablePreprocessing, array: &Array) -> Result<Vec<(f64, f64)>, NpyError> {
    let moments = preprocessing.columns.iter().map(|column| match column.kind {
        ColumnKind::Numeric { mean, deviation } => Ok((mean, deviation)),
        ColumnKind::Categorical { .. } | ColumnKind::Text { .. } | ColumnKind::Dropped { .. } => {
            let what = format!("column `{}`", column.name);
            Err(NpyError::NotNumbers { path: array.path.clone(), what })
        }
    });
    let moments = moments.collect::<Result<Vec<_>, _>>()?;
    if moments.len() != array.width {
        let (path, shape) = (array.path.clone(), array.shape.clone());
        return Err(NpyError::Width { path, shape, expected: moments.len() });
    }
    Ok(moments)
}

/// The features of some rows, encoded: `[rows, width]`.
fn encode_features(
    array: &Array,
    rows: &[usize],
    preprocessing: &TablePreprocessing,
) -> Result<Vec<f32>, DataError> {
    let moments = moments(preprocessing, array)?;
    let mut features = matrix(rows.len(), array.width)?;
    let mut numbers = vec![0.0; array.width];
    for &row in rows {
        array.read_row(row, &mut numbers);
        let columns = numbers.iter().zip(&moments);
        features.extend(
            columns.map(|(&number, &(mean, deviation))| standardise(Some(number), mean, deviation)),
        );
    }
    Ok(features)
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
    /// The class of each row; 0 in a regression.
    labels: Vec<u32>,
}

impl Samples {
    /// - `classes`: those to tell apart; none in a regression
    fn new([features, targets]: [Array; 2], classes: &[String]) -> Result<Self, DataError> {
        features.check_finite()?;
        let labels = target::labels(&targets, classes)?;
        Ok(Self { features, targets, labels })
    }

    /// The indices of all rows.
    fn all(&self) -> Vec<usize> {
        (0..self.features.rows).collect()
    }

    /// Encodes some of the rows, as [`TablePreprocessing::encode`] would their text.
    fn encode(
        &self,
        rows: &[usize],
        preprocessing: &TablePreprocessing,
    ) -> Result<Table, DataError> {
        let features = encode_features(&self.features, rows, preprocessing)?;
        let targets = match &preprocessing.target.kind {
            TargetKind::Regression(scores) => {
                let score = |&row: &usize| {
                    let mut value = [0.0];
                    self.targets.read_row(row, &mut value);
                    let [value] = value;
                    let row = || format!("row {row}");
                    target_score(value, scores, &self.targets.path, row)
                };
                Targets::Values(rows.iter().map(score).collect::<Result<_, _>>()?)
            }
            TargetKind::Binary { .. } | TargetKind::Multiclass { .. } => {
                Targets::Classes(rows.iter().map(|&row| self.labels[row]).collect())
            }
        };
        Ok(Table { features, targets, origins: Origins::Places })
    }
}
