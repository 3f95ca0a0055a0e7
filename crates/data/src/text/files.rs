//! The text of a file or of the files of a folder, checked to be text.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::TextError;
use crate::DataError;

/// The text of a file, or of all `.txt` files of a folder in the order of their names.
///
/// A byte order mark is dropped and `\r\n` is read as `\n`. A file of a folder that does not end
/// with a line break gets one, so that its last word and the next file's first stay apart.
pub(super) fn read(path: &Path) -> Result<String, DataError> {
    let metadata = fs::metadata(path).map_err(|error| DataError::io(path, error))?;
    let text = if metadata.is_dir() {
        let mut text = String::new();
        for file in text_files(path)? {
            text.push_str(&read_file(&file)?);
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
        }
        text
    } else if metadata.is_file() {
        read_file(path)?
    } else {
        return Err(TextError::NotAFile { path: path.to_owned() }.into());
    };
    if text.is_empty() {
        return Err(TextError::Empty { path: path.to_owned() }.into());
    }
    Ok(text)
}

/// The `.txt` files of a folder, its hidden ones left out: some systems keep what is no text there,
/// under the name of a text behind `._`.
fn text_files(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    let error = |source| DataError::io(folder, source);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(error)? {
        let path = entry.map_err(error)?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let text = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("txt"));
        if text && !hidden && path.is_file() {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(TextError::NoTextFiles { path: folder.to_owned() }.into());
    }
    files.sort_unstable();
    Ok(files)
}

fn read_file(path: &Path) -> Result<String, DataError> {
    let bytes = fs::read(path).map_err(|error| DataError::io(path, error))?;
    let not_utf8 = |offset| TextError::NotUtf8 { path: path.to_owned(), offset };
    // UTF-16 without a byte order mark is valid UTF-8, with a zero in each other byte.
    let zero = bytes.iter().position(|&byte| byte == 0);
    let text = String::from_utf8(bytes).map_err(|error| {
        let invalid = error.utf8_error().valid_up_to();
        not_utf8(zero.map_or(invalid, |zero| zero.min(invalid)))
    })?;
    match zero {
        Some(offset) => Err(not_utf8(offset).into()),
        None => Ok(plain(text)),
    }
}

/// A text without what only says how it is stored.
fn plain(text: String) -> String {
    let content = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if content.contains("\r\n") {
        content.replace("\r\n", "\n")
    } else if content.len() < text.len() {
        content.to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a folder of these files, or the only one.
    fn check(files: &[(&str, &str)], expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let path = match files {
            [(name, _)] => folder.path().join(name),
            _ => folder.path().to_owned(),
        };
        assert_eq!(read(&path).unwrap(), expected);
    }

    #[test]
    fn a_file_is_read_without_its_mark_and_carriage_returns() {
        check(&[("a", "x")], "x");
        check(&[("a", "\u{feff}x\r\ny\rz")], "x\ny\rz");
        check(&[("a", "\u{feff}x")], "x");
    }

    #[test]
    fn the_files_of_a_folder_are_read_by_name() {
        let files =
            [("b.txt", "b"), ("a.TXT", "a\n"), ("c.md", "c"), ("._a.txt", "\u{1}"), ("d.txt", "")];
        check(&files, "a\nb\n");
    }
}
