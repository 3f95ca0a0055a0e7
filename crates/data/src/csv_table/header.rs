//! Whether the first row names the columns, what they are called, and where they are in a file.

use std::collections::{HashMap, HashSet};

use preprocess::{
    cell::{self, Cell},
    number_format,
};

use super::{CsvError, reader::CsvReader, row::Row, summary::mostly_numbers};
use crate::{Column, ColumnKind, DataError, NumberFormat, TablePreprocessing, Task};

/// Whether the first row is text above numbers: no number itself, and in some column a text where
/// the rows below have numbers.
pub(super) fn text_above_numbers(reader: &CsvReader) -> bool {
    let Some(first) = reader.ahead().next() else { return false };
    let cells: Vec<Cell> = first.cells().map(|cell| reader.parse(cell)).collect();
    if cells.iter().any(|cell| matches!(cell, Cell::Number(_))) {
        return false;
    }
    (0..cells.len()).filter(|&column| cells[column] == Cell::Text).any(|column| {
        let below = reader.ahead().skip(1).filter(|row| row.len() == reader.width());
        let below: Vec<&str> = below.map(|row| row.cell(column)).collect();
        // `$5` is no text above `$6`, but `10%` may name a column of 0.5 and 0.7.
        let is_formatted = |text: &str| {
            !number_format::is_formatted(first.cell(column)) && number_format::is_formatted(text)
        };
        let is_text = |text: &&&str| reader.parse(text) == Cell::Text && !is_formatted(text);
        let missing = below.iter().filter(|text| Cell::parse(text) == Cell::Missing).count();
        let texts = below.iter().filter(is_text).count();
        mostly_numbers((below.len() - missing - texts) as u64, texts as u64)
    })
}

/// Refuses a title in a row of its own, which would be taken for the header or the first row.
pub(super) fn refuse_title(reader: &CsvReader) -> Result<(), DataError> {
    let mut rows = reader.ahead();
    let filled = |row: &Row| row.cells().filter(|cell| !cell.is_empty()).count();
    let (Some(first), Some(second)) = (rows.next(), rows.next()) else { return Ok(()) };
    let title = first.cell(0);
    if first.len() < 3
        || filled(first) > 1
        || reader.parse(title) != Cell::Text
        || filled(second) < 2
    {
        return Ok(());
    }
    let path = reader.path().to_owned();
    Err(CsvError::Title { path, text: cell::quoted(title) }.into())
}

/// Refuses a first row of one cell above longer ones, as a title or a comment is. Where both are as many
/// words, or the other has a row's name too, blanks divide the cells of either, and the commas are decimal
/// ones.
pub(super) fn refuse_line_above(reader: &CsvReader, first_row: &[String]) -> Result<(), CsvError> {
    let [title] = first_row else { return Ok(()) };
    let words = |text: &str| text.split_whitespace().count();
    let is_divided = |text: &str| text.contains([';', '\t', '|']);
    if !is_divided(title) && reader.ahead().any(|row| row.cells().any(is_divided)) {
        let path = reader.path().to_owned();
        return Err(CsvError::Title { path, text: cell::quoted(title) });
    }
    let is_below_title = |row: &&Row| {
        let joined = row.cells().collect::<Vec<_>>().join(",");
        let alike = [words(title), words(title) + 1].contains(&words(&joined));
        row.len() > 1 && (words(title) == 1 || !alike)
    };
    match reader.ahead().find(is_below_title) {
        Some(row) => Err(reader.ragged(row)),
        None => Ok(()),
    }
}

/// As [`names_of_any`], of a file that must have rows.
pub(super) fn names(reader: &mut CsvReader, header: bool) -> Result<Vec<String>, DataError> {
    let names = names_of_any(reader, header)?;
    match reader.is_at_end() {
        true => Err(CsvError::HeaderOnly { path: reader.path().to_owned() }.into()),
        false => Ok(names),
    }
}

/// The names of the columns. `header` says whether the first row is a header, which is then taken.
///
/// A column without a name is named after its index.
fn names_of_any(reader: &mut CsvReader, header: bool) -> Result<Vec<String>, DataError> {
    if !header {
        return Ok((0..reader.width()).map(unnamed).collect());
    }
    let path = reader.path().to_owned();
    let first = reader.next_row()?.ok_or(CsvError::Empty { path })?;
    reader.take_blank_rows(); // what stands above a header is no sample
    reader.forget_used_marks(); // nor is a header
    Ok(names_in(&first))
}

/// The names of the columns in a header.
fn names_in(header: &Row) -> Vec<String> {
    let named = |index: usize| match header.written(index) {
        "" => unnamed(index),
        name => name.to_owned(),
    };
    (0..header.len()).map(named).collect()
}

