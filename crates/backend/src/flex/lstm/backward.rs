//! The backward pass.

use std::ops::Range;

use super::{
    sizes::{Divides, Sizes},
    tile::{Product, tile_rows},
};
use crate::flex::{
    activations::tanh,
    parallel::{self, Shared},
    parts::cut,
    simd::{Kernel, Level, Vector},
};

/// The memory of the backward pass, in the layouts of [`Sizes`].
#[derive(Clone, Copy)]
pub(super) struct Backward<'a> {
    pub(super) sizes: Sizes,
    /// The gradients of the outputs, `[batch, time, hidden]`.
    pub(super) of_outputs: Option<&'a [f32]>,
    /// The gradients of the last cells and hidden units, `[batch, hidden]` each.
    pub(super) of_state: [Option<&'a [f32]>; 2],
    /// As packed for the backward pass.
    pub(super) weights: &'a [f32],
    pub(super) cells: &'a [f32],
    /// The gates, which become the gradients of the sums before them.
    pub(super) gates: Shared<'a, f32>,
    /// For the gradients of the cells, `[batch, padded]`.
    pub(super) of_cells: Shared<'a, f32>,
    /// For the gradients of hidden units and inputs, `[batch, backward width]`.
    pub(super) of_rows: Shared<'a, f32>,
    /// Where the gradient of the input goes, `[batch, time, inputs]`.
    pub(super) of_input: Option<Shared<'a, f32>>,
    /// Where the gradients of the first cells and hidden units go, `[batch, hidden]` each.
    pub(super) of_first: Option<[Shared<'a, f32>; 2]>,
}

/// All sequences through all steps, from the last to the first.
///
/// # Safety
///
/// The memory has the layouts that its sizes ask for.
pub(super) unsafe fn run(level: Level, memory: Backward<'_>) {
    // SAFETY: the caller's promise.
    unsafe {
        match memory.sizes.divides() {
            Divides::Sequences => by_sequences(level, memory),
            Divides::Units => by_units(level, memory),
        }
    }
}

/// Each task takes some sequences through all steps.
///
/// # Safety
///
/// As for [`run`].
unsafe fn by_sequences(level: Level, memory: Backward<'_>) {
    parallel::run(memory.sizes.tasks(), |task, _| {
        level.run(SequencesTask { memory, sequences: memory.sizes.sequences(task) });
    });
}

/// Each task takes some sequences through the gates of one step, or computes some columns of all.
///
/// # Safety
///
/// As for [`run`].
unsafe fn by_units(level: Level, memory: Backward<'_>) {
    let Sizes { batch, time, .. } = memory.sizes;
    // SAFETY: between the tasks all sequences are this thread's alone.
    unsafe {
        (0..batch).for_each(|sequence| memory.begin(sequence));
        for step in (0..time).rev() {
            parallel::ranges(batch, GATES_TASK, |sequences, _| {
                level.run(GatesTask { memory, step, sequences });
            });
            let blocks = memory.blocks(step);
            parallel::run(blocks.len(), |index, _| {
                level.run(ColumnsTask { memory, step, block: blocks.start + index });
            });
            (0..batch).for_each(|sequence| memory.write_input(step, sequence));
        }
        (0..batch).for_each(|sequence| memory.finish(sequence));
    }
}

/// Sequences of a task that takes them through the gates of a step.
const GATES_TASK: usize = 4;

/// Some sequences, all steps.
struct SequencesTask<'a> {
    memory: Backward<'a>,
    sequences: Range<usize>,
}

impl Kernel for SequencesTask<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { memory, sequences } = self;
        // SAFETY: the memory is as promised to `run`, and tasks divide the sequences.
        unsafe {
            for sequence in sequences.clone() {
                memory.begin(sequence);
            }
            for step in (0..memory.sizes.time).rev() {
                for sequence in sequences.clone() {
                    memory.through_gates::<V>(step, sequence);
                }
                for block in memory.blocks(step) {
                    memory.block::<V>(step, block, sequences.clone());
                }
                for sequence in sequences.clone() {
                    memory.write_input(step, sequence);
                }
            }
            for sequence in sequences {
                memory.finish(sequence);
            }
        }
    }
}

