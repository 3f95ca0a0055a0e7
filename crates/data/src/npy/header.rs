//! The header of an NPY file: a Python dictionary of the type, the order and the shape.

use std::path::Path;

use preprocess::cell::quoted;

use super::error::NpyError;
use crate::{DataError, files::BinaryFile};

const MAGIC: [u8; 6] = *b"\x93NUMPY";

/// The contents of an NPY file.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<u64>,
    /// Whether the first index changes fastest, not the last.
    pub(super) fortran_order: bool,
}

/// The type of the values, little endian.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Dtype {
    U8,
    I32,
    I64,
    F32,
    F64,
}

impl Dtype {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            // Of a boolean the byte is 0 or 1.
            "|u1" | "<u1" | "|b1" => Self::U8,
            "<i4" => Self::I32,
            "<i8" => Self::I64,
            "<f4" => Self::F32,
            "<f8" => Self::F64,
            _ => return None,
        })
    }

    /// Bytes of a value.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }
}

/// Reads the header, after which the values follow.
pub(super) fn read(file: &mut BinaryFile, path: &Path) -> Result<Header, DataError> {
    let found = file.take_array()?;
    if found != MAGIC {
        return Err(NpyError::Magic { path: path.to_owned(), found }.into());
    }
    let [major, _minor] = file.take_array()?;
    let length = match major {
        1 => u64::from(u16::from_le_bytes(file.take_array()?)),
        2 | 3 => u64::from(u32::from_le_bytes(file.take_array()?)),
        _ => return Err(NpyError::Version { path: path.to_owned(), major }.into()),
    };
    let start = file.position();
    let text = file.take(length)?;
    Ok(parse(path, start, &text)?)
}

/// Parses `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, the keys in any order.
///
/// `start` is where the text stands in the file.
fn parse(path: &Path, start: u64, text: &[u8]) -> Result<Header, NpyError> {
    let end = start + text.len() as u64;
    // Version 1 is Latin-1, but none of the types that are read has a name beyond ASCII.
    let text = std::str::from_utf8(text).map_err(|error| NpyError::Header {
        path: path.to_owned(),
        offset: start + error.valid_up_to() as u64,
        expected: "text",
    })?;
    let mut parser = Parser { path, rest: text, end };
    let (mut dtype, mut fortran_order, mut shape) = (None, None, None);
    parser.expect("{", "`{`")?;
    while !parser.skip("}") {
        let key = parser.text()?;
        parser.expect(":", "`:`")?;
        match key {
            "descr" => dtype = Some(parser.dtype()?),
            "fortran_order" => fortran_order = Some(parser.bool()?),
            "shape" => shape = Some(parser.shape()?),
            _ => return Err(parser.error("`descr`, `fortran_order` or `shape` before this")),
        }
        if !parser.skip(",") {
            parser.expect("}", "`,` or `}`")?;
            break;
        }
    }
    let dtype = dtype.ok_or_else(|| parser.error("the key `descr` before this"))?;
    let fortran_order =
        fortran_order.ok_or_else(|| parser.error("the key `fortran_order` before this"))?;
    let shape = shape.ok_or_else(|| parser.error("the key `shape` before this"))?;
    Ok(Header { dtype, shape, fortran_order })
}

/// What is left of a header.
struct Parser<'a> {
    path: &'a Path,
    rest: &'a str,
    /// Where the header ends in the file.
    end: u64,
}

impl<'a> Parser<'a> {
    fn error(&self, expected: &'static str) -> NpyError {
        let offset = self.end - self.rest.len() as u64;
        NpyError::Header { path: self.path.to_owned(), offset, expected }
    }

    /// Skips blanks, and a token if it comes next.
    fn skip(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, token: &str, expected: &'static str) -> Result<(), NpyError> {
        if self.skip(token) { Ok(()) } else { Err(self.error(expected)) }
    }

