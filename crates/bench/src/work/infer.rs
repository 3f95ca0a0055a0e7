//! The forward pass of a network on given inputs, without gradients.

use std::{path::Path, time::Instant};

use backend::{Selected, device};
use burn::tensor::Tensor;
use models::{Inputs, Network, Pass};

use super::{Work, inputs_of, peak_memory, sync};
use crate::{
    exchange::{CaseFile, read},
    job::{Measured, Ready},
};

pub(super) struct Infer {
    case: CaseFile,
    network: Network<Selected>,
    inputs: Vec<Inputs<Selected>>,
    samples: u64,
}

/// What an exchange folder asks for.
pub(super) fn open(folder: &Path) -> anyhow::Result<Infer> {
    let (device, _) = device::open()?;
    let (case, tensors, batches) = read(folder)?;
    let samples = batches.first().map_or(0, |inputs| inputs.shape()[0]) as u64;
    let inputs = batches.into_iter().map(|batch| inputs_of(&case.architecture, batch, &device));
    let inputs = inputs.collect();
    let network = case.architecture.load(tensors, &device)?;
    Ok(Infer { case, network, inputs, samples })
}

impl Infer {
    /// The outputs, `[batch, ..]` flattened.
    fn forward(&self, index: usize) -> Tensor<Selected, 2> {
        let inputs = self.inputs[index % self.inputs.len()].clone();
        self.network.forward(inputs, &mut Pass::evaluation()).expect("it reads such inputs")
    }
}

impl Work for Infer {
    fn prepare(&mut self) -> anyhow::Result<Ready> {
        let outputs = self.forward(0).into_data();
        let values: Vec<f64> = outputs.iter().collect();
        let square = values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64;
        Ok(Ready { losses: vec![square], ..Ready::default() })
    }

    fn round(&mut self, steps: Option<u64>) -> anyhow::Result<Measured> {
        for index in 0..self.case.warm as usize {
            self.forward(index);
        }
        sync();
        let steps = steps.unwrap_or(self.case.steps).max(1);
        // A GPU backend need not compute what is dropped before the device is waited for.
        let mut outputs = Vec::new();
        let start = Instant::now();
        for index in 0..steps as usize {
            outputs.push(self.forward(index));
            if self.case.waits {
                sync();
                outputs.clear();
            }
        }
        sync();
        let seconds = start.elapsed().as_secs_f64() / steps as f64;
        let peak_memory_bytes = peak_memory();
        Ok(Measured { seconds, samples: self.samples, peak_memory_bytes, ..Measured::default() })
    }
}
