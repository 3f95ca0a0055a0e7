//! `recipes predict`.

use std::{
    collections::HashMap,
    fmt::{Display, LowerExp},
    fs::File,
    io::{Read, stdin},
    path::{Path, PathBuf},
};

use backend::{Selected, device};
use clap::ValueHint;
use data::{
    DataError, TablePreprocessing, TargetKind,
    csv_table::RowReader,
    image_folder::{image_files_in, read_image},
    npy::{is_npy, read_npy_rows},
};
use inference::{InputKind, Model, Prediction, Probability};
use rayon::prelude::*;
use serde::Serialize;

use super::{
    arguments::at_least,
    model::model_of,
    output::{self, Output},
};
use crate::{
    ExitCode, Failure,
    numbers::{percent, told_apart},
};

#[derive(Debug, clap::Args)]
pub(super) struct PredictArguments {
    /// The run directory
    #[arg(value_hint = ValueHint::DirPath)]
    run: PathBuf,
    /// CSV files, `-` for rows on standard input, `.npy` files of rows, image files, or folders of
    /// images
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Print CSV, one row per input
    #[arg(long)]
    csv: bool,
    /// With `--csv`, a column of the tables to copy beside the predictions, such as an identifier; may be
    /// repeated
    #[arg(long, requires = "csv", value_name = "COLUMN")]
    keep: Vec<String>,
    /// How many of the most probable classes to print, at least 1 [default: 1; all with `--json`]
    #[arg(long, value_name = "N", value_parser = at_least::<1>)]
    top: Option<u64>,
    /// With `--csv`, a column for the probability of each class, in the order of the classes
    #[arg(long, requires = "csv", conflicts_with = "top")]
    probabilities: bool,
}

/// A line of the result.
#[derive(Serialize)]
#[serde(untagged)]
enum Line<'a> {
    Class { input: String, class: &'a str, probability: f32, top: &'a [Probability<'a>] },
    Value { input: String, value: f64 },
}

/// An input without a prediction, in JSON.
#[derive(Serialize)]
struct Refused {
    input: String,
    error: String,
}

/// Rows that are read and predicted at a time.
const ROWS_AT_A_TIME: usize = 4096;
/// Images that are decoded and predicted at a time.
const IMAGES_AT_A_TIME: usize = 64;

/// The digits shown of a predicted value; more where values lie close together.
const DIGITS: usize = 6;

/// Smaller numbers have an exponent in CSV, as they do in JSON.
const LEAST_DECIMAL: f64 = 1e-5;

/// Lines are printed once this many bytes have gathered.
const BUFFERED_BYTES: usize = 1 << 16;

/// How predictions are printed.
struct Printer<'a> {
    output: &'a Output,
    /// Not yet printed.
    lines: String,
    csv: bool,
    /// How many classes are printed, the most probable first.
    top: usize,
    /// The classes that have a column each in CSV; none where the most probable have.
    classes: &'a [String],
    /// The standard deviation of the training data's values; 0 where classes are predicted.
    deviation: f64,
    /// The columns of the tables that are copied.
    keep: &'a [String],
    /// The CSV's columns after these; the header is printed with the first row.
    columns: Vec<String>,
    headed: bool,
    /// What was last told to do about an input that was refused.
    help: Option<String>,
}

pub(super) fn run(arguments: &PredictArguments, output: &Output) -> Result<(), Failure> {
    let &PredictArguments { csv, top, probabilities, .. } = arguments;
    if csv && output.json {
        let help = "leave one of them out";
        return Err(Failure::new(ExitCode::Usage, "`--csv` and `--json` cannot be combined", help));
    }
    let unless_told = if output.json || probabilities { usize::MAX } else { 1 };
    let top = top.map_or(unless_told, |top| top as usize);
    let path = model_of(&arguments.run)?;
    let (device, _) = device::open()?;
    let model = Model::<Selected>::read(&path, &device)?;
    let deviation = match model.description().table().map(|table| &table.target.kind) {
        Ok(TargetKind::Regression { deviation, .. }) => *deviation,
        _ => 0.0,
    };
    if deviation > 0.0 && (arguments.top.is_some() || probabilities) {
        let option = if probabilities { "--probabilities" } else { "--top" };
        output::print_note(&format!(
            "`{option}` has no effect: the model predicts a value, not classes"
        ));
    }
    let all = model.description().classes.as_slice();
    let classes = if probabilities { all } else { &[] };
    let columns = match classes {
        [] => columns(top.min(all.len())),
        classes => {
            let probability = classes.iter().map(|class| format!("probability_{class}"));
            ["class".to_owned()].into_iter().chain(probability).collect()
        }
    };
    let lines = String::new();
    let keep = arguments.keep.as_slice();
    let (headed, help) = (false, None);
    let mut printer =
        Printer { output, lines, csv, top, classes, deviation, keep, columns, headed, help };
    match model.description().input() {
        InputKind::Images if !keep.is_empty() => Err(without_columns("an image")),
        InputKind::Images => predict_images(&model, &arguments.inputs, &mut printer),
        InputKind::Rows | InputKind::Text => predict_rows(&model, &arguments.inputs, &mut printer),
    }
}

