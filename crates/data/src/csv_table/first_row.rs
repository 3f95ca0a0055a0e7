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
            self.opens = delimiter.is_some();
            self.blank &= byte.is_ascii_whitespace();
        }
    }

    /// A comma; without one, a semicolon or a tab, else `|`.
    pub(super) fn delimiter(&self) -> u8 {
        match self.counts {
            [0, 0, 0, 0] => b',',
            [0, 0, 0, _] => b'|',
            [0, semicolons, tabs, _] if semicolons >= tabs => b';',
            [0, ..] => b'\t',
            _ => b',',
        }
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
        check("a", b',', 1);
        check("", b',', 1);
        check("\"a\n;", b',', 1);
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
