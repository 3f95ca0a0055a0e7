//! `recipes export`: a trained model as a file for other programs.

use std::path::{Path, PathBuf};

use backend::{Selected, device};
use clap::ValueHint;
use inference::Model;
use serde::Serialize;
use store::{NumberType, TensorFile, sha256_hex};

use super::{
    model::model_at,
    new_file::{FileFormat, NewFile},
    output::Output,
};
use crate::{
    ExitCode, Failure,
    run::directory::{CONFIG, INITIAL, MODEL},
};

#[derive(Debug, clap::Args)]
pub(super) struct ExportArguments {
    /// The run directory, or a `model.safetensors`
    #[arg(value_hint = ValueHint::AnyPath)]
    run: PathBuf,
    /// File format
    #[arg(long, value_enum)]
    format: Format,
    /// The number type in which the weights are stored; `recipes eval` with it shows what it costs
    #[arg(long, value_enum, default_value_t)]
    precision: Precision,
    /// The file to write [default: `export.safetensors` or `model.onnx` beside the model]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// The weights, with PyTorch's names and layout, and a description of the network
    Safetensors,
    /// The whole network, with its class names and preprocessing, for ONNX Runtime and others
    Onnx,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub(super) enum Precision {
    /// As they were trained
    #[default]
    F32,
    /// Half the size, rounded to 11 bits
    F16,
    /// A quarter of the size, rounded to 8 bits with a scale for each output
    I8,
}

impl Precision {
    pub(super) fn numbers(self) -> NumberType {
        match self {
            Self::F32 => NumberType::F32,
            Self::F16 => NumberType::F16,
            Self::I8 => NumberType::I8,
        }
    }
}

/// The files that are written by default, in the run directory, and their formats.
pub(super) const EXPORTS: [(&str, &str); 2] =
    [("export.safetensors", "safetensors"), ("model.onnx", "onnx")];

/// What was written.
#[derive(Serialize)]
struct Exported {
    file: String,
    bytes: usize,
    sha256: String,
}

pub(super) fn run(arguments: &ExportArguments, output: &Output) -> Result<(), Failure> {
    let model = model_at(&arguments.run)?;
    let [(safetensors, _), (onnx, _)] = EXPORTS;
    let (default, format) = match arguments.format {
        Format::Safetensors => {
            (safetensors, FileFormat { name: "safetensors", endings: &["safetensors"] })
        }
        Format::Onnx => (onnx, FileFormat { name: "ONNX", endings: &["onnx"] }),
    };
    let file = arguments.output.clone().unwrap_or_else(|| model.with_file_name(default));
    refuse_files_of_runs(&file)?;
    let new_file = NewFile::check(&file, "--output", format, arguments.force)?;
    let numbers = arguments.precision.numbers();
    let bytes = match arguments.format {
        Format::Safetensors => TensorFile::read(&model)
            .and_then(|model| model.to_bytes_of(numbers, &file))
            .map_err(Failure::user_data)?,
        Format::Onnx => {
            let (device, _) = device::open()?;
            Model::<Selected>::read(&model, &device)?.to_onnx(numbers)?
        }
    };
    new_file.write(&bytes)?;
    let written = Exported {
        file: file.display().to_string(),
        bytes: bytes.len(),
        sha256: sha256_hex(&bytes),
    };
    output.result(&written, |Exported { file, bytes, sha256 }| {
        format!("wrote {file}, {bytes} bytes, SHA-256 {sha256}\n")
    })
}

/// Refuses to replace the weights that a run rests on, which may be rounded here, or those of another.
fn refuse_files_of_runs(file: &Path) -> Result<(), Failure> {
    // Many file systems take `Model.safetensors` for the same.
    let name = file.file_name().unwrap_or_default();
    let is_own = [MODEL, INITIAL].iter().any(|own| name.eq_ignore_ascii_case(own));
    if !is_own || !file.with_file_name(CONFIG).exists() {
        return Ok(());
    }
    Err(Failure::new(
        ExitCode::Usage,
        format!("`{}` is a run's own file, by which it is evaluated or resumed", file.display()),
        "name another file with `--output`",
    ))
}
