//! A file for a command's result, which an option names.

use std::{ffi::OsStr, fmt, path::Path};

use store::write_whole;

use crate::{ExitCode, Failure};

/// What a file holds.
#[derive(Clone, Copy)]
pub(super) struct FileFormat {
    pub(super) name: &'static str,
    /// Those of its files, the usual one first.
    pub(super) endings: &'static [&'static str],
}

pub(super) const HTML: FileFormat = FileFormat { name: "HTML", endings: &["html", "htm"] };
pub(super) const PNG: FileFormat = FileFormat { name: "PNG", endings: &["png"] };
pub(super) const SVG: FileFormat = FileFormat { name: "SVG", endings: &["svg"] };

/// A file that can be written as far as can be told.
pub(super) struct NewFile<'a> {
    path: &'a Path,
    option: &'static str,
}

impl<'a> NewFile<'a> {
    /// Refuses a file whose ending is that of another format, or in a folder that does not exist, and to
    /// overwrite one unless that was asked for: to be called before the work whose result the file is to
    /// hold.
    ///
    /// - `option`: the option that names the file
    pub(super) fn check(
        file: &'a Path,
        option: &'static str,
        format: FileFormat,
        force: bool,
    ) -> Result<Self, Failure> {
        let FileFormat { name, endings } = format;
        let (shown, usual) = (file.display(), endings[0]);
        let is_other =
            |given: &OsStr| !endings.iter().any(|ending| given.eq_ignore_ascii_case(ending));
        if file.extension().is_some_and(is_other) {
            return Err(Failure::new(
                ExitCode::Usage,
                format!("`{option}` writes {name}, but `{shown}` does not end in `.{usual}`"),
                format!("name a file that ends in `.{usual}`"),
            ));
        }
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return Err(Failure::new(
                ExitCode::UserData,
                format!("`{shown}` cannot be written: there is no folder `{}`", folder.display()),
                format!("create the folder, or name another file with `{option}`"),
            ));
        }
        let why = match file {
            _ if file == Path::new("-") => "is no file: nothing is written to standard output",
            _ if file.is_dir() => "is a folder",
            _ if file.exists() && !file.is_file() => {
                "is not a regular file, and would be replaced by one"
            }
            _ => "",
        };
        if !why.is_empty() {
            return Err(Failure::new(
                ExitCode::UserData,
                format!("`{shown}` {why}"),
                format!("name another file with `{option}`"),
            ));
        }
        if file.exists() && !force {
            return Err(Failure::new(
                ExitCode::UserData,
                format!("`{shown}` already exists"),
                format!("name another file with `{option}`, or replace it with `--force`"),
            ));
        }
        Ok(Self { path: file, option })
    }

    /// As [`check`](Self::check), of a file that may not be asked for.
    pub(super) fn check_if_named(
        file: Option<&'a Path>,
        option: &'static str,
        format: FileFormat,
        force: bool,
    ) -> Result<Option<Self>, Failure> {
        file.map(|file| Self::check(file, option, format, force)).transpose()
    }

    pub(super) fn write(self, content: &[u8]) -> Result<(), Failure> {
        write_whole(self.path, content).map_err(|error| {
            let help = format!("to write another file: `{} FILE`", self.option);
            Failure::user_data(error).or(&help)
        })
    }
}

impl fmt::Display for NewFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}
