//! Results on stdout, failures on stderr.

use std::{
    io::{Write, stderr, stdout},
    path::Path,
};

use serde::Serialize;

use crate::{ExitCode, Failure};

/// How results are printed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Output {
    pub(super) json: bool,
    /// Whether another process prints them.
    pub(super) silent: bool,
}

impl Output {
    /// Prints a result: as JSON if asked, else as `text` makes it.
    pub(super) fn result<T: Serialize>(self, value: &T, text: impl FnOnce(&T) -> String) {
        if self.silent {
            return;
        }
        if self.json {
            let json = serde_json::to_string(value).expect("plain data has a form in JSON");
            print(&format!("{json}\n"));
        } else {
            print(&text(value));
        }
    }
}

/// Prints to stdout. A reader that left, such as `head`, is no failure.
pub(super) fn print(text: &str) {
    let mut stdout = stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Prints to stderr what the user should know.
pub(super) fn print_note(message: &str) {
    // Nobody is left to tell when stderr is closed.
    let _ = writeln!(stderr(), "note: {message}");
}

/// Prints every problem as a line on what is wrong and a line on what to do.
pub(super) fn print_failure(failure: &Failure) {
    let mut stderr = stderr().lock();
    for problem in &failure.problems {
        // Nobody is left to tell when stderr is closed.
        let _ = writeln!(stderr, "error: {}", problem.message);
        if let Some(help) = &problem.help {
            let _ = writeln!(stderr, "help: {help}");
        }
    }
}

/// Refuses to write over a file, unless that is what was asked for.
///
/// - `option`: names another file
pub(super) fn refuse_existing(file: &Path, option: &str, force: bool) -> Result<(), Failure> {
    if force || !file.exists() {
        return Ok(());
    }
    Err(Failure::new(
        ExitCode::UserData,
        format!("`{}` exists", file.display()),
        format!("name another file by `{option}`, or replace it by `--force`"),
    ))
}
