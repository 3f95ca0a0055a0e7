//! The recurrence of an LSTM layer as one kernel forward and one backward, in which a cube carries a
//! few sequences through all of their steps: what goes from step to step never leaves it.
//!
//! The products with the input, of all steps at once, are matrix products before and after these.

use burn::tensor::TensorMetadata;
use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    tensor::CubeTensor,
};

use super::{buffers::empty, can_be_counted};
use crate::{
    Backend, Lstm, LstmGradients, LstmOutput, LstmOutputGradients, LstmPrimitives, LstmSaved,
    functional::product,
    lstm::of_products,
    overrides::note_taken,
    primitive::{primitive, tensor, transposed},
};

/// Hidden units up to which this is done, as many as any device has units in a cube. Each step reads
/// all recurrent weights anew; of more, a matrix product should make better use.
const WIDEST: usize = 256;
/// Sequences of a cube at most, which share what is read of the weights. A cube has one of them as long
/// as there are no more cubes than a large GPU runs at a time.
const ROWS: usize = 4;
const CUBES: usize = 128;
/// Cubes that any device starts at once.
const MOST: usize = 65_535;

/// Whether a layer with `hidden_weight`, `[4 hidden, hidden]`, over an input of this shape is done here.
pub(super) fn takes(hidden_weight: &impl TensorMetadata, [batch, time, _]: [usize; 3]) -> bool {
    let [gates, width] = hidden_weight.shape().dims();
    let takes = width <= WIDEST && batch <= MOST && can_be_counted(batch * time * gates);
    if takes {
        note_taken();
    }
    takes
}

#[cube]
fn sigmoid(value: f32) -> f32 {
    1.0 / (1.0 + f32::exp(-value))
}

/// In f32 it is 1 from 9.01 on. Some drivers divide sinh by cosh, which are infinite from 89 on.
#[cube]
fn tanh(value: f32) -> f32 {
    let mut tanh = f32::tanh(value);
    if value > 15.0f32 {
        tanh = 1.0f32;
    }
    if value < -15.0f32 {
        tanh = -1.0f32;
    }
    tanh
}

/// How sequences fall to cubes.
struct Division {
    rows: usize,
    count: CubeCount,
    cube: CubeDim,
}

impl Division {
    fn new<R: CubeRuntime>(client: &ComputeClient<R>, batch: usize, width: usize) -> Self {
        let hardware = &client.properties().hardware;
        // What the kernel backward holds of a sequence: ten numbers for each hidden unit.
        let fit = hardware.max_shared_memory_size / (10 * width * size_of::<f32>());
        let rows = batch.div_ceil(CUBES).clamp(1, ROWS.min(fit.max(1)));
        // A unit for each gate, or else as many for each hidden unit as there are.
        let units = width * (hardware.max_units_per_cube as usize / width).clamp(1, 4);
        Self {
            rows,
            count: CubeCount::Static(batch.div_ceil(rows) as u32, 1, 1),
            cube: CubeDim::new_1d(units as u32),
        }
    }
}

