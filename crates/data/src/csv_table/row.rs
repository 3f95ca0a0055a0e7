//! A row of a CSV file, and what becomes of its cells before they are read.

use csv::StringRecord;

use super::decimal_comma;

/// A row and the line of the file that it begins in.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) line: u64,
    pub(super) cells: StringRecord,
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

    /// Gives numbers with a decimal comma a point.
    pub(super) fn commas_to_points(&mut self) {
        self.change(|_, cell| decimal_comma::with_point(cell));
    }

    /// As [`commas_to_points`](Self::commas_to_points), those in dress too, in these columns.
    pub(super) fn dressed_commas_to_points(&mut self, columns: &[usize]) {
        self.change(|column, cell| {
            columns.contains(&column).then(|| decimal_comma::dressed_with_point(cell)).flatten()
        });
    }

    /// Replaces the cells for which there is another text.
    fn change(&mut self, other: impl Fn(usize, &str) -> Option<String>) {
        let changed = |(column, cell): (usize, &str)| {
            other(column, cell.trim()).unwrap_or_else(|| cell.to_owned())
        };
        self.cells = self.cells.iter().enumerate().map(changed).collect();
    }
}
