//! What can be wrong with a table of text, and what to do about it.

mod help;

pub(crate) use self::help::column_setting;
use self::help::more;

use std::path::PathBuf;

use crate::{
    CellError,
    count::{counted, grouped},
};

/// What is wrong with a table of text. Lines count from 1, the header included.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CsvError {
    /// A regression of text.
    #[error("`{}`: the target `{target}` is text, not a number, such as `{text}` in line {line}", path.display())]
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
    #[error("{}:{line}: the row has {}, the first has {expected}", path.display(), counted(cells, "cell"))]
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
        /// Whether all rows have one cell more than the first.
        lacks_a_name: bool,
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
    #[error("{}:{line}: {reason}", path.display())]
    Cell {
        /// The file.
        path: PathBuf,
        /// Where its row begins.
        line: u64,
        /// Where the first row of the training file begins; none in another file.
        first_line: Option<u64>,
        /// What is wrong with it.
        reason: CellError,
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
    #[error("`{}` has {}, none of index {index}", path.display(), counted(columns, "column"))]
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
    #[error("`{}`: the text of the target `{target}` hardly recurs: {} different ones in {}", path.display(), grouped(classes), counted(rows, "row"))]
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
    /// The rows of a group would all have the same target.
    #[error("`{target}` is the target of `{}`, so it cannot name groups", path.display())]
    TargetGroup {
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
    /// Too many different values.
    #[error("`{}`: column `{column}` has more than {} different values", path.display(), grouped(limit))]
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
    #[error("`{}` has {}, the training file has {expected}", path.display(), counted(columns, "column"))]
    ColumnCount {
        /// The file.
        path: PathBuf,
        /// Its columns.
        columns: usize,
        /// The columns of the training file, the target included.
        expected: usize,
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
}
