//! `recipes compare`: finished runs side by side.

use std::path::PathBuf;

use super::output::{Output, aligned, refuse_existing, refuse_other_format};
use crate::{
    Failure,
    comparison::{Comparison, Runs, told},
};

#[derive(Debug, clap::Args)]
pub(super) struct CompareArguments {
    /// The run directories; at least two of the runs must be finished
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Also write an HTML page with the curves of all runs overlaid
    #[arg(long, value_name = "FILE.html")]
    output: Option<PathBuf>,
    /// Replace the `--output` file if it exists
    #[arg(long)]
    force: bool,
}

pub(super) fn run(arguments: &CompareArguments, output: &Output) -> Result<(), Failure> {
    if let Some(file) = &arguments.output {
        refuse_other_format(file, "--output", "HTML", &["html", "htm"])?;
        refuse_existing(file, "--output", arguments.force)?;
    }
    let runs = Runs::read(&arguments.runs)?;
    let comparison = runs.compare();
    if let Some(file) = &arguments.output {
        let page = runs.page(&comparison);
        store::write_whole(file, page.as_bytes()).map_err(Failure::user_data)?;
    }
    output.result(&comparison, describe)
}

fn describe(comparison: &Comparison) -> String {
    let mut rows = vec![comparison.columns()];
    rows.extend(comparison.cells());
    let mut text = aligned(&rows, 1);
    if comparison.rows.iter().any(|row| row.runs.len() > 1) {
        text += "\nruns that differ only in their seed are one row: mean ± standard deviation\n";
    }
    text.extend(comparison.notes.iter().map(|note| format!("\nnote: {note}\n")));
    if !comparison.differences.is_empty() {
        text += "\nsettings that differ:\n";
        let row = |(key, values): (&String, &Vec<serde_json::Value>)| {
            std::iter::once(key.clone()).chain(values.iter().map(told)).collect()
        };
        let runs = comparison.cells().into_iter().map(|cells| cells[0].clone());
        let head: Vec<String> = std::iter::once("setting".to_owned()).chain(runs).collect();
        let rows = comparison.differences.iter().map(row);
        text += &aligned(&std::iter::once(head).chain(rows).collect::<Vec<_>>(), 1);
    }
    text
}
