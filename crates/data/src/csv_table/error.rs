//! What can be wrong with a table of text, and what to do about it.

mod help;

pub(crate) use self::help::column_setting;
use self::help::more;

use std::path::{Path, PathBuf};

use crate::{
    CellError,
    count::{counted, grouped},
};

/// What is wrong with a table of text. Lines count from 1, the header included.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum CsvError {
    /// A regression of text.
    #[error("`{}`: the target `{target}` is text, not a number, such as `{text}` in line {line}", path.display())]
    TextTarget { path: PathBuf, target: String, text: String, line: u64 },
    /// There is not a single row.
    #[error("`{}` is empty", path.display())]
    Empty { path: PathBuf },
    /// There is a header and nothing below it.
    #[error("`{}` has a header and no rows", path.display())]
    HeaderOnly { path: PathBuf },
    /// A byte that no text has.
    #[error("{}:{line}: the text has a zero byte", path.display())]
    ZeroByte { path: PathBuf, line: u64 },
    /// The file is of another format.
    #[error("`{}` is {format}, a CSV file is expected", path.display())]
    NotCsv { path: PathBuf, format: &'static str, conversion: &'static str },
    /// Lines that end as they did on old Macs.
    #[error("{}:{line}: a line ends in a carriage return alone", path.display())]
    BareReturn { path: PathBuf, line: u64 },
    /// A quoted cell that never ends.
    #[error("{}:{line}: a quote that opens in this row is never closed", path.display())]
    OpenQuote { path: PathBuf, line: u64 },
    /// A quoted cell that goes on for lines and has text behind its closing quote.
    #[error("{}:{line}: the quote that opens a cell here is closed in line {end}, in front of text", path.display())]
    LeftOpen { path: PathBuf, line: u64, end: u64 },
    /// A first row with nothing but its first cell.
    #[error("`{}`: only the first cell of the first row is filled, `{text}`, as in a title", path.display())]
    Title { path: PathBuf, text: String },
    /// A row of another length than the first.
    #[error("{}:{line}: the row has {}, the first has {expected}", path.display(), counted(cells, "cell"))]
    Ragged {
        path: PathBuf,
        line: u64,
        cells: usize,
        expected: usize,
        delimiter: char,
        lacks_a_name: bool,
    },
    /// A row to predict whose cells are all empty.
    #[error("{}:{line}: the row has no values", path.display())]
    BlankRow { path: PathBuf, line: u64 },
    /// A cell that its column cannot take.
    #[error("{}:{line}: {reason}", path.display())]
    Cell {
        path: PathBuf,
        line: u64,
        /// Where the first row of the training file begins; none in another file.
        first_line: Option<u64>,
        reason: CellError,
    },
    /// A column whose upper and lower parts are of different types.
    #[error("{}:{line}: column `{column}` changes between numbers and text here, at `{text}`", path.display())]
    TypeChange { path: PathBuf, line: u64, column: String, text: String },
    /// A column of numbers with one text or a few in many of its cells.
    #[error("{}:{line}: column `{column}` is {percent} % numbers, and `{text}` here", path.display())]
    TextAmongNumbers { path: PathBuf, line: u64, column: String, percent: u64, text: String },
    /// Two columns with the same name.
    #[error("{}:{line}: two columns are called `{column}`", path.display())]
    DuplicateColumn { path: PathBuf, line: u64, column: String },
    /// A column named by the options or another file is missing.
    #[error("`{}` has no column `{column}`", path.display())]
    UnknownColumn { path: PathBuf, column: String, columns: Vec<String> },
    /// A file lacks a column that the training file has.
    #[error("`{}` has no column `{column}`", path.display())]
    LacksColumn { path: PathBuf, column: String, others: Vec<String> },
    /// A file of samples has features but no target.
    #[error("`{}` has no target column `{target}`", path.display())]
    NoTarget { path: PathBuf, target: String },
    /// No column has the index of the target.
    #[error("`{}` has {}, none of index {index}", path.display(), counted(columns, "column"))]
    TargetIndex { path: PathBuf, index: i64, columns: usize, is_name: bool },
    /// Rows without the value to predict.
    #[error("{}:{line}: the target `{target}` is missing{}", path.display(), more(*rows))]
    MissingTarget { path: PathBuf, line: u64, target: String, rows: u64 },
    /// A target without any value.
    #[error("`{}`: the target `{target}` has no values", path.display())]
    EmptyTarget { path: PathBuf, target: String },
    /// A target of text that hardly recurs.
    #[error("`{}`: the text of the target `{target}` hardly recurs: {} different ones in {}", path.display(), grouped(classes), counted(rows, "row"))]
    UniqueTarget { path: PathBuf, target: String, classes: usize, rows: u64 },
    /// The options say how to encode the target, which its task decides.
    #[error("`{target}` is the target of `{}`, so `data.columns` cannot set it", path.display())]
    TargetOverride { path: PathBuf, target: String },
    /// The rows of a group would all have the same target.
    #[error("`{target}` is the target of `{}`, so it cannot name groups", path.display())]
    TargetGroup { path: PathBuf, target: String },
    /// All rows have the same target.
    #[error("`{}`: the target `{target}` is `{value}` in every row", path.display())]
    SingleValue { path: PathBuf, target: String, value: String },
    /// Too many different values.
    #[error("`{}`: column `{column}` has more than {} different values", path.display(), grouped(limit))]
    TooManyCategories { path: PathBuf, column: String, limit: usize, is_target: bool },
    /// A class that the training file does not have.
    #[error("{}:{line}: class `{class}` is not in the training file", path.display())]
    UnknownClass { path: PathBuf, line: u64, class: String, classes: Vec<String> },
    /// Neither the columns of the training file nor those without the target.
    #[error("`{}` has {}, the training file has {expected}", path.display(), counted(columns, "column"))]
    ColumnCount { path: PathBuf, columns: usize, expected: usize },
    /// No column is left to learn from.
    #[error("`{}` has no column to learn from beside the target `{target}`", path.display())]
    NoFeatures { path: PathBuf, target: String, dropped: Vec<(String, String)> },
}

impl CsvError {
    /// - `first_line`: as in [`CsvError::Cell`]
    pub(super) fn cell(path: &Path, line: u64, first_line: Option<u64>, reason: CellError) -> Self {
        Self::Cell { path: path.to_owned(), line, first_line, reason }
    }
}
