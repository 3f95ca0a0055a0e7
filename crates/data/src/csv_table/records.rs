//! The second pass: the rows of the training file as numbers and texts, column by column.

use std::{borrow::Cow, collections::HashMap};

use preprocess::{
    cell::{self, Cell},
    text_cell::plain,
};

use super::{
    CsvError,
    groups::Groups,
    header,
    options::CsvOptions,
    reader::CsvReader,
    schema::{ColumnSchema, Kind, Schema},
    summary::CommonFormat,
    target::TargetSchema,
};
use crate::{CellError, DataError, NumberFormat};

/// The code of a missing category; categories are far fewer.
pub(super) const MISSING: u16 = u16::MAX;

/// The rows of the training file.
#[derive(Debug)]
pub(super) struct Records {
    /// In the order of [`Schema::columns`].
    pub(super) columns: Vec<Cells>,
    pub(super) target: Cells,
    /// The line that each row begins in.
    pub(super) lines: Vec<u64>,
    /// The groups of the rows, if they have any.
    pub(super) groups: Option<Groups>,
}

/// The cells of a column.
#[derive(Debug)]
pub(super) enum Cells {
    /// Numbers, NaN where one is missing.
    Numbers(Vec<f64>),
    /// Indices of the schema's categories or classes, or [`MISSING`].
    Codes(Vec<u16>),
    /// Texts, prepared by [`plain`], empty where one is missing.
    Texts(Vec<String>),
    Dropped,
}

impl Records {
    /// The class of each row, for a stratified split; the same for all rows in a regression.
    pub(super) fn classes(&self) -> Vec<u32> {
        match &self.target {
            Cells::Codes(codes) => codes.iter().copied().map(u32::from).collect(),
            _ => vec![0; self.lines.len()],
        }
    }
}

/// Reads the training file again, now that its columns are known.
pub(super) fn read(options: &CsvOptions, schema: &Schema) -> Result<Records, DataError> {
    let path = &options.path;
    let mut reader = CsvReader::open(path, &options.missing)?;
    header::names(&mut reader, schema.header)?;
    let changed = || DataError::Changed { path: path.to_owned() };
    if reader.width() != schema.columns.len() + 1 {
        return Err(changed());
    }

    let mut columns: Vec<Filling> = schema.columns.iter().map(Filling::new).collect();
    columns.insert(schema.target.index, Filling::target(&schema.target));
    let formatted = columns.iter().enumerate().filter(|(_, column)| column.format.is_some());
    let formatted: Vec<usize> = formatted.map(|(place, _)| place).collect();
    reader.read_numbers(&schema.notations.columns, &formatted);
    reader.on_missing_target(schema.target.index, options.on_missing_target);
    let first_line = Some(reader.first_line());
    let mut lines = Vec::new();
    let mut groups = schema.group.map(|place| (place, Groups::default()));
    while let Some(row) = reader.next_row()? {
        lines.push(row.line);
        if let Some((place, groups)) = &mut groups {
            groups.push(row.cell(*place), row.line);
        }
        for (column, text) in columns.iter_mut().zip(row.cells()) {
            let wrong = |reason| CsvError::cell(path, row.line, first_line, reason);
            if !column.push(text).map_err(wrong)? {
                return Err(changed());
            }
        }
    }
    if lines.is_empty() {
        return Err(changed());
    }
    let target = columns.remove(schema.target.index).cells;
    let columns = columns.into_iter().map(|column| column.cells).collect();
    let groups = groups.map(|(_, groups)| groups);
    Ok(Records { columns, target, lines, groups })
}

/// A column while it is read.
struct Filling<'a> {
    name: &'a str,
    format: Option<NumberFormat>,
    cells: Cells,
    codes: HashMap<Cow<'a, str>, u16>,
}

impl<'a> Filling<'a> {
    fn new(column: &'a ColumnSchema) -> Self {
        match &column.kind {
            Kind::Numeric => Self::numbers(&column.name, column.common_format.as_ref()),
            Kind::Categorical(categories) => Self::codes(&column.name, categories),
            Kind::Text => Self::without_numbers(&column.name, Cells::Texts(Vec::new())),
            Kind::Dropped(_) => Self::without_numbers(&column.name, Cells::Dropped),
        }
    }

    fn target(target: &'a TargetSchema) -> Self {
        match &target.kind {
            Some(kind) => Self::codes(&target.name, kind.classes()),
            None => Self::numbers(&target.name, target.common_format.as_ref()),
        }
    }

    fn numbers(name: &'a str, common_format: Option<&CommonFormat>) -> Self {
        let format = common_format.map(|common_format| common_format.format);
        Self { format, ..Self::without_numbers(name, Cells::Numbers(Vec::new())) }
    }

    fn codes(name: &'a str, categories: &'a [String]) -> Self {
        let names = categories.iter().map(|category| cell::name(Cell::parse(category), category));
        let codes = names.zip(0..MISSING).collect();
        Self { codes, ..Self::without_numbers(name, Cells::Codes(Vec::new())) }
    }

    fn without_numbers(name: &'a str, cells: Cells) -> Self {
        Self { name, format: None, cells, codes: HashMap::new() }
    }

    /// Takes the next cell; false for a category that the first pass did not see.
    fn push(&mut self, text: &str) -> Result<bool, CellError> {
        match &mut self.cells {
            Cells::Numbers(numbers) => {
                numbers.push(cell::number(self.name, text, self.format)?.unwrap_or(f64::NAN));
            }
            Cells::Codes(codes) => match cell::category(text) {
                Some(name) => match self.codes.get(name.as_ref()) {
                    Some(&code) => codes.push(code),
                    None => return Ok(false),
                },
                None => codes.push(MISSING),
            },
            Cells::Texts(texts) => texts.push(match Cell::parse(text) {
                Cell::Missing => String::new(),
                _ => plain(text),
            }),
            Cells::Dropped => {}
        }
        Ok(true)
    }
}