pub(super) fn unnamed(index: usize) -> String {
    format!("column_{index}")
}

/// Refuses two columns with the same name.
pub(super) fn check_unique(reader: &CsvReader, names: &[String]) -> Result<(), DataError> {
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(CsvError::DuplicateColumn {
            path: reader.path().to_owned(),
            line: reader.first_line(),
            column: name.clone(),
        }
        .into()),
        None => Ok(()),
    }
}

/// Where the columns that a preprocessing knows stand in another file.
#[derive(Debug)]
pub(super) struct Layout {
    /// The place of each feature column; a dropped one may be absent.
    pub(super) columns: Vec<Option<usize>>,
    /// The place of the target, if the file has it.
    pub(super) target: Option<usize>,
    /// Whether the columns are taken in the training file's order, whatever they are called.
    pub(super) by_position: bool,
    /// What the user should know about the first row, if anything.
    pub(super) note: Option<String>,
    /// The names of all columns of the file.
    pub(super) names: Vec<String>,
}

/// A column of a file that a preprocessing knows.
pub(super) struct KnownColumn {
    pub(super) place: usize,
    /// Whether its numbers are taken as numbers, not as the names of categories or classes.
    pub(super) are_numbers: bool,
    pub(super) format: Option<NumberFormat>,
}

impl KnownColumn {
    /// What stands before its fractions, where the training file's columns differ.
    pub(super) fn point(&self) -> Option<char> {
        self.format?.point
    }
}

impl Layout {
    /// Finds the columns, by name where both files have a header, else by position, and takes the
    /// header, below which there may be no rows.
    pub(super) fn find(
        reader: &mut CsvReader,
        known: &TablePreprocessing,
        header: Option<bool>,
    ) -> Result<Self, DataError> {
        // Nothing would tell a header that is not the training file's from a row of texts.
        let must_be = known.header && !known.texts().is_empty();
        let found = || must_be || names_known(reader, known) || text_above_numbers(reader);
        let (is_given, header) = (header.is_some(), header.unwrap_or_else(found));
        let note = note(reader, known, header).filter(|_| !is_given);
        let names = names_of_any(reader, header)?;
        let layout = if header && known.header {
            check_unique(reader, &names)?;
            Self::by_name(reader, known, &names)?
        } else {
            Self::by_position(reader, known)?
        };
        Ok(Self { note, names, ..layout })
    }

    fn by_name(
        reader: &CsvReader,
        known: &TablePreprocessing,
        names: &[String],
    ) -> Result<Self, DataError> {
        let places: HashMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
        let place = |name: &str| places.get(name).copied();
        let mut columns = Vec::with_capacity(known.columns.len());
        for column in &known.columns {
            let found = place(&column.name);
            if found.is_none() && !matches!(column.kind, ColumnKind::Dropped { .. }) {
                let is_known =
                    |name: &&String| known.columns.iter().any(|column| column.name == **name);
                return Err(CsvError::LacksColumn {
                    path: reader.path().to_owned(),
                    column: column.name.clone(),
                    others: names.iter().filter(|name| !is_known(name)).cloned().collect(),
                }
                .into());
            }
            columns.push(found);
        }
        let target = place(&known.target.name);
        Ok(Self { columns, target, by_position: false, note: None, names: Vec::new() })
    }

    /// The columns that are there and may have numbers, the target among them.
    pub(super) fn known(&self, known: &TablePreprocessing) -> Vec<KnownColumn> {
        let column = |(column, &place): (&Column, &Option<usize>)| {
            let are_numbers = matches!(column.kind, ColumnKind::Numeric { .. });
            let may_be = !matches!(column.kind, ColumnKind::Text { .. });
            let place = place.filter(|_| may_be)?;
            Some(KnownColumn { place, are_numbers, format: column.format })
        };
        let columns = known.columns.iter().zip(&self.columns).filter_map(column);
        let target = self.target.map(|place| KnownColumn {
            place,
            are_numbers: known.task() == Task::Regression,
            format: known.target.format,
        });
        columns.chain(target).collect()
    }

    fn by_position(reader: &CsvReader, known: &TablePreprocessing) -> Result<Self, DataError> {
        let features = known.columns.len();
        let (target, without) = (known.target.index, reader.width() == features);
        if !without && reader.width() != features + 1 {
            return Err(CsvError::ColumnCount {
                path: reader.path().to_owned(),
                columns: reader.width(),
                expected: features + 1,
            }
            .into());
        }
        let place = |column| if without || column < target { column } else { column + 1 };
        let columns = (0..features).map(|column| Some(place(column))).collect();
        let target = (!without).then_some(target);
        Ok(Self { columns, target, by_position: true, note: None, names: Vec::new() })
    }
}

