//! The LSTM layer.

use backend::{
    Backend,
    functional::{LstmState, LstmWeights, lstm},
};
use burn::{
    module::{Module, Param},
    tensor::Tensor,
};

use crate::initialization::{Initialization, Initializer, glorot};

/// One LSTM layer, with PyTorch's names and layout: four gates (input, forget, cell, output)
/// stacked.
#[derive(Module, Debug)]
pub struct Lstm<B: Backend> {
    /// `[4 hidden, inputs]`
    pub weight_ih: Param<Tensor<B, 2>>,
    /// `[4 hidden, hidden]`
    pub weight_hh: Param<Tensor<B, 2>>,
    /// `[4 hidden]`
    pub bias_ih: Param<Tensor<B, 1>>,
    /// `[4 hidden]`; Keras's layer has none. It is redundant, but since it is updated too, PyTorch's
    /// bias learns twice as fast.
    pub bias_hh: Option<Param<Tensor<B, 1>>>,
}

impl<B: Backend> Lstm<B> {
    /// A layer with its initial weights.
    pub fn new(
        initializer: &Initializer<B>,
        initialization: Initialization,
        inputs: usize,
        hidden: usize,
    ) -> Self {
        let gates = hidden.saturating_mul(4);
        match initialization {
            Initialization::Pytorch | Initialization::He => {
                let bound = 1.0 / (hidden.max(1) as f64).sqrt();
                let bias = |name| initializer.uniform(name, [gates], bound);
                let weight = |name, inputs| initializer.uniform(name, [gates, inputs], bound);
                Self {
                    weight_ih: weight("weight_ih", inputs),
                    weight_hh: weight("weight_hh", hidden),
                    bias_ih: bias("bias_ih"),
                    bias_hh: Some(bias("bias_hh")),
                }
            }
            Initialization::Keras => {
                let bound = glorot(inputs as f64, gates as f64);
                let of_forget_gate = |unit: usize| if unit / hidden == 1 { 1.0 } else { 0.0 };
                Self {
                    weight_ih: initializer.uniform("weight_ih", [gates, inputs], bound),
                    weight_hh: initializer.orthogonal("weight_hh", [gates, hidden]),
                    bias_ih: initializer.fixed([gates], of_forget_gate),
                    bias_hh: None,
                }
            }
        }
    }

    /// - `input`: `[batch, time, inputs]`
    /// - `state`: zeros where there is none
    /// - returns: the output at each time, `[batch, time, hidden]`, and the state after the last
    ///
    /// # Panics
    ///
    /// Where the input has another width, or the state is of another batch or layer.
    #[track_caller]
    pub fn forward(
        &self,
        input: Tensor<B, 3>,
        state: Option<LstmState<B>>,
    ) -> (Tensor<B, 3>, LstmState<B>) {
        let bias = match &self.bias_hh {
            Some(second) => self.bias_ih.val() + second.val(),
            None => self.bias_ih.val(),
        };
        let weights =
            LstmWeights { input: self.weight_ih.val(), hidden: self.weight_hh.val(), bias };
        lstm(input, state, &weights)
    }
}
