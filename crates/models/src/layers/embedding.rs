//! The embedding of tokens.

use backend::{
    Backend,
    functional::{embedding, embedding_mean},
};
use burn::{
    module::{Module, Param},
    tensor::{Int, Tensor},
};

use crate::initialization::{Initialization, Initializer};

/// A learnt vector for each token.
#[derive(Module, Debug)]
pub struct Embedding<B: Backend> {
    /// `[entries, width]`
    pub weight: Param<Tensor<B, 2>>,
}

impl<B: Backend> Embedding<B> {
    /// A table with its initial values.
    pub fn new(
        initializer: &Initializer<B>,
        initialization: Initialization,
        entries: usize,
        width: usize,
    ) -> Self {
        let shape = [entries, width];
        let weight = match initialization {
            Initialization::Pytorch | Initialization::He => {
                initializer.normal("weight", shape, 1.0)
            }
            Initialization::Keras => initializer.uniform("weight", shape, 0.05),
        };
        Self { weight }
    }

    /// A table of categories, with PyTorch's initial values. The first entry stands for every category
    /// that no training sample has; it is zeros, as with PyTorch's `padding_idx=0`, and remains so.
    pub fn of_categories(initializer: &Initializer<B>, entries: usize, width: usize) -> Self {
        Self { weight: initializer.normal_after_first_row("weight", [entries, width]) }
    }

    /// - `tokens`: `[batch, time]`, below the number of entries
    /// - returns: `[batch, time, width]`
    #[track_caller]
    pub fn forward(&self, tokens: Tensor<B, 2, Int>) -> Tensor<B, 3> {
        embedding(self.weight.val(), tokens)
    }

    /// The mean of the tokens' vectors, where 0 is no token, and gets no gradient.
    ///
    /// - `tokens`: `[batch, time]`, below the number of entries
    /// - returns: `[batch, width]`, zeros where there is no token
    #[track_caller]
    pub fn mean(&self, tokens: Tensor<B, 2, Int>) -> Tensor<B, 2> {
        embedding_mean(self.weight.val(), tokens)
    }
}
