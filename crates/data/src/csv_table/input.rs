//! The bytes of a CSV file, from whose first row its delimiter is found.

use std::{
    io::{self, BufRead, BufReader, Cursor, Read},
    path::Path,
};

use flate2::bufread::MultiGzDecoder;

use super::{
    CsvError,
    first_row::{self, FirstRow},
    quotes::Quotes,
};
use crate::{
    DataError,
    files::{GZIP_MAGIC, unreadable},
    formats::{self, Format, UTF8_MARK, is_utf16},
};

/// How much of a file is searched for its delimiter, in bytes.
const FIRST_ROW: u64 = 1 << 16;

/// The bytes of a file, unpacked if it is a gzip file, without a byte order mark, and with a line break
/// after the last row even where the file has none.
pub(super) struct Input<'a> {
    bytes: Box<dyn Read + 'a>,
    /// The bytes that were read, of a gzip file.
    unpacked: Option<u64>,
    pub(super) quotes: Quotes,
    /// Whether the end was reached.
    pub(super) ended: bool,
}

impl<'a> Input<'a> {
    /// The input and its delimiter. Input that is not lines of text is refused here, before the
    /// search for the end of a row, which may never come.
    pub(super) fn new(input: impl Read + 'a, path: &Path) -> Result<(Self, u8), DataError> {
        let mut input: Box<dyn BufRead + 'a> = Box::new(BufReader::new(input));
        let mut start = start_of(&mut input).map_err(|reason| DataError::io(path, reason))?;
        let unpacked = start.starts_with(&GZIP_MAGIC).then_some(0);
        let error = |reason| unreadable(path, unpacked, reason);
        if unpacked.is_some() {
            let packed = Cursor::new(start).chain(input);
            input = Box::new(BufReader::new(MultiGzDecoder::new(packed)));
            start = start_of(&mut input).map_err(error)?;
        }
        if let Some(Format { name: format, to_csv: conversion, .. }) = formats::of(&start) {
            return Err(CsvError::NotCsv { path: path.to_owned(), format, conversion }.into());
        }
        if is_utf16(&start) {
            return Err(DataError::NotUtf8 { path: path.to_owned(), line: 1, utf16: true });
        }
        if start.starts_with(UTF8_MARK) {
            start.drain(..UTF8_MARK.len());
        }

        let mut input = Cursor::new(start).chain(input);
        let (mut beginning, mut first) = (Vec::new(), FirstRow::new());
        for byte in input.by_ref().take(FIRST_ROW).bytes() {
            let byte = byte.map_err(error)?;
            beginning.push(byte);
            first.push(byte);
            if first.ended {
                break;
            }
        }
        if beginning.contains(&0) {
            return Err(CsvError::ZeroByte { path: path.to_owned(), line: first.line }.into());
        }
        if first.has_bare_return {
            return Err(CsvError::BareReturn { path: path.to_owned(), line: first.line }.into());
        }
        let named = first_row::named_delimiter(&beginning);
        if named.is_some() {
            beginning = b"\n".to_vec(); // a line all the same
        }
        let bytes = Box::new(Cursor::new(beginning).chain(input).chain(&b"\n"[..]));
        let delimiter = named.unwrap_or_else(|| first.delimiter());
        Ok((Self { bytes, unpacked, quotes: Quotes::new(delimiter), ended: false }, delimiter))
    }

    /// The error of reading the file at `path`.
    pub(super) fn error(&self, path: &Path, reason: csv::Error) -> DataError {
        match reason.into_kind() {
            csv::ErrorKind::Io(reason) => unreadable(path, self.unpacked, reason),
            other => DataError::io(path, io::Error::other(format!("{other:?}"))),
        }
    }
}

/// As much of the input as shows its format.
fn start_of(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    input.take(formats::START).read_to_end(&mut start)?;
    Ok(start)
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(buffer)?;
        self.unpacked = self.unpacked.map(|before| before + read as u64);
        self.ended |= read == 0 && !buffer.is_empty();
        self.quotes.follow(&buffer[..read]);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn read(bytes: &[u8]) -> Result<String, DataError> {
        let path = Path::new("a.csv");
        let (mut input, _) = Input::new(bytes, path)?;
        let mut text = String::new();
        let read = input.read_to_string(&mut text);
        read.map_err(|reason| input.error(path, reason.into()))?;
        Ok(text)
    }

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(content).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn a_gzip_file_is_unpacked_and_where_it_is_damaged_is_told() {
        let text: String = (0..3000).map(|row| format!("{row},x\n")).collect();
        let packed = gzip(text.as_bytes());
        let (first, second) = text.split_at(9_000);
        let two_members = [gzip(first.as_bytes()), gzip(second.as_bytes())].concat();
        let marked = gzip(format!("\u{feff}{text}").as_bytes());
        for packed in [&packed, &two_members, &marked] {
            assert_eq!(read(packed).unwrap(), format!("{text}\n"));
        }
        let check = |packed: &[u8], expected: &str| {
            let error = read(packed).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
            assert!(error.help().unwrap().contains("gzip -t"), "{error}");
        };
        check(&packed[..9], "`a.csv` ends within its gzip data, after 0 unpacked bytes");
        let end = text.len();
        let cut = &packed[..packed.len() - 1];
        check(cut, &format!("`a.csv` ends within its gzip data, after {end} unpacked bytes"));
        let mut damaged = packed;
        *damaged.last_mut().unwrap() ^= 1;
        check(&damaged, &format!("`a.csv`: damaged gzip data after {end} unpacked bytes"));
        let twice = read(&gzip(&gzip(b"a,b\n1,2\n"))).unwrap_err();
        assert!(twice.help().unwrap().contains("gunzip"), "{twice}");
    }
}
