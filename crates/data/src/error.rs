//! What can be wrong with the user's data, where, and what to do about it.

mod help;

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{
    FileError, ImageShape, Shared, Task, cifar10::Cifar10Error, class_folders::ClassFolderError,
    csv_table::CsvError, idx::IdxError, image_folder::ImageFolderError, npy::NpyError,
    text::TextError, text_folder::TextFolderError,
};

/// What is wrong with the user's data. Lines count from 1, the header included.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum DataError {
    /// The file does not exist.
    #[error("`{}` does not exist", path.display())]
    NotFound { path: PathBuf },
    /// The path leads to a directory.
    #[error("`{}` is a directory, a file is expected", path.display())]
    Directory { path: PathBuf },
    /// What can be read only once.
    #[error("`{}` is a pipe or a device, a file is expected", path.display())]
    Stream { path: PathBuf },
    /// The file may not be read.
    #[error("no permission to read `{}`", path.display())]
    Permission { path: PathBuf },
    /// Reading failed.
    #[error("`{}` cannot be read: {reason}", path.display())]
    Read { path: PathBuf, reason: io::Error },
    /// The file changed between two readings.
    #[error("`{}` changed while it was read", path.display())]
    Changed { path: PathBuf },
    /// Files of two splits.
    #[error("{0}")]
    Shared(Shared),
    /// Bytes that are not UTF-8.
    #[error("{}:{line}: the text is not UTF-8", path.display())]
    NotUtf8 { path: PathBuf, line: u64, utf16: bool },
    /// A binary task on more than two classes.
    #[error("`{}`: the task is binary, the target `{target}` has {classes} classes", path.display())]
    NotBinary { path: PathBuf, target: String, classes: usize },
    /// A target that a 32-bit float cannot hold once it is standardised.
    #[error("`{}`: the target of {row} is {value:e}, too far from those to train on for a 32-bit float", path.display())]
    FarTarget { path: PathBuf, row: String, value: f64 },
    /// A target that has no logarithm, where that is to be learnt.
    #[error("`{}`: the target of {row} is {value}, which has no logarithm", path.display())]
    NoLogarithm { path: PathBuf, row: String, value: f64 },
    /// No class can spare a sample.
    #[error("no class has a sample to spare, so none can be held out")]
    OneSampleEach,
    /// A number that is not finite.
    #[error("row {row} holds NaN or an infinite number")]
    NotFinite {
        /// The first such row, from 0.
        row: usize,
    },
    /// No group can be spared.
    #[error("there are too few groups of rows to hold any out")]
    OneGroup,
    /// A fraction of samples to hold out, or the sum of two, outside of [0, 1).
    #[error("the share to hold out is {fraction} in all, and must be at least 0 and below 1")]
    Fraction { fraction: f64 },
    /// A share to train on outside of (0, 1].
    #[error("the share to train on is {fraction}, and must be above 0 and at most 1")]
    TrainFraction { fraction: f64 },
    /// A share of nothing where a part is asked for.
    #[error("the share to hold out is 0, and must be above 0")]
    NothingHeldOut,
    /// A synthetic table without rows or columns.
    #[error("a table of {samples} samples and {features} features is empty")]
    NothingToMake { samples: usize, features: usize },
    /// The encoded samples do not fit in memory.
    #[error("{rows} samples of {width} features do not fit in memory")]
    OutOfMemory { rows: usize, width: usize },
    /// The pixels of images do not fit in memory.
    #[error("{images} images of {bytes} bytes each do not fit in memory")]
    ImagesOutOfMemory { images: usize, bytes: usize },
    /// A label that no class has.
    #[error("sample {sample} has label {label}, there are {classes} classes")]
    LabelOutOfRange { sample: usize, label: u32, classes: usize },
    /// A class that a model does not have.
    #[error("the model does not know the class `{class}`")]
    UnknownClass { class: String, classes: Vec<String> },
    /// Rows whose features are not equally many.
    #[error("{values} features cannot be divided among {rows} rows")]
    FeatureCount { values: usize, rows: usize },
    /// Pixels that do not make up the images.
    #[error("{found} bytes are not {images} images of {bytes} bytes each")]
    PixelCount { found: usize, images: usize, bytes: usize },
    /// Labels to regress, or values to classify.
    #[error("the targets do not suit the task {task}")]
    TargetsOfTask { task: Task },
    /// An update or a micro-batch of no sample.
    #[error("`{size}` is 0, and must be at least 1")]
    NoBatch { size: &'static str },
    /// A source without a single image.
    #[error("the source has no images")]
    NoImages,
    /// Images without a single pixel.
    #[error("the source's images have the shape {} x {} x {}, which holds no pixel", .0.channels, .0.height, .0.width)]
    NoPixels(ImageShape),
    /// A thread to read images cannot be started.
    #[error("no thread can be started to read images: {reason}")]
    Worker { reason: rayon::ThreadPoolBuildError },
    /// Reading an image panicked.
    #[error("reading image {image} broke down: {message}")]
    Panic { image: usize, message: String },
    /// The receiver of the progress asked to stop.
    #[error("stopped before all images were there")]
    Stopped,
    /// Sizes with which no text can be read.
    #[error("texts cannot be read as {length} tokens with a vocabulary of {vocabulary} words")]
    TextColumns { vocabulary: usize, length: usize },
    /// A table of text is wrong.
    #[error(transparent)]
    Csv(#[from] CsvError),
    /// A file of a folder is missing or damaged.
    #[error(transparent)]
    File(#[from] FileError),
    /// CIFAR-10's files are wrong.
    #[error(transparent)]
    Cifar10(#[from] Cifar10Error),
    /// IDX files are wrong.
    #[error(transparent)]
    Idx(#[from] IdxError),
    /// The folders of classes are wrong.
    #[error(transparent)]
    ClassFolder(#[from] ClassFolderError),
    /// A folder of images is wrong.
    #[error(transparent)]
    ImageFolder(#[from] ImageFolderError),
    /// A folder of texts is wrong.
    #[error(transparent)]
    TextFolder(#[from] TextFolderError),
    /// NumPy's files are wrong.
    #[error(transparent)]
    Npy(#[from] NpyError),
    /// A text is wrong.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The error of a source that is not this crate's, such as one over a database.
    #[error(transparent)]
    Source(Box<dyn std::error::Error + Send + Sync>),
}

impl DataError {
    /// The error of a file that cannot be opened or read.
    pub(crate) fn io(path: &Path, reason: io::Error) -> Self {
        let path = path.to_owned();
        match reason.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path },
            // Windows does not open folders, and says so in this way.
            io::ErrorKind::PermissionDenied if cfg!(windows) && path.is_dir() => {
                Self::Directory { path }
            }
            io::ErrorKind::PermissionDenied => Self::Permission { path },
            io::ErrorKind::IsADirectory => Self::Directory { path },
            _ => Self::Read { path, reason },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use store::StoreError;

    use super::*;

    #[test]
    fn errors_of_the_system_are_told_apart() {
        let told = |path: &Path, kind: io::ErrorKind| DataError::io(path, kind.into()).to_string();
        let check = |kind: io::ErrorKind, expected: &str| {
            assert_eq!(told(Path::new("a.csv"), kind), expected);
        };
        check(io::ErrorKind::NotFound, "`a.csv` does not exist");
        check(io::ErrorKind::PermissionDenied, "no permission to read `a.csv`");
        check(io::ErrorKind::IsADirectory, "`a.csv` is a directory, a file is expected");
        let folder = tempfile::tempdir().unwrap();
        let error = told(folder.path(), io::ErrorKind::PermissionDenied);
        assert_eq!(error.ends_with("is a directory, a file is expected"), cfg!(windows), "{error}");
    }

    #[test]
    fn a_path_of_windows_that_was_read_with_escapes_is_told() {
        let help = |path: &str| DataError::NotFound { path: path.into() }.help().unwrap();
        assert!(help("C:\new\table.csv").contains("in single quotes"));
        assert!(help("new/table.csv").contains("check the path"));
    }

    /// Whoever prints an error with its sources, as `anyhow` does, tells each once.
    #[test]
    fn a_cause_in_the_text_is_no_source() {
        let full = || io::ErrorKind::StorageFull.into();
        let stored = StoreError::Io { action: "write", path: "a".into(), reason: full() };
        let errors = [
            DataError::io(Path::new("a"), full()),
            ImageFolderError::CacheWrite(stored).into(),
            ClassFolderError::List { path: "a".into(), reason: full() }.into(),
        ];
        for error in errors {
            assert!(error.to_string().contains("no storage space"), "{error}");
            assert!(error.source().is_none(), "{error}");
        }
    }

    #[test]
    fn a_source_of_ones_own_speaks_for_itself() {
        let error = DataError::Source("the database is asleep".into());
        assert_eq!(error.to_string(), "the database is asleep");
        assert!(error.help().is_some());
    }
}
