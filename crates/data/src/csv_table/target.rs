//! The column to predict: where it is, and what is predicted.

use std::path::Path;

use preprocess::{
    cell::{self, Cell},
    number_format::is_formatted,
};

use super::{
    CsvError,
    notation::Notation,
    options::{CsvOptions, TargetColumn},
    patterns::Extremes,
    reader::CsvReader,
    row::Row,
    schema::no_type_change,
    summary::{CommonFormat, Place, Summary},
};
use crate::{CellError, DataError, TargetKind, Task, table::MOST_INTEGER_CLASSES};

#[derive(Debug)]
pub(super) struct TargetSchema {
    pub(super) name: String,
    pub(super) index: usize,
    /// `None` for a regression, whose moments are those of the rows to train on.
    pub(super) kind: Option<TargetKind>,
    /// Whether its values are whole numbers that recur.
    pub(super) may_be_classes: bool,
    /// As those of a column.
    pub(super) common_format: Option<CommonFormat>,
    pub(super) grouped: Option<Place>,
    /// As [`Summary::respelled`].
    pub(super) respelled: Option<[String; 2]>,
    pub(super) extremes: Extremes,
}

/// Whether the target is given by a name that the first row has.
pub(super) fn is_in_first_row(reader: &CsvReader, target: &TargetColumn) -> bool {
    let TargetColumn::Name(name) = target else { return false };
    reader.ahead().take(1).any(|row| row.cells().any(|cell| cell == name))
}

/// Whether the target, given by its index, has a text in the first row that never comes again in
/// the column, above numbers or values that do come again. Years may be names too, but numbers with a
/// fraction are values, and the text above may be a rare class.
pub(super) fn is_named_by_first_row(
    options: &CsvOptions,
    notations: &[Notation],
) -> Result<bool, DataError> {
    let TargetColumn::Index(index) = options.target else { return Ok(false) };
    let mut reader = CsvReader::open(&options.path, &options.missing)?;
    let Some(target) = place(index, reader.width()) else { return Ok(false) };
    let first = reader.next_row()?;
    let Some(name) = first.as_ref().map(|row| row.cell(target)) else { return Ok(false) };
    let is_fraction =
        |cell| matches!(reader.parse(cell), Cell::Number(number) if number.fract() != 0.0);
    if reader.parse(name) != Cell::Text || first.iter().flat_map(Row::cells).any(is_fraction) {
        return Ok(false);
    }
    reader.read_numbers(notations, &[]);
    let mut below = Summary::new(false, notations[target]);
    while let Some(row) = reader.next_row()? {
        if row.cell(target) == name {
            return Ok(false);
        }
        below.add(row.line, row.cell(target));
    }
    Ok(match below.as_read().is_numeric() {
        true => !(is_formatted(name) && below.common_format().is_some()),
        false => below.recurs(),
    })
}

