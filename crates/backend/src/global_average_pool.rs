//! The mean of each map, forward and backward.
//!
//! Overrides: Flex (`flex/global_average_pool.rs`), CUDA and WGPU (`cube/mod.rs`).

use burn::backend::autodiff::{
    Autodiff,
    checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use burn::tensor::{Shape, TensorMetadata, ops::FloatTensor};

use crate::{
    Backend,
    overrides::note_composed,
    primitive::{primitive, register, tensor},
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

#[derive(Debug)]
struct Recorded;

impl<B: Backend> Backward<B, 1> for Recorded {
    type State = Shape;

    fn backward(self, ops: Ops<Shape, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradients.consume::<B>(&ops.node);
        let gradient = B::fused_global_average_pool_backward(gradient, ops.state);
        let parents = ops.parents.map(|parent| parent.map(|node| node.id));
        register::<B, 1>(gradients, parents, [Some(gradient)]);
    }
}

pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    input: FloatTensor<Autodiff<B, C>>,
) -> FloatTensor<Autodiff<B, C>> {
    let shape = input.primitive.shape();
    let node = input.node.clone();
    let output = B::fused_global_average_pool(input.primitive);
    match Backward::<B, 1>::prepare::<C>(Recorded, [node]).compute_bound().stateful() {
        OpsKind::Tracked(step) => step.finish(shape, output),
        OpsKind::UnTracked(step) => step.finish(output),
    }
}
