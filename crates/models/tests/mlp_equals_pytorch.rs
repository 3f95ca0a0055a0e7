//! The MLP against PyTorch: logits, losses and gradients of a small network.

use std::collections::BTreeMap;

use backend::{Selected, device::Device};
use burn::{
    backend::Autodiff,
    module::{Module, ModuleVisitor, Param},
    tensor::{Tensor, TensorData, Tolerance, backend::AutodiffBackend},
};
use models::{MlpConfig, losses::cross_entropy, weights};
use serde::Deserialize;
use store::StoredTensor;

type Recorded = Autodiff<Selected>;

#[derive(Deserialize)]
struct Stored {
    shape: Vec<usize>,
    values: Vec<f32>,
}

#[derive(Deserialize)]
struct Fixture {
    weights: BTreeMap<String, Stored>,
    gradients: BTreeMap<String, Stored>,
    features: Stored,
    targets: Vec<i32>,
    logits: Stored,
    losses: Stored,
}

impl Stored {
    fn data(&self) -> TensorData {
        TensorData::new(self.values.clone(), self.shape.clone())
    }
}

/// Sums of all gradients of a module, in the order of its parameters, in PyTorch's layout.
struct Gradients {
    found: <Recorded as AutodiffBackend>::Gradients,
    all: Vec<TensorData>,
}

impl ModuleVisitor<Recorded> for Gradients {
    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<Recorded, D>>) {
        let gradient = parameter.val().grad(&self.found).expect("a gradient for each parameter");
        let pytorch = if D == 2 { gradient.swap_dims(0, 1) } else { gradient };
        self.all.push(pytorch.into_data());
    }
}

#[test]
fn logits_losses_and_gradients_are_pytorchs() {
    let text = include_str!("golden/mlp/fixture.json");
    let fixture: Fixture = serde_json::from_str(text).unwrap();
    let device = Device::default();
    let config = MlpConfig { inputs: 4, hidden: vec![5, 3], outputs: 3 };
    let tensors = fixture.weights.iter().map(|(name, stored)| {
        let tensor = StoredTensor::new(stored.shape.clone(), stored.values.clone()).unwrap();
        (name.clone(), tensor)
    });
    let model = weights::load(config.init::<Recorded>(0, &device), tensors.collect()).unwrap();
    let tolerance = Tolerance::<f32>::rel_abs(1e-5, 1e-6);

    let logits = model.forward(Tensor::from_data(fixture.features.data(), &device));
    logits.clone().into_data().assert_approx_eq(&fixture.logits.data(), tolerance);

    let targets = Tensor::from_data(TensorData::from(fixture.targets.as_slice()), &device);
    let losses = cross_entropy(logits, targets);
    losses.clone().into_data().assert_approx_eq(&fixture.losses.data(), tolerance);

    let mut gradients = Gradients { found: losses.sum().backward(), all: Vec::new() };
    model.visit(&mut gradients);
    let names =
        [0, 1, 2].map(|layer| [format!("layers.{layer}.weight"), format!("layers.{layer}.bias")]);
    assert_eq!(gradients.all.len(), 6);
    for (name, gradient) in names.concat().iter().zip(&gradients.all) {
        gradient.assert_approx_eq(&fixture.gradients[name].data(), tolerance);
    }
}
