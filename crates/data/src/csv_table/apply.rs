//! Rows of other files, encoded by what was learnt: of validation and test files, and to predict.

use std::{io::Read, path::Path};

use super::{
    header::Layout,
    reader::{CsvReader, Row},
};
use crate::{
    CellError, DataError, Table, TablePreprocessing, Target, TargetKind, Targets,
    preprocess::{cell, standardise},
};

/// Rows to predict.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// Encoded features, `[rows, width]`, row by row.
    pub features: Vec<f32>,
    /// The line of the file that each row begins in, from 1, the header included.
    pub lines: Vec<u64>,
}

impl Rows {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there are no rows, which [`read_rows`] never returns.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

/// Reads rows to predict, with or without a header, with or without the target.
///
/// Columns are found by name where this and the training file have a header, else by position.
/// `name` is what errors call the input.
pub fn read_rows(
    input: impl Read,
    name: &str,
    preprocessing: &TablePreprocessing,
) -> Result<Rows, DataError> {
    let mut reader = CsvReader::new(input, Path::new(name))?;
    let layout = Layout::find(&mut reader, preprocessing, None)?;
    let mut rows = Rows { features: Vec::new(), lines: Vec::new() };
    while let Some(row) = reader.next_row()? {
        encode(&reader, &row, &layout, preprocessing, &mut rows.features)?;
        rows.lines.push(row.line);
    }
    Ok(rows)
}

/// Reads a file of samples, targets included, as the training file was learnt to be read.
///
/// # Errors
///
/// Where the file cannot be read, lacks a column, or has what the training file cannot have.
pub fn read_table(
    path: &Path,
    preprocessing: &TablePreprocessing,
    header: Option<bool>,
) -> Result<Table, DataError> {
    let mut reader = CsvReader::open(path)?;
    let layout = Layout::find(&mut reader, preprocessing, header)?;
    let target = &preprocessing.target;
    let place = layout.target.ok_or_else(|| DataError::NoTarget {
        path: path.to_owned(),
        target: target.name.clone(),
    })?;

    let mut features = Vec::new();
    let (mut labels, mut values) = (Vec::new(), Vec::new());
    while let Some(row) = reader.next_row()? {
        encode(&reader, &row, &layout, preprocessing, &mut features)?;
        let cell = TargetCell { path, line: row.line, text: row.cell(place), target };
        match target.kind {
            TargetKind::Regression { mean, deviation } => {
                values.push(standardise(Some(cell.value()?), mean, deviation));
            }
            TargetKind::Binary { .. } | TargetKind::Multiclass { .. } => labels.push(cell.label()?),
        }
    }
    let targets = match target.kind {
        TargetKind::Regression { .. } => Targets::Values(values),
        TargetKind::Binary { .. } | TargetKind::Multiclass { .. } => Targets::Classes(labels),
    };
    Ok(Table { features, targets })
}

fn encode(
    reader: &CsvReader,
    row: &Row,
    layout: &Layout,
    preprocessing: &TablePreprocessing,
    out: &mut Vec<f32>,
) -> Result<(), DataError> {
    let cells: Vec<&str> =
        layout.columns.iter().map(|place| place.map_or("", |place| row.cell(place))).collect();
    preprocessing.encode(&cells, out).map_err(|source| DataError::Cell {
        path: reader.path().to_owned(),
        line: row.line,
        source,
    })
}

/// A cell of the target and where it stands.
struct TargetCell<'a> {
    path: &'a Path,
    line: u64,
    text: &'a str,
    target: &'a Target,
}

impl TargetCell<'_> {
    fn value(&self) -> Result<f64, DataError> {
        cell::number(&self.target.name, self.text)
            .map_err(|source| self.wrong(source))?
            .ok_or_else(|| self.missing())
    }

    fn label(&self) -> Result<u32, DataError> {
        let class = cell::category(&self.target.name, self.text)
            .map_err(|source| self.wrong(source))?
            .ok_or_else(|| self.missing())?;
        let classes = self.target.classes();
        match classes.iter().position(|known| *known == class) {
            Some(label) => Ok(label as u32),
            None => Err(DataError::UnknownClass {
                path: self.path.to_owned(),
                line: self.line,
                class: cell::quoted(&class),
                classes: classes.to_vec(),
            }),
        }
    }

    fn wrong(&self, source: CellError) -> DataError {
        DataError::Cell { path: self.path.to_owned(), line: self.line, source }
    }

    fn missing(&self) -> DataError {
        let (path, target) = (self.path.to_owned(), self.target.name.clone());
        DataError::MissingTarget { path, line: self.line, target }
    }
}