/// The failure where something has no columns to keep.
fn without_columns(what: &str) -> Failure {
    let message = format!("`--keep` copies columns of a table with names, and {what} has none");
    Failure::new(ExitCode::Usage, message, "leave it out")
}

fn predict_rows(
    model: &Model<Selected>,
    inputs: &[PathBuf],
    printer: &mut Printer<'_>,
) -> Result<(), Failure> {
    let preprocessing = model.description().table()?;
    let mut refused = false;
    for input in inputs {
        refused |= match predict_table(model, preprocessing, input, printer) {
            // The next table may be one.
            Err(failure) if failure.exit_code == ExitCode::UserData => {
                printer.refuse(input.display().to_string(), failure)?;
                true
            }
            ended => ended?,
        };
    }
    printer.flush()?;
    end(refused)
}

/// Predicts the rows of a table; returns whether any was refused.
fn predict_table(
    model: &Model<Selected>,
    preprocessing: &TablePreprocessing,
    input: &Path,
    printer: &mut Printer<'_>,
) -> Result<bool, Failure> {
    if is_npy(input) {
        if !printer.keep.is_empty() {
            return Err(without_columns(&format!("`{}`", input.display())));
        }
        let rows = read_npy_rows(input, preprocessing)?;
        let name = |row: usize| format!("{}[{row}]", input.display());
        let refused = !rows.refused.is_empty();
        let places = rows.rows.into_iter().map(|row| (row, Vec::new())).collect();
        print_rows(model, &rows.features, places, rows.refused, name, printer)?;
        return Ok(refused);
    }
    let mut refused = false;
    let (name, reader) = open(input)?;
    let mut reader = RowReader::new(reader, &name, preprocessing)?;
    reader.keep(printer.keep)?;
    while let Some(rows) = reader.next_rows(ROWS_AT_A_TIME)? {
        refused |= !rows.refused.is_empty();
        let name = |line: u64| format!("{name}:{line}");
        rows.notes.iter().for_each(|note| output::print_note(note));
        let places = rows.lines.into_iter().zip(rows.kept).collect();
        print_rows(model, &rows.features, places, rows.refused, name, printer)?;
    }
    Ok(refused)
}

/// Prints predictions and refusals in the order of the input.
///
/// - `features`: of the rows that can be predicted, `[rows, width]`
/// - `places`: of these rows, each with its cells that are kept
/// - `name`: what the row at a place is called
fn print_rows<P: Ord + Copy>(
    model: &Model<Selected>,
    features: &[f32],
    places: Vec<(P, Vec<String>)>,
    refused: Vec<(P, DataError)>,
    name: impl Fn(P) -> String,
    printer: &mut Printer<'_>,
) -> Result<(), Failure> {
    let mut refused = refused.into_iter().peekable();
    let predictions = model.predict_rows(features)?;
    for ((place, kept), prediction) in places.into_iter().zip(&predictions) {
        while let Some((before, error)) = refused.next_if(|&(other, _)| other < place) {
            printer.refuse(name(before), error.into())?;
        }
        printer.print(name(place), kept, prediction)?;
    }
    for (place, error) in refused {
        printer.refuse(name(place), error.into())?;
    }
    printer.flush()
}

/// What ends the command: each input that was refused has been reported when it was met.
fn end(refused: bool) -> Result<(), Failure> {
    let reported = Failure { exit_code: ExitCode::UserData, problems: Vec::new() };
    if refused { Err(reported) } else { Ok(()) }
}

