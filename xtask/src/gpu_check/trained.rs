//! What a run came to: its losses and its weights.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context as _, ensure};
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;

/// The losses of a run by step, and its weights by name.
#[derive(Debug)]
pub(super) struct Trained {
    losses: Vec<f64>,
    weights: BTreeMap<String, Vec<f32>>,
}

impl Trained {
    pub(super) fn read(run: &Path) -> anyhow::Result<Self> {
        let events = fs::read_to_string(run.join("events.jsonl")).context("no events.jsonl")?;
        let mut losses = Vec::new();
        for line in events.lines() {
            let event: Value = serde_json::from_str(line).context("events.jsonl")?;
            if event["kind"] == "step" {
                losses.push(event["loss"].as_f64().unwrap_or(f64::NAN));
            }
        }
        let file = fs::read(run.join("model.safetensors")).context("no model.safetensors")?;
        let tensors = SafeTensors::deserialize(&file).context("model.safetensors")?;
        let float = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let mut weights = BTreeMap::new();
        for (name, view) in tensors.tensors() {
            ensure!(view.dtype() == Dtype::F32, "`{name}` is not f32");
            weights.insert(name, view.data().chunks_exact(4).map(float).collect());
        }
        ensure!(!weights.is_empty(), "the model has no weights");
        Ok(Self { losses, weights })
    }

    /// The largest relative difference between the losses of a step.
    pub(super) fn losses_differ(&self, other: &Self) -> anyhow::Result<f64> {
        let counts = [self.losses.len(), other.losses.len()];
        ensure!(counts[0] == counts[1] && counts[0] > 0, "the runs logged {counts:?} steps");
        let pairs = self.losses.iter().zip(&other.losses);
        Ok(pairs.map(|(&ours, &theirs)| relative(ours, theirs)).fold(0.0, largest))
    }

    /// The largest difference between numbers of a tensor, relative to the largest of the tensor; of
    /// a bias, to the largest of its layer.
    ///
    /// A bias begins at zero. Where batch normalisation follows, its gradient is a sum in which nearly
    /// everything cancels, so f32 determines it to two digits at most: even PyTorch's gradients of the
    /// weights of an untrained ResNet-20 differ between f32 and f64 by up to 4e-3 of a tensor's
    /// largest. In the layer's output a bias counts beside the weights.
    pub(super) fn weights_differ(&self, other: &Self) -> anyhow::Result<f64> {
        ensure!(self.weights.keys().eq(other.weights.keys()), "the models have different tensors");
        let mut worst = 0.0;
        for (name, ours) in &self.weights {
            let theirs = &other.weights[name];
            ensure!(ours.len() == theirs.len(), "`{name}` differs in size");
            let beside = self.weights.get(&name.replace("bias", "weight")).into_iter().flatten();
            let sizes = ours.iter().chain(beside).map(|value| f64::from(value.abs()));
            let size = sizes.fold(0.0, largest);
            let pairs = ours.iter().zip(theirs);
            let difference = pairs.map(|(a, b)| f64::from((a - b).abs())).fold(0.0, largest);
            if size > 0.0 || difference != 0.0 {
                worst = largest(worst, difference / size);
            }
        }
        Ok(worst)
    }
}

/// The larger of two values; NaN is larger than any.
pub(super) fn largest(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// The difference of two numbers, relative to the larger.
pub(super) fn relative(a: f64, b: f64) -> f64 {
    let size = a.abs().max(b.abs());
    if size == 0.0 { 0.0 } else { (a - b).abs() / size }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trained(losses: &[f64], weights: &[f32]) -> Trained {
        let weights = BTreeMap::from([("layer.weight".to_owned(), weights.to_vec())]);
        Trained { losses: losses.to_vec(), weights }
    }

    #[test]
    fn a_bias_is_compared_relative_to_its_layer() -> anyhow::Result<()> {
        let layer = |bias: f32| {
            let mut layer = trained(&[], &[4.0, 1.0]);
            layer.weights.insert("layer.bias".to_owned(), vec![bias]);
            layer
        };
        assert_eq!(layer(0.0).weights_differ(&layer(1.0))?, 0.25);
        assert_eq!(layer(8.0).weights_differ(&layer(0.0))?, 1.0);
        assert!(layer(1.0).weights_differ(&layer(f32::NAN))?.is_nan());
        Ok(())
    }

    #[test]
    fn differences_are_relative_and_nothing_is_hidden() -> anyhow::Result<()> {
        let one = trained(&[1.0, 2.0], &[4.0, 0.0]);
        assert_eq!(one.losses_differ(&trained(&[1.0, 1.0], &[]))?, 0.5);
        assert_eq!(one.weights_differ(&trained(&[], &[4.0, 1.0]))?, 0.25);
        assert_eq!(one.weights_differ(&one)?, 0.0);
        assert!(one.losses_differ(&trained(&[1.0, f64::NAN], &[]))?.is_nan());
        assert!(one.weights_differ(&trained(&[], &[f32::NAN, 0.0]))?.is_nan());
        assert!(one.losses_differ(&trained(&[1.0], &[])).is_err());
        assert!(one.weights_differ(&trained(&[], &[4.0])).is_err());
        Ok(())
    }
}
