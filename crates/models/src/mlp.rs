//! The multi-layer perceptron: dense layers with ReLU between them.

use backend::Backend;
use burn::{module::Module, tensor::Tensor};
use serde::{Deserialize, Serialize};

use crate::{Initializer, Law, layers::Linear};

/// The sizes of an [`Mlp`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MlpConfig {
    /// Features of a sample.
    pub inputs: usize,
    /// Units of each hidden layer, the first one first.
    pub hidden: Vec<usize>,
    /// Logits of a sample: one for a binary target or a value, else one a class.
    pub outputs: usize,
}

/// Dense layers with ReLU between them.
#[derive(Module, Debug)]
pub struct Mlp<B: Backend> {
    layers: Vec<Linear<B>>,
}

impl MlpConfig {
    /// The network with its initial weights, by PyTorch's law.
    pub fn init<B: Backend>(&self, seed: u64, device: &B::Device) -> Mlp<B> {
        self.build(&Initializer::seeded(seed, device))
    }

    /// The network with the weights of `initializer`.
    pub fn build<B: Backend>(&self, initializer: &Initializer<B>) -> Mlp<B> {
        let initializer = initializer.at("layers");
        let inputs = std::iter::once(self.inputs).chain(self.hidden.iter().copied());
        let outputs = self.hidden.iter().copied().chain(std::iter::once(self.outputs));
        let layers = inputs.zip(outputs).enumerate().map(|(index, (inputs, outputs))| {
            Linear::new(&initializer.at(&index.to_string()), Law::Pytorch, inputs, outputs)
        });
        Mlp { layers: layers.collect() }
    }
}

impl<B: Backend> Mlp<B> {
    /// - `features`: `[batch, inputs]`
    /// - returns logits: `[batch, outputs]`
    pub fn forward(&self, features: Tensor<B, 2>) -> Tensor<B, 2> {
        let Some((last, hidden)) = self.layers.split_last() else { return features };
        last.forward(hidden.iter().fold(features, |input, layer| layer.forward_relu(input)))
    }
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};
    use burn::module::Module;

    use super::*;

    #[test]
    fn the_tutorials_network_has_221_parameters_within_its_bounds() {
        let config = MlpConfig { inputs: 20, hidden: vec![10], outputs: 1 };
        let model = config.init::<Selected>(0, &Device::default());
        assert_eq!(model.num_params(), 20 * 10 + 10 + 10 + 1);

        for (layer, inputs) in model.layers.iter().zip([20.0f32, 10.0]) {
            let values: Vec<f32> = layer.weight.val().into_data().iter().collect();
            let largest = values.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
            let bound = 1.0 / inputs.sqrt();
            assert!(largest <= bound && largest > 0.8 * bound, "{largest} against {bound}");
        }
    }

    #[test]
    fn the_seed_decides_the_weights() {
        let config = MlpConfig { inputs: 3, hidden: vec![4, 4], outputs: 2 };
        let first_layer = |seed| {
            config.init::<Selected>(seed, &Device::default()).layers[0].weight.val().into_data()
        };
        assert_eq!(first_layer(1), first_layer(1));
        assert_ne!(first_layer(1), first_layer(2));
    }
}
