//! `recipes predict`.

use std::{
    fs::File,
    io::{Read, stdin},
    path::{Path, PathBuf},
};

use backend::{Selected, device};
use data::{csv_table::read_rows, image_folder::read_image};
use inference::{InputKind, Model, Prediction, Probability};
use serde::Serialize;

use super::output::Output;
use crate::{ExitCode, Failure, console::rounded};

#[derive(Debug, clap::Args)]
pub(super) struct PredictArguments {
    /// A run's directory
    run: PathBuf,
    /// CSV files, `-` for rows on standard input, image files, or folders of images
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<String>,
}

/// A line of the result.
#[derive(Serialize)]
#[serde(untagged)]
enum Line<'a> {
    Class { input: String, class: &'a str, probability: f32, top: &'a [Probability] },
    Value { input: String, value: f32 },
}

/// Images that are decoded, and predicted, at a time.
const IMAGES_AT_A_TIME: usize = 64;

pub(super) fn run(arguments: &PredictArguments, output: &Output) -> Result<(), Failure> {
    let path = model_of(&arguments.run)?;
    let (device, _) = device::open()?;
    let model = Model::<Selected>::read(&path, &device)?;
    match model.description().input() {
        InputKind::Images => predict_images(&model, &arguments.inputs, output),
        InputKind::Rows | InputKind::Text => predict_rows(&model, &arguments.inputs, output),
    }
}

fn predict_rows(
    model: &Model<Selected>,
    inputs: &[String],
    output: &Output,
) -> Result<(), Failure> {
    let preprocessing = model.description().table()?;
    for input in inputs {
        let (name, reader) = open(input)?;
        let rows = read_rows(reader, &name, preprocessing)?;
        let predictions = model.predict_rows(&rows.features)?;
        for (line, prediction) in rows.lines.iter().zip(&predictions) {
            print(output, format!("{name}:{line}"), prediction);
        }
    }
    Ok(())
}

fn predict_images(
    model: &Model<Selected>,
    inputs: &[String],
    output: &Output,
) -> Result<(), Failure> {
    let preprocessing = model.description().image()?;
    let shape = preprocessing.shape();
    let paths = image_files(inputs)?;
    for paths in paths.chunks(IMAGES_AT_A_TIME) {
        let mut pixels = vec![0; paths.len() * shape.bytes()];
        for (path, pixels) in paths.iter().zip(pixels.chunks_exact_mut(shape.bytes())) {
            read_image(path, shape, preprocessing.resize, pixels)?;
        }
        for (path, prediction) in paths.iter().zip(&model.predict_images(&pixels)?) {
            print(output, path.display().to_string(), prediction);
        }
    }
    Ok(())
}

/// The files that are named, and those in the folders that are, in the order of their names.
fn image_files(inputs: &[String]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for input in inputs {
        let path = Path::new(input);
        if !path.is_dir() {
            files.push(path.to_owned());
            continue;
        }
        let found = data::image_folder::image_files_in(path)?;
        if found.is_empty() {
            return Err(Failure::new(
                ExitCode::UserData,
                format!("the folder `{input}` has no images"),
                "name files that end in .jpg, .jpeg, .png, .bmp or .webp, or a folder of them",
            ));
        }
        files.extend(found);
    }
    Ok(files)
}

fn print(output: &Output, input: String, prediction: &Prediction) {
    let line = match prediction {
        Prediction::Value(value) => Line::Value { input, value: *value },
        Prediction::Class { top } => {
            let Some(Probability { class, probability }) = top.first() else { return };
            Line::Class { input, class, probability: *probability, top }
        }
    };
    output.result(&line, |line| match line {
        Line::Value { input, value } => format!("{input}: {}\n", rounded(f64::from(*value))),
        Line::Class { input, class, probability, .. } => {
            format!("{input}: {class} ({:.1} %)\n", probability * 100.0)
        }
    });
}

/// The model file of a finished run.
pub(super) fn model_of(run: &Path) -> Result<PathBuf, Failure> {
    let shown = run.display();
    let wrong = |message: String, help: &str| Err(Failure::new(ExitCode::UserData, message, help));
    let path = run.join("model.safetensors");
    if path.is_file() {
        Ok(path)
    } else if run.join("config.toml").is_file() {
        wrong(
            format!("the run `{shown}` has no model: it did not finish"),
            &format!("go on with it: `recipes resume {shown}`"),
        )
    } else if run.is_dir() {
        wrong(
            format!("`{shown}` is not a run: it has no `model.safetensors`"),
            "name the directory that `recipes train` printed at its end",
        )
    } else {
        wrong(
            format!("there is no run directory `{shown}`"),
            "name the directory that `recipes train` printed at its end",
        )
    }
}

fn open(input: &str) -> Result<(String, Box<dyn Read>), Failure> {
    if input == "-" {
        return Ok(("standard input".to_owned(), Box::new(stdin())));
    }
    match File::open(input) {
        Ok(file) => Ok((input.to_owned(), Box::new(file))),
        Err(error) => Err(Failure::new(
            ExitCode::UserData,
            format!("cannot read `{input}`: {error}"),
            "check the path, or use `-` for standard input",
        )),
    }
}
