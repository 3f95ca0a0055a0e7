//! Our files in PyTorch: its own layers load them strictly, and give the same logits.
//!
//! Without Python, torch and safetensors the test says that it skips; with `REQUIRE_ALL=1` in the
//! environment that is a failure.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use std::{path::Path, process::Command};

use backend::{Selected, device::Device};
use burn::{module::Module, tensor::Tensor};
use models::{
    HeadConfig, Law, Pass, Positions, TextLstmConfig, VggClassifierConfig, VggConfig, weights,
};
use store::{StoredTensor, TensorFile};

use crate::common::{images, tokens};

/// Whether Python can run the script; says so if it cannot.
fn python_is_there() -> bool {
    let imports = Command::new("python3").args(["-c", "import safetensors, torch"]).output();
    if imports.is_ok_and(|output| output.status.success()) {
        return true;
    }
    let required = std::env::var_os("REQUIRE_ALL").is_some_and(|value| value == "1");
    assert!(!required, "python3 with torch and safetensors is required");
    eprintln!("skipped: python3 with torch and safetensors is not here");
    false
}

fn stored<const D: usize>(tensor: Tensor<Selected, D>) -> StoredTensor {
    let shape = tensor.dims().to_vec();
    StoredTensor::new(shape, tensor.into_data().iter().collect()).unwrap()
}

fn check<M: Module<Selected>>(
    network: &str,
    model: &M,
    inputs: StoredTensor,
    logits: StoredTensor,
) {
    let mut tensors = weights::to_tensors(model);
    tensors.extend([("inputs".to_owned(), inputs), ("logits".to_owned(), logits)]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    TensorFile { tensors, ..TensorFile::default() }.write(&path).unwrap();

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/load_in_pytorch.py");
    let output = Command::new("python3").arg(script).arg(network).arg(&path).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{network}: {error}");
    let difference: f32 = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
    assert!(difference < 1e-5, "{network}: the logits differ by {difference}");
}

#[test]
fn pytorch_loads_our_vgg_and_our_lstm() {
    if !python_is_there() {
        return;
    }
    let device = Device::default();
    let features =
        VggConfig { blocks: vec![vec![8], vec![12]], batch_norm: true, channels: 3, size: 8 };
    let inputs = features.features();
    let head = HeadConfig { inputs, hidden: vec![16], outputs: 4, dropout: 0.5 };
    let model = VggClassifierConfig { features, head }.init::<Selected>(1, &device);
    let images = images([2, 3, 8, 8]);
    // Statistics other than the initial ones.
    let mut pass = Pass::training(0, 0, 0);
    model.forward(images.clone(), &mut pass);
    let model = pass.update_statistics(model);
    let logits = model.forward(images.clone(), &mut Pass::evaluation());
    check("vgg", &model, stored(images), stored(logits));

    let config = TextLstmConfig {
        vocabulary: 11,
        embedding: 4,
        hidden: 5,
        layers: 2,
        dropout: 0.0,
        predict: Positions::All,
        initialization: Law::Pytorch,
    };
    let model = config.init::<Selected>(1, &device);
    let tokens = tokens(2, 6);
    let (logits, _) = model.forward(tokens.clone(), None, &mut Pass::evaluation());
    check("lstm", &model, stored(tokens.float()), stored(logits));
}
