//! A row of a CSV file, and what becomes of its cells before they are read.

use csv::StringRecord;

use super::decimal_comma::{dressed_with_point, with_point};

/// A row and the line of the file that it begins in.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) line: u64,
    pub(super) cells: StringRecord,
    /// As they were before some were emptied, or numbers were given a point.
    pub(super) written: Option<StringRecord>,
    /// Lines of the blank rows between the row above and this one.
    pub(super) blank_above: Vec<u64>,
}

impl Row {
    /// The cells without the blanks around them.
    pub(super) fn cells(&self) -> impl Iterator<Item = &str> {
        self.cells.iter().map(str::trim)
    }

    /// The cell at `index`, which is below the reader's width.
    pub(super) fn cell(&self, index: usize) -> &str {
        self.cells[index].trim()
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
        if self.cells().any(|cell| cell.contains(char::is_control)) {
            let joined = |cell: &str| {
                let lines = cell.split(char::is_control).map(str::trim);
                lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
            };
            self.cells = self.cells.iter().map(joined).collect();
        }
    }

    /// Empties the cells that hold one of these texts.
    pub(super) fn clear(&mut self, texts: &[String]) {
        let is_one = |cell: &str| texts.iter().any(|text| text == cell);
        if self.cells().any(is_one) {
            let cleared = self.cells.iter().map(|cell| if is_one(cell.trim()) { "" } else { cell });
            let cleared = cleared.collect();
            self.written = Some(std::mem::replace(&mut self.cells, cleared));
        }
    }

    /// Gives numbers a point that have a decimal comma.
    ///
    /// - `commas`: whether those of each column have one
    /// - `with_dress`: whether those in dress are given one too
    pub(super) fn commas_to_points(&mut self, commas: &[bool], with_dress: &[bool]) {
        let is = |columns: &[bool], column| columns.get(column) == Some(&true);
        let changed = |(column, cell): (usize, &str)| match is(commas, column) {
            true => with_point(cell.trim())
                .or_else(|| dressed_with_point(cell.trim()).filter(|_| is(with_dress, column)))
                .unwrap_or_else(|| cell.to_owned()),
            false => cell.to_owned(),
        };
        let changed = self.cells.iter().enumerate().map(changed).collect();
        let before = std::mem::replace(&mut self.cells, changed);
        self.written.get_or_insert(before);
    }
}
