//! Every network as an ONNX file: ONNX's own checker accepts it, and ONNX Runtime gives the same
//! logits, also with weights of fewer bits.
//!
//! Without Python, onnx, onnxruntime and safetensors the test says that it skips; with
//! `REQUIRE_ALL=1` in the environment that is a failure.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod cases;

use std::{path::Path, process::Command};

use backend::{Selected, device::Device};
use burn::tensor::{Int, Tensor, TensorData};
use inference::{Description, Model, Prediction};
use models::{Network, Pass};
use store::{NumberType, StoredTensor, TensorFile};

use self::cases::Case;

/// Whether Python can run the script; says so if it cannot.
fn python_is_there() -> bool {
    let imports = "import onnx, onnxruntime, safetensors";
    let imports = Command::new("python3").args(["-c", imports]).output();
    if imports.is_ok_and(|output| output.status.success()) {
        return true;
    }
    let required = std::env::var_os("REQUIRE_ALL").is_some_and(|value| value == "1");
    assert!(!required, "python3 with onnx, onnxruntime and safetensors is required");
    eprintln!("skipped: python3 with onnx, onnxruntime and safetensors is not here");
    false
}

#[test]
fn onnx_runtime_gives_our_logits() {
    if !python_is_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cases = cases::all();
    for case in &cases {
        for numbers in NUMBERS {
            write(case, numbers, folder.path());
        }
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/onnx/check.py");
    let output = Command::new("python3").arg(script).arg(folder.path()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let found = String::from_utf8(output.stdout).unwrap();
    assert_eq!(found.lines().count(), cases.len() * NUMBERS.len(), "{found}{error}");
    for line in found.lines() {
        let difference: f32 = line.rsplit(' ').next().unwrap().parse().unwrap();
        assert!(difference < 1e-4, "{line}");
    }
}

const NUMBERS: [NumberType; 3] = [NumberType::F32, NumberType::F16, NumberType::I8];

/// Writes the network as `NAME.onnx`, and its inputs and logits as `NAME.safetensors`, where the name is
/// the case's and that of the numbers.
///
/// The logits are those of a model that is read from a file of the same numbers.
fn write(case: &Case, numbers: NumberType, folder: &Path) {
    let Case { name, description, inputs } = case;
    let path = |ending| folder.join(format!("{name}.{numbers}.{ending}"));
    let whole = model_file(description);
    let whole_bytes = whole.to_bytes("whole".as_ref()).unwrap();
    let narrow_bytes = whole.to_bytes_of(numbers, "narrow".as_ref()).unwrap();
    let [whole, narrow] = [&whole_bytes, &narrow_bytes]
        .map(|bytes| Model::<Selected>::from_bytes(bytes, &Device::default()).unwrap());
    std::fs::write(path("onnx"), whole.to_onnx(numbers).unwrap()).unwrap();

    let (inputs, logits) = (inputs.clone(), logits(&narrow, inputs));
    let tensors = [("inputs".to_owned(), inputs), ("logits".to_owned(), logits)].into();
    let file = TensorFile { tensors, ..TensorFile::default() };
    file.write(path("safetensors")).unwrap();
}

/// A model whose weights, biases and statistics are all different from each other.
fn model_file(description: &Description) -> TensorFile {
    let blank = cases::blank(&description.architecture);
    let fill = |(name, tensor): (String, StoredTensor)| {
        let (shape, values) = tensor.into_parts();
        let inputs = shape.iter().skip(1).product::<usize>() as f32;
        let noise = cases::noise(&name);
        let value = |index| match (name.rsplit('.').next().unwrap(), shape.len()) {
            ("running_var" | "weight", 1) => 1.0 + 0.5 * noise(index),
            (_, 1) => 0.2 * noise(index),
            _ => (6.0 / inputs).sqrt() * noise(index),
        };
        let values = (0..values.len()).map(value).collect();
        (name, StoredTensor::new(shape, values).unwrap())
    };
    let metadata = serde_json::to_value(description).unwrap();
    TensorFile { tensors: blank.into_iter().map(fill).collect(), metadata }
}

fn logits(model: &Model<Selected>, inputs: &StoredTensor) -> StoredTensor {
    match model.network() {
        Network::Mlp(_) if model.description().classes.is_empty() => values(model, inputs),
        Network::Mlp(network) => stored(network.forward(tensor(inputs), &mut Pass::evaluation())),
        Network::TextLstm(network) => {
            let tokens: Tensor<Selected, 2, Int> = tensor::<2>(inputs).int();
            stored(network.forward(tokens, None, &mut Pass::evaluation()).0)
        }
        _ => stored(model.image_logits(tensor(inputs)).unwrap()),
    }
}

/// What is predicted where the constant column has its value from training, encoded as 0; the graph
/// ignores what is given there.
fn values(model: &Model<Selected>, inputs: &StoredTensor) -> StoredTensor {
    let (rows, width) = (inputs.shape()[0], inputs.shape()[1]);
    let mut features = inputs.values().to_vec();
    features.iter_mut().skip(cases::CONSTANT).step_by(width).for_each(|feature| *feature = 0.0);
    let value = |prediction| match prediction {
        Prediction::Value(value) => value as f32,
        Prediction::Class { top } => panic!("{top:?}"),
    };
    let values = model.predict_rows(&features).unwrap().into_iter().map(value).collect();
    StoredTensor::new(vec![rows, 1], values).unwrap()
}

fn tensor<const D: usize>(stored: &StoredTensor) -> Tensor<Selected, D> {
    let data = TensorData::new(stored.values().to_vec(), stored.shape());
    Tensor::from_data(data, &Device::default())
}

fn stored<const D: usize>(tensor: Tensor<Selected, D>) -> StoredTensor {
    let shape = tensor.dims().to_vec();
    StoredTensor::new(shape, tensor.into_data().iter().collect()).unwrap()
}
