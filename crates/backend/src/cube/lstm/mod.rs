//! The recurrence of an LSTM layer as one kernel forward and one backward, in which a cube carries a
//! few sequences through all of their steps: what goes from step to step never leaves it.
//!
//! The products with the input, of all steps at once, are matrix products before and after these.

mod kernels;
mod recurrent;

use burn::tensor::TensorMetadata;
use burn_cubecl::{CubeRuntime, cubecl::prelude::*, kernel::into_contiguous, tensor::CubeTensor};

use self::{
    kernels::{Given, run_back, run_through},
    recurrent::Kept,
};
use super::{
    buffers::{MOST_CUBES, binds, empty},
    can_be_counted, noted,
};
use crate::{
    Backend, Lstm, LstmGradients, LstmOutput, LstmOutputGradients, LstmPrimitives, LstmSaved,
    functional::product,
    lstm::of_products,
    primitive::{primitive, tensor},
};

/// Hidden units up to which this is done, as many as any device has units in a cube. Each step reads
/// those recurrent weights anew for which a cube has no room; of more, a matrix product should make
/// better use.
const WIDEST: usize = 256;
/// Sequences of a cube at most, which share what is read of the weights. A cube has one of them as long
/// as there are no more cubes than a large GPU runs at a time.
const ROWS: usize = 4;
/// Arrays that a kernel takes.
const MOST_ARRAYS: usize = 10;
const CUBES: usize = 128;

/// Whether a layer with `hidden_weight`, `[4 hidden, hidden]`, over an input of this shape is done here.
pub(super) fn takes<R: CubeRuntime>(
    hidden_weight: &CubeTensor<R>,
    [batch, time, _]: [usize; 3],
) -> bool {
    let [gates, width] = hidden_weight.shape().dims();
    let fits = width <= WIDEST && batch <= MOST_CUBES && can_be_counted(batch * time * gates);
    noted(fits && binds(&hidden_weight.client, MOST_ARRAYS))
}

/// How sequences fall to cubes.
struct Division {
    rows: usize,
    count: CubeCount,
    units: usize,
    kept: Kept,
}

/// How many units a cube may have.
pub(super) fn units<R: CubeRuntime>(values: &CubeTensor<R>) -> usize {
    // On Metal a cube of too many does not run, and how many that is depends on a kernel's registers,
    // of which the hardware's properties say nothing.
    match cfg!(target_os = "macos") {
        true => WIDEST,
        false => values.client.properties().hardware.max_units_per_cube as usize,
    }
}

impl Division {
    /// - `most`: units of a cube
    fn new<R: CubeRuntime>(
        client: &ComputeClient<R>,
        batch: usize,
        width: usize,
        most: usize,
    ) -> Self {
        // What the kernel backward holds of a sequence: ten numbers for each hidden unit.
        let occupied = 10 * width * size_of::<f32>();
        let memory = client.properties().hardware.max_shared_memory_size;
        let fit = memory / occupied;
        let rows = batch.div_ceil(CUBES).clamp(1, ROWS.min(fit.max(1)));
        // A unit for each gate, or else as many for each hidden unit as there are.
        let units = width * (most / width).clamp(1, 4);
        let kept = if units == 4 * width {
            Kept::new(width, units, memory.saturating_sub(rows * occupied))
        } else {
            Kept::NONE
        };
        Self { rows, count: CubeCount::Static(batch.div_ceil(rows) as u32, 1, 1), units, kept }
    }
}

/// Returns what [`backward`] reads: the input, the outputs, the gates after their activations, the
/// cells, and the first state's cells and hidden units if there is one.
///
/// - `most`: units of a cube
pub fn forward<R, B>(layer: Lstm<B>, most: usize) -> (LstmOutput<B>, Vec<CubeTensor<R>>)
where
    R: CubeRuntime,
    B: Backend<FloatTensorPrimitive = CubeTensor<R>>,
{
    let Lstm { input, input_weight, hidden_weight, bias, state } = layer;
    let [batch, time, inputs] = input.shape().dims();
    let [_, width] = hidden_weight.shape().dims();
    let rows = tensor::<B, 3>(input.clone()).reshape([batch * time, inputs]);
    let [input_weight, recurrent] =
        [input_weight, hidden_weight].map(|weight| tensor::<B, 2>(weight).transpose());
    let from_input = product(rows, input_weight).reshape([batch, time, 4 * width]);

    let first = state.map(|LstmPrimitives { cell, hidden }| [cell, hidden]);
    let [cell, hidden] = first.clone().unwrap_or_else(|| [bias.clone(), bias.clone()]);
    let inputs = [primitive(from_input), bias, primitive(recurrent), cell, hidden];
    let [outputs, gates, cells, cell, hidden] = launch_forward(inputs, first.is_some(), most);
    let saved = [input, outputs.clone(), gates, cells];
    let saved = saved.into_iter().chain(first.into_iter().flatten()).collect();
    (LstmOutput { outputs, state: LstmPrimitives { cell, hidden } }, saved)
}

