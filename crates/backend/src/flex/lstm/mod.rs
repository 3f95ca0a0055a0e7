//! The LSTM layer: each task takes some sequences through all time steps, or, of a layer with many
//! weights, some units through one ([`sizes::Divides`]).
//!
//! The gates of a vector of units are computed and used in registers; only gates, cells and hidden
//! units are kept. Backward, the gates' memory takes their gradients, from which the gradients of
//! the weights are one product over all times and sequences at the end.

mod backward;
mod few_rows;
mod forward;
mod gates;
mod sizes;
#[cfg(test)]
mod tests;
mod tile;
mod weight_gradient;
mod weights;

use burn::backend::Flex;
use burn_flex::FlexTensor;

use super::{
    all_f32, assert_shape, contiguous, dimensions, elements, parallel::Shared, recycled,
    simd::Level,
};
use crate::{
    Lstm, LstmGradients, LstmOutput, LstmOutputGradients, LstmPrimitives, LstmSaved, lstm,
    overrides::note_taken,
};
use backward::Backward;
use forward::Forward;
use sizes::Sizes;
use weight_gradient::weight_gradients;
use weights::Weights;

/// The layer; if `saving` with rows, cells and gates for the backward pass.
pub(super) fn forward(layer: Lstm<Flex>, saving: bool) -> (LstmOutput<Flex>, Vec<FlexTensor>) {
    let state = layer.state.iter().flat_map(|state| [&state.cell, &state.hidden]);
    let others = [&layer.input, &layer.input_weight, &layer.hidden_weight, &layer.bias];
    if !all_f32(others.into_iter().chain(state)) {
        return lstm::composed(layer);
    }
    note_taken();
    run(Level::best(), layer, saving)
}

fn run(level: Level, layer: Lstm<Flex>, saving: bool) -> (LstmOutput<Flex>, Vec<FlexTensor>) {
    let Lstm { input, input_weight, hidden_weight, bias, state } = layer;
    let [input, input_weight, hidden_weight, bias] =
        [input, input_weight, hidden_weight, bias].map(contiguous);
    let state = state.map(|state| [state.cell, state.hidden].map(contiguous));
    let [batch, time, inputs] = dimensions(&input);
    let [_, hidden] = dimensions(&hidden_weight);
    assert_shape("the input weight", &input_weight, &[4 * hidden, inputs]);
    assert_shape("the hidden weight", &hidden_weight, &[4 * hidden, hidden]);
    assert_shape("the bias", &bias, &[4 * hidden]);
    for state in state.iter().flatten() {
        assert_shape("the state", state, &[batch, hidden]);
    }
    let sizes = Sizes { batch, time, inputs, hidden, lanes: level.lanes() };
    let weights = Weights { input: elements(&input_weight), hidden: elements(&hidden_weight) };
    let bias = elements(&bias);
    let state = state.as_ref().map(|state| state.each_ref().map(elements));
    if !saving && (1..=few_rows::FEW).contains(&(batch * time)) {
        let output = few_rows::forward(level, sizes, weights, bias, elements(&input), state);
        return (output, Vec::new());
    }
    let packed = weights.packed_forward(level, &sizes, bias);

    let slots = if saving { time + 1 } else { 2 };
    let mut rows = recycled::floats([slots * batch * sizes.stride()]);
    let mut cells = recycled::floats([slots * batch * sizes.padded()]);
    let mut gates = recycled::floats([if saving { time * batch * sizes.gate_stride() } else { 0 }]);
    let mut outputs = recycled::floats([batch, time, hidden]);
    let [mut last_cell, mut last_hidden] = [(); 2].map(|()| recycled::floats([batch, hidden]));
    let memory = Forward {
        sizes,
        slots,
        input: elements(&input),
        state,
        weights: elements(&packed),
        rows: Shared::new(rows.storage_mut()),
        cells: Shared::new(cells.storage_mut()),
        gates: saving.then(|| Shared::new(gates.storage_mut())),
        outputs: Shared::new(outputs.storage_mut()),
        last_cell: Shared::new(last_cell.storage_mut()),
        last_hidden: Shared::new(last_hidden.storage_mut()),
    };
    // SAFETY: the memory was made by its sizes.
    unsafe { forward::run(level, memory) };
    let state = LstmPrimitives { cell: last_cell, hidden: last_hidden };
    let saved = if saving { vec![rows, cells, gates] } else { Vec::new() };
    (LstmOutput { outputs, state }, saved)
}

