//! `recipes compare`: finished runs side by side.

use std::{iter, path::PathBuf};

use clap::ValueHint;

use super::output::{Output, aligned, indented, refuse_output};
use crate::{
    Failure,
    comparison::{Comparison, Runs, told},
};

#[derive(Debug, clap::Args)]
pub(super) struct CompareArguments {
    /// The run directories; at least two of the runs must be finished
    #[arg(required = true, num_args = 2.., value_name = "RUN", value_hint = ValueHint::DirPath)]
    runs: Vec<PathBuf>,
    /// Sort by a column, such as `validation_loss` or `seconds`, the best first
    #[arg(long, value_name = "COLUMN")]
    sort: Option<String>,
    /// Also write an HTML page with the curves of all runs overlaid
    #[arg(long, value_name = "FILE.html")]
    output: Option<PathBuf>,
    /// Replace the `--output` file if it exists
    #[arg(long)]
    force: bool,
}

/// The widest table of settings with a column for each run.
const LINE: usize = 100;

pub(super) fn run(arguments: &CompareArguments, output: &Output) -> Result<(), Failure> {
    if let Some(file) = &arguments.output {
        refuse_output(file, "--output", "HTML", &["html", "htm"], arguments.force)?;
    }
    let runs = Runs::read(&arguments.runs)?;
    let comparison = match &arguments.sort {
        Some(column) => runs.compare().sorted_by(column)?,
        None => runs.compare(),
    };
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
    if let Some(best) = &comparison.best {
        text += &format!("\n{}\n", best.sentence());
    }
    if !comparison.notes.is_empty() {
        text.push('\n');
        text.extend(comparison.notes.iter().map(|note| format!("note: {note}\n")));
    }
    if !comparison.differences.is_empty() {
        text += "\nsettings that differ:\n";
        text += &differences(comparison);
    }
    text
}

fn differences(comparison: &Comparison) -> String {
    let row = |(key, values): (&String, &Vec<serde_json::Value>)| {
        iter::once(key.clone()).chain(values.iter().map(told)).collect()
    };
    let runs = comparison.cells().into_iter().map(|cells| cells[0].clone());
    let head: Vec<String> = iter::once("setting".to_owned()).chain(runs).collect();
    let rows = comparison.differences.iter().map(row);
    narrower(&iter::once(head).chain(rows).collect::<Vec<_>>())
}

/// A table with a column for each run, or where that would be wide, one for each setting, or else a table
/// for each run.
///
/// - `rows`: a head, and one for each setting
fn narrower(rows: &[Vec<String>]) -> String {
    let by_setting = aligned(rows, 1);
    if width(&by_setting) <= LINE {
        return by_setting;
    }
    let column = |place: usize| rows.iter().map(|row| row[place].clone()).collect();
    let mut turned: Vec<Vec<String>> = (0..rows[0].len()).map(column).collect();
    turned[0][0] = "run".to_owned();
    let by_run = aligned(&turned, 1);
    if width(&by_run) <= LINE {
        return by_run;
    }
    let of_run = |place: usize| {
        let settings = rows[1..].iter().map(|row| vec![row[0].clone(), row[place].clone()]);
        let settings = aligned(&settings.collect::<Vec<_>>(), 2);
        format!("{}\n{}", rows[0][place], indented(&settings))
    };
    (1..rows[0].len()).map(of_run).collect()
}

fn width(table: &str) -> usize {
    table.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_runs_are_listed_below_each_other() {
        let rows = |runs: usize| {
            let mut rows = vec![vec!["setting".to_owned()], vec!["training.batch_size".to_owned()]];
            for run in 0..runs {
                rows[0].push(format!("runs/a-long-name-{run}"));
                rows[1].push((40 + run).to_string());
            }
            rows
        };
        let first = |rows: Vec<Vec<String>>| narrower(&rows).lines().next().unwrap().to_owned();
        assert_eq!(first(rows(2)), "setting              runs/a-long-name-0  runs/a-long-name-1");
        assert_eq!(first(rows(9)), "run                 training.batch_size");
        assert_eq!(narrower(&rows(9)).lines().count(), 10);

        let settings = ["data.path", "data.test_path", "model.weights"];
        let mut wide = rows(2);
        wide.extend(settings.map(|key| vec![key.to_owned(), "a/".repeat(20), "b/".repeat(20)]));
        let told = narrower(&wide);
        assert!(
            told.starts_with("runs/a-long-name-0\n  training.batch_size  40\n  data.path"),
            "{told}"
        );
        assert_eq!(told.lines().count(), 2 * 5);
    }
}
