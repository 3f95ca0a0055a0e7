//! The mean of the rows of a table by index, of which 0 is none: PyTorch's `EmbeddingBag` with
//! `mode="mean"` and `padding_idx=0`.
//!
//! Overrides: Flex (`flex/embedding_mean.rs`), CUDA and WGPU (`cube/embedding_mean.rs`).

use burn::backend::autodiff::{Autodiff, checkpoint::strategy::CheckpointStrategy};
use burn::tensor::{
    Int, Tensor, TensorMetadata,
    ops::{FloatTensor, IntTensor},
};

use crate::{
    Backend, embedding,
    overrides::note_composed,
    primitive::{primitive, tensor},
    tape,
};

pub(crate) fn composed<B: Backend>(table: FloatTensor<B>, indices: IntTensor<B>) -> FloatTensor<B> {
    note_composed();
    let shares = shares::<B>(indices.clone());
    let rows = tensor::<B, 3>(B::embedding(table, indices));
    primitive((rows * shares).sum_dim(1).squeeze_dim::<2>(1))
}

pub(crate) fn composed_backward<B: Backend>(
    entries: usize,
    indices: IntTensor<B>,
    gradient: FloatTensor<B>,
) -> FloatTensor<B> {
    note_composed();
    let gradient = tensor::<B, 2>(gradient).unsqueeze_dim::<3>(1);
    let of_rows = gradient * shares::<B>(indices.clone());
    embedding::composed_backward::<B>(entries, indices, primitive(of_rows))
}

/// The share of each index in its mean, `[batch, time, 1]`.
fn shares<B: Backend>(indices: IntTensor<B>) -> Tensor<B, 3> {
    let is_row = Tensor::<B, 2, Int>::from_primitive(indices).greater_elem(0).float();
    let rows = is_row.clone().sum_dim(1).clamp_min(1.0);
    (is_row / rows).unsqueeze_dim(2)
}

pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    table: FloatTensor<Autodiff<B, C>>,
    indices: IntTensor<B>,
) -> FloatTensor<Autodiff<B, C>> {
    let recording = tape::begin::<B, C, _, 1>([&table], |(entries, indices), gradient| {
        [Some(B::fused_embedding_mean_backward(entries, indices, gradient))]
    });
    let entries = table.shape()[0];
    let output = B::fused_embedding_mean(table.primitive, indices.clone());
    tape::finish(recording, (entries, indices), output)
}
