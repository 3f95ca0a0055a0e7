//! The rows of a table by index.
//!
//! Overrides: Flex (`flex/embedding.rs`); CUDA and WGPU, the gradient only (`cube/embedding.rs`).

use burn::backend::autodiff::{Autodiff, checkpoint::strategy::CheckpointStrategy};
use burn::tensor::{
    TensorMetadata,
    ops::{FloatTensor, IntTensor},
};

use crate::{Backend, overrides::note_composed, tape};

pub(crate) fn composed<B: Backend>(table: FloatTensor<B>, indices: IntTensor<B>) -> FloatTensor<B> {
    note_composed();
    B::embedding(table, indices)
}

/// Adds each row of `gradient` to the row of the table that it came from.
pub(crate) fn composed_backward<B: Backend>(
    entries: usize,
    indices: IntTensor<B>,
    gradient: FloatTensor<B>,
) -> FloatTensor<B> {
    note_composed();
    let [batch, time, width] = gradient.shape().dims();
    let zeros = B::float_zeros(
        [entries, width].into(),
        &B::float_device(&gradient),
        gradient.dtype().into(),
    );
    let indices = B::int_reshape(indices, [batch * time].into());
    let gradient = B::float_reshape(gradient, [batch * time, width].into());
    B::float_select_add(zeros, 0, indices, gradient)
}

pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    table: FloatTensor<Autodiff<B, C>>,
    indices: IntTensor<B>,
) -> FloatTensor<Autodiff<B, C>> {
    let recording = tape::begin::<B, C, _, 1>([&table], |(entries, indices), gradient| {
        [Some(B::fused_embedding_backward(entries, indices, gradient))]
    });
    let entries = table.shape()[0];
    let output = B::fused_embedding(table.primitive, indices.clone());
    tape::finish(recording, (entries, indices), output)
}
