//! What goes to a peer: a network's initial weights, and the batches of its first steps.
//!
//! Both are built by the functions that the recipes call, from the same settings and the same seed.
//! That a run really trains on them is shown by its losses, which must equal the peer's.
//! A folder holds `case.json`, `weights.safetensors` (names and layout of PyTorch) and
//! `batches.safetensors` (`inputs` and `targets`, `[batches, batch, ..]`, all f32).

mod images;
mod tables;
mod texts;

use std::{collections::BTreeMap, path::Path};

use anyhow::Context;
use backend::{
    Selected,
    device::Device,
    random::{Purpose, Random},
};
use models::{Architecture, Initializer, Layer, training_multiply_adds, weights};
use serde::{Deserialize, Serialize};
use store::{StoredTensor, TensorFile};
use training::{OptimizerConfig, OptimizerKind};

pub(crate) use self::images::Images;
use crate::{ON_GPU, WARM};

/// The content of `case.json`: what a peer computes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CaseFile {
    pub(crate) task: Task,
    pub(crate) architecture: Architecture,
    pub(crate) loss: Loss,
    pub(crate) optimizer: OptimizerConfig,
    /// Steps of a round.
    pub(crate) steps: u64,
    /// The first steps, whose losses are compared.
    pub(crate) compared: u64,
    pub(crate) threads: usize,
    /// Where a peer computes: `cpu` or `cuda`.
    pub(crate) device: String,
    /// Steps at the beginning of each round that are not timed.
    pub(crate) warm: u64,
    /// Whether each forward pass is waited for.
    pub(crate) waits: bool,
    /// The accuracy to reach, if one is.
    pub(crate) goal: Option<Goal>,
}

/// Operations and bytes of a step, counted from the table of layers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    /// Two operations for a multiply-add.
    pub(crate) flops_of_sample: f64,
    /// Of the results of layers.
    pub(crate) bytes_of_sample: f64,
    /// Of the parameters.
    pub(crate) bytes_of_step: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Task {
    /// Steps.
    Train,
    /// Forward passes.
    Infer,
    /// Training until the goal is reached.
    Reach,
}

/// An accuracy on the validation split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Goal {
    pub(crate) accuracy: f64,
    pub(crate) epochs: usize,
    /// Of every step.
    pub(crate) learning_rates: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Loss {
    BinaryCrossEntropy,
    CrossEntropy,
}

/// A case with everything that belongs to it.
pub(crate) struct Exchange {
    pub(crate) case: CaseFile,
    pub(crate) weights: BTreeMap<String, StoredTensor>,
    /// Inputs and targets.
    pub(crate) batches: Vec<(StoredTensor, StoredTensor)>,
    /// The inputs and targets on which a goal's accuracy is measured.
    held_out: Option<(StoredTensor, StoredTensor)>,
}

impl Exchange {
    /// Training for a step on `batches`, from the weights of `seed`.
    fn new(
        architecture: Architecture,
        seed: u64,
        loss: Loss,
        optimizer: OptimizerConfig,
        batches: Vec<(StoredTensor, StoredTensor)>,
    ) -> Self {
        let initializer = Initializer::<Selected>::seeded(seed, &Device::default());
        let weights = weights::to_tensors(&architecture.build(&initializer));
        let case = CaseFile {
            task: Task::Train,
            architecture,
            loss,
            optimizer,
            steps: 1,
            compared: 1,
            threads: 1,
            device: if ON_GPU { "cuda" } else { "cpu" }.to_owned(),
            warm: WARM,
            waits: false,
            goal: None,
        };
        Self { case, weights, batches, held_out: None }
    }

    /// The first `batches` batches of a run; none for a recipe whose steps cannot be repeated
    /// elsewhere, such as one with dropout.
    pub(crate) fn of_training(
        recipe: &str,
        settings: &[String],
        batches: usize,
    ) -> anyhow::Result<Option<Self>> {
        let exchange = match recipe {
            "mlp" => tables::mlp(settings, batches)?,
            "lstm" => texts::lstm(settings, batches)?,
            _ => {
                let images = Images::of(recipe, settings)?;
                return images.map(|images| images.exchange(batches)).transpose();
            }
        };
        Ok(Some(exchange))
    }

    /// All full batches of the first epoch of `cnn`, and the split on which `accuracy` is to be
    /// reached.
    pub(crate) fn of_goal(settings: &[String], accuracy: f64) -> anyhow::Result<Self> {
        Images::of("cnn", settings)?.context("`cnn` trains on images")?.goal(accuracy)
    }

