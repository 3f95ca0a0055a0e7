//! The forward pass.

use std::ops::Range;

use super::{
    gates::Gates,
    sizes::{Divides, Sizes},
    tile::{Product, tile_rows},
};
use crate::flex::{
    parallel::{self, Shared},
    parts::cut,
    simd::{Kernel, Level, Vector},
};

/// The memory of the forward pass, in the layouts of [`Sizes`].
#[derive(Clone, Copy)]
pub(super) struct Forward<'a> {
    pub(super) sizes: Sizes,
    /// Slots of rows and cells: one for each step and one more, or two that take turns.
    pub(super) slots: usize,
    /// `[batch, time, inputs]`
    pub(super) input: &'a [f32],
    /// The first state, `[batch, hidden]` each.
    pub(super) state: Option<[&'a [f32]; 2]>,
    /// As packed for the forward pass.
    pub(super) weights: &'a [f32],
    pub(super) rows: Shared<'a, f32>,
    pub(super) cells: Shared<'a, f32>,
    /// `None` if no backward pass follows.
    pub(super) gates: Option<Shared<'a, f32>>,
    /// `[batch, time, hidden]`
    pub(super) outputs: Shared<'a, f32>,
    /// The last state, `[batch, hidden]` each.
    pub(super) last_cell: Shared<'a, f32>,
    pub(super) last_hidden: Shared<'a, f32>,
}

/// All sequences through all steps.
///
/// # Safety
///
/// The memory has the layouts that its sizes and slots ask for.
pub(super) unsafe fn run(level: Level, memory: Forward<'_>) {
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
unsafe fn by_sequences(level: Level, memory: Forward<'_>) {
    parallel::run(memory.sizes.tasks(), |task, scratch| {
        let [sums] = scratch.slices([TILE_SUMS * memory.sizes.lanes]);
        level.run(SequencesTask { memory, sequences: memory.sizes.sequences(task), sums });
    });
}

/// Each task takes some units of all sequences through one step.
///
/// # Safety
///
/// As for [`run`].
unsafe fn by_units(level: Level, memory: Forward<'_>) {
    let Sizes { batch, time, lanes, .. } = memory.sizes;
    // SAFETY: between the tasks all sequences are this thread's alone.
    unsafe {
        (0..batch).for_each(|sequence| memory.begin(sequence));
        for step in 0..time {
            (0..batch).for_each(|sequence| memory.read_input(step, sequence));
            parallel::run(memory.sizes.blocks(), |block, scratch| {
                let [sums] = scratch.slices([TILE_SUMS * lanes]);
                level.run(UnitsTask { memory, step, block, sums });
            });
            (0..batch).for_each(|sequence| memory.write_output(step, sequence));
        }
        (0..batch).for_each(|sequence| memory.finish(sequence));
    }
}

/// Vectors of the sums of a tile.
const TILE_SUMS: usize = 6 * 4;

/// Some sequences, all steps.
struct SequencesTask<'a, 'b> {
    memory: Forward<'a>,
    sequences: Range<usize>,
    sums: &'b mut [f32],
}

impl Kernel for SequencesTask<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { memory, sequences, sums } = self;
        // SAFETY: the memory is as promised to `run`, and tasks divide the sequences.
        unsafe {
            for sequence in sequences.clone() {
                memory.begin(sequence);
            }
            for step in 0..memory.sizes.time {
                for sequence in sequences.clone() {
                    memory.read_input(step, sequence);
                }
                for block in 0..memory.sizes.blocks() {
                    memory.block::<V>(step, block, sequences.clone(), sums);
                }
                for sequence in sequences.clone() {
                    memory.write_output(step, sequence);
                }
            }
            for sequence in sequences {
                memory.finish(sequence);
            }
        }
    }
}

/// A vector of units of all sequences, one step.
struct UnitsTask<'a, 'b> {
    memory: Forward<'a>,
    step: usize,
    block: usize,
    sums: &'b mut [f32],
}

impl Kernel for UnitsTask<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { memory, step, block, sums } = self;
        // SAFETY: the memory is as promised to `run`, and tasks divide the units.
        unsafe { memory.block::<V>(step, block, 0..memory.sizes.batch, sums) };
    }
}

