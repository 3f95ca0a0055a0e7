//! `recipes eval`: evaluates a finished run.

use std::{
    fmt::Write as _,
    iter,
    path::{Path, PathBuf},
};

use backend::{
    Selected,
    device::{self, Device},
};
use clap::ValueHint;
use inference::{InferenceError, InputKind, Model};
use store::TensorFile;

use super::{
    export::Precision,
    model::model_of,
    output::{Output, aligned, indented, print_note},
    printer::{Printed, Printer, refuse_csv_and_json},
};
use crate::{
    Failure,
    console::{Console, ProgressMode},
    evaluation::{ClassScores, Evaluated, EvaluationReport},
    names::{LONGEST_NAME, shortened},
    numbers::{counted, metric, ordered},
    report::MOST_IN_MATRIX,
    run::start::WorkProgress,
    shell::command,
};

#[derive(Debug, clap::Args)]
pub(super) struct EvalArguments {
    /// The run directory
    #[arg(value_hint = ValueHint::DirPath)]
    run: PathBuf,
    /// Evaluate on this instead: a CSV file, a text, or a folder of images, texts, data set files or NumPy
    /// arrays. In a folder with splits, the test split is used, or else the validation split
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// Print each measured sample as CSV instead: its true class or value, the prediction, and the
    /// probability of each class
    #[arg(long)]
    csv: bool,
    /// Round the weights as `recipes export --precision` does
    #[arg(long, value_enum, default_value_t)]
    precision: Precision,
}

/// The most classes for which the confusion matrix is printed.
const MOST_CLASSES: usize = 20;
/// The longest line of that table with class names over its columns.
const LINE: usize = 100;

pub(super) fn run(
    arguments: &EvalArguments,
    progress: ProgressMode,
    output: &Output,
) -> Result<(), Failure> {
    refuse_csv_and_json(arguments.csv, output)?;
    let path = model_of(&arguments.run)?;
    let (device, _) = device::open()?;
    let model = model_rounded(&path, arguments.precision, &device)?;
    let mut console = Console::new(progress);
    let mut progress = console.progress();
    let evaluated = Evaluated::open(&arguments.run, &model, arguments.data.as_deref())?;
    if arguments.csv {
        return print_each(&evaluated, &model.description().classes, &mut progress, output);
    }
    let report = evaluated.examine(&device, &mut progress)?.report;
    if !report.metrics.get("loss").is_some_and(|loss| loss.is_finite()) {
        return Err(InferenceError::Outputs.into());
    }
    let unit = match model.description().input() {
        InputKind::Text => "token",
        InputKind::Rows | InputKind::Images => "sample",
    };
    output.result(&report, |report| describe(report, unit, arguments))
}

/// The name of the column of true classes or values.
const TARGET: &str = "target";

fn print_each(
    evaluated: &Evaluated<'_>,
    classes: &[String],
    progress: &mut WorkProgress<'_>,
    output: &Output,
) -> Result<(), Failure> {
    let keep = [TARGET.to_owned()];
    let printed = Printed { csv: true, top: classes.len(), classes, deviation: 0.0, keep: &keep };
    let mut printer = Printer::new(output, printed)?;
    let notes = evaluated.predict_each(progress, &mut |input, truth, found| {
        printer.print(input, vec![truth], found)
    })?;
    printer.flush()?;
    notes.iter().for_each(|note| print_note(note));
    Ok(())
}

/// A model with its weights as they are in an export of that precision.
fn model_rounded(
    path: &Path,
    precision: Precision,
    device: &Device,
) -> Result<Model<Selected>, InferenceError> {
    if precision == Precision::F32 {
        return Model::read(path, device);
    }
    let bytes = TensorFile::read(path)?.to_bytes_of(precision.numbers(), path)?;
    Model::from_bytes(&bytes, device)
}

