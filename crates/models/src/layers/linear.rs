//! The dense layer.

use backend::{Backend, functional::linear};
use burn::{
    module::{Module, Param},
    tensor::Tensor,
};

use crate::initialization::{Initialization, Initializer};

/// A dense layer: `input * weight + bias`.
#[derive(Module, Debug)]
pub struct Linear<B: Backend> {
    /// `[inputs, outputs]`, Burn's layout; in files it is PyTorch's `[outputs, inputs]`.
    pub weight: Param<Tensor<B, 2>>,
    /// `[outputs]`
    pub bias: Param<Tensor<B, 1>>,
}

impl<B: Backend> Linear<B> {
    /// A layer with its initial weights.
    pub fn new(
        initializer: &Initializer<B>,
        initialization: Initialization,
        inputs: usize,
        outputs: usize,
    ) -> Self {
        Self {
            weight: initializer.dense_weight(initialization, inputs, outputs),
            bias: initializer.bias(initialization, outputs, inputs),
        }
    }

    /// - `input`: `[batch, inputs]`
    /// - returns: `[batch, outputs]`
    ///
    /// # Panics
    ///
    /// Where the input has another width.
    #[track_caller]
    pub fn forward(&self, input: Tensor<B, 2>) -> Tensor<B, 2> {
        linear(input, self.weight.val(), self.bias.val(), false)
    }

    /// As [`Linear::forward`], then ReLU.
    #[track_caller]
    pub fn forward_relu(&self, input: Tensor<B, 2>) -> Tensor<B, 2> {
        linear(input, self.weight.val(), self.bias.val(), true)
    }
}
