//! The mean of each map, forward and backward.
//!
//! Overrides: Flex (`flex/global_average_pool.rs`), CUDA and WGPU (`cube/mod.rs`).

use burn::backend::autodiff::{Autodiff, checkpoint::strategy::CheckpointStrategy};
use burn::tensor::{Shape, TensorMetadata, ops::FloatTensor};

use crate::{
    Backend,
    overrides::note_composed,
    primitive::{primitive, tensor},
    tape,
};

pub(crate) fn composed<B: Backend>(input: FloatTensor<B>) -> FloatTensor<B> {
    note_composed();
    let input = tensor::<B, 4>(input);
    let [batch, channels, height, width] = input.dims();
    let maps = input.reshape([batch, channels, height * width]);
    primitive(maps.mean_dim(2).reshape([batch, channels]))
}

pub(crate) fn composed_backward<B: Backend>(
    gradient: FloatTensor<B>,
    input: Shape,
) -> FloatTensor<B> {
    note_composed();
    let [batch, channels, height, width] = input.dims();
    let share = tensor::<B, 2>(gradient) / (height * width) as f64;
    primitive(share.reshape([batch, channels, 1, 1]).expand([batch, channels, height, width]))
}

pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    input: FloatTensor<Autodiff<B, C>>,
) -> FloatTensor<Autodiff<B, C>> {
    let recording = tape::begin::<B, C, _, 1>([&input], |shape, gradient| {
        [Some(B::fused_global_average_pool_backward(gradient, shape))]
    });
    let shape = input.shape();
    tape::finish(recording, shape, B::fused_global_average_pool(input.primitive))
}