/// - `unit`: what is counted
fn describe(report: &EvaluationReport, unit: &str, arguments: &EvalArguments) -> String {
    let given = arguments.data.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let measured = match (report.split.as_ref(), report.given_split.as_ref()) {
        ("given", None) => format!("`{given}`"),
        ("given", Some(split)) => format!("the {split} split of `{given}`"),
        (split, _) => format!("the {split} split"),
    };
    let mut text: String = report.notes.iter().map(|note| format!("note: {note}\n")).collect();
    text += &format!("{measured}, {}\n", counted(report.samples, unit));
    // Writing to a `String` cannot fail.
    let width = report.metrics.keys().map(String::len).max().unwrap_or_default().max(10);
    for (name, value) in ordered(&report.metrics) {
        let _ = writeln!(text, "  {name:<width$} {}", metric(name, value));
    }
    if report.classes.is_empty() {
        return text;
    }
    text.push('\n');
    text += &indented(&scores(&report.per_class));
    if report.classes.len() <= MOST_CLASSES {
        let names: Vec<String> =
            report.classes.iter().map(|class| shortened(class, LONGEST_NAME)).collect();
        text += &confusion(&names, &report.confusion);
    } else {
        text += &without_confusion(report.classes.len(), arguments);
    }
    text
}

/// Where the confusion matrix is, since it is not printed.
fn without_confusion(classes: usize, arguments: &EvalArguments) -> String {
    // A report has the run's own data and model.
    let same = arguments.data.is_none() && arguments.precision == Precision::F32;
    let page = match same && classes <= MOST_IN_MATRIX {
        true => format!("`{}` shows it, and ", command("report", &arguments.run)),
        false => String::new(),
    };
    format!(
        "\n  the confusion matrix of {classes} classes is not printed: {page}`--json` has it whole\n"
    )
}

fn scores(classes: &[ClassScores]) -> String {
    let mut rows = vec![["class", "samples", "precision", "recall", "F1"].map(str::to_owned)];
    rows.extend(classes.iter().map(|scores| {
        let [samples, precision, recall, f1] = scores.cells();
        [shortened(&scores.class, LONGEST_NAME), samples, precision, recall, f1]
    }));
    aligned(&rows, 1)
}

/// Counts as a table: a row for each true class, a column for each predicted one. Where the class
/// names are too long for column heads, columns and rows are numbered.
///
/// - `counts`: `[classes, classes]`
fn confusion(classes: &[String], counts: &[Vec<u64>]) -> String {
    let longest = |texts: &[String]| texts.iter().map(|text| text.chars().count()).max();
    let digits: Vec<String> = counts.iter().flatten().map(u64::to_string).collect();
    let (digits, names) = (longest(&digits).unwrap_or(0), longest(classes).unwrap_or(0));
    let fits = 2 + names.max(5) + classes.len() * (2 + digits.max(names)) <= LINE;
    let numbered = || (1..=classes.len()).map(|number| format!("#{number}")).collect();
    let heads: Vec<String> = if fits { classes.to_vec() } else { numbered() };
    let labels: Vec<String> = match fits {
        true => heads.clone(),
        false => heads.iter().zip(classes).map(|(head, class)| format!("{head} {class}")).collect(),
    };
    let width = longest(&labels).unwrap_or(0).max(5);
    let column = longest(&heads).unwrap_or(0).max(digits); // all columns are equally wide
    let mut rows = vec![iter::once("class".to_owned()).chain(heads).collect::<Vec<_>>()];
    rows.extend(labels.into_iter().zip(counts).map(|(label, counts)| {
        let counts = counts.iter().map(|count| format!("{count:>column$}"));
        iter::once(label).chain(counts).collect()
    }));
    format!("\n  {:<width$}  predicted as\n{}", "true", indented(&aligned(&rows, 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_headed_by_what_stands_before_the_rows() {
        let classes = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            confusion(&classes(&["0", "1"]), &[vec![5, 0], vec![1234, 7]]),
            "\n  true   predicted as\n  class     0     1\n  0         5     0\n  1      1234     7\n"
        );
        let long = "a class whose name w…east one half of it";
        assert_eq!(
            confusion(&classes(&["cat", long]), &[vec![5, 0], vec![1, 7]]),
            format!(
                "\n  true{:39}  predicted as\n  class{:38}  #1  #2\n  #1 cat{:37}   5   0\n  \
                 #2 {long}   1   7\n",
                "", "", ""
            )
        );
    }
}
