//! A row of a CSV file, and what becomes of its cells before they are read.

use csv::StringRecord;
use preprocess::cell::{self, Mark};

use super::decimal_comma::{formatted_with_point, with_point};

/// A row and the line of the file that it begins in.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) line: u64,
    pub(super) cells: StringRecord,
    /// As they were before some were emptied, or numbers were given a point.
    pub(super) written: Option<StringRecord>,
}

/// A mark in a file.
#[derive(Debug, Clone)]
pub(super) struct MarkInUse {
    pub(super) mark: Mark,
    /// As it is read where numbers have a decimal comma.
    with_comma: Mark,
    /// Whether a cell held it.
    pub(super) is_used: bool,
}

impl MarkInUse {
    pub(super) fn new(text: &str) -> Self {
        let with_comma = Mark::new(with_point(text).as_deref().unwrap_or(text));
        Self { mark: Mark::new(text), with_comma, is_used: false }
    }

    /// - `read`: what the cell is read as, where numbers have a decimal comma
    fn is_in(&mut self, cell: &str, read: Option<&str>) -> bool {
        let is_in = match read {
            Some(read) => cell == self.mark.text || self.with_comma.is_in(read),
            None => self.mark.is_in(cell),
        };
        self.is_used |= is_in;
        is_in
    }
}

/// Whether a column is one of those that are marked, of which there may be none.
fn is(columns: &[bool], column: usize) -> bool {
    columns.get(column) == Some(&true)
}

impl Row {
    /// The cells without the blanks around them.
    pub(super) fn cells(&self) -> impl Iterator<Item = &str> {
        self.cells.iter().map(cell::trimmed)
    }

    /// The cell at `index`, which is below the reader's width.
    pub(super) fn cell(&self, index: usize) -> &str {
        cell::trimmed(&self.cells[index])
    }

    /// As [`cell`](Self::cell), as it is written in the file.
    pub(super) fn written(&self, index: usize) -> &str {
        self.written.as_ref().unwrap_or(&self.cells)[index].trim()
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Puts cells of several lines, as spreadsheets have them in headers, into one: names and
    /// classes are shown in a line, and given in one.
    pub(super) fn join_lines(&mut self) {
        if self.may_have_controls() && self.cells().any(|cell| cell.contains(char::is_control)) {
            let joined = |cell: &str| {
                let lines = cell.split(char::is_control).map(str::trim);
                lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
            };
            self.cells = self.cells.iter().map(joined).collect();
        }
    }

    /// Whether there is more than printable ASCII characters. It is quickly seen, and most rows have none.
    fn may_have_controls(&self) -> bool {
        let bytes = self.cells.as_byte_record().as_slice();
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes); // of the line's end
        // Without a way out of the loop many bytes are looked at at once.
        bytes.iter().fold(false, |any, byte| any | !(b' '..=b'~').contains(byte))
    }

    /// Empties the cells that hold one of these marks.
    ///
    /// - `commas`: whether the numbers of each column have a decimal comma
    pub(super) fn clear(&mut self, marks: &mut [MarkInUse], commas: &[bool]) {
        let is_marked = |(column, cell): (usize, &str)| {
            let cell = cell.trim();
            let read = || with_point(cell).unwrap_or_else(|| cell.to_owned());
            let read = is(commas, column).then(read);
            marks.iter_mut().any(|mark| mark.is_in(cell, read.as_deref()))
        };
        let marked: Vec<bool> = self.cells.iter().enumerate().map(is_marked).collect();
        if marked.contains(&true) {
            let cells = self.cells.iter().zip(marked);
            let cleared =
                cells.map(|(cell, is_marked)| if is_marked { "" } else { cell }).collect();
            self.written = Some(std::mem::replace(&mut self.cells, cleared));
        }
    }

    /// Gives numbers a point that have a decimal comma.
    ///
    /// - `commas`: whether those of each column have one
    /// - `formatted`: whether formatted ones are given one too
    pub(super) fn commas_to_points(&mut self, commas: &[bool], formatted: &[bool]) {
        let changed = |(column, cell): (usize, &str)| match is(commas, column) {
            true => with_point(cell.trim())
                .or_else(|| formatted_with_point(cell.trim()).filter(|_| is(formatted, column)))
                .unwrap_or_else(|| cell.to_owned()),
            false => cell.to_owned(),
        };
        let changed = self.cells.iter().enumerate().map(changed).collect();
        let before = std::mem::replace(&mut self.cells, changed);
        self.written.get_or_insert(before);
    }
}
