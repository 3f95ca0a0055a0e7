//! The maximum of each window, forward and backward.
//!
//! Overrides: Flex (`flex/pool.rs`).

use burn::backend::autodiff::{
    Autodiff,
    checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use burn::tensor::{
    Shape, TensorMetadata,
    ops::{FloatTensor, IntTensor},
};

use crate::{Backend, functional::PoolOptions, overrides};

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
    let shape = input.primitive.shape();
    let node = input.node.clone();
    let (output, indices) = B::fused_max_pool2d(input.primitive, options);
    let output = match Backward::<B, 1>::prepare::<C>(Recorded, [node]).compute_bound().stateful() {
        OpsKind::Tracked(step) => {
            let state = State { indices: indices.clone(), input: shape, options: *options };
            step.finish(state, output)
        }
        OpsKind::UnTracked(step) => step.finish(output),
    };
    (output, indices)
}

#[derive(Debug)]
struct Recorded;

#[derive(Clone, Debug)]
struct State<B: Backend> {
    indices: IntTensor<B>,
    input: Shape,
    options: PoolOptions,
}

impl<B: Backend> Backward<B, 1> for Recorded {
    type State = State<B>;

    fn backward(
        self,
        ops: Ops<Self::State, 1>,
        gradients: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let gradient = gradients.consume::<B>(&ops.node);
        let State { indices, input, options } = ops.state;
        if let [Some(parent)] = ops.parents {
            let gradient = B::fused_max_pool2d_backward(indices, gradient, input, &options);
            gradients.register::<B>(parent.id, gradient);
        }
    }
}
