//! `recipes predict`.

mod texts;

use std::{
    fs::File,
    io::{ErrorKind, Read, stdin},
    path::{Path, PathBuf},
};

use backend::{Selected, device};
use clap::ValueHint;
use data::{
    DataError, ImagePreprocessing, TablePreprocessing, TargetKind,
    class_folders::FileKind,
    csv_table::{RefusedRow, RowReader},
    image_folder::{BadImage, ImageFolderError, decode_image, image_files_in, read_image},
    npy::{is_npy, read_npy_rows},
};
use inference::{IMAGES_AT_A_TIME, InputKind, Model, ROWS_AT_A_TIME};
use rayon::prelude::*;

use super::{
    arguments::at_least,
    model::{compute_as, model_at},
    output::{self, Output},
    printer::{Printed, Printer, refuse_csv_and_json},
};
use crate::{ExitCode, Failure};

#[derive(Debug, clap::Args)]
pub(super) struct PredictArguments {
    /// The run directory, or a `model.safetensors`
    #[arg(value_hint = ValueHint::AnyPath)]
    run: PathBuf,
    /// CSV files, `.npy` files of rows, images or folders of them, texts or folders of them if the model
    /// was trained on files of texts, or `-` for what is on standard input
    #[arg(required_unless_present = "text", value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// A text to predict, if the model reads one column of texts; other columns count as missing; may be
    /// repeated
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["inputs", "keep"])]
    text: Vec<String>,
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