/// A note on a first row that may have been misread: where only one of this file and the training
/// file has a header, and where the header is numbers.
fn note(reader: &CsvReader, known: &TablePreprocessing, header: bool) -> Option<String> {
    let first = reader.ahead().next()?;
    let cells = reader.shown()?;
    let name = reader.path().display();
    match header {
        true if known.header && has_text(reader, first) => None,
        true => Some(format!("`{name}`: the first line, `{cells}`, is taken for the header")),
        false if !known.header => None,
        false => Some(format!(
            "`{name}`: there is no header: the first line, `{cells}`, is a row, and the columns are \
             taken in the order of the training file"
        )),
    }
}

fn has_text(reader: &CsvReader, row: &Row) -> bool {
    row.cells().any(|cell| reader.parse(cell) == Cell::Text)
}

/// Whether the first row has a name that a preprocessing knows and that is not a value of a column,
/// or most of the names of the columns that it uses. One name is enough, so that a slip in the
/// others is found; case does not matter. A row without text could be a row of values, so it must
/// have nothing but names, in the training file's order.
fn names_known(reader: &CsvReader, known: &TablePreprocessing) -> bool {
    let Some(first) = reader.ahead().next().filter(|_| known.header) else { return false };
    if !has_text(reader, first) && !names_in_order(first, known) {
        return false;
    }
    let lowercase = |text: &String| text.to_lowercase();
    let cells: HashSet<String> = first.cells().map(str::to_lowercase).collect();
    let mut values: HashSet<String> = known.target.classes().iter().map(lowercase).collect();
    let (mut used, mut found) = (0, 0);
    for column in &known.columns {
        if let ColumnKind::Categorical { categories, .. } = &column.kind {
            values.extend(categories.iter().map(lowercase));
        }
        if !matches!(column.kind, ColumnKind::Dropped { .. }) {
            used += 1;
            found += usize::from(cells.contains(&lowercase(&column.name)));
        }
    }
    let names = known.columns.iter().map(|column| &column.name).chain([&known.target.name]);
    let mut texts = names.filter(|name| Cell::parse(name) == Cell::Text).map(lowercase);
    texts.any(|name| cells.contains(&name) && !values.contains(&name)) || 2 * found > used
}

