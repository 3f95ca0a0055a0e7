//! The maximum of each window, forward and backward.
//!
//! Overrides: Flex (`flex/pool.rs`), CUDA and WGPU for windows of 2x2 (`cube/max_pool2d.rs`).

use burn::backend::autodiff::{Autodiff, checkpoint::strategy::CheckpointStrategy};
use burn::tensor::{
    Shape, TensorMetadata,
    ops::{FloatTensor, IntTensor},
};

use crate::{Backend, functional::PoolOptions, overrides, tape};

pub(crate) fn composed<B: Backend>(
    input: FloatTensor<B>,
    options: &PoolOptions,
) -> (FloatTensor<B>, IntTensor<B>) {
    overrides::note_composed();
    let PoolOptions { kernel, stride, padding } = *options;
    let found = B::max_pool2d_with_indices(input, kernel, stride, padding, [1, 1], false);
    (found.output, found.indices)
}

pub(crate) fn composed_backward<B: Backend>(
    indices: IntTensor<B>,
    gradient: FloatTensor<B>,
    input: Shape,
    options: &PoolOptions,
) -> FloatTensor<B> {
    overrides::note_composed();
    let PoolOptions { kernel, stride, padding } = *options;
    // Burn's operation takes the input, but needs only its shape.
    let input = B::float_empty(input, &B::float_device(&gradient), gradient.dtype().into());
    B::max_pool2d_with_indices_backward(
        input,
        kernel,
        stride,
        padding,
        [1, 1],
        false,
        gradient,
        indices,
    )
    .x_grad
}

/// Pooling on a backend that records gradients.
pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    input: FloatTensor<Autodiff<B, C>>,
    options: &PoolOptions,
) -> (FloatTensor<Autodiff<B, C>>, IntTensor<B>) {
    let recording = tape::begin::<B, C, _, 1>([&input], |(indices, shape, options), gradient| {
        [Some(B::fused_max_pool2d_backward(indices, gradient, shape, &options))]
    });
    let shape = input.shape();
    let (output, indices) = B::fused_max_pool2d(input.primitive, options);
    let state = (indices.clone(), shape, *options);
    (tape::finish(recording, state, output), indices)
}