/// An image that cannot be read is skipped; it changes the exit code.
fn predict_images(
    model: &Model<Selected>,
    inputs: &[PathBuf],
    printer: &mut Printer<'_>,
) -> Result<(), Failure> {
    let preprocessing = model.description().image()?;
    let shape = preprocessing.shape();
    let (mut files, mut refused) = (image_files(inputs)?.into_iter().peekable(), false);
    while files.peek().is_some() {
        let files: Vec<_> = files.by_ref().take(IMAGES_AT_A_TIME).collect();
        let mut pixels = vec![0; files.len() * shape.bytes()];
        let images = pixels.par_chunks_exact_mut(shape.bytes()).zip(files);
        let read: Vec<Found> = images
            .map(|(pixels, (path, found))| {
                let resize = preprocessing.resize;
                let read = found.and_then(|()| Ok(read_image(&path, shape, resize, pixels)?));
                (path, read)
            })
            .collect();
        // Predictions for images that cannot be read are dropped.
        let predictions = model.predict_images(&pixels)?;
        for ((path, read), prediction) in read.into_iter().zip(&predictions) {
            let input = path.display().to_string();
            match read {
                Ok(()) => printer.print(input, Vec::new(), prediction)?,
                Err(failure) => {
                    printer.refuse(input, failure)?;
                    refused = true;
                }
            }
        }
        printer.flush()?;
    }
    end(refused)
}

/// An image, or a folder and why it gives none.
type Found = (PathBuf, Result<(), Failure>);

/// The named files, and those in the named folders, ordered by name.
fn image_files(inputs: &[PathBuf]) -> Result<Vec<Found>, Failure> {
    let mut files = Vec::new();
    for path in inputs {
        if path == Path::new("-") {
            return Err(Failure::new(
                ExitCode::Usage,
                "standard input is read for the rows of a table only",
                "name image files, or folders of them",
            ));
        }
        if !path.is_dir() {
            files.push((path.clone(), Ok(())));
            continue;
        }
        match image_files_in(path).map_err(Failure::from) {
            Ok(found) if found.is_empty() => {
                let help =
                    "name files that end in .jpg, .jpeg, .png, .bmp or .webp, or a folder of them";
                let message = format!("the folder `{}` has no images", path.display());
                let empty = Failure::new(ExitCode::UserData, message, help);
                files.push((path.clone(), Err(empty)));
            }
            Ok(found) => files.extend(found.into_iter().map(|file| (file, Ok(())))),
            Err(failure) => files.push((path.clone(), Err(failure))),
        }
    }
    Ok(files)
}

impl Printer<'_> {
    /// - `kept`: the cells of the input that are copied
    fn print(
        &mut self,
        input: String,
        kept: Vec<String>,
        prediction: &Prediction<'_>,
    ) -> Result<(), Failure> {
        let line = match prediction {
            Prediction::Value(value) => Line::Value { input, value: *value },
            Prediction::Class { top } => {
                let Some(Probability { class, probability }) = top.first() else { return Ok(()) };
                let top = &top[..self.top.min(top.len())];
                Line::Class { input, class, probability: *probability, top }
            }
        };
        if self.csv {
            let (input, cells) = cells(&line, self.classes);
            self.print_row(input, [kept, cells].concat());
        } else {
            let deviation = self.deviation;
            self.lines += &self.output.formatted(&line, |line| text(line, deviation));
        }
        if self.lines.len() < BUFFERED_BYTES { Ok(()) } else { self.flush() }
    }

    /// Reports on stderr, and in JSON, that an input has no prediction. In CSV its cells are empty, so
    /// that there is a row for each input. What to do is told once for several inputs in a row.
    fn refuse(&mut self, input: String, mut failure: Failure) -> Result<(), Failure> {
        self.flush()?; // to keep the order on a terminal
        let refused = Refused { input, error: failure.to_string() };
        for problem in &mut failure.problems {
            match problem.help == self.help {
                true => problem.help = None,
                false => self.help.clone_from(&problem.help),
            }
        }
        output::print_failure(&failure);
        if self.csv {
            self.print_row(refused.input, Vec::new());
        } else {
            self.lines += &self.output.formatted(&refused, |_| String::new());
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        output::print(&std::mem::take(&mut self.lines))
    }

    /// Prints a row, and the header before the first; cells that it lacks are empty.
    fn print_row(&mut self, input: String, mut cells: Vec<String>) {
        let line = |first: String, others: &[String]| row(&[&[first][..], others].concat());
        if !std::mem::replace(&mut self.headed, true) {
            self.lines += &line("input".to_owned(), &[self.keep, &self.columns].concat());
        }
        cells.resize(self.keep.len() + self.columns.len(), String::new());
        self.lines += &line(input, &cells);
    }
}