/// Whether a row has only names of the training file, in its order.
fn names_in_order(row: &Row, known: &TablePreprocessing) -> bool {
    let mut all: Vec<&str> = known.columns.iter().map(|column| &*column.name).collect();
    all.insert(known.target.index.min(all.len()), &known.target.name);
    let mut all = all.into_iter();
    names_in(row).iter().all(|name| all.any(|known| known == name))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{CategoryEncoding, Column, Target, TargetKind};

    fn reader(text: &str) -> CsvReader<'_> {
        CsvReader::new(text.as_bytes(), Path::new("a.csv"), &[]).unwrap()
    }

    #[test]
    fn a_header_is_text_above_numbers() {
        let check =
            |text, expected| assert_eq!(text_above_numbers(&reader(text)), expected, "{text:?}");
        check("a,b\n1,x\n2,y", true);
        check("a,\n1,2", true);
        check(",b\n0,2", true);
        check("a,b\n?,x\nNA,y", false);
        check("a,b\nx,y", false);
        check("1,2\n3,4", false);
        check("x,2\n3,4", false); // a stray text, not a header
        check("a,b", false);
        check("a,b\nNaN,1", true);
        check("a,b\n$5,x\n€6,y", true);
        check("$4,b\n$5,x\n$6,y", false);
        check("10%,b\n0.5,x\n0.6,y", true);
    }

    #[test]
    fn names_are_the_header_s_or_indices() {
        assert_eq!(names(&mut reader("a, ,c\n1,2,3"), true).unwrap(), ["a", "column_1", "c"]);
        assert_eq!(names(&mut reader("1,2"), false).unwrap(), ["column_0", "column_1"]);
        let error = names(&mut reader("a,b\n\n"), true).unwrap_err();
        assert_eq!(error.to_string(), "`a.csv` has a header and no rows");
    }

    /// A table of texts; `id` is dropped.
    fn known_texts() -> TablePreprocessing {
        let text = |name: &str, categories: &[&str]| Column {
            name: name.into(),
            kind: ColumnKind::Categorical {
                categories: categories.iter().map(|&category| category.into()).collect(),
                fill: categories[0].into(),
                encoding: CategoryEncoding::OneHot,
            },
            format: None,
        };
        let mut known = known(true);
        known.columns.truncate(1);
        known.columns.extend([text("color", &["red", "size"]), text("size", &["s", "l"])]);
        known.target.index = 3;
        known
    }

    #[test]
    fn a_name_among_texts_makes_a_header() {
        let check = |text, columns: [Option<usize>; 3]| {
            let found = Layout::find(&mut reader(text), &known_texts(), None).unwrap();
            assert_eq!(found.columns, columns, "{text:?}");
        };
        check("color,size\nred,s", [None, Some(0), Some(1)]);
        check("size,color\ns,red", [None, Some(1), Some(0)]);
        check("7,size,s\n8,red,l", [Some(0), Some(1), Some(2)]); // a value of `color`
        let absent = |text, expected: &str| {
            let error = Layout::find(&mut reader(text), &known_texts(), None).unwrap_err();
            assert_eq!(error.to_string(), format!("`a.csv` has no column `{expected}`"));
        };
        absent("size,colour,id\ns,red,7", "color");
        absent("sizes,color\ns,red", "size");
        absent("Color,Size\nred,s", "color");
        absent("colour,sizes,y\nred,s,0", "color");
    }

    #[test]
    fn names_of_numbers_make_no_header_of_a_row_with_one() {
        let mut known = known(true);
        for (column, name) in known.columns.iter_mut().zip(["0", "1", "2"]) {
            column.name = name.into();
        }
        let check = |text, columns: [Option<usize>; 3], note: &str| {
            let found = Layout::find(&mut reader(text), &known, None).unwrap();
            assert_eq!(
                (found.columns, found.note),
                (columns.into(), Some(note.into())),
                "{text:?}"
            );
        };
        let row = |cells: &str| {
            format!(
                "`a.csv`: there is no header: the first line, `{cells}`, is a row, and the columns \
                 are taken in the order of the training file"
            )
        };
        let by_position = [Some(0), Some(1), Some(2)];
        check("2,7,9\n1,2,3", by_position, &row("2,7,9"));
        check("2,1,0\n7,8,9", by_position, &row("2,1,0"));
        let header = "`a.csv`: the first line, `1,2`, is taken for the header";
        check("1,2\n7,9", [None, Some(0), Some(1)], header);
        let error = Layout::find(&mut reader("2,1\n7,9"), &known, None).unwrap_err();
        assert_eq!(error.to_string(), "`a.csv` has 2 columns, the training file has 4");
    }

    fn known(header: bool) -> TablePreprocessing {
        let numeric = |name: &str| Column {
            name: name.into(),
            kind: ColumnKind::Numeric { mean: 0.0, deviation: 1.0 },
            format: None,
        };
        let dropped =
            Column { kind: ColumnKind::Dropped { reason: "unique".into() }, ..numeric("id") };
        TablePreprocessing {
            header,
            decimal_comma: false,
            missing: Vec::new(),
            rows_are_files: false,
            columns: vec![dropped, numeric("a"), numeric("b")],
            target: Target {
                name: "y".into(),
                index: 1,
                kind: TargetKind::Binary { classes: ["0".into(), "1".into()] },
                format: None,
            },
        }
    }

    #[test]
    fn columns_are_found_by_name_or_position() {
        let check = |text, header, columns: [Option<usize>; 3], target, told| {
            let found = Layout::find(&mut reader(text), &known(header), None).unwrap();
            let is_told = found.note.is_some();
            assert_eq!((&found.columns[..], found.target), (&columns[..], target), "{text:?}");
            assert_eq!(is_told, told, "{text:?}");
        };
        check("b,y,a\n1,2,3", true, [None, Some(2), Some(0)], Some(1), false);
        check("b,z,a\n7,8,9", true, [None, Some(2), Some(0)], None, false);
        check("9,1,5,6", true, [Some(0), Some(2), Some(3)], Some(1), true);
        check("9,5,6", true, [Some(0), Some(1), Some(2)], None, true);
        check("9,5,6", false, [Some(0), Some(1), Some(2)], None, false);
        check("k,l,m\n9,5,6", false, [Some(0), Some(1), Some(2)], None, true);
        let given = Layout::find(&mut reader("9,5,6"), &known(true), Some(false)).unwrap();
        assert_eq!(given.note, None);
    }

    #[test]
    fn absent_columns_are_named() {
        let check = |text, expected: &str| {
            let error = Layout::find(&mut reader(text), &known(true), None).unwrap_err();
            assert_eq!(error.to_string(), expected);
        };
        check("id,a,c\n1,2,3", "`a.csv` has no column `b`");
        check("1,2", "`a.csv` has 2 columns, the training file has 4");
        check("a,b,a\n1,2,3", "a.csv:1: two columns are called `a`");
        check("\n\na,b,a\n1,2,3", "a.csv:3: two columns are called `a`");
    }
}
