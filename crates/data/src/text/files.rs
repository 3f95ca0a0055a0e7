//! The text of a file or of the files of a folder, checked to be text.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::TextError;
use crate::{
    DataError, TokenKind,
    count::grouped,
    csv_table::is_csv,
    formats::{self, UTF8_MARK, is_utf16},
};

/// The text of a file, or of all `.txt` files of a folder in the order of their names, and what the
/// user should know about it. It is UTF-8, unless its tokens are bytes.
///
/// A byte order mark is dropped and `\r\n` is read as `\n`. A file of a folder that does not end
/// with a line break gets one, so that its last word and the next file's first stay apart.
pub(super) fn read(path: &Path, kind: TokenKind) -> Result<(Vec<u8>, Option<String>), DataError> {
    let metadata = fs::metadata(path).map_err(|error| DataError::io(path, error))?;
    let mut note = None;
    let text = if metadata.is_dir() {
        let (files, ignored) = text_files(path)?;
        if let Some(first) = ignored.first() {
            let (folder, count) = (path.display(), grouped(ignored.len()));
            note = Some(format!(
                "`{folder}`: {count} of its files and folders are ignored, such as `{first}`: \
                 only files whose names end in `.txt` are read"
            ));
        }
        let mut text = Vec::new();
        for file in files {
            text.extend(read_file(&file, kind)?);
            if !text.is_empty() && !text.ends_with(b"\n") {
                text.push(b'\n');
            }
        }
        text
    } else if metadata.is_file() {
        note = note_on_table(path);
        read_file(path, kind)?
    } else {
        return Err(TextError::NotAFile { path: path.to_owned() }.into());
    };
    if text.is_empty() {
        return Err(TextError::Empty { path: path.to_owned() }.into());
    }
    Ok((text, note))
}

/// What the user should know where the text is a table by its name.
fn note_on_table(path: &Path) -> Option<String> {
    is_csv(path).then(|| {
        format!(
            "`{}` is read as one text to be continued; `recipes train mlp` with \
             `data.columns.NAME=text` classifies the texts in its rows",
            path.display()
        )
    })
}

/// The files that [`read`] reads.
pub(super) fn list(path: &Path) -> Result<Vec<PathBuf>, DataError> {
    match path.is_dir() {
        true => Ok(text_files(path)?.0),
        false => Ok(vec![path.to_owned()]),
    }
}

/// How deep in a folder texts are looked for that it has not itself.
const LEVELS: usize = 2;

/// The `.txt` files of a folder, and the names of what else is there. Hidden files are ignored:
/// some systems keep metadata in `._NAME.txt`.
fn text_files(folder: &Path) -> Result<(Vec<PathBuf>, Vec<String>), DataError> {
    let error = |reason| DataError::io(folder, reason);
    let (mut files, mut others) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(folder).map_err(error)? {
        let entry = entry.map_err(error)?;
        let (path, name) = (entry.path(), entry.file_name());
        if is_hidden(&path) {
            continue;
        }
        if is_text(&path) {
            files.push(path);
        } else {
            others.push(name.to_string_lossy().into_owned());
        }
    }
    if files.is_empty() {
        let path = folder.to_owned();
        return Err(match folder_of_texts(folder, LEVELS) {
            Some(within) => TextError::TextsWithin { path, within },
            None => TextError::NoTextFiles { path },
        }
        .into());
    }
    files.sort_unstable();
    others.sort_unstable();
    Ok((files, others))
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn is_text(path: &Path) -> bool {
    let ending = path.extension();
    let named = ending.is_some_and(|ending| ending.eq_ignore_ascii_case("txt"));
    named && !is_hidden(path) && path.is_file()
}

/// The first folder with a text that lies at most so many levels within a folder, the nearest one.
fn folder_of_texts(folder: &Path, levels: usize) -> Option<PathBuf> {
    let paths_in = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<PathBuf>>()
    };
    let deeper = levels.checked_sub(1)?;
    let mut folders = paths_in(folder);
    folders.retain(|path| path.is_dir() && !is_hidden(path));
    folders.sort_unstable();
    let has_text = |folder: &&PathBuf| paths_in(folder).iter().any(|path| is_text(path));
    let nearest = folders.iter().find(has_text).cloned();
    nearest.or_else(|| folders.iter().find_map(|folder| folder_of_texts(folder, deeper)))
}

fn read_file(path: &Path, kind: TokenKind) -> Result<Vec<u8>, DataError> {
    let bytes = fs::read(path).map_err(|error| DataError::io(path, error))?;
    Ok(checked(bytes, path, kind)?)
}