pub(super) fn run(arguments: &PredictArguments, output: &Output) -> Result<(), Failure> {
    let &PredictArguments { csv, top, probabilities, .. } = arguments;
    refuse_csv_and_json(csv, output)?;
    let unless_told = if output.json || probabilities { usize::MAX } else { 1 };
    let top = top.map_or(unless_told, |top| top as usize);
    let path = model_at(&arguments.run)?;
    compute_as(&path);
    let (device, _) = device::open()?;
    let model = Model::<Selected>::read(&path, &device)?;
    let value = match model.description().table().map(|table| &table.target.kind) {
        // Logarithms that differ make values that do in their first digits.
        Ok(TargetKind::Regression(scores)) if scores.scale.is_linear() => Some(scores.deviation),
        Ok(TargetKind::Regression(_)) => Some(0.0),
        _ => None,
    };
    let deviation = value.unwrap_or(0.0);
    if value.is_some() && (arguments.top.is_some() || probabilities) {
        let option = if probabilities { "--probabilities" } else { "--top" };
        output::print_note(&format!(
            "`{option}` has no effect: the model predicts a value, not classes"
        ));
    }
    let all = model.description().classes.as_slice();
    let classes = if probabilities { all } else { &[] };
    let (top, keep) = (top.min(all.len()), arguments.keep.as_slice());
    let mut printer = Printer::new(output, Printed { csv, top, classes, deviation, keep })?;
    match model.description().input() {
        _ if !arguments.text.is_empty() => {
            texts::predict_given(&model, &arguments.text, &mut printer)
        }
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
    if !printer.keep().is_empty()
        && inputs.iter().any(|input| texts::is_of_texts(input, preprocessing))
    {
        return Err(without_columns("a text"));
    }
    let mut refused = false;
    for input in inputs {
        let predicted = match texts::is_of_texts(input, preprocessing) {
            true => texts::predict_files(model, input, printer),
            false => predict_table(model, preprocessing, input, inputs.len() == 1, printer),
        };
        refused |= match predicted {
            // The next table may be one.
            Err(failure) if failure.exit_code == ExitCode::UserData => {
                printer.refuse(name(input), Vec::new(), failure)?;
                true
            }
            ended => ended?,
        };
    }
    printer.finish()?;
    end(refused)
}

/// Predicts the rows of a table; returns whether any was refused.
///
/// - `is_alone`: whether it is the only one
fn predict_table(
    model: &Model<Selected>,
    preprocessing: &TablePreprocessing,
    input: &Path,
    is_alone: bool,
    printer: &mut Printer<'_>,
) -> Result<bool, Failure> {
    if is_npy(input) {
        if !printer.keep().is_empty() {
            return Err(without_columns(&format!("`{}`", input.display())));
        }
        let rows = read_npy_rows(input, preprocessing)?;
        let name = |row: usize| format!("{}[{row}]", input.display());
        rows.notes.iter().for_each(|note| output::print_note(note));
        let places = rows.rows.into_iter().map(|row| (row, Vec::new())).collect();
        let refused: Vec<_> =
            rows.refused.into_iter().map(|(row, error)| (row, Vec::new(), error)).collect();
        let any_refused = !refused.is_empty();
        print_rows(model, &rows.features, places, refused, name, printer)?;
        return Ok(any_refused);
    }
    let mut refused = false;
    let (name, reader) = open(input)?;
    let mut reader = RowReader::new(reader, &name, preprocessing)?;
    reader.keep(printer.keep()).map_err(|error| match is_alone {
        true => Failure { exit_code: ExitCode::Usage, ..error.into() },
        false => error.into(), // the others may have such a column
    })?;
    while let Some(rows) = reader.next_rows(ROWS_AT_A_TIME)? {
        refused |= !rows.refused.is_empty();
        let name = |line: u64| format!("{name}:{line}");
        rows.notes.iter().for_each(|note| output::print_note(note));
        let places = rows.lines.into_iter().zip(rows.kept).collect();
        let refused_row = |RefusedRow { line, kept, error }| (line, kept, error);
        let refused_rows = rows.refused.into_iter().map(refused_row).collect();
        print_rows(model, &rows.features, places, refused_rows, name, printer)?;
    }
    Ok(refused)
}

/// Prints predictions and refusals in the order of the input.
///
/// - `features`: of the rows that can be predicted, `[rows, width]`
/// - `places`: of these rows, each with its cells that are kept
/// - `refused`: the places of others, with their cells that are kept, and what is wrong with them
/// - `name`: what the row at a place is called
fn print_rows<P: Ord + Copy>(
    model: &Model<Selected>,
    features: &[f32],
    places: Vec<(P, Vec<String>)>,
    refused: Vec<(P, Vec<String>, DataError)>,
    name: impl Fn(P) -> String,
    printer: &mut Printer<'_>,
) -> Result<(), Failure> {
    let mut refused = refused.into_iter().peekable();
    let predictions = model.predict_rows(features)?;
    for ((place, kept), prediction) in places.into_iter().zip(&predictions) {
        while let Some((before, kept, error)) = refused.next_if(|&(other, ..)| other < place) {
            printer.refuse(name(before), kept, error.into())?;
        }
        printer.print(name(place), kept, prediction)?;
    }
    for (place, kept, error) in refused {
        printer.refuse(name(place), kept, error.into())?;
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
    let (mut files, mut refused) = (image_files(inputs).into_iter().peekable(), false);
    while files.peek().is_some() {
        let files: Vec<_> = files.by_ref().take(IMAGES_AT_A_TIME).collect();
        let mut pixels = vec![0; files.len() * shape.bytes()];
        let images = pixels.par_chunks_exact_mut(shape.bytes()).zip(files);
        let read: Vec<Found> = images
            .map(|(pixels, (path, found))| {
                let read = found.and_then(|()| Ok(read(&path, preprocessing, pixels)?));
                (path, read)
            })
            .collect();
        // Predictions for images that cannot be read are dropped.
        let predictions = model.predict_images(&pixels)?;
        for ((path, read), prediction) in read.into_iter().zip(&predictions) {
            let input = name(&path);
            match read {
                Ok(()) => printer.print(input, Vec::new(), prediction)?,
                Err(failure) => {
                    printer.refuse(input, Vec::new(), failure)?;
                    refused = true;
                }
            }
        }
        printer.flush()?;
    }
    end(refused)
}

/// What stands for standard input.
const STANDARD_INPUT: &str = "-";

/// What an input is called.
fn name(input: &Path) -> String {
    let is_named = input != Path::new(STANDARD_INPUT);
    if is_named { input.display().to_string() } else { "standard input".to_owned() }
}

/// Reads the pixels of a file's image, or of the one on standard input.
fn read(
    input: &Path,
    preprocessing: &ImagePreprocessing,
    pixels: &mut [u8],
) -> Result<(), DataError> {
    let (shape, resize) = (preprocessing.shape(), preprocessing.resize);
    if input != Path::new(STANDARD_INPUT) {
        return read_image(input, shape, resize, pixels);
    }
    let mut image = Vec::new();
    stdin()
        .read_to_end(&mut image)
        .map_err(BadImage::Read)
        .and_then(|_| decode_image(&image, shape, resize, pixels))
        .map_err(|reason| ImageFolderError::NotRead { path: name(input).into(), reason }.into())
}

/// An image, or a folder and why it gives none.
type Found = (PathBuf, Result<(), Failure>);

/// The named files, and those in the named folders, ordered by name.
fn image_files(inputs: &[PathBuf]) -> Vec<Found> {
    let mut files = Vec::new();
    for path in inputs {
        if path == Path::new(STANDARD_INPUT) || !path.is_dir() {
            files.push((path.clone(), Ok(())));
            continue;
        }
        match some_files(path, image_files_in(path), FileKind::Image) {
            Ok(found) => files.extend(found.into_iter().map(|file| (file, Ok(())))),
            Err(failure) => files.push((path.clone(), Err(failure))),
        }
    }
    files
}

/// The files found in a folder, unless there are none.
fn some_files(
    folder: &Path,
    found: Result<Vec<PathBuf>, DataError>,
    kind: FileKind,
) -> Result<Vec<PathBuf>, Failure> {
    let found = found?;
    if found.is_empty() {
        let message = format!("the folder `{}` has no {}", folder.display(), kind.plural());
        let help = format!("name {} ({}), or a folder of them", kind.plural(), kind.endings());
        return Err(Failure::new(ExitCode::UserData, message, help));
    }
    Ok(found)
}

fn open(input: &Path) -> Result<(String, Box<dyn Read>), Failure> {
    if input == Path::new(STANDARD_INPUT) {
        return Ok((name(input), Box::new(stdin())));
    }
    // Windows refuses to open it, and does not say why.
    if input.is_dir() {
        return Err(DataError::Directory { path: input.to_owned() }.into());
    }
    match File::open(input) {
        Ok(file) => Ok((name(input), Box::new(file))),
        Err(error) => {
            let help = match error.kind() {
                ErrorKind::PermissionDenied => "check who may read it",
                _ => "check the path, or use `-` for standard input",
            };
            let message = format!("cannot read `{}`: {error}", input.display());
            Err(Failure::new(ExitCode::UserData, message, help))
        }
    }
}
