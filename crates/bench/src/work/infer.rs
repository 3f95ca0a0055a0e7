//! The forward pass of a network on given inputs, without gradients.

use std::{path::Path, time::Instant};

use backend::{Selected, device, device::Device};
use burn::tensor::{Tensor, TensorData};
use models::{Initializer, Network, Pass, Vgg, weights};
use store::StoredTensor;

use super::Work;
use crate::{
    exchange::{Case, Described, read},
    job::{Measured, Ready},
};

pub(super) struct Infer {
    case: Case,
    network: Loaded,
    inputs: Vec<StoredTensor>,
    device: Device,
}

enum Loaded {
    Whole(Box<Network<Selected>>),
    Features(Vgg<Selected>),
}

/// What an exchange folder asks for.
pub(super) fn open(folder: &Path) -> anyhow::Result<Infer> {
    let (device, _) = device::open()?;
    let (case, tensors, inputs) = read(folder)?;
    let network = match &case.architecture {
        Described::Whole(architecture) => {
            Loaded::Whole(Box::new(architecture.load(tensors, &device)?))
        }
        Described::Features { features, .. } => {
            let blank = features.build::<Selected>(&Initializer::blank(&device));
            Loaded::Features(weights::load(blank, tensors)?)
        }
    };
    Ok(Infer { case, network, inputs, device })
}

impl Infer {
    /// The outputs on the host.
    fn forward(&self, index: usize) -> TensorData {
        let inputs = &self.inputs[index % self.inputs.len()];
        let pass = &mut Pass::evaluation();
        let network = match &self.network {
            Loaded::Features(network) => {
                return network.forward(self.tensor(inputs), pass).into_data();
            }
            Loaded::Whole(network) => network.as_ref(),
        };
        let logits = match network {
            Network::Mlp(network) => network.forward(self.tensor(inputs)),
            Network::Cnn(network) => network.forward(self.tensor(inputs)),
            Network::SimpleNet(network) => network.forward(self.tensor(inputs)),
            Network::ResNet(network) => network.forward(self.tensor(inputs), pass),
            Network::Vgg(network) => network.forward(self.tensor(inputs), pass),
            Network::TextLstm(network) => {
                let tokens = self.tensor::<2>(inputs).int();
                network.forward(tokens, None, pass).0.flatten(0, 1)
            }
        };
        logits.into_data()
    }

    fn tensor<const D: usize>(&self, stored: &StoredTensor) -> Tensor<Selected, D> {
        let (shape, values) = stored.clone().into_parts();
        Tensor::from_data(TensorData::new(values, shape), &self.device)
    }
}

impl Work for Infer {
    fn prepare(&mut self) -> anyhow::Result<Ready> {
        let outputs = self.forward(0);
        let values: Vec<f64> = outputs.iter().collect();
        let square = values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64;
        Ok(Ready { losses: vec![square], ..Ready::default() })
    }

    fn round(&mut self) -> anyhow::Result<Measured> {
        let start = Instant::now();
        for index in 0..self.case.steps as usize {
            self.forward(index);
        }
        let seconds = start.elapsed().as_secs_f64() / self.case.steps as f64;
        let samples = self.inputs[0].shape()[0] as u64;
        let peak_memory_bytes = device::peak_process_memory();
        Ok(Measured { seconds, samples, peak_memory_bytes, ..Measured::default() })
    }
}
