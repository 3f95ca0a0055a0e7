//! `recipes eval`: a finished run, measured.

use std::{fmt::Write as _, path::PathBuf};

use backend::{Selected, device};
use inference::Model;

use super::{output::Output, predict::model_of};
use crate::{
    Console, Failure, Progress,
    console::rounded,
    evaluation::{EvaluationReport, evaluate},
};

#[derive(Debug, clap::Args)]
pub(super) struct EvalArguments {
    /// A run's directory
    run: PathBuf,
    /// Measure on this instead: a CSV file, a folder of images, of data set files or of
    /// NumPy's arrays, or a text. Of a folder with splits its test split is measured, or else its
    /// validation split
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
}

/// The most classes whose confusion is printed as a table.
const MOST_CLASSES: usize = 20;

pub(super) fn run(
    arguments: &EvalArguments,
    progress: Progress,
    output: &Output,
) -> Result<(), Failure> {
    let path = model_of(&arguments.run)?;
    let (device, _) = device::open()?;
    let model = Model::<Selected>::read(&path, &device)?;
    let mut console = Console::new(progress);
    let mut progress = |task: &str, done, of| console.on_preparation(task, done, of);
    let data = arguments.data.as_deref();
    let report = evaluate(&arguments.run, &model, data, &device, &mut progress)?;
    output.result(&report, describe)
}

fn describe(report: &EvaluationReport) -> String {
    let measured = match (report.split, report.given_split) {
        ("given", None) => "the data that was named".to_owned(),
        ("given", Some(split)) => format!("the {split} split of the data that was named"),
        (split, _) => format!("the {split} split"),
    };
    let mut text = format!("{measured}, {} samples\n", report.samples);
    text.extend(report.notes.iter().map(|note| format!("note: {note}\n")));
    // Writing to a `String` cannot fail.
    for (name, value) in &report.metrics {
        let _ = writeln!(text, "  {name:<10} {}", rounded(*value));
    }
    if report.classes.is_empty() {
        return text;
    }
    let width = report.classes.iter().map(|class| class.chars().count()).max().unwrap_or(0).max(5);
    let _ = writeln!(text, "\n  {:<width$}  samples  precision  recall", "class");
    let percent = |share: Option<f64>| match share {
        Some(share) => format!("{:.1} %", 100.0 * share),
        None => "-".to_owned(),
    };
    for scores in &report.per_class {
        let (precision, recall) = (percent(scores.precision), percent(scores.recall));
        let (class, samples) = (&scores.class, scores.samples);
        let _ = writeln!(text, "  {class:<width$}  {samples:>7}  {precision:>9}  {recall:>7}");
    }
    if report.classes.len() <= MOST_CLASSES {
        text += &confusion(report, width);
    }
    text
}

/// The counts as a table: a row for each true class, a column for each predicted one.
fn confusion(report: &EvaluationReport, width: usize) -> String {
    let counts = report.confusion.iter().flatten().map(|count| count.to_string().len());
    let column = counts.max().unwrap_or(1).max(3);
    let mut text = format!("\n  {:<width$}  predicted as\n  {:<width$}", "true", "class");
    for index in 0..report.classes.len() {
        let _ = write!(text, " {:>column$}", index + 1);
    }
    for (index, (class, row)) in report.classes.iter().zip(&report.confusion).enumerate() {
        let _ = write!(text, "\n  {class:<width$}");
        for count in row {
            let _ = write!(text, " {count:>column$}");
        }
        let _ = write!(text, "  {}", index + 1);
    }
    text + "\n"
}
