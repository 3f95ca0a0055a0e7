//! The multi-layer perceptron: dense layers with ReLU and dropout between them.

use backend::Backend;
use burn::{module::Module, tensor::Tensor};
use serde::{Deserialize, Serialize};

use crate::{
    ArchitectureError, Initialization, Initializer, Pass,
    layers::{Dropout, Embedding, Linear},
};

/// The sizes of an [`Mlp`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MlpConfig {
    /// Features of a sample.
    pub inputs: usize,
    /// Units of each hidden layer, the first one first.
    pub hidden: Vec<usize>,
    /// Logits of a sample: one for a binary target or a value, else one for each class.
    pub outputs: usize,
    /// The features that are indices, each replaced by a learnt vector; in ascending order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub embeddings: Vec<FeatureEmbedding>,
    /// The probability of dropout after each hidden layer.
    #[serde(default, skip_serializing_if = "is_none")]
    pub dropout: f64,
}

/// Whether nothing is dropped.
fn is_none(dropout: &f64) -> bool {
    *dropout == 0.0
}

/// A feature that is an index, and the learnt vectors that replace it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureEmbedding {
    /// Which feature.
    pub feature: usize,
    /// How many indices there are, from 0, which stands for a category that is not in the training data.
    pub entries: usize,
    /// The length of a vector.
    pub width: usize,
}

/// Dense layers with ReLU and dropout between them, after embeddings of the features that are indices.
#[derive(Module, Debug)]
pub struct Mlp<B: Backend> {
    embeddings: Vec<Embedding<B>>,
    embedded: Vec<usize>,
    layers: Vec<Linear<B>>,
    dropout: Dropout,
}

impl MlpConfig {
    /// # Errors
    ///
    /// If a size is 0, dropout is not a probability, or the embedded features are not features of a sample,
    /// in ascending order.
    pub fn check(&self) -> Result<(), ArchitectureError> {
        let of_embeddings = self.embeddings.iter().flat_map(|table| [table.entries, table.width]);
        // With embeddings, the features tell more.
        let features = self.embeddings.is_empty().then_some(self.inputs);
        let of_layers = self.hidden.iter().copied().chain([self.outputs]);
        ArchitectureError::unless_positive(
            features.into_iter().chain(of_layers).chain(of_embeddings),
        )?;
        ArchitectureError::unless_probability(self.dropout)?;
        let features: Vec<usize> = self.embeddings.iter().map(|table| table.feature).collect();
        let inputs = self.inputs;
        if features.is_sorted_by(|a, b| a < b) && features.last().is_none_or(|&last| last < inputs)
        {
            return Ok(());
        }
        let reason = format!("the features {features:?} are embedded, of {inputs} features");
        Err(ArchitectureError::Sizes { reason })
    }

    /// The network with its initial weights, from PyTorch's distributions.
    pub fn init<B: Backend>(&self, seed: u64, device: &B::Device) -> Mlp<B> {
        self.build(&Initializer::seeded(seed, device))
    }

    /// The network with the weights of `initializer`.
    pub fn build<B: Backend>(&self, initializer: &Initializer<B>) -> Mlp<B> {
        let tables = initializer.at("embeddings");
        let table = |(index, embedding): (usize, &FeatureEmbedding)| {
            let initializer = tables.at(&index.to_string());
            Embedding::of_categories(&initializer, embedding.entries, embedding.width)
        };
        let layers = initializer.at("layers");
        let inputs = std::iter::once(self.width()).chain(self.hidden.iter().copied());
        let outputs = self.hidden.iter().copied().chain(std::iter::once(self.outputs));
        let layer = |(index, (inputs, outputs)): (usize, _)| {
            Linear::new(&layers.at(&index.to_string()), Initialization::Pytorch, inputs, outputs)
        };
        Mlp {
            embeddings: self.embeddings.iter().enumerate().map(table).collect(),
            embedded: self.embeddings.iter().map(|embedding| embedding.feature).collect(),
            layers: inputs.zip(outputs).enumerate().map(layer).collect(),
            dropout: Dropout::new(self.dropout),
        }
    }

    /// The inputs of the first dense layer.
    pub(crate) fn width(&self) -> usize {
        let others = self.inputs.saturating_sub(self.embeddings.len());
        self.embeddings.iter().map(|embedding| embedding.width).fold(others, usize::saturating_add)
    }
}

