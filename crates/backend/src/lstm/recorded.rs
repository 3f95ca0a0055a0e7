//! The LSTM layer on the tape.
//!
//! A Burn operation has one output, the layer has three. So the layer is recorded as an operation
//! with a placeholder for its output, followed by one operation per real output. Backward, those
//! run first and leave their gradients where the layer finds them.

use std::sync::{Arc, Mutex, PoisonError};

use burn::backend::autodiff::{
    Autodiff,
    checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use burn::tensor::{TensorMetadata, backend::AutodiffBackend, ops::FloatTensor};

use crate::{
    Backend, Lstm, LstmGradients, LstmOutput, LstmOutputGradients, LstmPrimitives, LstmSaved,
    LstmWanted, primitive::register,
};

/// The gradients of outputs, cell and hidden, as they arrive.
type Arrived<B> = Arc<Mutex<[Option<FloatTensor<B>>; 3]>>;

#[derive(Debug)]
struct LayerBackward;

impl<B: Backend> Backward<B, 6> for LayerBackward {
    type State = (LstmSaved<B>, Arrived<B>);

    fn backward(self, ops: Ops<Self::State, 6>, gradients: &mut Gradients, _: &mut Checkpointer) {
        gradients.consume::<B>(&ops.node);
        let (saved, arrived) = ops.state;
        let [outputs, cell, hidden] =
            std::mem::take(&mut *arrived.lock().unwrap_or_else(PoisonError::into_inner));
        let LstmGradients { input, weights, state } =
            B::fused_lstm_backward(saved, LstmOutputGradients { outputs, cell, hidden });
        let [input_weight, hidden_weight, bias] =
            weights.map_or([None, None, None], |w| w.map(Some));
        let [cell, hidden] =
            state.map_or([None, None], |state| [Some(state.cell), Some(state.hidden)]);
        let parents = ops.parents.map(|parent| parent.map(|node| node.id));
        let values = [input, input_weight, hidden_weight, bias, cell, hidden];
        register::<B, 6>(gradients, parents, values);
    }
}

/// The output with this index.
#[derive(Debug)]
struct OutputBackward(usize);

impl<B: Backend> Backward<B, 1> for OutputBackward {
    type State = Arrived<B>;

    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = gradients.consume::<B>(&ops.node);
        let placeholder = placeholder::<B>(&gradient);
        ops.state.lock().unwrap_or_else(PoisonError::into_inner)[self.0] = Some(gradient);
        let parents = ops.parents.map(|parent| parent.map(|node| node.id));
        register::<B, 1>(gradients, parents, [Some(placeholder)]);
    }
}

fn placeholder<B: Backend>(like: &FloatTensor<B>) -> FloatTensor<B> {
    B::float_zeros([1].into(), &B::float_device(like), like.dtype().into())
}

pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    layer: Lstm<Autodiff<B, C>>,
) -> LstmOutput<Autodiff<B, C>> {
    let Lstm { input, input_weight, hidden_weight, bias, state } = layer;
    let state_parents = match &state {
        Some(state) => [state.cell.clone(), state.hidden.clone()],
        None => [(); 2].map(|()| Autodiff::<B, C>::from_inner(bias.primitive.clone())),
    };
    let parents =
        [&input, &input_weight, &hidden_weight, &bias, &state_parents[0], &state_parents[1]];
    let nodes = parents.map(|parent| parent.node.clone());
    let tracked = parents.map(|parent| parent.is_tracked());
    let wanted = LstmWanted {
        input: tracked[0],
        weights: tracked[1..4].contains(&true),
        state: tracked[4..].contains(&true),
    };
    let layer = Lstm::<B> {
        input: input.primitive,
        input_weight: input_weight.primitive,
        hidden_weight: hidden_weight.primitive,
        bias: bias.primitive,
        state: state.map(|state| LstmPrimitives {
            cell: state.cell.primitive,
            hidden: state.hidden.primitive,
        }),
    };

    let operation = match LayerBackward.prepare::<C>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(operation) => operation,
        OpsKind::UnTracked(_) => {
            let LstmOutput { outputs, state } = B::fused_lstm(layer);
            let untracked = |primitive| Autodiff::<B, C>::from_inner(primitive);
            let state =
                LstmPrimitives { cell: untracked(state.cell), hidden: untracked(state.hidden) };
            return LstmOutput { outputs: untracked(outputs), state };
        }
    };
    let shape = layer.input.shape().dims();
    let (input_weight, hidden_weight) = (layer.input_weight.clone(), layer.hidden_weight.clone());
    let (LstmOutput { outputs, state }, values) = B::fused_lstm_saving(layer);
    let saved = LstmSaved::<B> { input_weight, hidden_weight, shape, values, wanted };
    let arrived = Arrived::<B>::default();
    let layer = operation.finish((saved, arrived.clone()), placeholder::<B>(&outputs));
    let output = |number, value| {
        let node = [layer.node.clone()];
        match OutputBackward(number).prepare::<C>(node).compute_bound().stateful() {
            OpsKind::Tracked(operation) => operation.finish(arrived.clone(), value),
            OpsKind::UnTracked(operation) => operation.finish(value),
        }
    };
    let state = LstmPrimitives { cell: output(1, state.cell), hidden: output(2, state.hidden) };
    LstmOutput { outputs: output(0, outputs), state }
}
