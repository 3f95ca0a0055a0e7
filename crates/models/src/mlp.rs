//! The multi-layer perceptron: dense layers with ReLU and dropout between them, on numbers, learnt vectors of
//! categories, and what is read of texts.

use backend::Backend;
use burn::{module::Module, tensor::Tensor};
use serde::{Deserialize, Serialize};

use crate::{
    ArchitectureError, Initialization, Initializer, Pass,
    layers::{Dropout, Embedding, Linear},
    text_reader::{TextReader, TextReaderConfig},
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
    /// The features that are the tokens of texts, each text replaced by what a reader makes of it; in ascending
    /// order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<TextReaderConfig>,
    /// The probability of dropout after each hidden layer, and of what is read of texts.
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

/// Dense layers with ReLU and dropout between them, after embeddings of the features that are indices, and
/// readers of those that are tokens of texts.
#[derive(Module, Debug)]
pub struct Mlp<B: Backend> {
    embeddings: Vec<Embedding<B>>,
    embedded: Vec<usize>,
    texts: Vec<TextReader<B>>,
    /// The first feature of each text, and how many it has.
    texts_at: Vec<[usize; 2]>,
    layers: Vec<Linear<B>>,
    dropout: Dropout,
}

impl MlpConfig {
    /// # Errors
    ///
    /// If a size is 0, dropout is not a probability, or the features that are replaced are not different
    /// features of a sample, in ascending order.
    pub fn check(&self) -> Result<(), ArchitectureError> {
        let of_embeddings = self.embeddings.iter().flat_map(|table| [table.entries, table.width]);
        let of_texts = self
            .texts
            .iter()
            .flat_map(|text| [text.length, text.tokens, text.embedding, text.outputs()]);
        let of_layers = self.hidden.iter().copied().chain([self.outputs]);
        // Where some are replaced, the features tell more.
        let replaces = !self.embeddings.is_empty() || !self.texts.is_empty();
        let features = (!replaces).then_some(self.inputs).into_iter();
        let sizes = features.chain(of_layers).chain(of_embeddings).chain(of_texts);
        ArchitectureError::unless_positive(sizes)?;
        ArchitectureError::unless_probability(self.dropout)?;
        let inputs = self.inputs;
        let of_tables = self.embeddings.iter().map(|table| [table.feature, 1]);
        let of_texts = self.texts.iter().map(|text| [text.feature, text.length]);
        let mut replaced: Vec<[usize; 2]> = of_tables.clone().chain(of_texts.clone()).collect();
        replaced.sort_unstable();
        let mut next = 0;
        let are_apart = replaced.iter().all(|&[first, length]| {
            let are_there = next <= first && length <= inputs.saturating_sub(first);
            next = first.saturating_add(length);
            are_there
        });
        if are_apart && of_tables.is_sorted() && of_texts.is_sorted() {
            return Ok(());
        }
        let reason = format!(
            "the features to replace, {replaced:?} (the first and how many), overlap, are out of order or \
             not among {inputs}"
        );
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
        let readers = initializer.at("texts");
        let reader =
            |(index, text): (usize, &TextReaderConfig)| text.build(&readers.at(&index.to_string()));
        let layers = initializer.at("layers");
        let inputs = std::iter::once(self.width()).chain(self.hidden.iter().copied());
        let outputs = self.hidden.iter().copied().chain(std::iter::once(self.outputs));
        let layer = |(index, (inputs, outputs)): (usize, _)| {
            Linear::new(&layers.at(&index.to_string()), Initialization::Pytorch, inputs, outputs)
        };
        Mlp {
            embeddings: self.embeddings.iter().enumerate().map(table).collect(),
            embedded: self.embeddings.iter().map(|embedding| embedding.feature).collect(),
            texts: self.texts.iter().enumerate().map(reader).collect(),
            texts_at: self.texts.iter().map(|text| [text.feature, text.length]).collect(),
            layers: inputs.zip(outputs).enumerate().map(layer).collect(),
            dropout: Dropout::new(self.dropout),
        }
    }

    /// The inputs of the first dense layer.
    pub(crate) fn width(&self) -> usize {
        let of_texts = self.texts.iter().map(|text| (text.length, text.outputs()));
        let replaced = self.embeddings.iter().map(|table| (1, table.width)).chain(of_texts);
        replaced.fold(self.inputs, |width, (features, by)| {
            width.saturating_sub(features).saturating_add(by)
        })
    }
}

impl<B: Backend> Mlp<B> {
    /// - `features`: `[batch, inputs]`
    /// - returns logits: `[batch, outputs]`
    pub fn forward(&self, features: Tensor<B, 2>, pass: &mut Pass<B>) -> Tensor<B, 2> {
        let features = self.replace(features, pass);
        let Some((last, hidden)) = self.layers.split_last() else { return features };
        let hidden = hidden
            .iter()
            .fold(features, |input, layer| self.dropout.forward(layer.forward_relu(input), pass));
        last.forward(hidden)
    }

    /// Replaces indices by vectors, and texts by what is read of them.
    ///
    /// - `features`: `[batch, inputs]`
    /// - returns: `[batch, inputs of the first dense layer]`
    fn replace(&self, features: Tensor<B, 2>, pass: &mut Pass<B>) -> Tensor<B, 2> {
        if self.embeddings.is_empty() && self.texts.is_empty() {
            return features;
        }
        let [samples, width] = features.dims();
        let columns = |from: usize, to: usize| features.clone().slice([0..samples, from..to]);
        let vectors = self.embeddings.iter().zip(&self.embedded).map(|(embedding, &feature)| {
            let indices = columns(feature, feature + 1).int();
            (feature, feature + 1, embedding.forward(indices).flatten(1, 2))
        });
        let texts = self.texts.iter().zip(&self.texts_at).map(|(reader, &[first, length])| {
            let read = reader.forward(columns(first, first + length).int());
            (first, first + length, self.dropout.forward(read, pass))
        });
        let mut replaced: Vec<(usize, usize, Tensor<B, 2>)> = vectors.chain(texts).collect();
        replaced.sort_by_key(|&(first, ..)| first);
        let mut parts = Vec::new();
        let mut next = 0;
        for (first, end, by) in replaced {
            if next < first {
                parts.push(columns(next, first));
            }
            parts.push(by);
            next = end;
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

    /// Nothing is left of the text but the bias of the only layer.
    #[test]
    fn what_is_read_of_a_text_is_dropped_in_training_only() {
        let text =
            TextReaderConfig { feature: 0, length: 2, tokens: 3, embedding: 4, hidden: None };
        let config = MlpConfig {
            inputs: 2,
            outputs: 2,
            texts: vec![text],
            dropout: 1.0,
            ..Default::default()
        };
        let device = Device::default();
        let model = config.init::<Selected>(0, &device);
        let logits = |mut pass| {
            let tokens = Tensor::from_floats([[1.0, 2.0]], &device);
            model.forward(tokens, &mut pass).into_data()
        };
        let bias = model.layers[0].bias.val().unsqueeze::<2>().into_data();
        assert_eq!(logits(Pass::training(0, 0, 0)), bias);
        assert_ne!(logits(Pass::evaluation()), bias);
    }

    #[test]
    fn replaced_features_are_apart_and_in_order() {
        let table = |feature| FeatureEmbedding { feature, entries: 2, width: 1 };
        let text = |feature, length| TextReaderConfig {
            feature,
            length,
            tokens: 2,
            embedding: 1,
            hidden: Some(1),
        };
        let check = |embeddings: &[FeatureEmbedding], texts: &[TextReaderConfig]| {
            let (embeddings, texts) = (embeddings.to_vec(), texts.to_vec());
            let sizes =
                MlpConfig { inputs: 8, outputs: 1, embeddings, texts, ..Default::default() };
            sizes.check().is_ok()
        };
        assert!(check(&[table(0), table(4)], &[text(1, 3), text(5, 3)]));
        assert!(!check(&[], &[text(5, 4)]), "beyond the last feature");
        assert!(!check(&[], &[text(1, usize::MAX)]), "far beyond it");
        assert!(!check(&[table(2)], &[text(1, 3)]), "an index among tokens");
        assert!(!check(&[], &[text(0, 3), text(2, 3)]), "the same token in two texts");
        assert!(!check(&[], &[text(5, 3), text(1, 3)]), "out of order");
        assert!(!check(&[table(4), table(0)], &[]), "out of order");
        assert!(!check(&[], &[text(0, 0)]), "no token");
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
        let features = Tensor::from_floats(features, &Device::default());
        let embedded = model.replace(features, &mut Pass::evaluation());
        let expected =
            [[first[4], first[5], 0.5, second[1], -0.5], [first[0], first[1], 7.0, second[3], 8.0]];
        assert_eq!(embedded.into_data().iter::<f32>().collect::<Vec<_>>(), expected.concat());
    }
}