/// Callers of the unsafe methods promise that steps, blocks and sequences are inside of the layer,
/// and that nobody else touches these units of these sequences.
impl Forward<'_> {
    /// Where the row of a sequence before a step begins.
    #[inline(always)]
    fn row_at(&self, step: usize, sequence: usize) -> usize {
        (step % self.slots * self.sizes.batch + sequence) * self.sizes.stride()
    }

    /// Where the cells of a sequence before a step begin.
    #[inline(always)]
    fn cells_at(&self, step: usize, sequence: usize) -> usize {
        (step % self.slots * self.sizes.batch + sequence) * self.sizes.padded()
    }

    /// Writes the first state, padded.
    ///
    /// # Safety
    ///
    /// The caller keeps to the promise above.
    #[inline(always)]
    unsafe fn begin(&self, sequence: usize) {
        let (hidden, padded) = (self.sizes.hidden, self.sizes.padded());
        // SAFETY: the sequence is this task's alone. A row begins with the hidden units.
        let targets = unsafe {
            [
                self.cells.slice(self.cells_at(0, sequence), padded),
                self.rows.slice(self.row_at(0, sequence), padded),
            ]
        };
        for (index, target) in targets.into_iter().enumerate() {
            target.fill(0.0);
            if let Some(state) = self.state {
                target[..hidden].copy_from_slice(&state[index][sequence * hidden..][..hidden]);
            }
        }
    }

    /// Completes the row of a step with the input, and the one for the bias.
    ///
    /// # Safety
    ///
    /// The caller keeps to the promise above.
    #[inline(always)]
    unsafe fn read_input(&self, step: usize, sequence: usize) {
        let Sizes { time, inputs, .. } = self.sizes;
        let input = &self.input[(sequence * time + step) * inputs..][..inputs];
        let start = self.row_at(step, sequence) + self.sizes.padded();
        // SAFETY: the sequence is this task's alone.
        let target = unsafe { self.rows.slice(start, inputs + 1) };
        target[..inputs].copy_from_slice(input);
        target[inputs] = 1.0;
    }

    /// A vector of units of some sequences.
    ///
    /// - `sums`: [`TILE_SUMS`] vectors
    ///
    /// # Safety
    ///
    /// The caller keeps to the promise above.
    #[inline(always)]
    unsafe fn block<V: Vector>(
        &self,
        step: usize,
        block: usize,
        sequences: Range<usize>,
        sums: &mut [f32],
    ) {
        assert!(sums.len() >= TILE_SUMS * V::LANES, "room for the sums of a tile");
        assert_eq!(self.sizes.lanes, V::LANES);
        for tile in cut(sequences, tile_rows::<V>()) {
            let sums = &mut sums[..tile.len() * 4 * V::LANES];
            // SAFETY: the caller's promise.
            unsafe { self.tile::<V>(step, block, tile.start, sums) };
        }
    }

    /// A vector of units of as many sequences as there are `sums` for, `[sequences, 4, lanes]`: the
    /// product, then the gates in registers. Between them the sums lie in the cache, so that the
    /// gates' long code exists once, not for each row of each size of tile.
    ///
    /// # Safety
    ///
    /// The caller keeps to the promise above.
    #[inline(always)]
    unsafe fn tile<V: Vector>(&self, step: usize, block: usize, sequence: usize, sums: &mut [f32]) {
        let (sizes, width) = (&self.sizes, 4 * V::LANES);
        let unit = block * V::LANES;
        let weights = &self.weights[block * sizes.depth() * 4 * V::LANES..];
        // SAFETY: the caller's promise, and each sequence has four vectors of sums.
        unsafe {
            let product = Product {
                depth: sizes.depth(),
                rows: self.rows.pointer(self.row_at(step, sequence)),
                row_strides: [sizes.stride(), 1],
                vectors: weights.as_ptr(),
                vector_stride: width,
                sums: sums.as_mut_ptr(),
                sums_stride: width,
                adding: false,
            };
            product.run::<V>(sums.len() / width);
            for (row, sums) in sums.chunks_exact(width).enumerate() {
                self.through_gates::<V>(sums.as_ptr(), step, unit, sequence + row);
            }
        }
    }

    /// From the sums of the four gates of a vector of units to its cells and hidden units.
    ///
    /// # Safety
    ///
    /// The caller keeps to the promise above, and four vectors of sums can be read.
    #[inline(always)]
    unsafe fn through_gates<V: Vector>(
        &self,
        sums: *const f32,
        step: usize,
        unit: usize,
        sequence: usize,
    ) {
        // SAFETY: rows, cells and gates have whole vectors of units.
        unsafe {
            let sums = [0, 1, 2, 3].map(|gate| V::load(sums.add(gate * V::LANES)));
            let before = V::load(self.cells.pointer(self.cells_at(step, sequence) + unit));
            let Gates { input, forget, new, output, cell, hidden } = Gates::of(sums, before);
            cell.store(self.cells.pointer(self.cells_at(step + 1, sequence) + unit));
            hidden.store(self.rows.pointer(self.row_at(step + 1, sequence) + unit));
            if let Some(gates) = self.gates {
                let row = step * self.sizes.batch + sequence;
                let gates = gates.pointer(row * self.sizes.gate_stride() + 4 * unit);
                input.store(gates);
                forget.store(gates.add(V::LANES));
                new.store(gates.add(2 * V::LANES));
                output.store(gates.add(3 * V::LANES));
            }
        }
    }

    /// # Safety
    ///
    /// The caller keeps to the promise above.
    #[inline(always)]
    unsafe fn write_output(&self, step: usize, sequence: usize) {
        let Sizes { time, hidden, .. } = self.sizes;
        // SAFETY: the sequence is this task's alone. The next row begins with the hidden units.
        unsafe {
            let target = self.outputs.slice((sequence * time + step) * hidden, hidden);
            target.copy_from_slice(self.rows.slice(self.row_at(step + 1, sequence), hidden));
        }
    }

    /// Writes the last state.
    ///
    /// # Safety
    ///
    /// The caller keeps to the promise above.
    #[inline(always)]
    unsafe fn finish(&self, sequence: usize) {
        let Sizes { time, hidden, .. } = self.sizes;
        let at = sequence * hidden;
        // SAFETY: as in `write_output`.
        unsafe {
            let cells = self.cells.slice(self.cells_at(time, sequence), hidden);
            self.last_cell.slice(at, hidden).copy_from_slice(cells);
            let row = self.rows.slice(self.row_at(time, sequence), hidden);
            self.last_hidden.slice(at, hidden).copy_from_slice(row);
        }
    }
}
