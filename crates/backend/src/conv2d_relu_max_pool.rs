//! Convolution with bias, ReLU and the maximum of windows of 2x2 as one operation, which keeps
//! only what the backward pass needs of the full map.
//!
//! Overrides: Flex (`flex/conv/`), CUDA and WGPU (`cube/max_pool2d.rs`, after `cube/conv2d/`).

use burn::backend::autodiff::{Autodiff, checkpoint::strategy::CheckpointStrategy};
use burn::tensor::{
    Shape, TensorMetadata,
    ops::{FloatTensor, IntTensor},
};

use crate::{
    Backend,
    conv2d::{self, Conv2dGradients, Conv2dSaved},
    functional::{Conv2dOptions, PoolOptions},
    max_pool2d,
    primitive::{primitive, relu_backward, tensor},
    tape,
};

pub(crate) fn composed<B: Backend>(
    input: FloatTensor<B>,
    weight: FloatTensor<B>,
    bias: FloatTensor<B>,
    options: &Conv2dOptions,
) -> (FloatTensor<B>, IntTensor<B>) {
    let map = conv2d::composed::<B>(input, weight, Some(bias), options, true);
    max_pool2d::composed::<B>(map, &PoolOptions::square(2))
}

pub(crate) fn composed_backward<B: Backend>(
    mut saved: Conv2dSaved<B>,
    indices: IntTensor<B>,
    gradient: FloatTensor<B>,
) -> Conv2dGradients<B> {
    let output = saved.output.take().expect("what the forward pass returned");
    // ReLU zeroes a window's gradient if its maximum is not above zero.
    let gradient = primitive(relu_backward::<B, 4>(tensor(output), tensor(gradient)));
    let map = map_shape(&saved.input.shape(), &saved.weight.shape(), &saved.options);
    let gradient =
        max_pool2d::composed_backward::<B>(indices, gradient, map, &PoolOptions::square(2));
    conv2d::composed_backward(saved, gradient)
}

/// The shape of a convolution's output.
pub(crate) fn map_shape(input: &Shape, weight: &Shape, options: &Conv2dOptions) -> Shape {
    let [batch, _, height, width] = input.dims();
    let [outputs, _, kernel_height, kernel_width] = weight.dims();
    let [height, width] = options.output_size([height, width], [kernel_height, kernel_width]);
    [batch, outputs, height, width].into()
}

/// The operation on a backend that records gradients.
pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    input: FloatTensor<Autodiff<B, C>>,
    weight: FloatTensor<Autodiff<B, C>>,
    bias: FloatTensor<Autodiff<B, C>>,
    options: &Conv2dOptions,
) -> (FloatTensor<Autodiff<B, C>>, IntTensor<B>) {
    let parents = [&input, &weight, &bias];
    let recording = tape::begin::<B, C, _, 3>(parents, |(saved, indices), gradient| {
        B::fused_conv2d_relu_max_pool_backward(saved, indices, gradient).into()
    });
    let wanted = parents.map(|parent| parent.is_tracked()).into();
    let [input, weight, bias] = [input, weight, bias].map(|parent| parent.primitive);
    let (output, indices) =
        B::fused_conv2d_relu_max_pool(input.clone(), weight.clone(), bias, options);
    let rectified = Some(output.clone());
    let saved = Conv2dSaved { input, weight, output: rectified, options: *options, wanted };
    (tape::finish(recording, (saved, indices.clone()), output), indices)
}