/// The place of the target among the columns.
pub(super) fn find(
    path: &Path,
    target: &TargetColumn,
    names: &[String],
    first_row: &[String],
) -> Result<usize, CsvError> {
    match target {
        TargetColumn::Name(name) => {
            names.iter().position(|other| other == name).ok_or_else(|| {
                // What is no header because it does not name the target may name it almost.
                let are_texts = first_row.iter().all(|cell| Cell::parse(cell) == Cell::Text);
                let columns = if are_texts { first_row } else { names };
                let columns = columns.iter().map(|cell| cell::quoted(cell)).collect();
                CsvError::UnknownColumn { path: path.to_owned(), column: name.clone(), columns }
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

/// What to predict: what the user says, else classes if the target is text, two values or few whole
/// numbers; `None` for a regression. Classes keep the format of their numbers.
pub(super) fn plan(
    options: &CsvOptions,
    target: &str,
    written: &Summary,
    first_line: u64,
) -> Result<Option<TargetKind>, DataError> {
    let (path, target) = (options.path.clone(), target.to_owned());
    let summary = written.as_read();
    refuse_stray_cells(options, &target, summary, first_line)?;

    let few = |most| written.distinct().is_some_and(|distinct| distinct <= most);
    // Whole numbers that are there once each are values.
    let recurs =
        || summary.distinct().is_some_and(|distinct| (distinct as u64) < summary.present());
    let is_class = !summary.is_numeric()
        || few(2)
        || few(MOST_INTEGER_CLASSES) && summary.is_whole() && recurs();
    let classes = written.classes();
    if let Some([value]) = classes.as_deref() {
        return Err(CsvError::SingleValue { path, target, value: value.clone() }.into());
    }
    if let Some(classes) = classes.as_ref().map(Vec::len)
        && options.task.is_none()
        && !summary.is_numeric()
        && classes > MOST_INTEGER_CLASSES
        && !summary.recurs()
    {
        let rows = summary.present();
        return Err(CsvError::UniqueTarget { path, target, classes, rows }.into());
    }
    if options.task == Some(Task::Regression) || options.task.is_none() && !is_class {
        return Ok(None);
    }
    let classes = classes.ok_or_else(|| CsvError::TooManyCategories {
        path: path.clone(),
        column: target.clone(),
        limit: summary.most_values(),
        is_target: true,
    })?;
    TargetKind::of_classes(classes, options.task)
        .map(Some)
        .map_err(|classes| DataError::NotBinary { path, target, classes })
}

/// Refuses a target with a few cells that are unlike the others, or that are not what the user says.
fn refuse_stray_cells(
    options: &CsvOptions,
    target: &str,
    summary: &Summary,
    first_line: u64,
) -> Result<(), CsvError> {
    let (path, target) = (options.path.clone(), target.to_owned());
    let first_line = Some(first_line);
    if options.task.is_none() && summary.unread_number().is_none() {
        no_type_change(&path, &target, summary)?;
    }
    let stray = match summary.unread_number() {
        Some(place) => Some(place),
        None if summary.is_numeric() => summary.odd().or(summary.first_text.as_ref()),
        None => summary.marker(),
    };
    if options.task.is_none_or(|task| task == Task::Regression)
        && let Some(place) = stray
    {
        let reason = CellError::NotANumber { column: target, text: place.text.clone() };
        return Err(CsvError::cell(&path, place.line, first_line, reason));
    }

    if let (Some(Task::Regression), Some(Place { line, text })) =
        (options.task, &summary.first_text)
    {
        let (text, line) = (text.clone(), *line);
        return Err(CsvError::TextTarget { path, target, text, line });
    }

    if let Some(Place { line, text }) = &summary.first_not_finite
        && summary.is_numeric()
    {
        let reason = CellError::NotFinite { column: target, text: text.clone() };
        return Err(CsvError::cell(&path, *line, first_line, reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(cells: &[&str], task: Option<Task>) -> Result<Option<TargetKind>, String> {
        let mut summary = Summary::default();
        for (index, cell) in cells.iter().enumerate() {
            summary.add(index as u64 + 1, cell);
        }
        let options =
            CsvOptions { task, ..CsvOptions::new("a.csv", TargetColumn::Name("y".into())) };
        plan(&options, "y", &summary, 0).map_err(|error| error.to_string())
    }

    fn binary(classes: [&str; 2]) -> Option<TargetKind> {
        Some(TargetKind::Binary { classes: classes.map(str::to_owned) })
    }

    fn multiclass<C: ToString>(classes: &[C]) -> Option<TargetKind> {
        let classes = classes.iter().map(C::to_string).collect();
        Some(TargetKind::Multiclass { classes })
    }

    #[test]
    fn the_target_tells_its_task() {
        let check = |cells: &[&str], expected| assert_eq!(planned(cells, None), Ok(expected));
        check(&["b", "a", "b"], binary(["a", "b"]));
        check(&["0.5", "1.5"], binary(["0.5", "1.5"]));
        check(&["1", "01", "0.0"], binary(["0", "1"]));
        check(&["10", "9", "3", "9"], multiclass(&["3", "9", "10"]));
        check(&["10", "9", "3"], None);
        check(&["0.5", "1", "2"], None);
        check(&["50%", "100%", "50%"], binary(["100%", "50%"]));
        check(&["0-10%", "10-20%"], binary(["0-10%", "10-20%"]));
        check(&["$1", "$3", "2", "2"], multiclass(&["2", "$1", "$3"]));
        check(&["$1,000.50", "$3", "2"], None);
        let range = |count: usize| (0..count).map(|i| i.to_string()).collect::<Vec<_>>();
        let cells = |numbers: &[String]| {
            planned(&numbers.iter().map(String::as_str).collect::<Vec<_>>(), None)
        };
        let twice = |count| [range(count), range(count)].concat();
        assert_eq!(cells(&twice(20)), Ok(multiclass(&range(20))));
        assert_eq!(cells(&twice(21)), Ok(None));
        assert_eq!(cells(&range(2000)), Ok(None));
        let names: Vec<String> = (10..35).map(|i| format!("c{i}")).collect();
        assert_eq!(cells(&[&names[..], &names].concat()), Ok(multiclass(&names)));
    }

    #[test]
    fn the_user_s_task_comes_first() {
        let check = |cells: &[&str], task, expected| {
            assert_eq!(planned(cells, Some(task)), Ok(expected));
        };
        check(&["0", "1"], Task::Regression, None);
        check(&["0", "1"], Task::Multiclass, multiclass(&["0", "1"]));
        check(&["0.5", "1", "2"], Task::Multiclass, multiclass(&["0.5", "1", "2"]));
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
        check(&["1,300", "2", "0,5"], "a.csv:3: column `y`: `0,5` is not a number");
        check(&["5 %", "10 %", "0.5"], "a.csv:1: column `y`: `5 %` is not a number");
        check(&["$5", "€5", "$5"], "a.csv:2: column `y`: `€5` is not a number");
        check(&["$5", "$5"], "`a.csv`: the target `y` is `$5` in every row");
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
        let names = ["a", "b", "c"].map(str::to_owned);
        let check = |index, expected: Option<usize>| {
            let target = TargetColumn::Index(index);
            let found = find(Path::new("a.csv"), &target, &names, &[]);
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
