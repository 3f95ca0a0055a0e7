//! The first pass: what each column of the training file holds, and what to predict.

use std::path::Path;

use preprocess::cell::Cell;

use super::{
    CsvError, header, identifiers,
    notation::{Notation, Notations},
    options::{ColumnOverride, CsvOptions},
    patterns::Extremes,
    reader::CsvReader,
    row::Row,
    summary::{CommonFormat, Place, Summary},
    target::{self, TargetSchema},
};
use crate::{CategoryEncoding, CellError, DataError, csv_table::column_setting};

/// What the columns of the training file hold.
#[derive(Debug)]
pub(super) struct Schema {
    /// Whether the file has a header.
    pub(super) header: bool,
    /// The first row, shortened.
    pub(super) first_row: String,
    /// Lines of the rows without a value.
    pub(super) blank_rows: Vec<u64>,
    /// Lines of the rows that are left out for want of a target.
    pub(super) unlabelled_rows: Vec<u64>,
    /// Texts that were to mark missing values and are in no cell.
    pub(super) unused_marks: Vec<String>,
    pub(super) notations: Notations,
    /// The columns in the file's order, the target left out.
    pub(super) columns: Vec<ColumnSchema>,
    pub(super) target: TargetSchema,
    /// The place in the file of the column that names groups of rows.
    pub(super) group: Option<usize>,
}

#[derive(Debug)]
pub(super) struct ColumnSchema {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The format of its numbers, where it is read as numbers.
    pub(super) common_format: Option<CommonFormat>,
    /// Cells without a value.
    pub(super) missing: u64,
    /// Whether the column only numbers the rows.
    pub(super) counts_rows: bool,
    /// Whether it dates the rows, and these are in order.
    pub(super) has_dates_in_order: bool,
    /// Whether it is used though its name says that it tells rows apart.
    pub(super) has_recurring_identifiers: bool,
    /// Why its categories look like numbers, unless the user chose categories.
    pub(super) unread_numbers: Option<String>,
    /// The first number that may be a code, unless the user chose the kind of the column.
    pub(super) code: Option<Place>,
    /// The first number whose point may separate thousands, in a column where all may.
    pub(super) grouped: Option<Place>,
    /// The extreme numbers, unless there are few different ones.
    pub(super) extremes: Extremes,
}

/// What a column holds.
#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    Numeric,
    /// The categories of the whole file, in order.
    Categorical(Vec<String>),
    Text,
    /// Why it is not used.
    Dropped(String),
}

/// Reads the training file for what its columns hold.
pub(super) fn infer(options: &CsvOptions) -> Result<Schema, DataError> {
    let mut reader = CsvReader::open(&options.path, &options.missing)?;
    if options.header.is_none() {
        header::refuse_title(&reader)?;
    }
    let mut notations = Notations::of_file(options)?;
    let header = has_header(&reader, options, &notations.columns)?;
    let first = reader.ahead().take(1).flat_map(Row::cells);
    let cells: Vec<String> = first.map(str::to_owned).collect();
    let first_row = reader.shown().unwrap_or_default();
    let mut names = header::names(&mut reader, header)?;
    header::check_unique(&reader, &names)?;
    header::refuse_line_above(&reader, &cells)?;
    let target = target::find(&options.path, &options.target, &names, &cells)?;
    check_overrides(options, &names, &names[target])?;
    let is_text = |name| options.columns.get(name) == Some(&ColumnOverride::Text);
    let texts = (0..names.len()).filter(|&place| is_text(&names[place]));
    texts.for_each(|place| notations.columns[place] = Notation::Point); // they are read as they are
    let place = |group: &String| names.iter().position(|name| name == group);
    let group = options.group.as_ref().and_then(place);
    if names.len() == 1 {
        // Before the target is read: with another delimiter it holds whole rows.
        let (path, target) = (options.path.clone(), names[target].clone());
        return Err(CsvError::NoFeatures { path, target, dropped: Vec::new() }.into());
    }

    reader.read_numbers(&notations.columns, &[]);
    reader.on_missing_target(target, options.on_missing_target);
    let mut summaries = summarise(&mut reader, options, &names, target, &notations.columns)?;
    let (blank_rows, unlabelled_rows) = (reader.take_blank_rows(), reader.take_incomplete_rows());
    let unused_marks = reader.unused_marks();
    let (name, summary) = (names.remove(target), summaries.remove(target));
    let columns = column_schemas(options, &reader, header, &names, &summaries)?;
    let as_read = summary.as_read();
    if options.task.is_none() {
        refuse_grouped(&reader, &name, as_read)?;
    }
    let kind = target::plan(options, &name, &summary, reader.first_line())?;
    let target = TargetSchema {
        common_format: summary.common_format().filter(|_| kind.is_none()).cloned(),
        kind,
        may_be_classes: as_read.is_whole() && as_read.may_be_classes(),
        grouped: as_read.grouped().filter(|_| reader.may_have_decimal_commas()).cloned(),
        respelled: summary.respelled.clone(),
        extremes: as_read.extremes(),
        name,
        index: target,
    };
    Ok(Schema {
        header,
        first_row,
        blank_rows,
        unlabelled_rows,
        unused_marks,
        notations,
        columns,
        target,
        group,
    })
}

