//! `recipes report`, and the report that ends a run.

use std::path::{Path, PathBuf};

use clap::ValueHint;
use serde::Serialize;

use super::{
    new_file::{HTML, NewFile},
    output::{Output, print_note},
    signals::report_begins,
};
use crate::{
    Failure, Summary,
    console::{Console, ProgressMode},
    report::{self, REPORT},
};

#[derive(Debug, clap::Args)]
pub(super) struct ReportArguments {
    /// The run directory
    #[arg(value_hint = ValueHint::DirPath)]
    run: PathBuf,
    /// The page to write [default: `report.html` in the run directory, replaced if it exists]
    #[arg(long, value_name = "FILE.html")]
    output: Option<PathBuf>,
    /// Replace the `--output` file if it exists
    #[arg(long)]
    force: bool,
}

/// What was written.
#[derive(Serialize)]
struct Written {
    file: String,
    verdict: String,
    notes: Vec<String>,
}

pub(super) fn run(
    arguments: &ReportArguments,
    progress: ProgressMode,
    output: &Output,
) -> Result<(), Failure> {
    let file = match &arguments.output {
        Some(file) => {
            NewFile::check(file, "--output", HTML, arguments.force)?;
            file.clone()
        }
        None => arguments.run.join(REPORT),
    };
    let mut console = Console::new(progress);
    let (verdict, note) = report::write(&arguments.run, &file, &mut console.progress())?;
    if let Some(note) = note {
        print_note(&note);
    }
    let file = file.display().to_string();
    let written = Written { file, verdict: verdict.sentence, notes: verdict.notes };
    output.result(&written, |Written { file, verdict, notes }| {
        let notes: String = notes.iter().map(|note| format!("{note}\n")).collect();
        format!("{verdict}\n{notes}wrote {file}\n")
    })
}

/// Writes the report of a run that has ended, if it had begun, and prints its verdict. A report that
/// fails does not fail the run.
pub(super) fn write_at_the_end(
    run: &Path,
    ended: &Result<Summary, Failure>,
    console: &mut Console,
) {
    if !console.has_begun() {
        return;
    }
    report_begins();
    let written = report::write_at_the_end(run, ended, &mut console.progress());
    match written {
        Ok(verdict) if ended.is_ok() => console.verdict(&verdict),
        Ok(_) => {}                   // the error says it
        Err(_) if !run.is_dir() => {} // likewise
        Err(failure) => console.note(&format!("the report could not be written: {failure}")),
    }
}
