//! `recipes compare`: finished runs side by side.

use std::{io::stdout, iter, path::PathBuf};

use clap::ValueHint;
use terminal_size::{Width, terminal_size_of};

use super::{
    new_file::{HTML, NewFile},
    output::{Output, aligned, indented},
};
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

/// The widest table of settings, where the terminal is wider or there is none.
const LINE: usize = 100;

pub(super) fn run(arguments: &CompareArguments, output: &Output) -> Result<(), Failure> {
    let file = arguments.output.as_deref();
    let file = NewFile::check_if_named(file, "--output", HTML, arguments.force)?;
    let runs = Runs::read(&arguments.runs)?;
    let comparison = match &arguments.sort {
        Some(column) => runs.compare().sorted_by(column)?,
        None => runs.compare(),
    };
    if let Some(file) = file {
        file.write(runs.page(&comparison).as_bytes())?;
    }
    let terminal = terminal_size_of(stdout()).map(|(Width(columns), _)| usize::from(columns));
    output.result(&comparison, |comparison| describe(comparison, terminal))
}

/// - `terminal`: its columns, if there is one
fn describe(comparison: &Comparison, terminal: Option<usize>) -> String {
    let mut rows = vec![comparison.columns()];
    rows.extend(comparison.cells());
    let mut text = fitting(&rows, true, terminal.unwrap_or(usize::MAX));
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
        text += &differences(comparison, terminal);
    }
    text
}

fn differences(comparison: &Comparison, terminal: Option<usize>) -> String {
    let keys = comparison.differences.keys().cloned();
    let mut rows = vec![iter::once("run".to_owned()).chain(keys).collect::<Vec<_>>()];
    rows.extend(comparison.cells().into_iter().enumerate().map(|(place, cells)| {
        let values = comparison.differences.values().map(|values| told(&values[place]));
        iter::once(cells[0].clone()).chain(values).collect()
    }));
    fitting(&rows, false, terminal.map_or(LINE, |terminal| terminal.min(LINE)))
}

/// A table with a row for each run or a column for each, and where both would be wider than the line, the
/// runs under each of the things that are compared.
///
/// - `rows`: a head, which begins with `run`, and one for each run
/// - `by_run`: whether a row for each run is better than a column for each
fn fitting(rows: &[Vec<String>], by_run: bool, line: usize) -> String {
    let column = |place: usize| rows.iter().map(|row| row[place].clone()).collect();
    let turned: Vec<Vec<String>> = (0..rows[0].len()).map(column).collect();
    let mut tables = [aligned(rows, 1), aligned(&turned, 1)];
    if !by_run {
        tables.reverse();
    }
    if let Some(table) = tables.into_iter().find(|table| width(table) <= line) {
        return table;
    }
    let of_key = |key: usize| {
        let pairs = rows[1..].iter().map(|run| [run[0].clone(), run[key].clone()]);
        format!("{}\n{}", rows[0][key], indented(&aligned(&Vec::from_iter(pairs), 2)))
    };
    (1..rows[0].len()).map(of_key).collect()
}

fn width(table: &str) -> usize {
    table.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_turned_or_divided_where_it_would_be_wider_than_the_line() {
        let rows = |runs: usize, settings: &[&str]| {
            let head = iter::once("run").chain(settings.iter().copied());
            let mut rows = vec![head.map(str::to_owned).collect::<Vec<_>>()];
            rows.extend((0..runs).map(|run| {
                let values = settings.iter().map(|key| format!("{key}-{run}"));
                iter::once(format!("runs/a-long-name-{run}")).chain(values).collect()
            }));
            rows
        };
        let one = ["training.batch_size"];
        let first = |rows: &[Vec<String>], by_run| {
            fitting(rows, by_run, 100).lines().next().unwrap().to_owned()
        };
        let by_key = "run                  runs/a-long-name-0     runs/a-long-name-1";
        assert!(first(&rows(2, &one), false).split_whitespace().eq(by_key.split_whitespace()));
        assert_eq!(first(&rows(9, &one), false), "run                   training.batch_size");
        assert_eq!(fitting(&rows(9, &one), false, 100).lines().count(), 10);
        assert!(first(&rows(2, &one), true).ends_with("training.batch_size"));

        let many =
            ["data.path", "data.test_path", "model.weights", "model.hidden", "training.clip_norm"];
        let told = fitting(&rows(9, &many), true, 80);
        assert!(
            told.starts_with("data.path\n  runs/a-long-name-0  data.path-0\n  runs/a-long-name-1"),
            "{told}"
        );
        assert_eq!(told.lines().count(), 5 * 10);
        assert_eq!(fitting(&rows(9, &many), true, usize::MAX).lines().count(), 10);
    }
}