/// The gradients, from what [`forward`] or the default body returned.
pub(super) fn backward(
    saved: LstmSaved<Flex>,
    gradients: LstmOutputGradients<Flex>,
) -> LstmGradients<Flex> {
    // The forward pass chose by the types of all tensors, and the number of values tells how.
    if saved.values.len() != 3 {
        return lstm::composed_backward(saved, gradients);
    }
    note_taken();
    run_backward(Level::best(), saved, gradients)
}

fn run_backward(
    level: Level,
    saved: LstmSaved<Flex>,
    gradients: LstmOutputGradients<Flex>,
) -> LstmGradients<Flex> {
    let LstmSaved { input_weight, hidden_weight, shape, values, wanted } = saved;
    let Ok([rows, cells, gates]) = <[FlexTensor; 3]>::try_from(values) else {
        unreachable!("the forward pass saves three tensors");
    };
    let [batch, time, inputs] = shape;
    let [_, hidden] = dimensions(&hidden_weight);
    let sizes = Sizes { batch, time, inputs, hidden, lanes: level.lanes() };
    assert_shape("the input weight", &input_weight, &[4 * hidden, inputs]);
    assert_shape("the hidden weight", &hidden_weight, &[4 * hidden, hidden]);
    let steps = (time + 1) * batch;
    assert_shape("what the forward pass saved", &rows, &[steps * sizes.stride()]);
    assert_shape("what the forward pass saved", &cells, &[steps * sizes.padded()]);
    assert_shape("what the forward pass saved", &gates, &[time * batch * sizes.gate_stride()]);
    if let Some(of_outputs) = &gradients.outputs {
        assert_shape("the outputs' gradient", of_outputs, &[batch, time, hidden]);
    }
    for of_state in [&gradients.cell, &gradients.hidden].into_iter().flatten() {
        assert_shape("the state's gradient", of_state, &[batch, hidden]);
    }
    let [input_weight, hidden_weight] = [input_weight, hidden_weight].map(contiguous);
    let weights = Weights { input: elements(&input_weight), hidden: elements(&hidden_weight) };
    let packed = weights.packed_backward(&sizes);

    let of_outputs = gradients.outputs.map(contiguous);
    let of_state = [gradients.cell, gradients.hidden].map(|gradient| gradient.map(contiguous));
    // Unique where the graph alone held it, so this is no copy.
    let mut of_sums = contiguous(gates);
    let mut of_cells = recycled::floats([batch * sizes.padded()]);
    let mut of_rows = recycled::floats([batch * sizes.backward_width()]);
    let mut of_input = wanted.input.then(|| recycled::floats(shape));
    let mut of_first = wanted.state.then(|| [(); 2].map(|()| recycled::floats([batch, hidden])));
    let memory = Backward {
        sizes,
        of_outputs: of_outputs.as_ref().map(elements),
        of_state: of_state.each_ref().map(|gradient| gradient.as_ref().map(elements)),
        weights: elements(&packed),
        cells: elements(&cells),
        gates: Shared::new(of_sums.storage_mut()),
        of_cells: Shared::new(of_cells.storage_mut()),
        of_rows: Shared::new(of_rows.storage_mut()),
        of_input: of_input.as_mut().map(|tensor| Shared::new(tensor.storage_mut())),
        of_first: of_first
            .as_mut()
            .map(|first| first.each_mut().map(|tensor| Shared::new(tensor.storage_mut()))),
    };
    // SAFETY: the memory was made by its sizes, as asserted.
    unsafe { backward::run(level, memory) };
    LstmGradients {
        input: of_input,
        weights: wanted
            .weights
            .then(|| weight_gradients(level, &sizes, elements(&of_sums), elements(&rows))),
        state: of_first.map(|[cell, hidden]| LstmPrimitives { cell, hidden }),
    }
}