    /// A network with its initial weights, and random inputs.
    ///
    /// - `sample`: the shape of one sample
    pub(crate) fn of_inference(
        architecture: &Architecture,
        sample: &[usize],
        batch: usize,
    ) -> anyhow::Result<Self> {
        let shape = [&[batch], sample].concat();
        let random = Random::new(0, Purpose::Synthetic, 0);
        let values: Vec<f32> = match architecture {
            Architecture::TextLstm(config) => (0..shape.iter().product())
                .map(|index: usize| (index * 7919 % config.vocabulary) as f32)
                .collect(),
            _ => (0..shape.iter().product::<usize>() as u64).map(|i| random.uniform(i)).collect(),
        };
        let inputs = StoredTensor::new(shape, values)?;
        let targets = StoredTensor::new(vec![batch], vec![0.0; batch])?;
        let optimizer = OptimizerConfig::new(OptimizerKind::Sgd, 0.0);
        let batches = vec![(inputs, targets)];
        let mut exchange =
            Self::new(architecture.clone(), 0, Loss::CrossEntropy, optimizer, batches);
        exchange.case.task = Task::Infer;
        Ok(exchange)
    }

    /// Samples in a batch.
    pub(crate) fn batch(&self) -> usize {
        self.batches.first().map_or(0, |(inputs, _)| inputs.shape()[0])
    }

    /// Operations and bytes of a step. In training each layer's result is written, read by the next
    /// layer and again in the backward pass, and its gradient written and read; each weight is read
    /// twice, its gradient written and read, and the weight and what the optimizer keeps read and
    /// written.
    pub(crate) fn cost(&self) -> Cost {
        let sample = self.batches.first().map_or(&[][..], |(inputs, _)| &inputs.shape()[1..]);
        let layers = self.case.architecture.layers(sample);
        let inputs: usize = sample.iter().product();
        let results: usize =
            layers.iter().map(|layer| layer.output.iter().product::<usize>()).sum();
        let parameters: usize = layers.iter().map(|layer| layer.parameters).sum();
        let (multiply_adds, values, of_weights) = match self.case.task {
            Task::Train | Task::Reach => {
                let slots = self.case.optimizer.slot_names().len();
                (training_multiply_adds(&layers), 2 * inputs + 5 * results, 6 + 2 * slots)
            }
            Task::Infer => {
                let forward = layers.iter().map(|layer: &Layer| layer.multiply_adds).sum();
                (forward, inputs + 2 * results, 1)
            }
        };
        let bytes = |values: usize| (values * size_of::<f32>()) as f64;
        Cost {
            flops_of_sample: 2.0 * multiply_adds as f64,
            bytes_of_sample: bytes(values),
            bytes_of_step: bytes(of_weights * parameters),
        }
    }

    /// Writes the folder, for a peer with so many threads.
    pub(crate) fn write(mut self, folder: &Path, threads: usize) -> anyhow::Result<()> {
        self.case.threads = threads;
        let pair = |name: &str, inputs, targets| {
            let tensors = [("inputs".to_owned(), inputs), ("targets".to_owned(), targets)].into();
            TensorFile { tensors, ..TensorFile::default() }.write(folder.join(name))
        };
        if let Some((inputs, targets)) = self.held_out {
            pair("validation.safetensors", inputs, targets)?;
        }
        store::write_whole(&folder.join("case.json"), &serde_json::to_vec_pretty(&self.case)?)?;
        let file = TensorFile { tensors: self.weights, ..TensorFile::default() };
        file.write(folder.join("weights.safetensors"))?;
        let (inputs, targets) = self.batches.into_iter().unzip();
        Ok(pair("batches.safetensors", stack(inputs)?, stack(targets)?)?)
    }
}

/// A case, its weights and its inputs, a tensor a batch, from a folder.
pub(crate) fn read(
    folder: &Path,
) -> anyhow::Result<(CaseFile, BTreeMap<String, StoredTensor>, Vec<StoredTensor>)> {
    let case = serde_json::from_slice(&std::fs::read(folder.join("case.json"))?)?;
    let weights = TensorFile::read(folder.join("weights.safetensors"))?.tensors;
    let mut batches = TensorFile::read(folder.join("batches.safetensors"))?.tensors;
    let inputs = batches.remove("inputs").context("the folder has no inputs")?;
    let (shape, values) = inputs.into_parts();
    let each = values.len() / shape[0].max(1);
    let batches = values.chunks_exact(each.max(1));
    let batches: Result<_, _> =
        batches.map(|batch| StoredTensor::new(shape[1..].to_vec(), batch.to_vec())).collect();
    Ok((case, weights, batches?))
}

/// Tensors of one shape as one, `[tensors, ..]`.
fn stack(tensors: Vec<StoredTensor>) -> anyhow::Result<StoredTensor> {
    let first = tensors.first().context("there are no batches")?;
    let shape = [&[tensors.len()], first.shape()].concat();
    let values = tensors.into_iter().flat_map(|tensor| tensor.into_parts().1).collect();
    StoredTensor::new(shape, values).context("the batches have different sizes")
}

/// A tensor as a file holds it.
fn stored<B: backend::Backend, const D: usize>(
    tensor: burn::tensor::Tensor<B, D>,
) -> anyhow::Result<StoredTensor> {
    let shape = tensor.dims().to_vec();
    Ok(StoredTensor::new(shape, tensor.into_data().iter().collect())?)
}
