//! Quotes of a CSV file, followed byte by byte, to find one that was left open.

use memchr::{memchr, memchr_iter};

/// Follows the quotes of a CSV file as the parser does.
///
/// A cell whose closing quote is missing takes in the rows below it, up to the quote that should open
/// the next quoted cell. Behind that quote is text; behind the closing quote of a cell that has line
/// breaks of its own is a delimiter or the end of a line.
#[derive(Debug)]
pub(super) struct Quotes {
    delimiter: u8,
    state: State,
    line: u64,
    /// The line that the last quoted cell begins in.
    opened: u64,
    left_open: Option<LeftOpen>,
}

/// Where a byte stands.
#[derive(Debug, Clone, Copy)]
enum State {
    /// At the beginning of a cell.
    Start,
    /// In a cell without quotes.
    Bare,
    Quoted,
    /// After a quote that closes the cell, unless another quote follows.
    Closed,
    /// After blanks behind a closing quote.
    Behind,
}

/// A quoted cell that goes on for lines and has text behind the quote that closes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeftOpen {
    /// The line that it begins in.
    pub(super) line: u64,
    /// The line of the quote that closes it.
    pub(super) end: u64,
}

impl Quotes {
    pub(super) fn new(delimiter: u8) -> Self {
        Self { delimiter, state: State::Start, line: 1, opened: 1, left_open: None }
    }

    /// The first cell that was left open, if one was.
    pub(super) fn left_open(&self) -> Option<LeftOpen> {
        self.left_open
    }

    /// Takes the next bytes of the file.
    pub(super) fn follow(&mut self, mut bytes: &[u8]) {
        while let Some(&byte) = bytes.first() {
            // Up to the next quote the last byte alone tells the state, unless a quote was just closed.
            let before_quote = match self.state {
                State::Start | State::Bare | State::Quoted => {
                    memchr(b'"', bytes).unwrap_or(bytes.len())
                }
                State::Closed | State::Behind => 0,
            };
            let (taken, rest) = bytes.split_at(before_quote.max(1));
            self.state = self.next(taken.last().copied().unwrap_or(byte));
            self.line += memchr_iter(b'\n', taken).count() as u64;
            bytes = rest;
        }
    }

    fn next(&mut self, byte: u8) -> State {
        match (self.state, byte) {
            (State::Quoted, b'"') => State::Closed,
            (State::Quoted, _) | (State::Closed, b'"') => State::Quoted,
            (State::Start, b'"') => {
                self.opened = self.line;
                State::Quoted
            }
            (_, b'\n') => State::Start,
            (_, byte) if byte == self.delimiter => State::Start,
            (State::Closed | State::Behind, byte) if byte.is_ascii_whitespace() => State::Behind,
            (State::Closed | State::Behind, _) => {
                if self.opened < self.line {
                    let left_open = LeftOpen { line: self.opened, end: self.line };
                    self.left_open.get_or_insert(left_open);
                }
                State::Bare
            }
            (State::Start | State::Bare, _) => State::Bare,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_behind_a_cell_of_several_lines_is_a_quote_left_open() {
        let check = |text: &str, expected: Option<(u64, u64)>| {
            for length in [1, 2, text.len()] {
                let mut quotes = Quotes::new(b',');
                text.as_bytes().chunks(length).for_each(|bytes| quotes.follow(bytes));
                let found = quotes.left_open().map(|LeftOpen { line, end }| (line, end));
                assert_eq!(found, expected, "{text:?}");
            }
        };
        check("a,b\n1,\"x\n2,y\n3,\"z\"\n", Some((2, 4)));
        check("a,b\n\"x,1\n\"\",2\n\"z\",3\n\"p\n\"q\n", Some((2, 4)));
        check("a,b\n1,\"x\n2,y\n3,\" z\"\n", Some((2, 4)));

        check("a,b\n1,\"x\ny\"\n2,\"z\"\n", None);
        check("a,b\n1,\"x\r\n\"\"y\"\"\r\n\"\r\n2,\"\nz\" ,\n", None);
        check("\"5\" wide,b\n\"a\"b\n", None); // wrong, but in a single line
        check("5\" wide,b\n1,2\n6\" wide,c\n", None);
        check("\n\n\"x\",\"\"\n", None);
    }
}
