//! The first pass: what each column of the training file holds, and what to predict.

use std::path::Path;

use super::{
    CsvError, header, identifiers,
    options::{ColumnOverride, CsvOptions, TargetColumn},
    patterns::Extremes,
    reader::{CsvReader, Row},
    summary::{Place, Summary},
};
use crate::{
    CategoryEncoding, CellError, DataError, Task, preprocess::cell::Cell,
    table::MOST_INTEGER_CLASSES,
};

/// What the columns of the training file hold.
#[derive(Debug)]
pub(super) struct Schema {
    /// Whether the file has a header.
    pub(super) header: bool,
    /// The first row, shortened.
    pub(super) first_row: String,
    /// Lines of the rows without a value.
    pub(super) blank_rows: Vec<u64>,
    /// The first number with a decimal comma, where numbers are written so.
    pub(super) decimal_comma: Option<Place>,
    /// The columns in the file's order, the target left out.
    pub(super) columns: Vec<ColumnSchema>,
    pub(super) target: TargetSchema,
}

#[derive(Debug)]
pub(super) struct ColumnSchema {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Cells without a value.
    pub(super) missing: u64,
    /// Whether the column only numbers the rows.
    pub(super) counts_rows: bool,
    /// Why its categories look like numbers, unless the user chose categories.
    pub(super) unread_numbers: Option<String>,
    /// The first number with leading zeros, unless the user chose the kind of the column.
    pub(super) padded: Option<Place>,
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
    /// Why it is not used.
    Dropped(String),
}

#[derive(Debug)]
pub(super) struct TargetSchema {
    pub(super) name: String,
    pub(super) index: usize,
    pub(super) kind: TargetPlan,
    /// Whether its values are whole numbers that recur.
    pub(super) may_be_classes: bool,
    /// As that of a column.
    pub(super) grouped: Option<Place>,
}

/// What to predict.
#[derive(Debug, PartialEq)]
pub(super) enum TargetPlan {
    Binary([String; 2]),
    Multiclass(Vec<String>),
    Regression,
}

/// Reads the training file for what its columns hold.
pub(super) fn infer(options: &CsvOptions) -> Result<Schema, DataError> {
    let mut reader = CsvReader::open(&options.path)?;
    if options.header.is_none() {
        header::refuse_title(&reader)?;
    }
    let header = has_header(&reader, options)?;
    let first = reader.ahead().take(1).flat_map(Row::cells);
    let cells: Vec<String> = first.map(str::to_owned).collect();
    let first_row = reader.shown().unwrap_or_default();
    let mut names = header::names(&mut reader, header)?;
    header::check_unique(&reader, &names)?;
    let target = find_target(&options.path, &options.target, &names, &cells)?;
    check_overrides(options, &names, &names[target])?;
    if names.len() == 1 {
        // Before the target is read: with another delimiter it holds whole rows.
        let (path, target) = (options.path.clone(), names[target].clone());
        return Err(CsvError::NoFeatures { path, target, dropped: Vec::new() }.into());
    }

    let mut summaries = summarise(&mut reader, options, &names, target)?;
    let blank_rows = reader.take_blank_rows();
    let (name, summary) = (names.remove(target), summaries.remove(target));
    let columns = column_schemas(options, &reader, header, &names, &summaries)?;
    if options.task.is_none() {
        refuse_grouped(&reader, &name, &summary)?;
    }
    let target = TargetSchema {
        kind: plan(options, &name, &summary, reader.first_line())?,
        may_be_classes: summary.is_whole() && summary.may_be_classes(),
        grouped: summary.grouped().filter(|_| reader.may_have_grouped()).cloned(),
        name,
        index: target,
    };
    let decimal_comma = reader.decimal_comma().cloned();
    Ok(Schema { header, first_row, blank_rows, decimal_comma, columns, target })
}

/// Whether the file has a header, if the user does not say.
fn has_header(reader: &CsvReader, options: &CsvOptions) -> Result<bool, DataError> {
    if let Some(header) = options.header {
        return Ok(header);
    }
    Ok(first_row_has_target(reader, &options.target)
        || single_row_of_text(reader)
        || header::text_above_numbers(reader)
        || first_row_names_target(&options.path, &options.target)?)
}

