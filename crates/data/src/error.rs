//! What can be wrong with the user's data, where, and what to do about it.

mod help;

pub(crate) use self::help::column_setting;
use self::help::more;

use std::{io, path::PathBuf};

use crate::{
    CellError, FileError, ImageShape, SharedFiles, Task, cifar10::Cifar10Error, idx::IdxError,
    image_folder::ImageFolderError, npy::NpyError, text::TextError,
};

/// What is wrong with the user's data. Lines count from 1, the header included.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The file does not exist.
    #[error("`{}` does not exist", path.display())]
    NotFound {
        /// The file.
        path: PathBuf,
    },
    /// The path leads to a directory.
    #[error("`{}` is a directory, a file is expected", path.display())]
    Directory {
        /// The path.
        path: PathBuf,
    },
    /// What can be read only once.
    #[error("`{}` is a pipe or a device, a file is expected", path.display())]
    Stream {
        /// The path.
        path: PathBuf,
    },
    /// The file may not be read.
    #[error("no permission to read `{}`", path.display())]
    Permission {
        /// The file.
        path: PathBuf,
    },
    /// Reading failed.
    #[error("`{}` cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file changed between two readings.
    #[error("`{}` changed while it was read", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// Files of two splits.
    #[error("{0}")]
    Shared(SharedFiles),
    /// A regression of text.
    #[error("`{}`: the target `{target}` is no number but text, such as `{text}` in line {line}", path.display())]
    TextTarget {
        /// The file.
        path: PathBuf,
        /// The column.
        target: String,
        /// Its first text, shortened.
        text: String,
        /// Where that is.
        line: u64,
    },
    /// There is not a single row.
    #[error("`{}` is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// There is a header and nothing below it.
    #[error("`{}` has a header and no rows", path.display())]
    HeaderOnly {
        /// The file.
        path: PathBuf,
    },
    /// Bytes that are not UTF-8.
    #[error("{}:{line}: the text is not UTF-8", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// Where its row begins.
        line: u64,
        /// Whether it is UTF-16 by its zeros or its byte order mark.
        utf16: bool,
    },
    /// A byte that no text has.
    #[error("{}:{line}: the text has a zero byte", path.display())]
    ZeroByte {
        /// The file.
        path: PathBuf,
        /// Where its row begins.
        line: u64,
    },
    /// The file is of another format.
    #[error("`{}` is {format}, a CSV file is expected", path.display())]
    NotCsv {
        /// The file.
        path: PathBuf,
        /// What it is.
        format: &'static str,
        /// How it becomes a CSV file.
        conversion: &'static str,
    },
    /// Lines that end as they did on old Macs.
    #[error("{}:{line}: a line ends in a carriage return alone", path.display())]
    BareReturn {
        /// The file.
        path: PathBuf,
        /// Where its row begins.
        line: u64,
    },
    /// A quoted cell that never ends.
    #[error("{}:{line}: a quote that opens in this row is never closed", path.display())]
    OpenQuote {
        /// The file.
        path: PathBuf,
        /// Where its row begins.
        line: u64,
    },
    /// A quoted cell that goes on for lines and has text behind its closing quote.
    #[error("{}:{line}: the quote that opens a cell here is closed in line {end}, in front of text", path.display())]
    LeftOpen {
        /// The file.
        path: PathBuf,
        /// Where the cell begins.
        line: u64,
        /// Where its closing quote is.
        end: u64,
    },
    /// A first row with nothing but its first cell.
    #[error("`{}`: only the first cell of the first row is filled, `{text}`, as in a title", path.display())]
    Title {
        /// The file.
        path: PathBuf,
        /// The cell, shortened.
        text: String,
    },
    /// A row of another length than the first.
    #[error("{}:{line}: the row has {cells} cells, the first has {expected}", path.display())]
    Ragged {
        /// The file.
        path: PathBuf,
        /// Where the row begins.
        line: u64,
        /// Its cells.
        cells: usize,
        /// The cells of the first row.
        expected: usize,
        /// What the cells are taken to be divided by.
        delimiter: char,
    },
    /// A row to predict whose cells are all empty.
    #[error("{}:{line}: the row has no values", path.display())]
    BlankRow {
        /// The file.
        path: PathBuf,
        /// Its line.
        line: u64,
    },
    /// A cell that its column cannot take.
    #[error("{}:{line}: {source}", path.display())]
    Cell {
        /// The file.
        path: PathBuf,
        /// Where its row begins.
        line: u64,
        /// Where the first row of the training file begins; none in another file.
        first_line: Option<u64>,
        /// What is wrong with it.
        source: CellError,
    },
    /// A column whose upper part is of one type and whose lower part of the other.
    #[error("{}:{line}: column `{column}` changes between numbers and text here, at `{text}`", path.display())]
    TypeChange {
        /// The file.
        path: PathBuf,
        /// Where the lower part begins.
        line: u64,
        /// The column's name.
        column: String,
        /// Its first cell of the lower part.
        text: String,
    },
    /// A column of numbers with one text or a few in many of its cells.
    #[error("{}:{line}: column `{column}` is {percent} % numbers, and `{text}` here", path.display())]
    TextAmongNumbers {
        /// The file.
        path: PathBuf,
        /// Where the first text stands.
        line: u64,
        /// The column's name.
        column: String,
        /// The share of numbers among the cells with a value.
        percent: u64,
        /// The first text.
        text: String,
    },
    /// Two columns with the same name.
    #[error("{}:{line}: two columns are called `{column}`", path.display())]
    DuplicateColumn {
        /// The file.
        path: PathBuf,
        /// Where the header begins.
        line: u64,
        /// Their name.
        column: String,
    },
    /// A column that the options or another file name is not there.
    #[error("`{}` has no column `{column}`", path.display())]
    UnknownColumn {
        /// The file.
        path: PathBuf,
        /// The column asked for.
        column: String,
        /// The columns that there are.
        columns: Vec<String>,
    },
    /// A file lacks a column that the training file has.
    #[error("`{}` has no column `{column}`", path.display())]
    LacksColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// The columns that the training file does not have.
        others: Vec<String>,
    },
    /// A file of samples has features but no target.
    #[error("`{}` has no target column `{target}`", path.display())]
    NoTarget {
        /// The file.
        path: PathBuf,
        /// The target's name.
        target: String,
    },
    /// No column has the index of the target.
    #[error("`{}` has {columns} columns, none of index {index}", path.display())]
    TargetIndex {
        /// The file.
        path: PathBuf,
        /// The index asked for.
        index: i64,
        /// The number of columns.
        columns: usize,
        /// Whether a column is called so.
        is_name: bool,
    },
    /// Rows without the value to predict.
    #[error("{}:{line}: the target `{target}` is missing{}", path.display(), more(*rows))]
    MissingTarget {
        /// The file.
        path: PathBuf,
        /// Where the first of the rows begins.
        line: u64,
        /// The target's name.
        target: String,
        /// How many rows there are.
        rows: u64,
    },
    /// A target without any value.
    #[error("`{}`: the target `{target}` has no values", path.display())]
    EmptyTarget {
        /// The file.
        path: PathBuf,
        /// The target's name.
        target: String,
    },
    /// A target of text that hardly recurs.
    #[error("`{}`: the text of the target `{target}` hardly recurs: {classes} different ones in {rows} rows", path.display())]
    UniqueTarget {
        /// The file.
        path: PathBuf,
        /// The target's name.
        target: String,
        /// The different texts.
        classes: usize,
        /// The rows.
        rows: u64,
    },
    /// The options say how to encode the target, which its task decides.
    #[error("`{target}` is the target of `{}`, so `data.columns` cannot set it", path.display())]
    TargetOverride {
        /// The file.
        path: PathBuf,
        /// The target's name.
        target: String,
    },
    /// All rows have the same target.
    #[error("`{}`: the target `{target}` is `{value}` in every row", path.display())]
    SingleValue {
        /// The file.
        path: PathBuf,
        /// The target's name.
        target: String,
        /// Its one value.
        value: String,
    },
    /// A binary task on more than two classes.
    #[error("`{}`: the task is binary, the target `{target}` has {classes} classes", path.display())]
    NotBinary {
        /// The file.
        path: PathBuf,
        /// The target's name.
        target: String,
        /// The classes that it has.
        classes: usize,
    },
    /// Too many different values.
    #[error("`{}`: column `{column}` has more than {limit} different values", path.display())]
    TooManyCategories {
        /// The file.
        path: PathBuf,
        /// The column's name.
        column: String,
        /// The most that are allowed.
        limit: usize,
        /// Whether it is the target.
        is_target: bool,
    },
    /// A class that the training file does not have.
    #[error("{}:{line}: class `{class}` is not in the training file", path.display())]
    UnknownClass {
        /// The file.
        path: PathBuf,
        /// Where its row begins.
        line: u64,
        /// The class.
        class: String,
        /// Those of the training file.
        classes: Vec<String>,
    },
    /// Neither the columns of the training file nor those without the target.
    #[error("`{}` has {columns} columns, the training file has {expected}", path.display())]
    ColumnCount {
        /// The file.
        path: PathBuf,
        /// Its columns.
        columns: usize,
        /// The columns of the training file, the target included.
        expected: usize,
    },
    /// A target that a 32-bit float cannot hold once it is standardised.
    #[error("`{}`: the target of {row} is {value:e}, too far from those to train on for a 32-bit float", path.display())]
    FarTarget {
        /// The file.
        path: PathBuf,
        /// Which row: its line in a text, else its index.
        row: String,
        /// Its target.
        value: f64,
    },
    /// No column is left to learn from.
    #[error("`{}` has no column to learn from beside the target `{target}`", path.display())]
    NoFeatures {
        /// The file.
        path: PathBuf,
        /// The target's name.
        target: String,
        /// The name of each other column, and why it is dropped.
        dropped: Vec<(String, String)>,
    },
    /// No class can spare a sample.
    #[error("no class has two samples, so none can be held out for validation")]
    OneSampleEach,
    /// A fraction outside of [0, 1).
    #[error("a validation fraction of {fraction} is not within 0 and 1")]
    Fraction {
        /// The fraction.
        fraction: f64,
    },
    /// A synthetic table without rows or columns.
    #[error("a table of {samples} samples and {features} features is empty")]
    NothingToMake {
        /// The samples.
        samples: usize,
        /// The features of each.
        features: usize,
    },
    /// The encoded samples do not fit in memory.
    #[error("{rows} samples of {width} features do not fit in memory")]
    OutOfMemory {
        /// The samples.
        rows: usize,
        /// The features of each.
        width: usize,
    },
    /// The pixels of images do not fit in memory.
    #[error("{images} images of {bytes} bytes each do not fit in memory")]
    ImagesOutOfMemory {
        /// The images.
        images: usize,
        /// The bytes of one.
        bytes: usize,
    },
    /// A label that no class has.
    #[error("sample {sample} has label {label}, there are {classes} classes")]
    LabelOutOfRange {
        /// The sample's index in its split.
        sample: usize,
        /// Its label.
        label: u32,
        /// The number of classes.
        classes: usize,
    },
    /// Rows whose features are not equally many.
    #[error("{values} features cannot be divided among {rows} rows")]
    FeatureCount {
        /// The features of all rows.
        values: usize,
        /// The rows.
        rows: usize,
    },
    /// Pixels that do not make up the images.
    #[error("{found} bytes are not {images} images of {bytes} bytes each")]
    PixelCount {
        /// The bytes of all images.
        found: usize,
        /// The images.
        images: usize,
        /// The bytes that one should have.
        bytes: usize,
    },
    /// Labels to regress, or values to classify.
    #[error("the targets do not suit the task {task}")]
    TargetsOfTask {
        /// The task.
        task: Task,
    },
    /// An update or a micro-batch of no sample.
    #[error("`{size}` is 0, and must be at least 1")]
    NoBatch {
        /// `batch_size` or `micro_batch`.
        size: &'static str,
    },
    /// A source without a single image.
    #[error("the source has no images")]
    NoImages,
    /// Images without a single pixel.
    #[error("the source's images have the shape {} x {} x {}, which holds no pixel", .0.channels, .0.height, .0.width)]
    NoPixels(ImageShape),
    /// A thread to read images cannot be started.
    #[error("no thread can be started to read images: {source}")]
    Worker {
        /// What the system says.
        source: rayon::ThreadPoolBuildError,
    },
    /// What reads an image broke down.
    #[error("reading image {image} broke down: {message}")]
    Panic {
        /// The image's index in its split.
        image: usize,
        /// What was said.
        message: String,
    },
    /// A file of a folder is missing or damaged.
    #[error(transparent)]
    File(#[from] FileError),
    /// CIFAR-10's files are wrong.
    #[error(transparent)]
    Cifar10(#[from] Cifar10Error),
    /// IDX files are wrong.
    #[error(transparent)]
    Idx(#[from] IdxError),
    /// A folder of images is wrong.
    #[error(transparent)]
    ImageFolder(#[from] ImageFolderError),
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

#[cfg(test)]
mod tests;