/// Whether the file has a header, if the user does not say.
fn has_header(
    reader: &CsvReader,
    options: &CsvOptions,
    notations: &[Notation],
) -> Result<bool, DataError> {
    if let Some(header) = options.header {
        return Ok(header);
    }
    Ok(target::is_in_first_row(reader, &options.target)
        || single_row_of_text(reader)
        || header::text_above_numbers(reader)
        || target::is_named_by_first_row(options, notations)?)
}

/// What the columns hold, without the target.
fn column_schemas(
    options: &CsvOptions,
    reader: &CsvReader,
    header: bool,
    names: &[String],
    summaries: &[Summary],
) -> Result<Vec<ColumnSchema>, CsvError> {
    let is_group = |name: &str| options.group.as_deref() == Some(name);
    let inferred = |name: &str| !options.columns.contains_key(name) && !is_group(name);
    let column = |(name, written): (&String, &Summary)| {
        let summary = written.as_read();
        if inferred(name) {
            refuse_grouped(reader, name, summary)?;
        }
        let kind = column_kind(options, name, written)?;
        if kind == Kind::Numeric {
            refuse_odd(reader, name, written)?;
        }
        Ok(ColumnSchema {
            name: name.clone(),
            common_format: written.common_format().filter(|_| kind == Kind::Numeric).cloned(),
            kind,
            missing: summary.missing,
            counts_rows: summary.is_counter(),
            has_dates_in_order: summary.has_dates_in_order(),
            has_recurring_identifiers: false,
            unread_numbers: summary.note_on_unread().filter(|_| inferred(name)),
            code: summary.first_code.clone().filter(|_| inferred(name)),
            grouped: summary.grouped().filter(|_| reader.may_have_decimal_commas()).cloned(),
            extremes: summary.extremes(),
        })
    };
    let columns = names.iter().zip(summaries).map(column);
    let mut columns = columns.collect::<Result<Vec<_>, CsvError>>()?;
    identifiers::drop(&mut columns, summaries, header, inferred);
    Ok(columns)
}

/// Refuses numbers whose points surely separate thousands.
fn refuse_grouped(reader: &CsvReader, name: &str, summary: &Summary) -> Result<(), CsvError> {
    match summary.surely_grouped().filter(|_| reader.may_have_decimal_commas()) {
        Some(Place { line, text }) => {
            let reason = CellError::Grouped { column: name.to_owned(), text: text.clone() };
            Err(CsvError::cell(reader.path(), *line, None, reason))
        }
        None => Ok(()),
    }
}

/// Refuses a formatted number that does not go with the others.
fn refuse_odd(reader: &CsvReader, name: &str, written: &Summary) -> Result<(), CsvError> {
    match written.odd() {
        Some(Place { line, text }) => {
            let reason = CellError::NotANumber { column: name.to_owned(), text: text.clone() };
            Err(CsvError::cell(reader.path(), *line, Some(reader.first_line()), reason))
        }
        None => Ok(()),
    }
}

/// Whether the file is a single row of text: a header, since there is nothing to learn from.
fn single_row_of_text(reader: &CsvReader) -> bool {
    reader.ahead().count() == 1
        && reader.ahead().all(|row| row.cells().all(|cell| reader.parse(cell) == Cell::Text))
}

