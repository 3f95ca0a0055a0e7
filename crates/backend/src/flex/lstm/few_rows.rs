//! The forward pass of a few rows, such as one token at a time: the weights are read where they are,
//! since packing them would cost more than their products.

use std::{mem::swap, ops::Range};

use burn::backend::Flex;
use burn_flex::FlexTensor;

use super::{gates::Gates, sizes::Sizes, weights::Weights};
use crate::{
    LstmOutput, LstmPrimitives,
    flex::{
        lanes::{read, write},
        parallel::{self, Shared},
        recycled,
        simd::{Kernel, Level, Vector},
    },
};

/// Rows, of all sequences and steps, up to which this is the faster way.
pub(super) const FEW: usize = 8;

/// Products of one task.
const TASK: usize = 1 << 17;

/// - `bias`: `[4 hidden]`
/// - `input`: `[batch, time, inputs]`
/// - `state`: cells and hidden units, `[batch, hidden]` each
pub(super) fn forward(
    level: Level,
    sizes: Sizes,
    weights: Weights<'_>,
    bias: &[f32],
    input: &[f32],
    state: Option<[&[f32]; 2]>,
) -> LstmOutput<Flex> {
    let Sizes { batch, time, inputs, hidden, .. } = sizes;
    let first = |index: usize| {
        let mut tensor = recycled::floats([batch, hidden]);
        let target = tensor.storage_mut::<f32>();
        match state {
            Some(state) => target.copy_from_slice(state[index]),
            None => target.fill(0.0),
        }
        tensor
    };
    let [mut cells, mut before] = [0, 1].map(first);
    let mut after = recycled::floats([batch, hidden]);
    let mut outputs = recycled::floats([batch, time, hidden]);
    let of_task = (TASK / (4 * (inputs + hidden) * batch)).max(1).next_multiple_of(16);
    for step in 0..time {
        let memory = Step {
            sizes,
            step,
            weights,
            bias,
            input,
            before: before.storage(),
            cells: Shared::new(cells.storage_mut()),
            after: Shared::new(after.storage_mut()),
        };
        parallel::ranges(hidden, of_task, |units, scratch| {
            let [sums] = scratch.slices([batch * 4 * units.len()]);
            // SAFETY: tasks divide the units.
            level.run(unsafe { StepTask::new(&memory, units, sums) });
        });
        write_step(&mut outputs, &after, step, sizes);
        swap(&mut before, &mut after);
    }
    LstmOutput { outputs, state: LstmPrimitives { cell: cells, hidden: before } }
}

/// Writes the hidden units after a step to the outputs.
fn write_step(outputs: &mut FlexTensor, after: &FlexTensor, step: usize, sizes: Sizes) {
    let Sizes { time, hidden, .. } = sizes;
    let outputs = outputs.storage_mut::<f32>().chunks_exact_mut(time * hidden);
    for (outputs, after) in outputs.zip(after.storage::<f32>().chunks_exact(hidden)) {
        outputs[step * hidden..][..hidden].copy_from_slice(after);
    }
}

/// What all tasks of a time step work on.
struct Step<'a> {
    sizes: Sizes,
    step: usize,
    weights: Weights<'a>,
    bias: &'a [f32],
    input: &'a [f32],
    /// Hidden units, `[batch, hidden]`.
    before: &'a [f32],
    cells: Shared<'a, f32>,
    after: Shared<'a, f32>,
}

/// Some units of all sequences.
struct StepTask<'a> {
    memory: &'a Step<'a>,
    units: Range<usize>,
    /// `[batch, 4, units]`
    sums: &'a mut [f32],
}

impl<'a> StepTask<'a> {
    /// # Safety
    ///
    /// No other task is given these units.
    unsafe fn new(memory: &'a Step<'a>, units: Range<usize>, sums: &'a mut [f32]) -> Self {
        Self { memory, units, sums }
    }
}

impl Kernel for StepTask<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { memory, units, sums } = self;
        let Step { sizes, step, weights, bias, input, before, cells, after } = memory;
        let Sizes { batch, time, inputs, hidden, .. } = *sizes;
        let count = units.len();
        // A unit's weights are still in the cache for the next sequence.
        for (index, unit) in units.clone().enumerate() {
            for sequence in 0..batch {
                let input = &input[(sequence * time + step) * inputs..][..inputs];
                let before = &before[sequence * hidden..][..hidden];
                let of_input = products::<V>(weights.input, hidden, unit, input);
                let of_hidden = products::<V>(weights.hidden, hidden, unit, before);
                for gate in 0..4 {
                    sums[(sequence * 4 + gate) * count + index] =
                        of_input[gate].add(of_hidden[gate]).sum() + bias[gate * hidden + unit];
                }
            }
        }
        for (sequence, sums) in sums.chunks_exact(4 * count).enumerate() {
            let start = sequence * hidden + units.start;
            // SAFETY: these units are this task's alone.
            let [cells, after] = unsafe { [cells.slice(start, count), after.slice(start, count)] };
            for at in (0..count).step_by(V::LANES) {
                through_gates::<V>(sums, cells, after, at);
            }
        }
    }
}

/// The products of a row with the weights of a unit's four gates, lane by lane.
#[inline(always)]
fn products<V: Vector>(weights: &[f32], hidden: usize, unit: usize, row: &[f32]) -> [V; 4] {
    let of_gate = |gate: usize| &weights[(gate * hidden + unit) * row.len()..][..row.len()];
    let weights = [0, 1, 2, 3].map(of_gate);
    let mut sums = [V::zero(); 4];
    for at in (0..row.len()).step_by(V::LANES) {
        let left = row.len() - at;
        // SAFETY: as many numbers are left in the row, and in weights of its length.
        unsafe {
            let values = read::<V>(row.as_ptr().add(at), left);
            for (sum, weights) in sums.iter_mut().zip(weights) {
                *sum = values.mul_add(read(weights.as_ptr().add(at), left), *sum);
            }
        }
    }
    sums
}

/// From the sums of the four gates, `[4, units]`, to cells and hidden units, a vector from `at` on.
#[inline(always)]
fn through_gates<V: Vector>(sums: &[f32], cells: &mut [f32], after: &mut [f32], at: usize) {
    let count = cells.len();
    assert!(sums.len() == 4 * count && after.len() == count && at < count);
    let left = count - at;
    // SAFETY: as many numbers are left of each gate, of the cells and of the hidden units.
    unsafe {
        let sums = [0, 1, 2, 3].map(|gate| read::<V>(sums.as_ptr().add(gate * count + at), left));
        let target = cells.as_mut_ptr().add(at);
        let Gates { cell, hidden, .. } = Gates::of(sums, read(target, left));
        write(cell, target, left);
        write(hidden, after.as_mut_ptr().add(at), left);
    }
}