/// Takes what the gates get from the input, `[batch, time, 4 hidden]`, the bias, the recurrent
/// weights, `[hidden, 4 hidden]`, and, if it `has_state`, the first cells and hidden units; returns the
/// outputs, the gates after their activations, the cells, and the last cells and hidden units.
fn launch_forward<R: CubeRuntime>(
    inputs: [CubeTensor<R>; 5],
    has_state: bool,
    most: usize,
) -> [CubeTensor<R>; 5] {
    let [from_input, bias, recurrent, first_cell, first_hidden] = inputs.map(into_contiguous);
    let [batch, time, gates] = from_input.meta.shape().dims();
    let width = gates / 4;
    let Division { rows, count, units, kept } =
        Division::new(&from_input.client, batch, width, most);
    let outputs = [width, gates, width].map(|width| empty(&from_input, [batch, time, width]));
    let last = [(); 2].map(|()| empty(&from_input, [batch, width]));
    let client = from_input.client.clone();
    let element = from_input.dtype.into();
    let [outputs, gates, cells] = outputs;
    let [last_cell, last_hidden] = last;
    run_through::launch::<R>(
        &client,
        count,
        CubeDim::new_1d(units as u32),
        from_input.into_array_arg(),
        bias.into_array_arg(),
        recurrent.into_array_arg(),
        first_cell.into_array_arg(),
        first_hidden.into_array_arg(),
        outputs.clone().into_array_arg(),
        gates.clone().into_array_arg(),
        cells.clone().into_array_arg(),
        last_cell.clone().into_array_arg(),
        last_hidden.clone().into_array_arg(),
        time,
        width,
        rows,
        units,
        kept,
        has_state,
        element,
    );
    [outputs, gates, cells, last_cell, last_hidden]
}

/// The gradients that are wanted.
///
/// - `most`: units of a cube
pub fn backward<R, B>(
    saved: LstmSaved<B>,
    gradients: LstmOutputGradients<B>,
    most: usize,
) -> LstmGradients<B>
where
    R: CubeRuntime,
    B: Backend<FloatTensorPrimitive = CubeTensor<R>>,
{
    let LstmSaved { input_weight, hidden_weight, shape, mut values, wanted } = saved;
    let [batch, time, _] = shape;
    let state = <[CubeTensor<R>; 2]>::try_from(values.split_off(4)).ok();
    let Ok([input, outputs, gates, cells]) = <[CubeTensor<R>; 4]>::try_from(values) else {
        unreachable!("the forward pass saves four tensors and a state");
    };
    let (first_cell, first_hidden) = state.map(|[cell, hidden]| (cell, hidden)).unzip();
    let LstmOutputGradients { outputs: of_outputs, cell: of_cell, hidden: of_hidden } = gradients;
    let given = Given {
        first_cell: first_cell.is_some(),
        of_outputs: of_outputs.is_some(),
        of_cell: of_cell.is_some(),
        of_hidden: of_hidden.is_some(),
    };
    let [first_cell, of_outputs, of_cell, of_hidden] = [first_cell, of_outputs, of_cell, of_hidden]
        .map(|tensor| tensor.unwrap_or_else(|| cells.clone()));

    let width = cells.shape()[2];
    let inputs = [gates, cells, first_cell, hidden_weight, of_outputs, of_cell, of_hidden];
    let [of_sums, cell, hidden] = launch_backward(inputs, given, most);

    let of_sums = tensor::<B, 3>(of_sums).reshape([batch * time, 4 * width]);
    let first_hidden = first_hidden.map(tensor::<B, 2>);
    let (input, weights) =
        of_products(of_sums, [input, outputs], first_hidden, input_weight, &shape, wanted);
    let state = wanted.state.then_some(LstmPrimitives { cell, hidden });
    LstmGradients { input, weights, state }
}

/// Takes what [`run_back`] reads; returns the gradients of the gates' sums, `[batch, time, 4
/// hidden]`, and of the first cells and hidden units.
fn launch_backward<R: CubeRuntime>(
    inputs: [CubeTensor<R>; 7],
    given: Given,
    most: usize,
) -> [CubeTensor<R>; 3] {
    let [gates, cells, first_cell, hidden_weight, of_outputs, of_cell, of_hidden] =
        inputs.map(into_contiguous);
    let [batch, time, width] = cells.meta.shape().dims();
    let Division { rows, count, units, kept } = Division::new(&cells.client, batch, width, most);
    let of_sums = empty(&cells, [batch, time, 4 * width]);
    let [of_first_cell, of_first_hidden] = [(); 2].map(|()| empty(&cells, [batch, width]));
    let client = cells.client.clone();
    let element = cells.dtype.into();
    run_back::launch::<R>(
        &client,
        count,
        CubeDim::new_1d(units as u32),
        gates.into_array_arg(),
        cells.into_array_arg(),
        first_cell.into_array_arg(),
        hidden_weight.into_array_arg(),
        of_outputs.into_array_arg(),
        of_cell.into_array_arg(),
        of_hidden.into_array_arg(),
        of_sums.clone().into_array_arg(),
        of_first_cell.clone().into_array_arg(),
        of_first_hidden.clone().into_array_arg(),
        time,
        width,
        rows,
        units,
        kept,
        given,
        element,
    );
    [of_sums, of_first_cell, of_first_hidden]
}
