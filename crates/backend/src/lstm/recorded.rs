//! The LSTM layer on the tape.
//!
//! A Burn operation has one output, the layer has three. So the layer is recorded as an operation
//! with a placeholder for its output, followed by one operation per real output. Backward, those
//! run first and leave their gradients where the layer finds them.

use std::sync::{Arc, Mutex, PoisonError};

use burn::backend::autodiff::{Autodiff, checkpoint::strategy::CheckpointStrategy, ops::OpsKind};
use burn::tensor::{TensorMetadata, backend::AutodiffBackend, ops::FloatTensor};

use crate::{
    Backend, Lstm, LstmGradients, LstmOutput, LstmOutputGradients, LstmPrimitives, LstmSaved,
    LstmWanted, tape,
};

/// The gradients of outputs, cell and hidden, as they arrive.
type Arrived<B> = Arc<Mutex<[Option<FloatTensor<B>>; 3]>>;

/// The gradients of the layer's six parents; that of its placeholder says nothing.
fn layer_backward<B: Backend>(
    (saved, arrived): (LstmSaved<B>, Arrived<B>),
    _: FloatTensor<B>,
) -> [Option<FloatTensor<B>>; 6] {
    let [outputs, cell, hidden] =
        std::mem::take(&mut *arrived.lock().unwrap_or_else(PoisonError::into_inner));
    let LstmGradients { input, weights, state } =
        B::fused_lstm_backward(saved, LstmOutputGradients { outputs, cell, hidden });
    let [input_weight, hidden_weight, bias] = weights.map_or([None, None, None], |w| w.map(Some));
    let [cell, hidden] = state.map_or([None, None], |state| [Some(state.cell), Some(state.hidden)]);
    [input, input_weight, hidden_weight, bias, cell, hidden]
}

/// Leaves the gradient of the output with this index for the layer.
fn output_backward<B: Backend>(
    (index, arrived): (usize, Arrived<B>),
    gradient: FloatTensor<B>,
) -> [Option<FloatTensor<B>>; 1] {
    let placeholder = placeholder::<B>(&gradient);
    arrived.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(gradient);
    [Some(placeholder)]
}

fn placeholder<B: Backend>(like: &FloatTensor<B>) -> FloatTensor<B> {
    B::float_zeros([1].into(), &B::float_device(like), like.dtype().into())
}

pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    layer: Lstm<Autodiff<B, C>>,
) -> LstmOutput<Autodiff<B, C>> {
    let Lstm { input, input_weight, hidden_weight, bias, state } = layer;
    let untracked = |primitive| Autodiff::<B, C>::from_inner(primitive);
    let no_state = untracked(bias.primitive.clone());
    let [cell, hidden] =
        state.as_ref().map_or([&no_state; 2], |state| [&state.cell, &state.hidden]);
    let parents = [&input, &input_weight, &hidden_weight, &bias, cell, hidden];
    let recording = tape::begin::<B, C, _, 6>(parents, layer_backward::<B>);
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

    let OpsKind::Tracked(operation) = recording else {
        let LstmOutput { outputs, state } = B::fused_lstm(layer);
        let state = LstmPrimitives { cell: untracked(state.cell), hidden: untracked(state.hidden) };
        return LstmOutput { outputs: untracked(outputs), state };
    };
    let shape = layer.input.shape().dims();
    let (input_weight, hidden_weight) = (layer.input_weight.clone(), layer.hidden_weight.clone());
    let (LstmOutput { outputs, state }, values) = B::fused_lstm_saving(layer);
    let saved = LstmSaved::<B> { input_weight, hidden_weight, shape, values, wanted };
    let arrived = Arrived::<B>::default();
    let layer = operation.finish((saved, arrived.clone()), placeholder::<B>(&outputs));
    let output = |index, value| {
        let recording = tape::begin::<B, C, _, 1>([&layer], output_backward::<B>);
        tape::finish(recording, (index, arrived.clone()), value)
    };
    let state = LstmPrimitives { cell: output(1, state.cell), hidden: output(2, state.hidden) };
    LstmOutput { outputs: output(0, outputs), state }
}
