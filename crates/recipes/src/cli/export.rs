//! `recipes export`: a trained model as a file for other programs.

use std::path::{Path, PathBuf};

use backend::{Selected, device};
use inference::Model;
use serde::Serialize;
use store::{TensorFile, sha256_hex_of, write_whole};

use super::{
    output::{Output, refuse_existing},
    predict::model_of,
};
use crate::{ExitCode, Failure};

#[derive(Debug, clap::Args)]
pub(super) struct ExportArguments {
    /// The run directory
    run: PathBuf,
    /// File format
    #[arg(long, value_enum)]
    format: Format,
    /// The number type of a safetensors file; f16 halves its size and rounds to 11 bits
    #[arg(long, value_enum, default_value_t)]
    precision: Precision,
    /// The file to write [default: `export.safetensors` or `model.onnx` in the run directory]
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

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Precision {
    #[default]
    F32,
    F16,
}

/// The files that are written by default, in the run directory, and their formats.
pub(super) const EXPORTS: [(&str, &str); 2] =
    [("export.safetensors", "safetensors"), ("model.onnx", "onnx")];

/// What was written.
#[derive(Serialize)]
struct Exported {
    file: String,
    bytes: u64,
    sha256: String,
}

pub(super) fn run(arguments: &ExportArguments, output: &Output) -> Result<(), Failure> {
    let model = model_of(&arguments.run)?;
    let [(safetensors, _), (onnx, _)] = EXPORTS;
    let default = match arguments.format {
        Format::Safetensors => safetensors,
        Format::Onnx => onnx,
    };
    let file = arguments.output.clone().unwrap_or_else(|| arguments.run.join(default));
    refuse_existing(&file, "--output", arguments.force)?;
    match arguments.format {
        Format::Safetensors => write_safetensors(&model, arguments.precision, &file)?,
        Format::Onnx => write_onnx(&model, arguments.precision, &file)?,
    }
    let written = std::fs::File::open(&file).and_then(|opened| {
        let bytes = opened.metadata()?.len();
        let sha256 = sha256_hex_of(opened)?;
        Ok(Exported { file: file.display().to_string(), bytes, sha256 })
    });
    let written = written.map_err(|error| {
        let message = format!("`{}` cannot be read back: {error}", file.display());
        Failure::new(ExitCode::Unexpected, message, "check the disk, then export again")
    })?;
    output.result(&written, |Exported { file, bytes, sha256 }| {
        format!("wrote {file}, {bytes} bytes, SHA-256 {sha256}\n")
    })
}

fn write_safetensors(model: &Path, precision: Precision, file: &Path) -> Result<(), Failure> {
    let model = TensorFile::read(model).map_err(Failure::user_data)?;
    let written = match precision {
        Precision::F32 => model.write(file),
        Precision::F16 => model.write_f16(file),
    };
    written.map_err(Failure::user_data)
}

fn write_onnx(model: &Path, precision: Precision, file: &Path) -> Result<(), Failure> {
    if let Precision::F16 = precision {
        return Err(Failure::new(
            ExitCode::Usage,
            "ONNX files are written in 32 bits",
            "leave `--precision` out, or use `--format safetensors`",
        ));
    }
    let (device, _) = device::open()?;
    let bytes = Model::<Selected>::read(model, &device)?.to_onnx()?;
    write_whole(file, &bytes).map_err(Failure::user_data)
}
