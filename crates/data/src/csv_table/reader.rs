//! Rows of a CSV file, one at a time, checked for form and counted by line.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use csv::{ByteRecord, StringRecord, Terminator};
use preprocess::cell::{self, Cell};

use super::{
    CsvError, decimal_comma,
    input::Input,
    notation::Notation,
    options::OnMissingTarget,
    quotes::LeftOpen,
    row::{MarkInUse, Row},
};
use crate::{DataError, count::grouped};

/// Rows read ahead, to decide whether the first is a header.
const AHEAD: usize = 100;
/// The most cells for which a row has room before it is read; wider rows make more.
const MOST_RESERVED: usize = 1024;

/// The rows of a CSV file, each as long as the first.
///
/// The delimiter is a comma; if the first row has none but in numbers or names, a semicolon or a tab,
/// else `|`. A first line `sep=;`, as Excel reads it, names another. It, a byte order mark and rows without any
/// text are skipped. Where the delimiter is no comma, numbers may have a decimal one, and are given with
/// a point once it is known [in which columns](Self::read_numbers). Cells of several lines are given in
/// one.
pub(super) struct CsvReader<'a> {
    path: PathBuf,
    csv: csv::Reader<Input<'a>>,
    ahead: VecDeque<Next>,
    delimiter: u8,
    width: usize,
    /// Whether the rows ahead have one cell more than the first.
    lacks_a_name: bool,
    first_line: u64,
    /// Whether the numbers of each column have a decimal comma, if any do.
    decimal_commas: Vec<bool>,
    /// Whether they may be formatted too.
    formatted: Vec<bool>,
    /// Lines of the blank rows among those taken.
    blank_rows: Vec<u64>,
    /// What marks a missing value besides what always does.
    marks: Vec<MarkInUse>,
    /// The column without whose value a row is passed over.
    required: Option<usize>,
    /// Lines of the rows passed over.
    incomplete_rows: Vec<u64>,
}

/// A row of the file, or that it is not UTF-8, and the lines of the blank rows between the row above and it.
struct Next {
    row: Result<Row, DataError>,
    blank_above: Vec<u64>,
}

/// What the user should know of rows that are left out, by their lines, if there are any.
///
/// - `lacking`: such as `no values`
pub(super) fn left_out_note(lines: &[u64], lacking: &str) -> Option<String> {
    let first = lines.first()?;
    Some(match lines.len() {
        1 => format!("the row in line {first} has {lacking} and is left out"),
        count => format!(
            "{} rows have {lacking} and are left out, the first in line {first}",
            grouped(count)
        ),
    })
}

/// Refuses what cannot be read again, such as a pipe.
pub(super) fn refuse_stream(path: &Path) -> Result<(), DataError> {
    let metadata = fs::metadata(path).map_err(|reason| DataError::io(path, reason))?;
    if metadata.is_file() || metadata.is_dir() {
        return Ok(());
    }
    Err(DataError::Stream { path: path.to_owned() })
}

impl CsvReader<'static> {
    /// Also takes cells that hold one of the texts `missing` for missing.
    pub(super) fn open(path: &Path, missing: &[String]) -> Result<Self, DataError> {
        let error = |reason| DataError::io(path, reason);
        // Opening a directory succeeds on some systems, and then reading fails with less to say.
        if fs::metadata(path).map_err(error)?.is_dir() {
            return Err(DataError::Directory { path: path.to_owned() });
        }
        Self::new(File::open(path).map_err(error)?, path, missing)
    }
}

