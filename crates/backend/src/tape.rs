//! How an operation comes onto Burn's tape, so that a backward pass runs through it.
//!
//! ```text
//! let recording = tape::begin::<B, C, _, 1>([&input], |state, gradient| [Some(..)]);
//! let output = B::fused_..(input.primitive);
//! tape::finish(recording, state, output)
//! ```
//!
//! It is begun before the primitives are moved out of the parents, of which kernels may then write
//! over those that nobody else holds.

use std::fmt::Debug;

use burn::backend::autodiff::{
    Autodiff,
    checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use burn::tensor::ops::FloatTensor;

use crate::Backend;

/// An operation whose output is yet to come; tracked if any of its parents is.
pub(crate) type Recording<B, C, S, const N: usize> = OpsKind<Differentiated<B, S, N>, B, S, C, N>;

/// The gradients of an operation's parents, from its state and the gradient of its output.
type Derivative<B, S, const N: usize> = fn(S, FloatTensor<B>) -> [Option<FloatTensor<B>>; N];

#[derive(Debug)]
pub(crate) struct Differentiated<B: Backend, S, const N: usize>(Derivative<B, S, N>);

impl<B, S, const N: usize> Backward<B, N> for Differentiated<B, S, N>
where
    B: Backend,
    S: Clone + Send + Debug + 'static,
{
    type State = S;

    fn backward(self, ops: Ops<S, N>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let Self(derivative) = self;
        let found = derivative(ops.state, gradients.consume::<B>(&ops.node));
        for (parent, gradient) in ops.parents.into_iter().zip(found) {
            if let (Some(parent), Some(gradient)) = (parent, gradient) {
                gradients.register::<B>(parent.id, gradient);
            }
        }
    }
}

/// Begins to record an operation.
///
/// - `parents`: in place of one that is missing, any tensor that is not tracked
/// - `derivative`: what it returns for parents that are not tracked is dropped
pub(crate) fn begin<B, C, S, const N: usize>(
    parents: [&FloatTensor<Autodiff<B, C>>; N],
    derivative: Derivative<B, S, N>,
) -> Recording<B, C, S, N>
where
    B: Backend,
    C: CheckpointStrategy,
    S: Clone + Send + Debug + 'static,
{
    let nodes = parents.map(|parent| parent.node.clone());
    Differentiated(derivative).prepare::<C>(nodes).compute_bound().stateful()
}

/// Ends a recording with what the operation returned; the state is dropped if nothing is tracked.
pub(crate) fn finish<B, C, S, const N: usize>(
    recording: Recording<B, C, S, N>,
    state: S,
    output: FloatTensor<B>,
) -> FloatTensor<Autodiff<B, C>>
where
    B: Backend,
    C: CheckpointStrategy,
    S: Clone + Send + Debug + 'static,
{
    match recording {
        OpsKind::Tracked(operation) => operation.finish(state, output),
        OpsKind::UnTracked(operation) => operation.finish(output),
    }
}
