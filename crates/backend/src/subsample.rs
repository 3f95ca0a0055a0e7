//! Every so many rows and columns of maps, among maps of zeros: a residual block's shortcut without
//! weights.
//!
//! Overrides: Flex (`flex/subsample.rs`), CUDA and WGPU (`cube/subsample.rs`).

use std::ops::Range;

use burn::backend::autodiff::{Autodiff, checkpoint::strategy::CheckpointStrategy};
use burn::tensor::{Shape, Slice, Tensor, TensorMetadata, ops::FloatTensor};

use crate::{
    Backend,
    overrides::note_composed,
    primitive::{primitive, tensor},
    tape,
};

/// The place of `inputs` maps in the middle of `outputs`.
pub(crate) fn middle(inputs: usize, outputs: usize) -> Range<usize> {
    let before = (outputs - inputs) / 2;
    before..before + inputs
}

/// Every `stride`th row and column.
fn places(stride: usize) -> [Slice; 4] {
    let each = Slice::new(0, None, stride as isize);
    [Slice::full(), Slice::full(), each, each]
}

pub(crate) fn composed<B: Backend>(
    maps: FloatTensor<B>,
    stride: usize,
    channels: usize,
) -> FloatTensor<B> {
    note_composed();
    let chosen = tensor::<B, 4>(maps).slice(places(stride));
    let [batch, inputs, height, width] = chosen.dims();
    let options = (&chosen.device(), chosen.dtype());
    let zeros = Tensor::<B, 4>::zeros([batch, channels, height, width], options);
    let middle = Slice::from(middle(inputs, channels));
    primitive(zeros.slice_assign([Slice::full(), middle, Slice::full(), Slice::full()], chosen))
}

pub(crate) fn composed_backward<B: Backend>(
    gradient: FloatTensor<B>,
    input: Shape,
    stride: usize,
) -> FloatTensor<B> {
    note_composed();
    let gradient = tensor::<B, 4>(gradient);
    let middle = middle(input[1], gradient.dims()[1]);
    let zeros = Tensor::<B, 4>::zeros(input, (&gradient.device(), gradient.dtype()));
    let chosen = gradient.narrow(1, middle.start, middle.len());
    primitive(zeros.slice_assign(places(stride), chosen))
}

pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    maps: FloatTensor<Autodiff<B, C>>,
    stride: usize,
    channels: usize,
) -> FloatTensor<Autodiff<B, C>> {
    let recording = tape::begin::<B, C, _, 1>([&maps], |(shape, stride), gradient| {
        [Some(B::fused_subsample_backward(gradient, shape, stride))]
    });
    let shape = maps.shape();
    let output = B::fused_subsample(maps.primitive, stride, channels);
    tape::finish(recording, (shape, stride), output)
}