impl<'a> CsvReader<'a> {
    /// As [`open`](Self::open); `path` names the input in errors.
    pub(super) fn new(
        input: impl Read + 'a,
        path: &Path,
        missing: &[String],
    ) -> Result<Self, DataError> {
        let (input, delimiter) = Input::new(input, path)?;
        let csv = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            // With `\r\n` as one terminator the reader would stop between the two and count the
            // line late. So `\r` ends up in the last cell, and is trimmed.
            .terminator(Terminator::Any(b'\n'))
            .from_reader(input);
        let mut reader = Self {
            path: path.to_owned(),
            csv,
            ahead: VecDeque::new(),
            delimiter,
            width: 0,
            lacks_a_name: false,
            first_line: 1,
            decimal_commas: Vec::new(),
            formatted: Vec::new(),
            blank_rows: Vec::new(),
            marks: missing.iter().map(|text| MarkInUse::new(text)).collect(),
            required: None,
            incomplete_rows: Vec::new(),
        };

        let first = reader.read()?;
        let Next { row, blank_above } =
            first.ok_or_else(|| CsvError::Empty { path: reader.path.clone() })?;
        let row = row?;
        (reader.width, reader.first_line) = (row.len(), row.line);
        reader.ahead.push_back(Next { row: Ok(row), blank_above });
        while reader.ahead.len() <= AHEAD {
            match reader.read() {
                Ok(Some(next)) => reader.ahead.push_back(next),
                Ok(None) => break,
                Err(error) => {
                    // Told once the rows before were taken.
                    reader.ahead.push_back(Next { row: Err(error), blank_above: Vec::new() });
                    break;
                }
            }
        }
        let is_longer = |row: &Row| row.len() == reader.width + 1;
        reader.lacks_a_name = reader.width > 1 && reader.ahead().skip(1).all(is_longer);
        Ok(reader)
    }

    /// Whether numbers may have a decimal comma, or points between thousands.
    pub(super) fn may_have_decimal_commas(&self) -> bool {
        self.delimiter != b','
    }

    /// From here on gives numbers with a decimal comma a point.
    ///
    /// - `notations`: how the numbers of each column are written
    /// - `formatted`: columns in which numbers may be formatted; in others these may be names
    pub(super) fn read_numbers(&mut self, notations: &[Notation], formatted: &[usize]) {
        self.decimal_commas = Vec::new();
        if notations.contains(&Notation::Comma) {
            let commas = notations.iter().map(|&notation| notation == Notation::Comma);
            self.decimal_commas = commas.collect();
        }
        self.formatted = vec![false; notations.len()];
        formatted.iter().for_each(|&column| self.formatted[column] = true);
    }

    /// What a cell of the rows [ahead](Self::ahead) holds, which may be a number in either notation.
    pub(super) fn parse(&self, cell: &str) -> Cell {
        match Cell::parse(cell) {
            Cell::Text if self.may_have_decimal_commas() => {
                decimal_comma::with_point(cell).map_or(Cell::Text, |plain| Cell::parse(&plain))
            }
            cell => cell,
        }
    }

    /// The name of the input in errors.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Cells of each row.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The next row in a line of a note, shortened, with the delimiter of the file.
    pub(super) fn shown(&self) -> Option<String> {
        let cells: Vec<&str> = self.ahead().next()?.cells().collect();
        let delimiter = char::from(self.delimiter).escape_default().to_string();
        Some(cell::quoted(&cells.join(&delimiter)))
    }

    /// The line that the first row begins in.
    pub(super) fn first_line(&self) -> u64 {
        self.first_line
    }

    /// The next rows, as many as are read ahead, of any length, as they are written, without taking
    /// them. Before the first call of [`next_row`](Self::next_row) there is at least one.
    pub(super) fn ahead(&self) -> impl Iterator<Item = &Row> {
        self.ahead.iter().filter_map(|next| next.row.as_ref().ok())
    }

    /// Whether there is no further row.
    pub(super) fn is_at_end(&self) -> bool {
        self.ahead.is_empty()
    }