fn check_overrides(options: &CsvOptions, names: &[String], target: &str) -> Result<(), CsvError> {
    let (path, target_name) = (|| options.path.clone(), || target.to_owned());
    if options.group.as_deref() == Some(target) {
        return Err(CsvError::TargetGroup { path: path(), target: target_name() });
    }
    for column in options.columns.keys().chain(&options.group) {
        if column == target {
            return Err(CsvError::TargetOverride { path: path(), target: target_name() });
        }
        if !names.contains(column) {
            return Err(CsvError::UnknownColumn {
                path: path(),
                column: column.clone(),
                columns: names.to_vec(),
            });
        }
    }
    Ok(())
}

fn summarise(
    reader: &mut CsvReader,
    options: &CsvOptions,
    names: &[String],
    target: usize,
    notations: &[Notation],
) -> Result<Vec<Summary>, DataError> {
    let is_embedded = |name: &String| {
        options.categories == CategoryEncoding::Index
            && options.columns.get(name) == Some(&ColumnOverride::Categorical)
    };
    let summary = |(name, &notation)| Summary::new(is_embedded(name), notation);
    let mut summaries: Vec<Summary> = names.iter().zip(notations).map(summary).collect();
    let mut first_missing = None;
    while let Some(row) = reader.next_row()? {
        for (summary, cell) in summaries.iter_mut().zip(row.cells()) {
            summary.add(row.line, cell);
        }
        if summaries[target].missing == 1 {
            first_missing.get_or_insert(row.line);
        }
    }
    let (path, name) = (|| reader.path().to_owned(), || names[target].clone());
    if summaries[target].present() == 0 {
        return Err(CsvError::EmptyTarget { path: path(), target: name() }.into());
    }
    if let Some(line) = first_missing {
        let rows = summaries[target].missing;
        return Err(CsvError::MissingTarget { path: path(), line, target: name(), rows }.into());
    }
    Ok(summaries)
}

fn column_kind(options: &CsvOptions, name: &str, written: &Summary) -> Result<Kind, CsvError> {
    let (path, summary) = (|| options.path.clone(), written.as_read());
    match options.columns.get(name) {
        Some(ColumnOverride::Drop) => Ok(Kind::Dropped("`data.columns` says so".to_owned())),
        Some(ColumnOverride::Numeric) => Ok(Kind::Numeric),
        Some(ColumnOverride::Text) => Ok(Kind::Text),
        Some(ColumnOverride::Categorical) => {
            written.categories().map(Kind::Categorical).ok_or_else(|| CsvError::TooManyCategories {
                path: path(),
                column: name.to_owned(),
                limit: written.most_values(),
                is_target: false,
            })
        }
        None if options.group.as_deref() == Some(name) => {
            Ok(Kind::Dropped("it names the groups of `data.group`".to_owned()))
        }
        None if summary.unread_number().is_some() => Ok(inferred(name, summary)),
        None => {
            no_type_change(&options.path, name, summary)?;
            match summary.marker() {
                Some(place) => Err(CsvError::TextAmongNumbers {
                    path: path(),
                    line: place.line,
                    column: name.to_owned(),
                    percent: summary.percent_numbers(),
                    text: place.text.clone(),
                }),
                None => Ok(inferred(name, summary)),
            }
        }
    }
}

/// What a column holds, if the user does not say.
fn inferred(name: &str, summary: &Summary) -> Kind {
    match summary.kind() {
        Kind::Dropped(reason) if summary.has_sentences() => {
            let setting = column_setting(name, "text");
            Kind::Dropped(format!("{reason}; to read its words, use `{setting}`"))
        }
        kind => kind,
    }
}

/// Refuses a column whose upper part is of one type and whose lower part of the other.
pub(super) fn no_type_change(path: &Path, column: &str, summary: &Summary) -> Result<(), CsvError> {
    match summary.type_change() {
        Some(place) => Err(CsvError::TypeChange {
            path: path.to_owned(),
            line: place.line,
            column: column.to_owned(),
            text: place.text.clone(),
        }),
        None => Ok(()),
    }
}