#[cube(launch)]
fn run_through<E: Float>(
    from_input: &Array<E>,
    bias: &Array<E>,
    recurrent: &Array<E>,
    first_cell: &Array<E>,
    first_hidden: &Array<E>,
    outputs: &mut Array<E>,
    gates: &mut Array<E>,
    cells: &mut Array<E>,
    last_cell: &mut Array<E>,
    last_hidden: &mut Array<E>,
    time: usize,
    #[comptime] width: usize,
    #[comptime] rows: usize,
    #[comptime] has_state: bool,
    #[define(E)] _element: StorageType,
) {
    let mut cell = SharedMemory::<f32>::new(rows * width);
    let mut hidden = SharedMemory::<f32>::new(rows * width);
    let mut sums = SharedMemory::<f32>::new(rows * 4 * width);
    let unit = UNIT_POS as usize;
    let units = CUBE_DIM as usize;
    let first_row = CUBE_POS * rows;
    let batch = last_cell.len() / width;

    for i in range_stepped(unit, rows * width, units) {
        cell[i] = 0.0f32;
        hidden[i] = 0.0f32;
        if comptime!(has_state) {
            // A row beyond the batch reads the last one's, and is not written.
            let row = clamp_max(first_row + i / width, batch - 1);
            cell[i] = f32::cast_from(first_cell[row * width + i % width]);
            hidden[i] = f32::cast_from(first_hidden[row * width + i % width]);
        }
    }
    sync_cube();

    for step in 0..time {
        for column in range_stepped(unit, 4 * width, units) {
            let mut sum = Array::<f32>::new(rows);
            #[unroll]
            for r in 0..rows {
                let row = clamp_max(first_row + r, batch - 1);
                let input = from_input[(row * time + step) * 4 * width + column];
                sum[r] = f32::cast_from(input) + f32::cast_from(bias[column]);
            }
            for k in 0..width {
                let weight = f32::cast_from(recurrent[k * 4 * width + column]);
                #[unroll]
                for r in 0..rows {
                    sum[r] += hidden[r * width + k] * weight;
                }
            }
            #[unroll]
            for r in 0..rows {
                sums[r * 4 * width + column] = sum[r];
            }
        }
        sync_cube();
        for i in range_stepped(unit, rows * width, units) {
            let row = first_row + i / width;
            let j = i % width;
            let at = (i / width) * 4 * width + j;
            let input_gate = sigmoid(sums[at]);
            let forget_gate = sigmoid(sums[at + width]);
            let new = tanh(sums[at + 2 * width]);
            let output_gate = sigmoid(sums[at + 3 * width]);
            cell[i] = forget_gate * cell[i] + input_gate * new;
            hidden[i] = output_gate * tanh(cell[i]);
            if row < batch {
                let place = row * time + step;
                outputs[place * width + j] = E::cast_from(hidden[i]);
                cells[place * width + j] = E::cast_from(cell[i]);
                let gate = place * 4 * width + j;
                gates[gate] = E::cast_from(input_gate);
                gates[gate + width] = E::cast_from(forget_gate);
                gates[gate + 2 * width] = E::cast_from(new);
                gates[gate + 3 * width] = E::cast_from(output_gate);
            }
        }
        sync_cube();
    }

    for i in range_stepped(unit, rows * width, units) {
        let row = first_row + i / width;
        if row < batch {
            last_cell[row * width + i % width] = E::cast_from(cell[i]);
            last_hidden[row * width + i % width] = E::cast_from(hidden[i]);
        }
    }
}

/// Returns what [`backward`] reads: the input, the outputs, the gates after their activations, the
/// cells, and the first state's cells and hidden units if there is one.
pub(super) fn forward<R, B>(layer: Lstm<B>) -> (LstmOutput<B>, Vec<CubeTensor<R>>)
where
    R: CubeRuntime,
    B: Backend<FloatTensorPrimitive = CubeTensor<R>>,
{
    let Lstm { input, input_weight, hidden_weight, bias, state } = layer;
    let [batch, time, inputs] = input.shape().dims();
    let [_, width] = hidden_weight.shape().dims();
    let rows = tensor::<B, 3>(input.clone()).reshape([batch * time, inputs]);
    let from_input = product(rows, transposed::<B>(input_weight)).reshape([batch, time, 4 * width]);
    let (from_input, recurrent) =
        (primitive(from_input), primitive(transposed::<B>(hidden_weight)));

    let mut saved = vec![input];
    let state = state.map(|LstmPrimitives { cell, hidden }| [cell, hidden]);
    saved.extend(state.iter().flatten().cloned());
    let has_state = state.is_some();
    let [cell, hidden] = state.unwrap_or_else(|| [bias.clone(), bias.clone()]);
    let inputs = [from_input, bias, recurrent, cell, hidden];
    let [outputs, gates, cells, cell, hidden] = launch_forward(inputs, has_state);
    saved.splice(1..1, [outputs.clone(), gates, cells]);
    (LstmOutput { outputs, state: LstmPrimitives { cell, hidden } }, saved)
}

