//! Convolution with bias and ReLU, forward and backward.
//!
//! Overrides: Flex (`flex/conv/`), CUDA and WGPU (`cube/conv2d/`).

use burn::backend::autodiff::{Autodiff, checkpoint::strategy::CheckpointStrategy};
use burn::tensor::{
    backend::AutodiffBackend,
    ops::{ConvOptions, FloatTensor},
};

use crate::{
    Backend,
    functional::Conv2dOptions,
    overrides,
    primitive::{channel_sums, primitive, relu, relu_backward, tensor},
    tape,
};

/// A value for each of the tensors that a convolution is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv2dParents<T> {
    /// For the input.
    pub input: T,
    /// For the weight.
    pub weight: T,
    /// For the bias.
    pub bias: T,
}

impl<T> From<[T; 3]> for Conv2dParents<T> {
    fn from([input, weight, bias]: [T; 3]) -> Self {
        Self { input, weight, bias }
    }
}

impl<T> From<Conv2dParents<T>> for [T; 3] {
    fn from(Conv2dParents { input, weight, bias }: Conv2dParents<T>) -> Self {
        [input, weight, bias]
    }
}

/// What the backward pass of a convolution needs, alone or with ReLU and pooling.
#[derive(Clone, Debug)]
pub struct Conv2dSaved<B: Backend> {
    /// `[batch, inputs, height, width]`
    pub input: FloatTensor<B>,
    /// `[outputs, inputs, kernel height, kernel width]`
    pub weight: FloatTensor<B>,
    /// What the forward pass returned, where ReLU followed.
    pub output: Option<FloatTensor<B>>,
    /// How the kernel moved over the input.
    pub options: Conv2dOptions,
    /// Which gradients are wanted.
    pub wanted: Conv2dParents<bool>,
}

/// The gradients of a convolution that were wanted.
pub type Conv2dGradients<B> = Conv2dParents<Option<FloatTensor<B>>>;

pub(crate) fn composed<B: Backend>(
    input: FloatTensor<B>,
    weight: FloatTensor<B>,
    bias: Option<FloatTensor<B>>,
    options: &Conv2dOptions,
    rectified: bool,
) -> FloatTensor<B> {
    overrides::note_composed();
    let output = B::conv2d(input, weight, bias, burn_options(options));
    if rectified { primitive(relu::<B, 4>(tensor(output))) } else { output }
}

pub(crate) fn composed_backward<B: Backend>(
    saved: Conv2dSaved<B>,
    mut gradient: FloatTensor<B>,
) -> Conv2dGradients<B> {
    overrides::note_composed();
    let Conv2dSaved { input, weight, output, options, wanted } = saved;
    if let Some(output) = output {
        gradient = primitive(relu_backward::<B, 4>(tensor(output), tensor(gradient)));
    }
    let options = burn_options(&options);
    Conv2dParents {
        input: wanted.input.then(|| {
            B::conv2d_x_backward(input.clone(), weight.clone(), gradient.clone(), options.clone())
        }),
        weight: wanted
            .weight
            .then(|| B::conv2d_weight_backward(input, weight, gradient.clone(), options)),
        bias: wanted.bias.then(|| primitive(channel_sums::<B>(tensor(gradient)))),
    }
}

pub(crate) fn burn_options(options: &Conv2dOptions) -> ConvOptions<2> {
    let Conv2dOptions { stride, padding } = *options;
    ConvOptions::new(stride, padding, [1, 1], 1)
}

/// Convolution on a backend that records gradients.
pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    input: FloatTensor<Autodiff<B, C>>,
    weight: FloatTensor<Autodiff<B, C>>,
    bias: Option<FloatTensor<Autodiff<B, C>>>,
    options: &Conv2dOptions,
    rectified: bool,
) -> FloatTensor<Autodiff<B, C>> {
    let no_bias = Autodiff::<B, C>::from_inner(weight.primitive.clone());
    let parents = [&input, &weight, bias.as_ref().unwrap_or(&no_bias)];
    let recording = tape::begin::<B, C, _, 3>(parents, |saved, gradient| {
        B::fused_conv2d_backward(saved, gradient).into()
    });
    let wanted = parents.map(|parent| parent.is_tracked()).into();
    let [input, weight] = [input, weight].map(|parent| parent.primitive);
    let bias = bias.map(|bias| bias.primitive);
    let output = B::fused_conv2d(input.clone(), weight.clone(), bias, options, rectified);
    let kept = rectified.then(|| output.clone());
    let saved = Conv2dSaved { input, weight, output: kept, options: *options, wanted };
    tape::finish(recording, saved, output)
}