    fn text(&mut self) -> Result<&'a str, NpyError> {
        let expected = "a text in quotes";
        let quote = if self.skip("\"") { '"' } else { '\'' };
        if quote == '\'' {
            self.expect("'", expected)?;
        }
        let (text, rest) = self.rest.split_once(quote).ok_or_else(|| self.error(expected))?;
        self.rest = rest;
        Ok(text)
    }

    fn dtype(&mut self) -> Result<Dtype, NpyError> {
        self.rest = self.rest.trim_start();
        // A record type is a list of names and types.
        let text = if self.rest.starts_with('[') { self.rest } else { self.text()? };
        Dtype::parse(text)
            .ok_or_else(|| NpyError::Dtype { path: self.path.to_owned(), dtype: quoted(text) })
    }

    fn bool(&mut self) -> Result<bool, NpyError> {
        if self.skip("True") {
            return Ok(true);
        }
        self.expect("False", "`True` or `False`").map(|()| false)
    }

    fn shape(&mut self) -> Result<Vec<u64>, NpyError> {
        let mut shape = Vec::new();
        self.expect("(", "`(`")?;
        while !self.skip(")") {
            shape.push(self.size()?);
            if !self.skip(",") {
                self.expect(")", "`,` or `)`")?;
                break;
            }
        }
        Ok(shape)
    }

    fn size(&mut self) -> Result<u64, NpyError> {
        self.rest = self.rest.trim_start();
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (size, rest) = self.rest.split_at(digits);
        let size = size.parse().map_err(|_| self.error("a number below 2^64"))?;
        self.rest = rest;
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Header, String> {
        parse(Path::new("a.npy"), 10, text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn headers_are_read_as_python_would() {
        let check = |text: &str, dtype, shape: &[u64]| {
            let fortran_order = text.contains("True");
            let expected = Header { dtype, shape: shape.to_vec(), fortran_order };
            assert_eq!(parsed(text), Ok(expected), "{text}");
        };
        let c_order = "'fortran_order': False";
        check(
            &format!("{{'descr': '<f4', {c_order}, 'shape': (3, 4), }}  \n"),
            Dtype::F32,
            &[3, 4],
        );
        check("{'shape':(3,),'descr':'|u1','fortran_order':False}", Dtype::U8, &[3]);
        check(
            " { \"descr\" : \"<i8\" , \"shape\" : ( 2 , 3 , 4 ) , \"fortran_order\" : False } ",
            Dtype::I64,
            &[2, 3, 4],
        );
        check(&format!("{{'descr': '<f8', {c_order}, 'shape': ()}}"), Dtype::F64, &[]);
        check("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", Dtype::F32, &[2, 3]);
        let largest = u64::MAX;
        check(
            &format!("{{'descr': '<i4', {c_order}, 'shape': ({largest},)}}"),
            Dtype::I32,
            &[largest],
        );
    }

    #[test]
    fn headers_that_are_wrong() {
        let check = |text: &str, expected: &str| {
            assert_eq!(parsed(text), Err(format!("`a.npy`{expected}")), "{text}");
        };
        let check_syntax = |text: &str, expected: &str, offset: usize| {
            check(text, &format!(": expected {expected} at byte {offset}, in the header"));
        };
        check_syntax("", "`{`", 10);
        check_syntax("{descr: '<f4'}", "a text in quotes", 11);
        check_syntax("{'descr", "a text in quotes", 12);
        check_syntax("{'descr' '<f4'}", "`:`", 19);
        check_syntax("{'descr': '<f4' 'shape': ()}", "`,` or `}`", 26);
        check_syntax("{'shape': (3 4)}", "`,` or `)`", 23);
        check_syntax("{'shape': (-1,)}", "a number below 2^64", 21);
        check_syntax("{'shape': (99999999999999999999,)}", "a number below 2^64", 21);
        check_syntax("{'fortran_order': 0}", "`True` or `False`", 28);
        check_syntax("{'shape': ()}", "the key `descr` before this", 23);
        check_syntax("{'descr': '<f4'}", "the key `fortran_order` before this", 26);
        check_syntax("{'type': '<f4'}", "`descr`, `fortran_order` or `shape` before this", 18);
        let check_type = |text: &str, dtype: &str| {
            let expected =
                format!(" has values of type `{dtype}`, expected b1, u1, i4, i8, f4 or f8");
            check(text, &expected);
        };
        check_type("{'descr': '|O'", "|O");
        check_type("{'descr': '>f4'", ">f4");
        check_type("{'descr': [('x', '<f4')]}", "[('x', '<f4')]}");
    }
}