/// Takes what the gates get from the input, `[batch, time, 4 hidden]`, the bias, the recurrent
/// weights, `[hidden, 4 hidden]`, and, if it `has_state`, the first cells and hidden units; returns the
/// outputs, the gates after their activations, the cells, and the last cells and hidden units.
fn launch_forward<R: CubeRuntime>(
    inputs: [CubeTensor<R>; 5],
    has_state: bool,
) -> [CubeTensor<R>; 5] {
    let [from_input, bias, recurrent, first_cell, first_hidden] = inputs.map(into_contiguous);
    let [batch, time, gates] = from_input.meta.shape().dims();
    let width = gates / 4;
    let Division { rows, count, cube } = Division::new(&from_input.client, batch, width);
    let outputs = [width, gates, width].map(|width| empty(&from_input, [batch, time, width]));
    let last = [(); 2].map(|()| empty(&from_input, [batch, width]));
    let client = from_input.client.clone();
    let element = from_input.dtype.into();
    let [outputs, gates, cells] = outputs;
    let [last_cell, last_hidden] = last;
    run_through::launch::<R>(
        &client,
        count,
        cube,
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
        has_state,
        element,
    );
    [outputs, gates, cells, last_cell, last_hidden]
}

/// What the backward pass has; what is not there is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Given {
    first_cell: bool,
    of_outputs: bool,
    of_cell: bool,
    of_hidden: bool,
}

#[cube(launch)]
fn run_back<E: Float>(
    gates: &Array<E>,
    cells: &Array<E>,
    first_cell: &Array<E>,
    hidden_weight: &Array<E>,
    of_outputs: &Array<E>,
    of_last_cell: &Array<E>,
    of_last_hidden: &Array<E>,
    of_sums: &mut Array<E>,
    of_first_cell: &mut Array<E>,
    of_first_hidden: &mut Array<E>,
    time: usize,
    #[comptime] width: usize,
    #[comptime] rows: usize,
    #[comptime] given: Given,
    #[define(E)] _element: StorageType,
) {
    let mut of_cell = SharedMemory::<f32>::new(rows * width);
    let mut of_hidden = SharedMemory::<f32>::new(rows * width);
    // Of the step's sums; then, in as many parts as there are units for, the products with them.
    let mut of_step = SharedMemory::<f32>::new(rows * 4 * width);
    let mut products = SharedMemory::<f32>::new(rows * 4 * width);
    let unit = UNIT_POS as usize;
    let units = CUBE_DIM as usize;
    let parts = units / width;
    let first_row = CUBE_POS * rows;
    let batch = of_first_cell.len() / width;

    for i in range_stepped(unit, rows * width, units) {
        let row = clamp_max(first_row + i / width, batch - 1);
        let at = row * width + i % width;
        of_cell[i] = 0.0f32;
        of_hidden[i] = 0.0f32;
        if comptime!(given.of_cell) {
            of_cell[i] = f32::cast_from(of_last_cell[at]);
        }
        if comptime!(given.of_hidden) {
            of_hidden[i] = f32::cast_from(of_last_hidden[at]);
        }
    }
    sync_cube();

    for steps in 0..time {
        let step = time - 1 - steps;
        for i in range_stepped(unit, rows * width, units) {
            let row = clamp_max(first_row + i / width, batch - 1);
            let j = i % width;
            let place = row * time + step;
            let gate = place * 4 * width + j;
            let input_gate = f32::cast_from(gates[gate]);
            let forget_gate = f32::cast_from(gates[gate + width]);
            let new = f32::cast_from(gates[gate + 2 * width]);
            let output_gate = f32::cast_from(gates[gate + 3 * width]);
            let cell_tanh = tanh(f32::cast_from(cells[place * width + j]));
            let mut previous = 0.0f32;
            if step > 0 {
                previous = f32::cast_from(cells[(place - 1) * width + j]);
            } else if comptime!(given.first_cell) {
                previous = f32::cast_from(first_cell[row * width + j]);
            }

            let mut from_hidden = of_hidden[i];
            if comptime!(given.of_outputs) {
                from_hidden += f32::cast_from(of_outputs[place * width + j]);
            }
            let from_cell = of_cell[i] + from_hidden * output_gate * (1.0 - cell_tanh * cell_tanh);
            let of_input = from_cell * new * input_gate * (1.0 - input_gate);
            let of_forget = from_cell * previous * forget_gate * (1.0 - forget_gate);
            let of_new = from_cell * input_gate * (1.0 - new * new);
            let of_output = from_hidden * cell_tanh * output_gate * (1.0 - output_gate);
            of_cell[i] = from_cell * forget_gate;
            let at = (i / width) * 4 * width + j;
            of_step[at] = of_input;
            of_step[at + width] = of_forget;
            of_step[at + 2 * width] = of_new;
            of_step[at + 3 * width] = of_output;
            if first_row + i / width < batch {
                of_sums[gate] = E::cast_from(of_input);
                of_sums[gate + width] = E::cast_from(of_forget);
                of_sums[gate + 2 * width] = E::cast_from(of_new);
                of_sums[gate + 3 * width] = E::cast_from(of_output);
            }
        }
        sync_cube();
        // `of_hidden = of_step x hidden_weight`, a part of the sum a unit.
        if unit < parts * width {
            let j = unit % width;
            let length = 4 * width / parts;
            let begin = (unit / width) * length;
            let mut end = begin + length;
            if unit / width == parts - 1 {
                end = 4 * width;
            }
            let mut sum = Array::<f32>::new(rows);
            #[unroll]
            for r in 0..rows {
                sum[r] = 0.0f32;
            }
            for k in begin..end {
                let weight = f32::cast_from(hidden_weight[k * width + j]);
                #[unroll]
                for r in 0..rows {
                    sum[r] += of_step[r * 4 * width + k] * weight;
                }
            }
            #[unroll]
            for r in 0..rows {
                products[r * 4 * width + unit] = sum[r];
            }
        }
        sync_cube();
        for i in range_stepped(unit, rows * width, units) {
            let mut sum = 0.0f32;
            for part in 0..parts {
                sum += products[(i / width) * 4 * width + part * width + i % width];
            }
            of_hidden[i] = sum;
        }
        sync_cube();
    }

    for i in range_stepped(unit, rows * width, units) {
        let row = first_row + i / width;
        if row < batch {
            of_first_cell[row * width + i % width] = E::cast_from(of_cell[i]);
            of_first_hidden[row * width + i % width] = E::cast_from(of_hidden[i]);
        }
    }
}

