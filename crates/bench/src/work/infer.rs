//! The forward pass of a network on given inputs, without gradients.

use std::{path::Path, time::Instant};

use anyhow::{Context, bail};
use backend::{Selected, device, device::Device};
use burn::tensor::{Int, Tensor, TensorData};
use models::{Initializer, Network, Pass, Vgg, weights};
use store::StoredTensor;

use super::Work;
use crate::{
    exchange::{Case, Described, read},
    job::{Measured, Ready},
    memory,
};

pub(super) struct Infer {
    case: Case,
    network: Loaded,
    inputs: Vec<StoredTensor>,
    device: Device,
}

enum Loaded {
    Whole(Network<Selected>),
    Features(Vgg<Selected>),
}

/// What an exchange folder asks for.
pub(super) fn open(folder: &Path) -> anyhow::Result<Infer> {
    let (device, _) = device::open()?;
    let (case, tensors, inputs) = read(folder)?;
    let network = match &case.architecture {
        Described::Whole(architecture) => Loaded::Whole(architecture.load(tensors, &device)?),
        Described::Features { features, .. } => {
            let blank = features.build::<Selected>(&Initializer::blank(&device));
            Loaded::Features(weights::load(blank, tensors)?)
        }
    };
    Ok(Infer { case, network, inputs, device })
}

impl Infer {
    /// The outputs on the host.
    fn forward(&self, index: usize) -> anyhow::Result<TensorData> {
        let inputs = &self.inputs[index % self.inputs.len()];
        let pass = &mut Pass::evaluation();
        Ok(match (&self.network, inputs.shape().len()) {
            (Loaded::Features(network), 4) => {
                network.forward(self.tensor(inputs), pass).into_data()
            }
            (Loaded::Whole(network), 4) => {
                let images = self.tensor(inputs);
                match network {
                    Network::Cnn(network) => network.forward(images),
                    Network::SimpleNet(network) => network.forward(images),
                    Network::ResNet(network) => network.forward(images, pass),
                    Network::Vgg(network) => network.forward(images, pass),
                    Network::Mlp(_) | Network::TextLstm(_) => bail!("the network takes no images"),
                }
                .into_data()
            }
            (Loaded::Whole(Network::Mlp(network)), 2) => {
                network.forward(self.tensor(inputs)).into_data()
            }
            (Loaded::Whole(Network::TextLstm(network)), 2) => {
                let tokens = self.tensor::<2>(inputs).int() as Tensor<Selected, 2, Int>;
                network.forward(tokens, None, pass).0.into_data()
            }
            _ => bail!("the inputs do not fit the network"),
        })
    }

    fn tensor<const D: usize>(&self, stored: &StoredTensor) -> Tensor<Selected, D> {
        let (shape, values) = stored.clone().into_parts();
        Tensor::from_data(TensorData::new(values, shape), &self.device)
    }
}

impl Work for Infer {
    fn prepare(&mut self) -> anyhow::Result<Ready> {
        let last = (0..self.case.compared as usize).map(|index| self.forward(index)).last();
        let outputs = last.context("nothing is compared")??;
        let values: Vec<f64> = outputs.iter().collect();
        let square = values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64;
        Ok(Ready { losses: vec![square], ..Ready::default() })
    }

    fn round(&mut self) -> anyhow::Result<Measured> {
        let start = Instant::now();
        for index in 0..self.case.steps as usize {
            self.forward(index)?;
        }
        let seconds = start.elapsed().as_secs_f64() / self.case.steps as f64;
        let samples = self.inputs[0].shape()[0] as u64;
        let peak_memory_bytes = memory::peak_bytes();
        Ok(Measured { seconds, samples, peak_memory_bytes, ..Measured::default() })
    }
}