/// Some sequences, from the units after a step to the sums of its gates.
struct GatesTask<'a> {
    memory: Backward<'a>,
    step: usize,
    sequences: Range<usize>,
}

impl Kernel for GatesTask<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        for sequence in self.sequences {
            // SAFETY: the memory is as promised to `run`, and tasks divide the sequences.
            unsafe { self.memory.through_gates::<V>(self.step, sequence) };
        }
    }
}

/// Four vectors of columns of all sequences, from the sums of the gates of a step to the units before it.
struct ColumnsTask<'a> {
    memory: Backward<'a>,
    step: usize,
    block: usize,
}

impl Kernel for ColumnsTask<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { memory, step, block } = self;
        // SAFETY: the memory is as promised to `run`, and tasks divide the columns.
        unsafe { memory.block::<V>(step, block, 0..memory.sizes.batch) };
    }
}

/// Callers of the unsafe methods promise that steps, blocks and sequences are inside of the layer,
/// and that nobody else touches these columns of these sequences.
impl Backward<'_> {
    /// The gradients of hidden units and inputs, in one row.
    ///
    /// # Safety
    ///
    /// The caller keeps to the promise above.
    #[allow(clippy::mut_from_ref, reason = "sequences do not overlap")]
    #[inline(always)]
    unsafe fn row(&self, sequence: usize) -> &mut [f32] {
        let width = self.sizes.backward_width();
        // SAFETY: the caller's promise.
        unsafe { self.of_rows.slice(sequence * width, width) }
    }

    /// # Safety
    ///
    /// The caller keeps to the promise above.
    #[allow(clippy::mut_from_ref, reason = "sequences do not overlap")]
    #[inline(always)]
    unsafe fn cells(&self, sequence: usize) -> &mut [f32] {
        let padded = self.sizes.padded();
        // SAFETY: the caller's promise.
        unsafe { self.of_cells.slice(sequence * padded, padded) }
    }

    /// The blocks of columns that are wanted at a step: not those of hidden units before the first, and
    /// not those of inputs, where nobody asks for these.
    fn blocks(&self, step: usize) -> Range<usize> {
        let (padded, width) = (self.sizes.padded(), 4 * self.sizes.lanes);
        let hidden_wanted = step > 0 || self.of_first.is_some();
        let start = if hidden_wanted { 0 } else { padded / width };
        let input_wanted = self.of_input.is_some();
        let end = if input_wanted { self.sizes.backward_blocks() } else { padded.div_ceil(width) };
        start..end
    }

    /// The gradients of the last state, padded.
    ///
    /// # Safety
    ///
    /// The caller keeps to the promise above.
    #[inline(always)]
    unsafe fn begin(&self, sequence: usize) {
        let hidden = self.sizes.hidden;
        // SAFETY: the caller's promise.
        let targets = unsafe { [self.cells(sequence), self.row(sequence)] };
        for (target, source) in targets.into_iter().zip(self.of_state) {
            target.fill(0.0);
            if let Some(source) = source {
                target[..hidden].copy_from_slice(&source[sequence * hidden..][..hidden]);
            }
        }
    }

    /// From the gradients of hidden units and cells after a step to those of the sums of its gates
    /// and of the cells before.
    ///
    /// # Safety
    ///
    /// The caller keeps to the promise above.
    #[inline(always)]
    unsafe fn through_gates<V: Vector>(&self, step: usize, sequence: usize) {
        let Backward { sizes, of_outputs, cells, gates, .. } = *self;
        assert_eq!(sizes.lanes, V::LANES);
        let Sizes { batch, time, hidden, .. } = sizes;
        let padded = sizes.padded();
        let row = step * batch + sequence;
        let of_outputs = of_outputs.map(|all| &all[(sequence * time + step) * hidden..][..hidden]);
        let before = &cells[row * padded..][..padded];
        let after = &cells[(row + batch) * padded..][..padded];
        // SAFETY: the caller's promise.
        let (of_hidden, of_cells) =
            unsafe { (self.row(sequence).as_ptr(), self.cells(sequence).as_mut_ptr()) };
        let one = V::splat(1.0);
        for unit in (0..padded).step_by(V::LANES) {
            // SAFETY: `padded` is a number of whole vectors, which all of these slices have; the
            // gradients of the outputs end at `hidden`.
            unsafe {
                let gates = gates.pointer(row * sizes.gate_stride() + 4 * unit);
                let [input, forget] = [V::load(gates), V::load(gates.add(V::LANES))];
                let new = V::load(gates.add(2 * V::LANES));
                let output = V::load(gates.add(3 * V::LANES));
                let mut of_hidden = V::load(of_hidden.add(unit));
                if let Some(of_outputs) = of_outputs {
                    let source = of_outputs.as_ptr().add(unit);
                    of_hidden = of_hidden.add(V::load_first(source, hidden - unit));
                }
                let cell_tanh = tanh(V::load(after.as_ptr().add(unit)));
                let slope = cell_tanh.neg_mul_add(cell_tanh, one);
                let of_cell = V::load(of_cells.add(unit));
                let of_cell = of_hidden.mul(output).mul_add(slope, of_cell);
                let before = V::load(before.as_ptr().add(unit));
                // A sigmoid's slope is s (1 - s), a tanh's 1 - t^2.
                let of_input = of_cell.mul(new).mul(input.mul(one.sub(input)));
                let of_forget = of_cell.mul(before).mul(forget.mul(one.sub(forget)));
                let of_new = of_cell.mul(input).mul(new.neg_mul_add(new, one));
                let of_output = of_hidden.mul(cell_tanh).mul(output.mul(one.sub(output)));
                of_input.store(gates);
                of_forget.store(gates.add(V::LANES));
                of_new.store(gates.add(2 * V::LANES));
                of_output.store(gates.add(3 * V::LANES));
                of_cell.mul(forget).store(of_cells.add(unit));
            }
        }
    }

    /// Four vectors of columns of the gradients of some sequences.
    ///
    /// # Safety
    ///
    /// The caller keeps to the promise above.
    #[inline(always)]
    unsafe fn block<V: Vector>(&self, step: usize, block: usize, sequences: Range<usize>) {
        let Self { sizes, gates, weights, of_rows, .. } = *self;
        assert_eq!(sizes.lanes, V::LANES);
        let (depth, width) = (sizes.gates(), 4 * V::LANES);
        let weights = &weights[block * depth * width..][..depth * width];
        let stride = sizes.backward_width();
        for tile in cut(sequences, tile_rows::<V>()) {
            // SAFETY: the gates have a row for each sequence, and the target four vectors.
            unsafe {
                let product = Product {
                    depth,
                    rows: gates.pointer((step * sizes.batch + tile.start) * sizes.gate_stride()),
                    row_strides: [sizes.gate_stride(), 1],
                    vectors: weights.as_ptr(),
                    vector_stride: width,
                    sums: of_rows.pointer(tile.start * stride + block * width),
                    sums_stride: stride,
                    adding: false,
                };
                product.run::<V>(tile.len());
            }
        }
    }

    /// # Safety
    ///
    /// The caller keeps to the promise above.
    #[inline(always)]
    unsafe fn write_input(&self, step: usize, sequence: usize) {
        let Sizes { time, inputs, .. } = self.sizes;
        let Some(target) = self.of_input else { return };
        // SAFETY: the caller's promise.
        unsafe {
            let target = target.slice((sequence * time + step) * inputs, inputs);
            target.copy_from_slice(&self.row(sequence)[self.sizes.padded()..][..inputs]);
        }
    }

    /// # Safety
    ///
    /// The caller keeps to the promise above.
    #[inline(always)]
    unsafe fn finish(&self, sequence: usize) {
        let hidden = self.sizes.hidden;
        let Some([of_cells, of_hidden]) = self.of_first else { return };
        // SAFETY: the caller's promise.
        unsafe {
            let cells = &self.cells(sequence)[..hidden];
            of_cells.slice(sequence * hidden, hidden).copy_from_slice(cells);
            let row = &self.row(sequence)[..hidden];
            of_hidden.slice(sequence * hidden, hidden).copy_from_slice(row);
        }
    }
}
