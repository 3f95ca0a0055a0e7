//! The rows of a table by index.
//!
//! Overrides: Flex (`flex/embedding.rs`), CUDA and WGPU (`cube/embedding.rs`).

use burn::backend::autodiff::{
    Autodiff,
    checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use burn::tensor::{
    TensorMetadata,
    ops::{FloatTensor, IntTensor},
};

use crate::{Backend, overrides::note_composed, primitive::register};

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

#[derive(Debug)]
struct EmbeddingBackward;

impl<B: Backend> Backward<B, 1> for EmbeddingBackward {
    type State = (usize, IntTensor<B>);

    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradients.consume::<B>(&ops.node);
        let (entries, indices) = ops.state;
        let table = B::fused_embedding_backward(entries, indices, gradient);
        let parents = ops.parents.map(|parent| parent.map(|node| node.id));
        register::<B, 1>(gradients, parents, [Some(table)]);
    }
}

pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    table: FloatTensor<Autodiff<B, C>>,
    indices: IntTensor<B>,
) -> FloatTensor<Autodiff<B, C>> {
    let entries = table.shape()[0];
    let nodes = [table.node.clone()];
    let output = B::fused_embedding(table.primitive, indices.clone());
    match EmbeddingBackward.prepare::<C>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(operation) => operation.finish((entries, indices), output),
        OpsKind::UnTracked(operation) => operation.finish(output),
    }
}