    /// Lines of the blank rows above the rows taken since the last call: rows of delimiters, and in
    /// a file of one column blank lines below the first row. Those at the end of the file, as
    /// spreadsheets write them, stand above no row.
    pub(super) fn take_blank_rows(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.blank_rows)
    }

    /// The texts that mark a missing value and that no cell so far has held.
    pub(super) fn unused_marks(&self) -> Vec<String> {
        let unused = self.marks.iter().filter(|mark| !mark.is_used);
        unused.map(|mark| mark.mark.text.clone()).collect()
    }

    /// Forgets which marks were in a cell so far.
    pub(super) fn forget_used_marks(&mut self) {
        self.marks.iter_mut().for_each(|mark| mark.is_used = false);
    }

    /// From here on passes over rows without a target, if these are to be skipped.
    ///
    /// - `column`: that of the target
    pub(super) fn on_missing_target(&mut self, column: usize, act: OnMissingTarget) {
        self.required = (act == OnMissingTarget::Skip).then_some(column);
    }

    /// Lines of the rows passed over since the last call, for [want of a target](Self::on_missing_target).
    pub(super) fn take_incomplete_rows(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.incomplete_rows)
    }

    /// The next row. After [`CsvError::Ragged`] or [`DataError::NotUtf8`] the rows below can still be read.
    pub(super) fn next_row(&mut self) -> Result<Option<Row>, DataError> {
        while let Some(mut row) = self.next_of_any_length()? {
            if row.len() != self.width {
                return Err(self.ragged(&row).into());
            }
            if !self.marks.is_empty() {
                row.clear(&mut self.marks, &self.decimal_commas);
            }
            if self.required.is_some_and(|column| Cell::parse(row.cell(column)) == Cell::Missing) {
                self.incomplete_rows.push(row.line);
                continue;
            }
            if !self.decimal_commas.is_empty() {
                row.commas_to_points(&self.decimal_commas, &self.formatted);
            }
            return Ok(Some(row));
        }
        Ok(None)
    }

    fn next_of_any_length(&mut self) -> Result<Option<Row>, DataError> {
        let ahead = self.ahead.pop_front();
        let next = if ahead.is_some() { ahead } else { self.read()? };
        let Some(next) = next else { return Ok(None) };
        self.blank_rows.extend(next.blank_above);
        next.row.map(Some)
    }

    /// The error of a row of another length than the first.
    pub(super) fn ragged(&self, row: &Row) -> CsvError {
        CsvError::Ragged {
            path: self.path.clone(),
            line: row.line,
            cells: row.len(),
            expected: self.width,
            delimiter: char::from(self.delimiter),
            lacks_a_name: self.lacks_a_name && row.len() == self.width + 1,
        }
    }

    fn read(&mut self) -> Result<Option<Next>, DataError> {
        let mut blank_above = Vec::new();
        loop {
            let next_line = self.csv.position().line();
            // Most rows are as wide as the first; a file of short ones below a wide one may not fill the memory.
            let cells = self.width.min(MOST_RESERVED);
            let mut record = ByteRecord::with_capacity(16 * cells, cells);
            let more = self.csv.read_byte_record(&mut record);
            if !more.map_err(|error| self.csv.get_ref().error(&self.path, error))? {
                return Ok(None);
            }
            let (line, path) = (self.line_of(&record)?, || self.path.clone());
            if record.as_slice().contains(&0) {
                return Err(CsvError::ZeroByte { path: path(), line }.into());
            }
            if self.width == 1 {
                blank_above.extend(next_line..line); // the parser passes over lines without a byte
            }
            let Ok(cells) = StringRecord::from_byte_record(record) else {
                let error = DataError::NotUtf8 { path: path(), line, utf16: false };
                return Ok(Some(Next { row: Err(error), blank_above }));
            };
            // Excel writes rows of delimiters for those that were cleared.
            if !cells.iter().all(|cell| cell.trim().is_empty()) {
                let mut row = Row { line, cells, written: None };
                row.join_lines();
                return Ok(Some(Next { row: Ok(row), blank_above }));
            }
            if self.width == 1 || cells.len() > 1 {
                blank_above.push(line);
            }
        }
    }

    /// The line that a record just read begins in: the reader's own position is before any blank
    /// lines above the record, so it is counted back from the end.
    fn line_of(&self, record: &ByteRecord) -> Result<u64, DataError> {
        let breaks = record.as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64;
        let last = self.csv.position().line();
        // The input is read ahead of the records, so the cell may stand in one of those below.
        if let Some(LeftOpen { line, end }) = self.csv.get_ref().quotes.left_open()
            && line < last
        {
            return Err(CsvError::LeftOpen { path: self.path.clone(), line, end }.into());
        }
        if self.csv.get_ref().ended {
            // The input's last byte ends a row, unless it stands in a quoted cell.
            let line = last.saturating_sub(breaks).max(1);
            return Err(CsvError::OpenQuote { path: self.path.clone(), line }.into());
        }
        Ok(last.saturating_sub(breaks + 1).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<Vec<(u64, Vec<String>)>, DataError> {
        let mut reader = CsvReader::new(text, Path::new("a.csv"), &[])?;
        let mut rows = Vec::new();
        while let Some(row) = reader.next_row()? {
            rows.push((row.line, row.cells().map(str::to_owned).collect()));
        }
        Ok(rows)
    }

    #[test]
    fn rows_know_their_lines() {
        let check = |text: &str, lines: &[u64]| {
            for text in [text.to_owned(), text.replace('\n', "\r\n")] {
                for end in ["", "\n", "\r\n\n"] {
                    let rows = read(format!("{text}{end}").as_bytes()).unwrap();
                    let found: Vec<u64> = rows.iter().map(|(line, _)| *line).collect();
                    assert_eq!(found, lines, "{text:?}");
                }
            }
        };
        check("a,b\n1,2\n3,4", &[1, 2, 3]);
        check("\n\na,b\n  \n1,2\n\n\n3,4", &[3, 5, 8]);
        check("sep=,\na,b\n,\n1,2", &[2, 4]);
        check("a,b\n\"x\ny\n\",2\n3,4", &[1, 2, 5]);
        check("a,b\n1,\"x\ny\n\"", &[1, 2]);
    }

    #[test]
    fn lines_are_right_wherever_a_buffer_ends() {
        for length in 8100..8300 {
            let text = format!("a,{}\n1,2\n3,\"4\n\"", "b".repeat(length));
            let lines: Vec<u64> = read(text.as_bytes()).unwrap().iter().map(|row| row.0).collect();
            assert_eq!(lines, [1, 2, 3], "{length}");
        }
    }

    #[test]
    fn cells_are_trimmed_and_unquoted() {
        let check = |text: &str, expected: [&str; 2]| {
            assert_eq!(read(text.as_bytes()).unwrap()[0].1, expected, "{text:?}");
        };
        check("\u{feff} a , b\t\r\n", ["a", "b"]);
        check("\u{feff}\"a\",\" \"\"b\"\" \"\r\n", ["a", "\"b\""]);
        check("\"a;b\";c", ["a;b", "c"]);
        check("a\tb;", ["a b", ""]);
        check("a b\tc", ["a b", "c"]);
        check("a,b;c", ["a", "b;c"]);
        check("\"x, y\";z", ["x, y", "z"]);
        check("\n\r\na;b\n1;2\n", ["a", "b"]);
        check("1,5;2,5\n", ["1,5", "2,5"]);
        check("sep=;\r\na,b;c\n", ["a,b", "c"]);
        check("PAR1,PAR2\n", ["PAR1", "PAR2"]);
        check(";\n ; \na;b\n", ["a", "b"]);
        check("\"a,\nb\";c\n1;2\n", ["a, b", "c"]);
        check("\"a \r\n\r\n b\",\"\x1b\nc\"\r\n", ["a b", "c"]);
    }

    #[test]
    fn decimal_commas_become_points_in_their_columns() {
        let text = "1,5;2,5;$3,5;$4,5\n".repeat(2);
        let mut reader = CsvReader::new(text.as_bytes(), Path::new("a.csv"), &[]).unwrap();
        let mut check = |notations: &[Notation], formatted: &[usize], expected: &[&str]| {
            reader.read_numbers(notations, formatted);
            let row = reader.next_row().unwrap().unwrap();
            assert_eq!(row.cells().collect::<Vec<_>>(), expected);
        };
        let [point, comma] = [Notation::Point, Notation::Comma];
        check(&[point; 4], &[2, 3], &["1,5", "2,5", "$3,5", "$4,5"]);
        check(&[comma, point, comma, comma], &[0, 1, 3], &["1.5", "2,5", "$3,5", "4.5$"]);
    }

    #[test]
    fn what_is_no_table_is_refused_with_its_line() {
        let check = |bytes: &[u8], expected: &str| {
            assert_eq!(read(bytes).unwrap_err().to_string(), expected);
        };
        check(b"PK\x03\x04", "`a.csv` is a zip archive, a CSV file is expected");
        check(b"", "`a.csv` is empty");
        check(b"\xef\xbb\xbf", "`a.csv` is empty");
        check(b"\n \r\n\t\n", "`a.csv` is empty");
        check(b"a,b\n1,2\n\n3\n", "a.csv:4: the row has 1 cell, the first has 2");
        check(b"a,b\n1,\xe9t\xe9\n", "a.csv:2: the text is not UTF-8");
        check(b"a\0,\0b\0\n\0", "a.csv:1: the text is not UTF-8");
        check(b"\n\"a\nb\",c\0\n", "a.csv:2: the text has a zero byte");
        check(b"a,b\n1,2\n\n3,c\0\n", "a.csv:4: the text has a zero byte");
        check(b"a,b\r1,2\r3,4\r", "a.csv:1: a line ends in a carriage return alone");
        check(b"a,b\n1,2\n3,\"4\n5,6\n", "a.csv:3: a quote that opens in this row is never closed");
        check(b"\"", "a.csv:1: a quote that opens in this row is never closed");
        check(
            b"a,b\n1,2\n3,\"4\n5,6\n7,\"8\"\n",
            "a.csv:3: the quote that opens a cell here is closed in line 5, in front of text",
        );
    }

    #[test]
    fn what_is_stored_otherwise_is_told_apart() {
        let check = |bytes: &[u8], expected: &str| {
            let help = read(bytes).unwrap_err().help().unwrap();
            assert!(help.contains(expected), "{help}");
        };
        let utf16 = |mark: &[u8], bytes: fn(u16) -> [u8; 2]| {
            [mark, &"a,b\n1,2\n".encode_utf16().flat_map(bytes).collect::<Vec<u8>>()].concat()
        };
        check(&utf16(b"\xff\xfe", u16::to_le_bytes), "iconv -f utf-16 ");
        check(&utf16(b"\xfe\xff", u16::to_be_bytes), "iconv -f utf-16 ");
        check(&utf16(b"", u16::to_le_bytes), "iconv -f utf-16 ");
        check(&utf16(b"", u16::to_be_bytes), "iconv -f utf-16 ");
        check(b"a,b\n1,\xe9t\xe9\n", "iconv -f windows-1252 ");
        check(b"\xff\xd8\xff\xe0\0\x10JFIF\0", "name a table in its place");
        check(b"a,b\r1,2\r", "tr '\\r' '\\n'");
        check("\u{e9},b\0\n1,2\n".as_bytes(), "tr -d '\\000'");

        let endless = CsvReader::new(std::io::repeat(0), Path::new("a.csv"), &[]).err().unwrap();
        assert_eq!(endless.to_string(), "a.csv:1: the text has a zero byte");
    }

    #[test]
    fn reading_ahead_takes_nothing() {
        let text: String = (0..300).map(|row| format!("{row},x\n")).collect();
        let reader = CsvReader::new(text.as_bytes(), Path::new("a.csv"), &[]).unwrap();
        assert_eq!(reader.ahead().count(), AHEAD + 1);
        let rows = read(text.as_bytes()).unwrap();
        assert!(rows.iter().enumerate().all(|(index, (line, cells))| {
            *line == index as u64 + 1 && cells[0] == index.to_string()
        }));
        assert_eq!(rows.len(), 300);
    }
}
