//! `recipes predict`.

use std::{
    fs::File,
    io::{Read, stdin},
    path::{Path, PathBuf},
};

use backend::{Selected, device};
use data::csv_table::read_rows;
use inference::{Model, Prediction, Probability};
use serde::Serialize;

use super::output::Output;
use crate::{ExitCode, Failure, console::rounded};

#[derive(Debug, clap::Args)]
pub(super) struct PredictArguments {
    /// A run's directory
    run: PathBuf,
    /// CSV files, or `-` for standard input
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

pub(super) fn run(arguments: &PredictArguments, output: &Output) -> Result<(), Failure> {
    let path = model_of(&arguments.run)?;
    let (device, _) = device::open()?;
    let model = Model::<Selected>::read(&path, &device)?;
    for input in &arguments.inputs {
        let (name, reader) = open(input)?;
        let rows = read_rows(reader, &name, model.description().table())?;
        let predictions = model.predict(rows.features, &device);
        for (line, prediction) in rows.lines.iter().zip(&predictions) {
            print(output, format!("{name}:{line}"), prediction);
        }
    }
    Ok(())
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
fn model_of(run: &Path) -> Result<PathBuf, Failure> {
    let shown = run.display();
    let wrong = |message: String, help: &str| Err(Failure::new(ExitCode::UserData, message, help));
    let path = run.join("model.safetensors");
    if path.is_file() {
        Ok(path)
    } else if run.join("config.toml").is_file() {
        wrong(
            format!("the run `{shown}` has no model: it did not finish"),
            "train it again from its `config.toml`",
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
