//! The first row of a CSV file, scanned byte by byte for the delimiter.

/// The possible delimiters; a row of one cell is taken to have the first.
const DELIMITERS: [u8; 4] = *b",;\t|";

/// What was seen of the first row that is not blank.
#[derive(Debug)]
pub(super) struct FirstRow {
    /// The line that it begins in.
    pub(super) line: u64,
    /// Whether its last byte was seen.
    pub(super) ended: bool,
    /// Whether it has a carriage return outside of line breaks and quoted cells.
    pub(super) has_bare_return: bool,
    /// The count of each of [`DELIMITERS`] outside of quoted cells.
    counts: [usize; DELIMITERS.len()],
    /// Those of the commas that stand between digits, as decimal commas do.
    decimal_commas: usize,
    /// Those behind a letter and in front of a blank, as in a name.
    commas_in_names: usize,
    /// The last two bytes.
    last: [u8; 2],
    blank: bool,
    quoted: bool,
    /// Whether a quote opens a cell here, or a second one follows the first.
    opens: bool,
    after_return: bool,
}

impl FirstRow {
    pub(super) fn new() -> Self {
        Self {
            line: 1,
            ended: false,
            has_bare_return: false,
            counts: [0; DELIMITERS.len()],
            decimal_commas: 0,
            commas_in_names: 0,
            last: [0; 2],
            blank: true,
            quoted: false,
            opens: true,
            after_return: false,
        }
    }

    /// Takes the next byte of the file.
    pub(super) fn push(&mut self, byte: u8) {
        if self.after_return && !matches!(byte, b'\r' | b'\n') {
            self.has_bare_return = true;
        }
        self.after_return = byte == b'\r' && !self.quoted && !self.blank;
        if byte == b'"' && (self.quoted || self.opens) {
            self.quoted = !self.quoted;
            self.opens = !self.quoted;
            self.blank = false;
        } else if byte == b'\n' && !self.quoted {
            match self.blank {
                true => *self = Self { line: self.line + 1, ..Self::new() },
                false => self.ended = true,
            }
        } else if !self.quoted {
            let delimiter = DELIMITERS.iter().position(|&delimiter| delimiter == byte);
            if let Some(delimiter) = delimiter {
                self.counts[delimiter] += 1;
            }
            if let [digit, b','] = self.last
                && digit.is_ascii_digit()
                && byte.is_ascii_digit()
            {
                self.decimal_commas += 1;
            }
            if let [before, b','] = self.last
                && !before.is_ascii_whitespace()
                && byte == b' '
            {
                self.commas_in_names += 1;
            }
            self.opens = delimiter.is_some();
            self.blank &= byte.is_ascii_whitespace();
        }
        self.last = [self.last[1], byte];
    }

    /// A comma; without one, a semicolon or a tab, else `|`.
    ///
    /// Commas do not count if all are in numbers, or in names such as `age, years`, and others divide
    /// these: a cell has one at most.
    pub(super) fn delimiter(&self) -> u8 {
        let [commas, semicolons, tabs, bars] = self.counts;
        let others = semicolons.max(tabs).max(bars);
        let are_in_cells = self.decimal_commas + self.commas_in_names == commas;
        // Of names the last, that of the target, hardly has one, and `a, b; c, d` may as well be three columns.
        let most = others + usize::from(self.decimal_commas > 0);
        if others == 0 || !are_in_cells || commas > most {
            return b',';
        }
        match (semicolons, tabs) {
            (0, 0) => b'|',
            _ if semicolons >= tabs => b';',
            _ => b'\t',
        }
    }
}

/// The delimiter that a first line like `sep=;` names, which Excel reads and writes.
pub(super) fn named_delimiter(line: &[u8]) -> Option<u8> {
    match line.trim_ascii_end() {
        [b's', b'e', b'p', b'=', delimiter] => DELIMITERS.contains(delimiter).then_some(*delimiter),
        b"sep=" if line.starts_with(b"sep=\t") => Some(b'\t'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> FirstRow {
        let mut row = FirstRow::new();
        text.bytes().for_each(|byte| {
            if !row.ended {
                row.push(byte);
            }
        });
        row
    }

    #[test]
    fn delimiters_are_those_of_the_first_row() {
        let check = |text, delimiter: u8, line| {
            let row = seen(text);
            assert_eq!((row.delimiter(), row.line), (delimiter, line), "{text:?}");
        };
        check("a;b\n1,2,3\n", b';', 1);
        check("\n \t\r\na;b\n", b';', 3);
        check("\"a,\nb\";c\n", b';', 1);
        check("\"a\"\";,\"\tb\n", b'\t', 1);
        check("5\" wide;b\n1,\"2\"\n", b';', 1);
        check("a|b", b'|', 1);
        check("a|b|c\td", b'\t', 1);
        check("5,1;3,5;setosa", b';', 1);
        check("5,1\t3,5", b'\t', 1);
        check("5,1;3,x", b',', 1);
        check("1,2,3,4,a; b", b',', 1);
        check("1,2,3,4;5", b',', 1);
        check("Temperatur, °C;Feuchte, %;Alarm", b';', 1);
        check("name, first\tage\ty", b'\t', 1);
        check("name, age, notes; y", b',', 1);
        check("Temperatur, °C;PM2,5;Alarm", b';', 1);
        check("12,7;Rot, hell;14,0;nein", b';', 1);
        check("a, b;1,2", b';', 1);
        check("a, b; c, d", b',', 1);
        check("Name\tPreis, EUR\tPM2,5", b'\t', 1);
        check("a", b',', 1);
        check("", b',', 1);
        check("\"a\n;", b',', 1);
    }

    #[test]
    fn a_line_for_excel_names_the_delimiter() {
        let check = |line: &str, delimiter: Option<u8>| {
            assert_eq!(named_delimiter(line.as_bytes()), delimiter, "{line:?}");
        };
        check("sep=;\r\n", Some(b';'));
        check("sep=,", Some(b','));
        check("sep=\t\n", Some(b'\t'));
        check("sep=x\n", None);
        check("sep=\n", None);
        check("sep=;;\n", None);
        check("sep;y\n", None);
    }

    #[test]
    fn a_row_ends_with_its_line_outside_of_quotes() {
        for (text, ended) in [("a,b\n", true), ("a,\"b\n", false), ("\n", false), ("a\r\n", true)] {
            assert_eq!(seen(text).ended, ended, "{text:?}");
        }
    }

    #[test]
    fn returns_are_bare_where_no_line_break_follows() {
        for text in ["a,b\r1,2\r", "a\r\"b\"", "\n\na\rb\n", "a\r\rb"] {
            assert!(seen(text).has_bare_return, "{text:?}");
        }
        for text in ["a,b\r\n1,2\r\n", "a,b\r\r\n", "a,\"b\rc\"\n", "\r\n\ra,b\n", "a,b\r"] {
            assert!(!seen(text).has_bare_return, "{text:?}");
        }
    }
}
