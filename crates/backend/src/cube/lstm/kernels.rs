//! The two kernels: each cube carries its sequences through all of their steps.

use burn_cubecl::cubecl::{self, prelude::*};

use super::recurrent::{Kept, Layout, RecurrentWeights};

#[cube]
fn sigmoid(value: f32) -> f32 {
    1.0 / (1.0 + f32::exp(-value))
}

/// Cut off at 15, since f32's tanh is 1 from 9.01 on: some drivers divide sinh by cosh, which overflow
/// at 89.
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

#[cube(launch)]
pub(super) fn run_through<E: Float>(
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
    #[comptime] units: usize,
    #[comptime] kept: Kept,
    #[comptime] has_state: bool,
    #[define(E)] _element: StorageType,
) {
    let mut cell = SharedMemory::<f32>::new(rows * width);
    let mut hidden = SharedMemory::<f32>::new(rows * width);
    let mut sums = SharedMemory::<f32>::new(rows * 4 * width);
    let unit = UNIT_POS as usize;
    let first_row = CUBE_POS * rows;
    let batch = last_cell.len() / width;
    let layout = comptime!(Layout { rows, width, stride: 4 * width, units, kept });
    let weights = RecurrentWeights::of_unit::<E>(recurrent, unit, layout);

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
            // Read before the sums and added after them, which need not wait for it.
            let mut input = Array::<f32>::new(rows);
            let mut sum = Array::<f32>::new(rows);
            #[unroll]
            for r in 0..rows {
                let row = clamp_max(first_row + r, batch - 1);
                let from_input = from_input[(row * time + step) * 4 * width + column];
                input[r] = f32::cast_from(from_input) + f32::cast_from(bias[column]);
                sum[r] = 0.0f32;
            }
            weights.add_products::<E>(&mut sum, &hidden, 0, width, recurrent, column);
            #[unroll]
            for r in 0..rows {
                sums[r * 4 * width + column] = sum[r] + input[r];
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

/// What the backward pass has; what is not there is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Given {
    pub(super) first_cell: bool,
    pub(super) of_outputs: bool,
    pub(super) of_cell: bool,
    pub(super) of_hidden: bool,
}

#[cube(launch)]
pub(super) fn run_back<E: Float>(
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
    #[comptime] units: usize,
    #[comptime] kept: Kept,
    #[comptime] given: Given,
    #[define(E)] _element: StorageType,
) {
    let mut of_cell = SharedMemory::<f32>::new(rows * width);
    let mut of_hidden = SharedMemory::<f32>::new(rows * width);
    // Of the step's sums; then, in as many parts as there are units for, the products with them.
    let mut of_step = SharedMemory::<f32>::new(rows * 4 * width);
    let mut products = SharedMemory::<f32>::new(rows * 4 * width);
    let unit = UNIT_POS as usize;
    let parts = comptime!(units / width);
    let first_row = CUBE_POS * rows;
    let batch = of_first_cell.len() / width;
    // What this unit sums up of the products for the hidden unit `unit % width`.
    let part = unit / width;
    let length = comptime!(4 * width / parts);
    let begin = part * length;
    let mut end = begin + length;
    if part == parts - 1 {
        end = 4 * width;
    }
    let first = begin * width + unit % width;
    let layout = comptime!(Layout { rows, width: 4 * width, stride: width, units, kept });
    let weights = RecurrentWeights::of_unit::<E>(hidden_weight, first, layout);

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
        let mut sum = Array::<f32>::new(rows);
        #[unroll]
        for r in 0..rows {
            sum[r] = 0.0f32;
        }
        weights.add_products::<E>(&mut sum, &of_step, begin, end - begin, hidden_weight, first);
        #[unroll]
        for r in 0..rows {
            products[r * 4 * width + unit] = sum[r];
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
