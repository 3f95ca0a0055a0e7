//! What reads a text in a row of a table: the mean of its tokens' vectors, or an LSTM layer.

use backend::Backend;
use burn::{
    module::Module,
    tensor::{Int, Tensor},
};
use serde::{Deserialize, Serialize};

use crate::{
    Initialization, Initializer,
    layers::{Embedding, Lstm},
};

/// Features that are the tokens of a text, and the sizes of the layers that read them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextReaderConfig {
    /// The first of the features.
    pub feature: usize,
    /// How many features there are.
    pub length: usize,
    /// How many different tokens there are, from 0, which stands for none.
    pub tokens: usize,
    /// Width of a token's vector.
    pub embedding: usize,
    /// Units of the LSTM layer that reads the vectors in their order; without it, their mean is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<usize>,
}

/// Reads texts: the mean of the vectors of each one's tokens, as fastText has it (Joulin et al., 2016), or of each
/// unit of an LSTM layer its largest output at any token (Conneau et al., 2017).
///
/// An LSTM layer's last outputs would hardly tell texts apart that end alike, as with a signature. The zeros before a
/// text pass through the layer too, as in Keras without a mask; only their outputs do not count. A missing text is
/// zeros.
#[derive(Module, Debug)]
pub(crate) struct TextReader<B: Backend> {
    embedding: Embedding<B>,
    lstm: Option<Lstm<B>>,
}

impl TextReaderConfig {
    pub(crate) fn build<B: Backend>(&self, initializer: &Initializer<B>) -> TextReader<B> {
        let keras = Initialization::Keras;
        let table = initializer.at("embedding");
        let lstm = |units| Lstm::new(&initializer.at("lstm"), keras, self.embedding, units);
        TextReader {
            embedding: Embedding::new(&table, keras, self.tokens, self.embedding),
            lstm: self.hidden.map(lstm),
        }
    }

    /// The features that replace the tokens.
    pub(crate) fn outputs(&self) -> usize {
        self.hidden.unwrap_or(self.embedding)
    }
}

impl<B: Backend> TextReader<B> {
    /// - `tokens`: `[batch, time]`, 0 where there is none
    /// - returns: `[batch, outputs]`
    pub(crate) fn forward(&self, tokens: Tensor<B, 2, Int>) -> Tensor<B, 2> {
        let Some(lstm) = &self.lstm else { return self.embedding.mean(tokens) };
        let is_token = tokens.clone().greater_elem(0).float().unsqueeze_dim::<3>(2); // [batch, time, 1]
        let (outputs, _) = lstm.forward(self.embedding.forward(tokens), None);
        let has_token = is_token.clone().max_dim(1);
        // Outputs are above -1, so those where there is no token are below all others.
        let largest = (outputs + (is_token - 1.0) * 2.0).max_dim(1) * has_token;
        largest.squeeze_dim(1)
    }
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;

    fn read(hidden: Option<usize>, tokens: [[i32; 4]; 3]) -> Vec<Vec<f32>> {
        let config = TextReaderConfig { feature: 0, length: 4, tokens: 6, embedding: 3, hidden };
        let device = Device::default();
        let reader = config.build(&Initializer::<Selected>::seeded(0, &device));
        let outputs = reader.forward(Tensor::from_ints(tokens, &device));
        assert_eq!(outputs.dims(), [3, config.outputs()]);
        let values: Vec<f32> = outputs.into_data().iter().collect();
        values.chunks(config.outputs()).map(<[f32]>::to_vec).collect()
    }

    #[test]
    fn a_mean_is_that_of_the_tokens() {
        let texts = read(None, [[0, 0, 2, 5], [2, 0, 0, 0], [0; 4]]);
        let other = read(None, [[2, 5, 5, 2], [5, 0, 0, 0], [5, 2, 0, 0]]);
        for unit in 0..3 {
            let mean = (texts[1][unit] + other[1][unit]) / 2.0;
            for text in [&texts[0], &other[0], &other[2]] {
                assert!((text[unit] - mean).abs() < 1e-7);
            }
        }
        assert_eq!(texts[2], [0.0; 3]);
    }

    #[test]
    fn an_lstm_layer_reads_in_order_and_only_tokens_count() {
        let texts = read(Some(5), [[0, 0, 2, 5], [0, 0, 5, 2], [0; 4]]);
        assert_ne!(texts[0], texts[1]);
        assert_eq!(texts[2], [0.0; 5], "nothing was read");
        let alone = read(Some(5), [[0, 0, 0, 2], [0, 0, 0, 5], [0, 0, 2, 0]]);
        assert!(alone[2].iter().zip(&alone[0]).all(|(late, early)| late != early));
    }
}
