//! The text generator: an embedding, LSTM layers, and a dense layer over the vocabulary.

use backend::{Backend, functional::LstmState};
use burn::{
    module::Module,
    tensor::{Int, Tensor},
};
use serde::{Deserialize, Serialize};

use crate::{
    ArchitectureError, Initialization, Initializer, Pass,
    layers::{Dropout, Embedding, Linear, Lstm},
};

/// The sizes of a [`TextLstm`]; by default the Keras tutorial's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextLstmConfig {
    /// The number of tokens.
    pub vocabulary: usize,
    /// Width of a token's vector.
    pub embedding: usize,
    /// Units of each LSTM layer.
    pub hidden: usize,
    /// LSTM layers.
    pub layers: usize,
    /// The probability of dropout after each LSTM layer but the last.
    pub dropout: f64,
    /// Where the next token is predicted.
    pub predict: Positions,
    /// How the weights are drawn, and whose LSTM it is: with Keras's it has no `bias_hh`, which weights
    /// from PyTorch need.
    pub initialization: Initialization,
}

/// The positions of a sequence at which the next token is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Positions {
    /// After the whole sequence.
    Last,
    /// After each token.
    All,
}

/// An embedding, LSTM layers, and a dense layer over the vocabulary.
#[derive(Module, Debug)]
pub struct TextLstm<B: Backend> {
    embedding: Embedding<B>,
    lstm: Vec<Lstm<B>>,
    dropout: Dropout,
    dense: Linear<B>,
    #[module(skip)]
    predict: Positions,
}

impl TextLstmConfig {
    /// # Errors
    ///
    /// If a size is 0, or dropout is not a probability.
    pub fn check(&self) -> Result<(), ArchitectureError> {
        ArchitectureError::unless_positive([self.vocabulary, self.embedding, self.hidden])?;
        ArchitectureError::unless_probability(self.dropout)
    }

    /// The network with its initial weights.
    pub fn init<B: Backend>(&self, seed: u64, device: &B::Device) -> TextLstm<B> {
        self.build(&Initializer::seeded(seed, device))
    }

    /// The network with the weights of `initializer`.
    pub fn build<B: Backend>(&self, initializer: &Initializer<B>) -> TextLstm<B> {
        let initialization = self.initialization;
        let layer = |index: usize| {
            let inputs = if index == 0 { self.embedding } else { self.hidden };
            Lstm::new(
                &initializer.at("lstm").at(&index.to_string()),
                initialization,
                inputs,
                self.hidden,
            )
        };
        let inputs = if self.layers == 0 { self.embedding } else { self.hidden };
        TextLstm {
            embedding: Embedding::new(
                &initializer.at("embedding"),
                initialization,
                self.vocabulary,
                self.embedding,
            ),
            lstm: (0..self.layers).map(layer).collect(),
            dropout: Dropout::new(self.dropout),
            dense: Linear::new(&initializer.at("dense"), initialization, inputs, self.vocabulary),
            predict: self.predict,
        }
    }
}

impl Default for TextLstmConfig {
    fn default() -> Self {
        Self {
            vocabulary: 1000,
            embedding: 128,
            hidden: 128,
            layers: 1,
            dropout: 0.0,
            predict: Positions::Last,
            initialization: Initialization::Keras,
        }
    }
}

impl<B: Backend> TextLstm<B> {
    /// The number of tokens.
    pub fn vocabulary(&self) -> usize {
        let [tokens, _] = self.embedding.weight.dims();
        tokens
    }

    /// - `tokens`: `[batch, time]`, below the size of the vocabulary
    /// - `state`: of each layer, from the tokens before; zeros where there is none
    /// - returns logits, `[batch, time, vocabulary]` or `[batch, 1, vocabulary]` where only the
    ///   last position predicts, and the state after the last token, still attached to the graph
    pub fn forward(
        &self,
        tokens: Tensor<B, 2, Int>,
        state: Option<Vec<LstmState<B>>>,
        pass: &mut Pass<B>,
    ) -> (Tensor<B, 3>, Vec<LstmState<B>>) {
        let mut before = state.unwrap_or_default().into_iter();
        let mut after = Vec::with_capacity(self.lstm.len());
        let mut sequence = self.embedding.forward(tokens); // [batch, time, embedding]
        for (index, layer) in self.lstm.iter().enumerate() {
            if index > 0 {
                sequence = self.dropout.forward(sequence, pass);
            }
            let (outputs, state) = layer.forward(sequence, before.next());
            sequence = outputs; // [batch, time, hidden]
            after.push(state);
        }
        let [batch, time, width] = sequence.dims();
        let (positions, outputs) = match (self.predict, after.last()) {
            (Positions::All, _) => (time, sequence.reshape([batch * time, width])),
            // The last layer's output there, which spares gradients of zero for the other positions.
            (Positions::Last, Some(state)) => (1, state.hidden.clone()),
            (Positions::Last, None) => (1, sequence.narrow(1, time - 1, 1).reshape([batch, width])),
        };
        let logits = self.dense.forward(outputs);
        let vocabulary = logits.dims()[1];
        (logits.reshape([batch, positions, vocabulary]), after)
    }
}