pub(super) fn backward<R, B>(
    saved: LstmSaved<B>,
    gradients: LstmOutputGradients<B>,
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
    let [of_sums, cell, hidden] = launch_backward(inputs, given);

    let of_sums = tensor::<B, 3>(of_sums).reshape([batch * time, 4 * width]);
    let first_hidden = first_hidden.map(tensor::<B, 2>);
    let (input, weights) =
        of_products(of_sums, [input, outputs], first_hidden, input_weight, &shape, wanted);
    let state = wanted.state.then_some(LstmPrimitives { cell, hidden });
    LstmGradients { input, weights, state }
}

/// Takes what [`run_back`] reads; returns the gradients of the gates' sums, `[batch, time, 4
/// hidden]`, and of the first cells and hidden units.
fn launch_backward<R: CubeRuntime>(inputs: [CubeTensor<R>; 7], given: Given) -> [CubeTensor<R>; 3] {
    let [gates, cells, first_cell, hidden_weight, of_outputs, of_cell, of_hidden] =
        inputs.map(into_contiguous);
    let [batch, time, width] = cells.meta.shape().dims();
    let Division { rows, count, cube } = Division::new(&cells.client, batch, width);
    let of_sums = empty(&cells, [batch, time, 4 * width]);
    let [of_first_cell, of_first_hidden] = [(); 2].map(|()| empty(&cells, [batch, width]));
    let client = cells.client.clone();
    let element = cells.dtype.into();
    run_back::launch::<R>(
        &client,
        count,
        cube,
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
        given,
        element,
    );
    [of_sums, of_first_cell, of_first_hidden]
}
