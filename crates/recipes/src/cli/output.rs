//! Results on stdout, failures on stderr.

use std::{
    cell::Cell,
    env,
    io::{self, ErrorKind, IsTerminal, Write, stderr, stdout},
};

use serde::Serialize;
use serde_json::json;

use crate::{ExitCode, Failure, console::printable};

/// How results are printed.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) json: bool,
    /// Whether another process prints them.
    pub(super) silent: bool,
    /// Whether one was.
    printed: Cell<bool>,
}

impl Output {
    pub(super) fn new(json: bool, silent: bool) -> Self {
        Self { json, silent, printed: Cell::default() }
    }

    /// Prints a result: as JSON if asked, else as `text` makes it.
    pub(super) fn result<T: Serialize>(
        &self,
        value: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<(), Failure> {
        self.printed.set(true);
        if self.silent { Ok(()) } else { print(&self.formatted(value, text)) }
    }

    /// Under `--json`, prints why a command has no result, unless that is told already.
    pub(super) fn failure(&self, failure: &Failure) {
        if !self.json || self.printed.get() || failure.problems.is_empty() {
            return;
        }
        let joined = |texts: Vec<&str>| texts.join("; ");
        let help: Vec<&str> =
            failure.problems.iter().filter_map(|problem| problem.help.as_deref()).collect();
        let told = json!({
            "error": joined(failure.problems.iter().map(|problem| problem.message.as_str()).collect()),
            "help": (!help.is_empty()).then(|| joined(help)),
        });
        // The failure itself is what ends the command.
        let _ = self.result(&told, |_| String::new());
    }

    /// A result as [`Output::result`] prints it.
    pub(super) fn formatted<T: Serialize>(
        &self,
        value: &T,
        text: impl FnOnce(&T) -> String,
    ) -> String {
        if self.json {
            serde_json::to_string(value).expect("plain data has a form in JSON") + "\n"
        } else {
            printable(&text(value))
        }
    }
}

/// Prints to stdout.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = stdout().lock();
    written(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

/// The result of writing to stdout.
///
/// # Errors
///
/// [`ExitCode::Done`] where the reader, such as `head`, has closed the pipe; otherwise the system's
/// error.
pub(super) fn written(result: io::Result<()>) -> Result<(), Failure> {
    result.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure { exit_code: ExitCode::Done, problems: Vec::new() },
        _ => Failure::new(
            ExitCode::Unexpected,
            format!("the result cannot be written to standard output: {error}"),
            "check the disk and where standard output goes",
        ),
    })
}

/// A table with two spaces between its columns, which are as wide as they need to be.
///
/// - `rows`: cells, as many in each row
/// - `left`: how many columns, the first ones, are left-aligned; the others are right-aligned
pub(super) fn aligned<Row: AsRef<[String]>>(rows: &[Row], left: usize) -> String {
    let rows: Vec<&[String]> = rows.iter().map(AsRef::as_ref).collect();
    let columns = rows.first().map_or(0, |row| row.len());
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &&[String]| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if column < left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// Lines that begin after two spaces.
pub(super) fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

// Colours of a terminal, as ANSI escape codes.
const RED: u8 = 31;
const GREEN: u8 = 32;
const CYAN: u8 = 36;

/// A word for stderr, in bold and coloured on a terminal, unless `NO_COLOR` is set.
fn coloured(word: &str, colour: u8) -> String {
    let is_plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if is_plain || !stderr().is_terminal() {
        return word.to_owned();
    }
    format!("\x1b[1;{colour}m{word}\x1b[0m")
}

/// Prints to stderr what the user should know.
pub(super) fn print_note(message: &str) {
    // Nobody is left to tell when stderr is closed.
    let _ = writeln!(stderr(), "{} {}", coloured("note:", GREEN), printable(message));
}

/// Prints each problem as a line on what is wrong and, if known, a line on what to do.
pub(super) fn print_failure(failure: &Failure) {
    let mut stderr = stderr().lock();
    for problem in &failure.problems {
        // Nobody is left to tell when stderr is closed.
        let _ = writeln!(stderr, "{} {}", coloured("error:", RED), printable(&problem.message));
        if let Some(help) = &problem.help {
            let _ = writeln!(stderr, "{} {}", coloured("help:", CYAN), printable(help));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let rows = [["run", "loss"], ["runs/a", "0.5 ± 0.1"]].map(|row| row.map(str::to_owned));
        assert_eq!(aligned(&rows, 1), "run          loss\nruns/a  0.5 ± 0.1\n");
        assert_eq!(aligned(&rows, 2), "run     loss\nruns/a  0.5 ± 0.1\n");
        assert_eq!(aligned::<Vec<String>>(&[], 1), "");
    }
}
