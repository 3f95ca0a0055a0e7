//! The dense layer, optionally with ReLU.
//!
//! Overrides: Flex (`flex/linear.rs`), CUDA and WGPU (`cube/linear.rs`).

use burn::backend::autodiff::{Autodiff, checkpoint::strategy::CheckpointStrategy};
use burn::tensor::ops::FloatTensor;

use crate::{
    Backend,
    functional::product,
    overrides::note_composed,
    primitive::{primitive, relu, relu_backward, tensor},
    tape,
};

/// What the backward pass of a dense layer needs; each part is there only if it is needed.
#[derive(Clone, Debug)]
pub struct LinearSaved<B: Backend> {
    /// `[batch, inputs]`, for the gradient of the weight.
    pub input: Option<FloatTensor<B>>,
    /// `[inputs, outputs]`, for the gradient of the input.
    pub weight: Option<FloatTensor<B>>,
    /// `[batch, outputs]`, if ReLU followed.
    pub output: Option<FloatTensor<B>>,
    /// Whether the gradient of the bias is wanted.
    pub bias: bool,
}

/// The gradients of a dense layer that were wanted.
#[derive(Clone, Debug)]
pub struct LinearGradients<B: Backend> {
    /// `[batch, inputs]`
    pub input: Option<FloatTensor<B>>,
    /// `[inputs, outputs]`
    pub weight: Option<FloatTensor<B>>,
    /// `[outputs]`
    pub bias: Option<FloatTensor<B>>,
}

pub(crate) fn composed<B: Backend>(
    input: FloatTensor<B>,
    weight: FloatTensor<B>,
    bias: FloatTensor<B>,
    rectified: bool,
) -> FloatTensor<B> {
    note_composed();
    let bias = tensor::<B, 1>(bias).unsqueeze();
    let output = product(tensor::<B, 2>(input), tensor(weight)) + bias;
    primitive(if rectified { relu(output) } else { output })
}

pub(crate) fn composed_backward<B: Backend>(
    saved: LinearSaved<B>,
    gradient: FloatTensor<B>,
) -> LinearGradients<B> {
    note_composed();
    let mut gradient = tensor::<B, 2>(gradient);
    if let Some(output) = saved.output.clone() {
        gradient = relu_backward(tensor(output), gradient);
    }
    of_sums(saved, primitive(gradient))
}

/// The gradients, from that of the sums before ReLU.
pub(crate) fn of_sums<B: Backend>(
    saved: LinearSaved<B>,
    gradient: FloatTensor<B>,
) -> LinearGradients<B> {
    let gradient = tensor::<B, 2>(gradient);
    LinearGradients {
        input: saved
            .weight
            .map(|weight| primitive(product(gradient.clone(), tensor::<B, 2>(weight).transpose()))),
        weight: saved
            .input
            .map(|input| primitive(product(tensor::<B, 2>(input).transpose(), gradient.clone()))),
        bias: saved.bias.then(|| B::column_sums(primitive(gradient))),
    }
}

pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    input: FloatTensor<Autodiff<B, C>>,
    weight: FloatTensor<Autodiff<B, C>>,
    bias: FloatTensor<Autodiff<B, C>>,
    rectified: bool,
) -> FloatTensor<Autodiff<B, C>> {
    let parents = [&input, &weight, &bias];
    let recording = tape::begin::<B, C, _, 3>(parents, |saved, gradient| {
        let LinearGradients { input, weight, bias } = B::fused_linear_backward(saved, gradient);
        [input, weight, bias]
    });
    let [input_tracked, weight_tracked, bias_tracked] = parents.map(|parent| parent.is_tracked());
    let [input, weight, bias] = [input, weight, bias].map(|parent| parent.primitive);
    let saved_input = weight_tracked.then(|| input.clone());
    let saved_weight = input_tracked.then(|| weight.clone());
    let output = B::fused_linear(input, weight, bias, rectified);
    let saved = LinearSaved {
        input: saved_input,
        weight: saved_weight,
        output: rectified.then(|| output.clone()),
        bias: bias_tracked,
    };
    tape::finish(recording, saved, output)
}