/// The text that these bytes of a file are.
pub(crate) fn text_of(bytes: &[u8], path: &Path) -> Result<String, TextError> {
    let text = checked(bytes.to_vec(), path, TokenKind::Words)?;
    Ok(String::from_utf8(text).expect("it was checked to be UTF-8"))
}

/// The bytes of a file that is text, unless tokens are bytes.
fn checked(bytes: Vec<u8>, path: &Path, kind: TokenKind) -> Result<Vec<u8>, TextError> {
    // Some formats are valid UTF-8, markup with a text in between.
    let format = formats::of(&bytes).filter(|_| kind != TokenKind::Bytes);
    if let Some((format, conversion)) = format.and_then(|format| Some((format, format.to_text?))) {
        let (path, format) = (path.to_owned(), format.name);
        return Err(TextError::NotPlain { path, format, conversion });
    }
    // No text has a zero byte, though it is valid UTF-8.
    let zero = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let invalid = str::from_utf8(&bytes).err().map_or(bytes.len(), |error| error.valid_up_to());
    let offset = zero.min(invalid);
    if offset == bytes.len() {
        return Ok(plain(bytes));
    }
    if kind == TokenKind::Bytes {
        return Ok(bytes);
    }
    let (path, utf16) = (path.to_owned(), is_utf16(&bytes));
    Err(match zero < invalid && !utf16 {
        true => TextError::ZeroByte { path, offset },
        false => TextError::NotUtf8 { path, offset, utf16 },
    })
}

/// A text without byte order mark, and with `\n` for `\r\n`.
fn plain(mut text: Vec<u8>) -> Vec<u8> {
    if text.starts_with(UTF8_MARK) {
        text.drain(..UTF8_MARK.len());
    }
    text.dedup_by(|next, last| {
        let ends_line = (*last, *next) == (b'\r', b'\n');
        if ends_line {
            *last = b'\n';
        }
        ends_line
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a folder of these files, or the only one.
    fn read_all(files: &[(&str, &[u8])], kind: TokenKind) -> (Vec<u8>, Option<String>) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let path = match files {
            [(name, _)] => folder.path().join(name),
            _ => folder.path().to_owned(),
        };
        read(&path, kind).unwrap()
    }

    #[test]
    fn a_file_is_read_without_its_mark_and_carriage_returns() {
        let check = |text: &str, expected: &str| {
            for kind in [TokenKind::Words, TokenKind::Bytes] {
                let read = read_all(&[("a", text.as_bytes())], kind);
                assert_eq!(read, (expected.as_bytes().to_vec(), None));
            }
        };
        check("x", "x");
        check("\u{feff}x\r\ny\rz\r", "x\ny\rz\r");
        check("\u{feff}x", "x");
    }

    #[test]
    fn bytes_are_read_as_they_are() {
        for bytes in [&b"\xff\xfea\0\r\n"[..], b"na\xefve\r\n", b"a\0b"] {
            assert_eq!(read_all(&[("a", bytes)], TokenKind::Bytes), (bytes.to_vec(), None));
        }
    }

    #[test]
    fn texts_in_folders_within_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let told = || {
            let error = read(folder.path(), TokenKind::Words).unwrap_err();
            let path = folder.path().display().to_string();
            let shown = error.to_string().replace(&path, "FOLDER").replace('\\', "/");
            (shown, error.help().unwrap())
        };
        let none = "`FOLDER` has no file whose name ends in `.txt`";
        let write = |name: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "a text").unwrap();
        };
        for name in ["notes.md", "other/a.md", ".hidden/a.txt", "a/b/c/deep.txt"] {
            write(name);
            assert_eq!(told().0, none, "{name}");
        }
        let check = |within: &str| {
            let (error, help) = told();
            let expected = format!("{none}, and folders within it, such as `FOLDER/{within}`, are");
            assert!(error.starts_with(&expected), "{error}");
            assert!(
                help.contains("name one of the folders") && help.contains("to classify texts"),
                "{help}"
            );
        };
        write("train/pos/1.txt");
        check("train/pos");
        write("z/2.TXT");
        check("z");
    }

    #[test]
    fn the_files_of_a_folder_are_read_by_name_and_others_told() {
        let files: [(&str, &[u8]); 4] =
            [("b.txt", b"b"), ("a.TXT", b"a\n"), ("._a.txt", b"\x01"), ("d.txt", b"")];
        assert_eq!(read_all(&files, TokenKind::Words), (b"a\nb\n".to_vec(), None));

        let files: [(&str, &[u8]); 3] = [("b.txt", b"b"), ("d.text", b"d"), ("c.md", b"c")];
        let (text, note) = read_all(&files, TokenKind::Words);
        assert_eq!(text, b"b\n");
        let note = note.unwrap();
        assert!(note.contains("2 of its files and folders") && note.contains("`c.md`"), "{note}");
    }
}
