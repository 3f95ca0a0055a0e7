//! What can be wrong with NumPy's files.

use std::path::PathBuf;

use crate::{
    count::{counted, grouped},
    table::MOST_CLASSES,
};

/// What is wrong with NumPy's files. Rows and columns count from 0, as in NumPy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum NpyError {
    /// More classes than a network could tell apart.
    #[error(
        "`{}` has {} different values, and there may be {} classes",
        path.display(), grouped(classes), grouped(MOST_CLASSES)
    )]
    TooManyClasses { path: PathBuf, classes: usize },
    /// The first bytes are not those of an NPY file.
    #[error("`{}` is not an NPY file, it begins with `{}`", path.display(), found.escape_ascii())]
    Magic { path: PathBuf, found: [u8; 6] },
    /// A format that is not known.
    #[error("`{}` has version {major} of the format, expected 1 to 3", path.display())]
    Version { path: PathBuf, major: u8 },
    /// A header that cannot be read.
    #[error("`{}`: expected {expected} at byte {offset}, in the header", path.display())]
    Header {
        path: PathBuf,
        /// Where in the file.
        offset: u64,
        expected: &'static str,
    },
    /// Values of a type that is not read.
    #[error("`{}` has values of type `{dtype}`, expected b1, u1, i4, i8, f4 or f8", path.display())]
    Dtype { path: PathBuf, dtype: String },
    /// An array without rows or without columns.
    #[error("`{}` has shape {}, expected at least one row and one value a row", path.display(), tuple(shape))]
    Empty { path: PathBuf, shape: Vec<u64> },
    /// More than one target a row.
    #[error("`{}` has shape {}, expected one target a row", path.display(), tuple(shape))]
    TargetShape { path: PathBuf, shape: Vec<u64> },
    /// Features and targets that do not belong together.
    #[error("`{}` has {}, `{}` has {}", features.display(), counted(feature_rows, "row"), targets.display(), grouped(target_rows))]
    Disagree { features: PathBuf, feature_rows: usize, targets: PathBuf, target_rows: usize },
    /// Other features than those to train on.
    #[error("`{}` has shape {}, the features to train on have the width {expected}", path.display(), tuple(shape))]
    Width { path: PathBuf, shape: Vec<u64>, expected: usize },
    /// A model that was trained on more than numbers.
    #[error("`{}` holds numbers, but the {what} of the model is not numeric", path.display())]
    NotNumbers {
        path: PathBuf,
        /// What the model has instead, such as a column.
        what: String,
    },
    /// A value that a 32-bit float cannot hold.
    #[error("`{}`: row {row}, column {column} is {value:e}, expected a finite 32-bit float", path.display())]
    Value { path: PathBuf, row: usize, column: usize, value: f64 },
    /// Classes that are not whole numbers.
    #[error("`{}` has values that are not whole, classes are expected", path.display())]
    FloatClasses { path: PathBuf },
    /// All rows have the same target.
    #[error("`{}` is {value} in every row", path.display())]
    SingleValue { path: PathBuf, value: String },
    /// A class that the targets to train on do not have.
    #[error("`{}`: row {row} is {class}, which is not among the targets to train on", path.display())]
    UnknownClass { path: PathBuf, row: usize, class: i64 },
}

impl NpyError {
    /// What the user can do about it, with `a` for the array in NumPy.
    pub fn help(&self) -> String {
        match self {
            Self::Magic { .. } => {
                "write the array by `np.save(path, a)`, not by `np.savez` or `pickle`".into()
            }
            Self::Version { .. } | Self::Header { .. } => {
                "write the array again by `np.save(path, a)`".into()
            }
            Self::Dtype { dtype, .. } if dtype.starts_with('>') => {
                "swap its bytes: `np.save(path, a.astype(a.dtype.newbyteorder('<')))`".into()
            }
            Self::Dtype { dtype, .. } if dtype.contains(['U', 'S']) => {
                "number the classes: `np.save(path, np.unique(a, return_inverse=True)[1])`".into()
            }
            Self::Dtype { .. } => {
                "convert it: `np.save(path, a.astype(np.float32))`, or `np.int64` for classes"
                    .into()
            }
            Self::Empty { .. } => {
                "the first dimension counts the samples: look at `a.shape`".into()
            }
            Self::TargetShape { .. } => {
                "if the targets are one-hot, `np.save(path, a.argmax(axis=1))`".into()
            }
            Self::Width { shape, expected, .. } if shape == &[*expected as u64] => {
                "if this is one sample, `np.save(path, a[None])`".into()
            }
            Self::Disagree { .. } | Self::Width { .. } => {
                "write the arrays again so that their shapes agree: look at `a.shape`".into()
            }
            Self::NotNumbers { .. } => {
                "write the rows as a CSV file with the columns of the training file".into()
            }
            Self::Value { .. } => {
                "replace such values: `np.nan_to_num`, or drop rows by `np.isfinite`".into()
            }
            Self::TooManyClasses { .. } => {
                "if these are numbers, remove `data.task`; else group the classes".into()
            }
            Self::FloatClasses { .. } => {
                "number the classes: `np.save(path, a.astype(np.int64))`, or remove `data.task`"
                    .into()
            }
            Self::SingleValue { .. } => {
                "there is nothing to learn; add samples with other targets".into()
            }
            Self::UnknownClass { .. } => {
                "correct the row, or divide the samples so that each class is trained on".into()
            }
        }
    }
}

/// A shape as NumPy writes it.
fn tuple(shape: &[u64]) -> String {
    match shape {
        [size] => format!("({size},)"),
        _ => format!("({})", shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}