impl<B: Backend> Mlp<B> {
    /// - `features`: `[batch, inputs]`
    /// - returns logits: `[batch, outputs]`
    pub fn forward(&self, features: Tensor<B, 2>, pass: &mut Pass<B>) -> Tensor<B, 2> {
        let features = self.embed(features);
        let Some((last, hidden)) = self.layers.split_last() else { return features };
        let hidden = hidden
            .iter()
            .fold(features, |input, layer| self.dropout.forward(layer.forward_relu(input), pass));
        last.forward(hidden)
    }

    /// Replaces indices by vectors.
    ///
    /// - `features`: `[batch, inputs]`
    /// - returns: `[batch, inputs of the first dense layer]`
    fn embed(&self, features: Tensor<B, 2>) -> Tensor<B, 2> {
        if self.embeddings.is_empty() {
            return features;
        }
        let [samples, width] = features.dims();
        let columns = |from: usize, to: usize| features.clone().slice([0..samples, from..to]);
        let mut parts = Vec::new();
        let mut next = 0;
        for (embedding, &feature) in self.embeddings.iter().zip(&self.embedded) {
            if next < feature {
                parts.push(columns(next, feature));
            }
            let indices = columns(feature, feature + 1).int();
            parts.push(embedding.forward(indices).flatten(1, 2));
            next = feature + 1;
        }
        if next < width {
            parts.push(columns(next, width));
        }
        Tensor::cat(parts, 1)
    }
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};
    use burn::module::Module;

    use super::*;

    #[test]
    fn the_tutorials_network_has_221_parameters_within_its_bounds() {
        let config = MlpConfig { inputs: 20, hidden: vec![10], outputs: 1, ..Default::default() };
        let model = config.init::<Selected>(0, &Device::default());
        assert_eq!(model.num_params(), 20 * 10 + 10 + 10 + 1);

        for (layer, inputs) in model.layers.iter().zip([20.0f32, 10.0]) {
            let values: Vec<f32> = layer.weight.val().into_data().iter().collect();
            let largest = values.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
            let bound = 1.0 / inputs.sqrt();
            assert!(largest <= bound && largest > 0.8 * bound, "{largest} against {bound}");
        }
    }

    /// In training all units of the hidden layer are dropped, so that the bias is left.
    #[test]
    fn hidden_layers_drop_units_in_training_only() {
        let sizes = MlpConfig { inputs: 3, hidden: vec![4], outputs: 2, ..Default::default() };
        let device = Device::default();
        let features = Tensor::from_floats([[1.0, -2.0, 3.0]], &device);
        let logits = |dropout, mut pass: Pass<Selected>| {
            let model = MlpConfig { dropout, ..sizes.clone() }.init::<Selected>(0, &device);
            model.forward(features.clone(), &mut pass).into_data()
        };
        let model = sizes.init::<Selected>(0, &device);
        let bias = model.layers[1].bias.val().unsqueeze::<2>().into_data();
        let training = || Pass::training(0, 0, 0);
        assert_eq!(logits(1.0, training()), bias);
        assert_ne!(logits(0.0, training()), bias);
        assert_eq!(logits(1.0, Pass::evaluation()), logits(0.0, training()));
    }

    #[test]
    fn an_index_is_replaced_by_its_vector() {
        let embeddings = vec![
            FeatureEmbedding { feature: 0, entries: 3, width: 2 },
            FeatureEmbedding { feature: 2, entries: 4, width: 1 },
        ];
        let config =
            MlpConfig { inputs: 4, hidden: vec![5], outputs: 1, embeddings, ..Default::default() };
        let model = config.init::<Selected>(0, &Device::default());
        assert_eq!(model.num_params(), 3 * 2 + 4 + (2 + 1 + 1 + 1) * 5 + 5 + 5 + 1);

        let table = |index: usize| -> Vec<f32> {
            model.embeddings[index].weight.val().into_data().iter().collect()
        };
        let (first, second) = (table(0), table(1));
        assert!(first[..2].iter().chain(&second[..1]).all(|&value| value == 0.0));
        assert!(first[2..].iter().chain(&second[1..]).all(|&value| value != 0.0));
        let features = [[2.0, 0.5, 1.0, -0.5], [0.0, 7.0, 3.0, 8.0]];
        let embedded = model.embed(Tensor::from_floats(features, &Device::default()));
        let expected =
            [[first[4], first[5], 0.5, second[1], -0.5], [first[0], first[1], 7.0, second[3], 8.0]];
        assert_eq!(embedded.into_data().iter::<f32>().collect::<Vec<_>>(), expected.concat());
    }
}