/// The columns of a prediction in CSV: `class,probability,class_2,probability_2`, or `value`.
///
/// - `top`: how many classes are printed; 0 where a value is predicted
fn columns(top: usize) -> Vec<String> {
    let of_class = |rank: usize| {
        let rank = if rank == 1 { String::new() } else { format!("_{rank}") };
        [format!("class{rank}"), format!("probability{rank}")]
    };
    match top {
        0 => vec!["value".to_owned()],
        top => (1..=top).flat_map(of_class).collect(),
    }
}

/// The cells of these columns, or the class and the probability of each of `classes`.
fn cells(line: &Line<'_>, classes: &[String]) -> (String, Vec<String>) {
    match line {
        Line::Value { input, value } => (input.clone(), vec![cell(*value)]),
        Line::Class { input, class, top, .. } if !classes.is_empty() => {
            let of: HashMap<&str, f32> =
                top.iter().map(|named| (named.class, named.probability)).collect();
            let probabilities = classes.iter().map(|class| cell(of[class.as_str()]));
            let cells = [(*class).to_owned()].into_iter().chain(probabilities);
            (input.clone(), cells.collect())
        }
        Line::Class { input, top, .. } => {
            let of = |named: &Probability<'_>| [named.class.to_owned(), cell(named.probability)];
            (input.clone(), top.iter().flat_map(of).collect())
        }
    }
}

/// A number in as few digits as determine it, with an exponent instead of many zeros.
fn cell<N: Into<f64> + Display + LowerExp + Copy>(number: N) -> String {
    let size = number.into().abs();
    if size > 0.0 && size < LEAST_DECIMAL { format!("{number:e}") } else { number.to_string() }
}

/// A line of text, also where a file's name or a class has several.
fn text(line: &Line<'_>, deviation: f64) -> String {
    let (input, predicted) = match line {
        Line::Value { input, value } => (input, told_apart(*value, DIGITS, deviation)),
        Line::Class { input, top, .. } => {
            let named = |Probability { class, probability }: &Probability<'_>| {
                format!("{class} ({})", percent(f64::from(*probability)))
            };
            let named: Vec<String> = top.iter().map(named).collect();
            (input, named.join(", "))
        }
    };
    format!("{input}: {predicted}").replace('\n', "\\n") + "\n"
}

/// Cells as a line of a CSV file.
fn row(cells: &[String]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(cells).expect("memory takes every row");
    let row = writer.into_inner().expect("memory takes every row");
    String::from_utf8_lossy(&row).into_owned()
}

fn open(input: &Path) -> Result<(String, Box<dyn Read>), Failure> {
    if input == Path::new("-") {
        return Ok(("standard input".to_owned(), Box::new(stdin())));
    }
    match File::open(input) {
        Ok(file) => Ok((input.display().to_string(), Box::new(file))),
        Err(error) => Err(Failure::new(
            ExitCode::UserData,
            format!("cannot read `{}`: {error}", input.display()),
            "check the path, or use `-` for standard input",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_numbers_have_an_exponent_in_csv() {
        let tiny = 3.569_004_6e-35_f32;
        assert_eq!(
            [tiny, 1.5e-45, 0.25, 0.0, 1.0].map(cell),
            ["3.5690046e-35", "1e-45", "0.25", "0", "1"]
        );
        assert_eq!(cell(tiny).parse(), Ok(tiny));
        assert_eq!(
            [0.000_012_5, -2.5e-7, 1234.5].map(cell::<f64>),
            ["0.0000125", "-2.5e-7", "1234.5"]
        );
    }

    #[test]
    fn a_prediction_is_a_line_whatever_the_name() {
        let line = Line::Value { input: "a\nb.png".to_owned(), value: 1.5 };
        assert_eq!(text(&line, 0.0), "a\\nb.png: 1.5\n");
    }
}