/// What the columns hold, without the target.
fn column_schemas(
    options: &CsvOptions,
    reader: &CsvReader,
    header: bool,
    names: &[String],
    summaries: &[Summary],
) -> Result<Vec<ColumnSchema>, CsvError> {
    let inferred = |name: &str| !options.columns.contains_key(name);
    let column = |(name, summary): (&String, &Summary)| {
        if inferred(name) {
            refuse_grouped(reader, name, summary)?;
        }
        Ok(ColumnSchema {
            name: name.clone(),
            kind: column_kind(options, name, summary)?,
            missing: summary.missing,
            counts_rows: summary.is_counter(),
            unread_numbers: summary.unread_numbers().filter(|_| inferred(name)),
            padded: summary.first_padded.clone().filter(|_| inferred(name)),
            grouped: summary.grouped().filter(|_| reader.may_have_grouped()).cloned(),
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
    match summary.surely_grouped().filter(|_| reader.may_have_grouped()) {
        Some(Place { line, text }) => Err(CsvError::Cell {
            path: reader.path().to_owned(),
            line: *line,
            first_line: None,
            source: CellError::Grouped { column: name.to_owned(), text: text.clone() },
        }),
        None => Ok(()),
    }
}

/// Whether the target is given by a name that the first row has.
fn first_row_has_target(reader: &CsvReader, target: &TargetColumn) -> bool {
    let TargetColumn::Name(name) = target else { return false };
    reader.ahead().take(1).any(|row| row.cells().any(|cell| cell == name))
}

/// Whether the target, given by its index, has a text in the first row that never comes again in
/// the column, above numbers or values that do come again.
fn first_row_names_target(path: &Path, target: &TargetColumn) -> Result<bool, DataError> {
    let &TargetColumn::Index(index) = target else { return Ok(false) };
    let mut reader = CsvReader::open(path)?;
    let Some(target) = place(index, reader.width()) else { return Ok(false) };
    let first = reader.next_row()?;
    let Some(name) = first.as_ref().map(|row| row.cell(target)) else { return Ok(false) };
    if Cell::parse(name) != Cell::Text {
        return Ok(false);
    }
    let mut below = Summary::default();
    while let Some(row) = reader.next_row()? {
        if row.cell(target) == name {
            return Ok(false);
        }
        below.add(row.line, row.cell(target));
    }
    Ok(below.is_numeric() || below.recurs())
}

/// Whether the file is a single row of text: a header, since there is nothing to learn from.
fn single_row_of_text(reader: &CsvReader) -> bool {
    reader.ahead().count() == 1
        && reader.ahead().all(|row| row.cells().all(|cell| Cell::parse(cell) == Cell::Text))
}

fn find_target(
    path: &Path,
    target: &TargetColumn,
    names: &[String],
    first_row: &[String],
) -> Result<usize, CsvError> {
    match target {
        TargetColumn::Name(name) => {
            names.iter().position(|other| other == name).ok_or_else(|| CsvError::UnknownColumn {
                path: path.to_owned(),
                column: name.clone(),
                columns: names.to_vec(),
            })
        }
        &TargetColumn::Index(index) => {
            let columns = names.len();
            place(index, columns).ok_or_else(|| CsvError::TargetIndex {
                path: path.to_owned(),
                index,
                columns,
                is_name: first_row.contains(&index.to_string()),
            })
        }
    }
}

/// The place of the column with this index, which may count from the end.
fn place(index: i64, columns: usize) -> Option<usize> {
    let from_start = if index < 0 { index.checked_add_unsigned(columns as u64)? } else { index };
    usize::try_from(from_start).ok().filter(|&index| index < columns)
}

fn check_overrides(options: &CsvOptions, names: &[String], target: &str) -> Result<(), CsvError> {
    for column in options.columns.keys() {
        if column == target {
            return Err(CsvError::TargetOverride {
                path: options.path.clone(),
                target: target.to_owned(),
            });
        }
        if !names.contains(column) {
            return Err(CsvError::UnknownColumn {
                path: options.path.clone(),
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
) -> Result<Vec<Summary>, DataError> {
    let is_embedded = |name: &String| {
        options.categories == CategoryEncoding::Index
            && options.columns.get(name) == Some(&ColumnOverride::Categorical)
    };
    let mut summaries: Vec<Summary> =
        names.iter().map(|name| Summary::new(is_embedded(name))).collect();
    let mut first_missing = None;
    while let Some(row) = reader.next_row()? {
        for (summary, cell) in summaries.iter_mut().zip(row.cells()) {
            summary.add(row.line, cell);
        }
        if summaries[target].missing == 1 {
            first_missing.get_or_insert(row.line);
        }
    }
    match first_missing {
        Some(_) if summaries[target].present() == 0 => Err(CsvError::EmptyTarget {
            path: reader.path().to_owned(),
            target: names[target].clone(),
        }
        .into()),
        Some(line) => Err(CsvError::MissingTarget {
            path: reader.path().to_owned(),
            line,
            target: names[target].clone(),
            rows: summaries[target].missing,
        }
        .into()),
        None => Ok(summaries),
    }
}

fn column_kind(options: &CsvOptions, name: &str, summary: &Summary) -> Result<Kind, CsvError> {
    let path = || options.path.clone();
    match options.columns.get(name) {
        Some(ColumnOverride::Drop) => Ok(Kind::Dropped("`data.columns` says so".to_owned())),
        Some(ColumnOverride::Numeric) => Ok(Kind::Numeric),
        Some(ColumnOverride::Categorical) => {
            summary.categories().map(Kind::Categorical).ok_or_else(|| CsvError::TooManyCategories {
                path: path(),
                column: name.to_owned(),
                limit: summary.most_values(),
                is_target: false,
            })
        }
        None if summary.dressed().is_some() => Ok(summary.kind()),
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
                None => Ok(summary.kind()),
            }
        }
    }
}

fn no_type_change(path: &Path, column: &str, summary: &Summary) -> Result<(), CsvError> {
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

/// What to predict: what the user says, else classes if the target is text, two values or few whole
/// numbers.
fn plan(
    options: &CsvOptions,
    target: &str,
    summary: &Summary,
    first_line: u64,
) -> Result<TargetPlan, DataError> {
    let (path, target) = (|| options.path.clone(), target.to_owned());
    if options.task.is_none() && summary.dressed().is_none() {
        no_type_change(&options.path, &target, summary)?;
    }
    let stray = match summary.dressed() {
        Some(place) => Some(place),
        None if summary.is_numeric() => summary.first_text.as_ref(),
        None => summary.marker(),
    };
    if options.task.is_none()
        && let Some(place) = stray
    {
        let source = CellError::NotANumber { column: target, text: place.text.clone() };
        let (line, first_line) = (place.line, Some(first_line));
        return Err(CsvError::Cell { path: path(), line, first_line, source }.into());
    }

    if let (Some(Task::Regression), None, Some(Place { line, text })) =
        (options.task, stray, &summary.first_text)
    {
        let (text, line) = (text.clone(), *line);
        return Err(CsvError::TextTarget { path: path(), target, text, line }.into());
    }

    let few = |most| summary.distinct().is_some_and(|distinct| distinct <= most);
    let is_class =
        !summary.is_numeric() || few(2) || few(MOST_INTEGER_CLASSES) && summary.is_whole();
    let classes = summary.classes();
    if let Some([value]) = classes.as_deref() {
        return Err(CsvError::SingleValue { path: path(), target, value: value.clone() }.into());
    }
    if let Some(classes) = classes.as_ref().map(Vec::len)
        && options.task.is_none()
        && !summary.is_numeric()
        && classes > MOST_INTEGER_CLASSES
        && !summary.recurs()
    {
        let rows = summary.present();
        return Err(CsvError::UniqueTarget { path: path(), target, classes, rows }.into());
    }
    if options.task == Some(Task::Regression) || options.task.is_none() && !is_class {
        return Ok(TargetPlan::Regression);
    }
    let classes = classes.ok_or_else(|| CsvError::TooManyCategories {
        path: path(),
        column: target.clone(),
        limit: summary.most_values(),
        is_target: true,
    })?;
    match (options.task, <[String; 2]>::try_from(classes)) {
        (Some(Task::Multiclass), Ok(two)) => Ok(TargetPlan::Multiclass(two.into())),
        (_, Ok(two)) => Ok(TargetPlan::Binary(two)),
        (Some(Task::Binary), Err(classes)) => {
            Err(DataError::NotBinary { path: path(), target, classes: classes.len() })
        }
        (_, Err(classes)) => Ok(TargetPlan::Multiclass(classes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(cells: &[&str], task: Option<Task>) -> Result<TargetPlan, String> {
        let mut summary = Summary::default();
        for (index, cell) in cells.iter().enumerate() {
            summary.add(index as u64 + 1, cell);
        }
        let options =
            CsvOptions { task, ..CsvOptions::new("a.csv", TargetColumn::Name("y".into())) };
        plan(&options, "y", &summary, 0).map_err(|error| error.to_string())
    }

    fn names<const N: usize>(names: [&str; N]) -> [String; N] {
        names.map(str::to_owned)
    }

    #[test]
    fn the_target_tells_its_task() {
        let check = |cells: &[&str], expected| assert_eq!(planned(cells, None), Ok(expected));
        check(&["b", "a", "b"], TargetPlan::Binary(names(["a", "b"])));
        check(&["0.5", "1.5"], TargetPlan::Binary(names(["0.5", "1.5"])));
        check(&["1", "01", "0.0"], TargetPlan::Binary(names(["0", "1"])));
        check(&["10", "9", "3"], TargetPlan::Multiclass(names(["3", "9", "10"]).into()));
        check(&["0.5", "1", "2"], TargetPlan::Regression);
        let range = |count: usize| (0..count).map(|i| i.to_string()).collect::<Vec<_>>();
        let cells = |numbers: &[String]| {
            planned(&numbers.iter().map(String::as_str).collect::<Vec<_>>(), None)
        };
        assert_eq!(cells(&range(20)), Ok(TargetPlan::Multiclass(range(20))));
        assert_eq!(cells(&range(21)), Ok(TargetPlan::Regression));
        assert_eq!(cells(&range(2000)), Ok(TargetPlan::Regression));
    }

    #[test]
    fn the_user_s_task_comes_first() {
        let check = |cells: &[&str], task, expected| {
            assert_eq!(planned(cells, Some(task)), Ok(expected));
        };
        check(&["0", "1"], Task::Regression, TargetPlan::Regression);
        check(&["0", "1"], Task::Multiclass, TargetPlan::Multiclass(names(["0", "1"]).into()));
        check(
            &["0.5", "1", "2"],
            Task::Multiclass,
            TargetPlan::Multiclass(names(["0.5", "1", "2"]).into()),
        );
        let error = planned(&["0", "1", "2"], Some(Task::Binary)).unwrap_err();
        assert_eq!(error, "`a.csv`: the task is binary, the target `y` has 3 classes");
    }

    #[test]
    fn a_target_that_cannot_be_learnt_is_refused() {
        let check = |cells: &[&str], expected: &str| {
            assert_eq!(planned(cells, None).unwrap_err(), expected);
        };
        check(&["3", "3.0"], "`a.csv`: the target `y` is `3` in every row");
        check(
            &["1", "2", "a", "b"],
            "a.csv:3: column `y` changes between numbers and text here, at `a`",
        );
        let mut cells = vec!["1"; 40];
        cells[7] = "one";
        check(&cells, "a.csv:8: column `y`: `one` is not a number");
        check(&["1,3", "2", "0,5"], "a.csv:1: column `y`: `1,3` is not a number");
        check(&["999", "998", "1,000", "1,001"], "a.csv:3: column `y`: `1,000` is not a number");
        check(&["5 %", "10 %", "5 %"], "a.csv:1: column `y`: `5 %` is not a number");
        let words: Vec<String> = (0..40).map(|row| format!("word {row}")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        check(
            &words,
            "`a.csv`: the text of the target `y` hardly recurs: 40 different ones in 40 rows",
        );
        assert!(planned(&words, Some(Task::Multiclass)).is_ok());
        let cells = ["0.5", "1.5", "2.5", "-", "1.5"];
        check(&cells, "a.csv:4: column `y`: `-` is not a number");
    }

    #[test]
    fn targets_are_found_from_both_ends() {
        let names = names(["a", "b", "c"]);
        let check = |index, expected: Option<usize>| {
            let target = TargetColumn::Index(index);
            let found = find_target(Path::new("a.csv"), &target, &names, &[]);
            assert_eq!(found.ok(), expected, "{index}");
        };
        check(0, Some(0));
        check(2, Some(2));
        check(-1, Some(2));
        check(-3, Some(0));
        for index in [3, -4, i64::MAX, i64::MIN] {
            check(index, None);
        }
    }
}
