//! The dense part of a VGG network.

use backend::Backend;
use burn::{module::Module, tensor::Tensor};
use serde::{Deserialize, Serialize};

use crate::{
    ArchitectureError, Initialization, Initializer, Pass,
    layers::{Dropout, Linear},
};

/// The sizes of a [`Head`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadConfig {
    /// The number of features of an image.
    pub inputs: usize,
    /// Units of each hidden layer, the first one first.
    pub hidden: Vec<usize>,
    /// Classes to tell apart.
    pub outputs: usize,
    /// The probability of dropout after each hidden layer.
    pub dropout: f64,
}

/// Dense layers with ReLU and dropout between them, numbered as in torchvision.
#[derive(Module, Debug)]
pub struct Head<B: Backend> {
    classifier: Vec<Option<Linear<B>>>,
    dropout: Dropout,
}

impl HeadConfig {
    /// # Errors
    ///
    /// If a size is 0, or dropout is not a probability.
    pub fn check(&self) -> Result<(), ArchitectureError> {
        let sizes = [self.inputs, self.outputs].into_iter().chain(self.hidden.iter().copied());
        ArchitectureError::unless_positive(sizes)?;
        ArchitectureError::unless_probability(self.dropout)
    }

    /// The head with its initial weights, from Keras's distributions.
    pub fn init<B: Backend>(&self, seed: u64, device: &B::Device) -> Head<B> {
        self.build(&Initializer::seeded(seed, device))
    }

    /// The head with the weights of `initializer`.
    pub fn build<B: Backend>(&self, initializer: &Initializer<B>) -> Head<B> {
        let initializer = initializer.at("classifier");
        let mut classifier = Vec::new();
        let mut inputs = self.inputs;
        for &outputs in self.hidden.iter().chain([&self.outputs]) {
            if !classifier.is_empty() {
                classifier.extend([None, None]); // ReLU and dropout
            }
            let initializer = initializer.at(&classifier.len().to_string());
            classifier.push(Some(Linear::new(
                &initializer,
                Initialization::Keras,
                inputs,
                outputs,
            )));
            inputs = outputs;
        }
        Head { classifier, dropout: Dropout::new(self.dropout) }
    }
}

impl<B: Backend> Head<B> {
    pub(crate) fn into_parts(self) -> (Vec<Option<Linear<B>>>, Dropout) {
        (self.classifier, self.dropout)
    }

    /// - `features`: `[batch, inputs]`
    /// - returns logits: `[batch, outputs]`
    pub fn forward(&self, features: Tensor<B, 2>, pass: &mut Pass<B>) -> Tensor<B, 2> {
        classify(&self.classifier, &self.dropout, features, pass)
    }
}

/// The layers of a head, one after the other; shapes as in [`Head::forward`].
pub(crate) fn classify<B: Backend>(
    layers: &[Option<Linear<B>>],
    dropout: &Dropout,
    features: Tensor<B, 2>,
    pass: &mut Pass<B>,
) -> Tensor<B, 2> {
    let Some((last, hidden)) = layers.split_last() else { return features };
    let hidden = hidden
        .iter()
        .flatten()
        .fold(features, |input, layer| dropout.forward(layer.forward_relu(input), pass));
    match last {
        Some(last) => last.forward(hidden),
        None => hidden,
    }
}
