//! A share of the batch through all time steps, forward.

use super::{
    sizes::Sizes,
    tile::{Product, tiles},
};
use crate::flex::{
    activations::{sigmoid, tanh},
    simd::{Kernel, Vector},
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
    pub(super) rows: *mut f32,
    pub(super) cells: *mut f32,
    /// `None` if no backward pass follows.
    pub(super) gates: Option<*mut f32>,
    /// `[batch, time, hidden]`
    pub(super) outputs: *mut f32,
    /// The last state, `[batch, hidden]` each.
    pub(super) last_cell: *mut f32,
    pub(super) last_hidden: *mut f32,
}

// SAFETY: tasks share the memory, and each writes to the places of its own sequences.
unsafe impl Send for Forward<'_> {}
// SAFETY: as above.
unsafe impl Sync for Forward<'_> {}

/// The sequences from `first` to `end`.
pub(super) struct ForwardTask<'a, 'b> {
    memory: Forward<'a>,
    first: usize,
    end: usize,
    sums: &'b mut [f32],
}

impl<'a, 'b> ForwardTask<'a, 'b> {
    /// - `sums`: [`TILE_SUMS`] times the lanes
    ///
    /// # Safety
    ///
    /// The memory has the layouts that its sizes and slots ask for, and no other task is given these
    /// sequences.
    pub(super) unsafe fn new(
        memory: Forward<'a>,
        [first, end]: [usize; 2],
        sums: &'b mut [f32],
    ) -> Self {
        Self { memory, first, end, sums }
    }
}

/// Vectors of the sums of a tile.
pub(super) const TILE_SUMS: usize = 6 * 4;

impl Kernel for ForwardTask<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { memory, first, end, sums } = self;
        assert!(sums.len() >= TILE_SUMS * V::LANES, "room for the sums of a tile");
        assert_eq!(memory.sizes.lanes, V::LANES);
        // SAFETY: promised to `new`.
        unsafe {
            for sequence in first..end {
                memory.begin(sequence);
            }
            for step in 0..memory.sizes.time {
                for sequence in first..end {
                    memory.read_input(step, sequence);
                }
                for block in 0..memory.sizes.blocks() {
                    for (sequence, rows) in tiles::<V>(first, end) {
                        memory.tile::<V>(step, block, sequence, &mut sums[..rows * 4 * V::LANES]);
                    }
                }
                for sequence in first..end {
                    memory.write_output(step, sequence);
                }
            }
            for sequence in first..end {
                memory.finish(sequence);
            }
        }
    }
}

/// Callers of these methods promise that steps, blocks and sequences are inside of the layer, and that
/// nobody else touches these sequences.
impl Forward<'_> {
    /// # Safety
    ///
    /// The caller keeps to the promise above.
    #[inline(always)]
    unsafe fn row(&self, step: usize, sequence: usize) -> *mut f32 {
        let Sizes { batch, .. } = self.sizes;
        // SAFETY: a row of the memory.
        unsafe { self.rows.add((step % self.slots * batch + sequence) * self.sizes.stride()) }
    }

    /// # Safety
    ///
    /// The caller keeps to the promise above.
    #[inline(always)]
    unsafe fn cell(&self, step: usize, sequence: usize) -> *mut f32 {
        let Sizes { batch, .. } = self.sizes;
        // SAFETY: cells of the memory.
        unsafe { self.cells.add((step % self.slots * batch + sequence) * self.sizes.padded()) }
    }

    /// Writes the first state, padded.
    ///
    /// # Safety
    ///
    /// The caller keeps to the promise above.
    #[inline(always)]
    unsafe fn begin(&self, sequence: usize) {
        let (hidden, padded) = (self.sizes.hidden, self.sizes.padded());
        // SAFETY: a row begins with the hidden units, and there are as many cells.
        let targets = unsafe {
            [self.cell(0, sequence), self.row(0, sequence)]
                .map(|start| std::slice::from_raw_parts_mut(start, padded))
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
        // SAFETY: a row has room for hidden units, inputs and a one.
        unsafe {
            let target = self.row(step, sequence).add(self.sizes.padded());
            target.copy_from_nonoverlapping(input.as_ptr(), inputs);
            target.add(inputs).write(1.0);
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
                rows: self.row(step, sequence),
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
        // SAFETY: the unit's vector lies inside of the rows, cells and gates.
        unsafe {
            let [input, forget] = [sigmoid(V::load(sums)), sigmoid(V::load(sums.add(V::LANES)))];
            let new = tanh(V::load(sums.add(2 * V::LANES)));
            let output = sigmoid(V::load(sums.add(3 * V::LANES)));
            let before = V::load(self.cell(step, sequence).add(unit));
            let after = forget.mul_add(before, input.mul(new));
            after.store(self.cell(step + 1, sequence).add(unit));
            let hidden = output.mul(tanh(after));
            hidden.store(self.row(step + 1, sequence).add(unit));
            if let Some(gates) = self.gates {
                let row = step * self.sizes.batch + sequence;
                let gates = gates.add(row * self.sizes.gate_stride() + 4 * unit);
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
        // SAFETY: the next row begins with the hidden units; the output has their room.
        unsafe {
            let target = self.outputs.add((sequence * time + step) * hidden);
            target.copy_from_nonoverlapping(self.row(step + 1, sequence), hidden);
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
        // SAFETY: as in `begin`.
        unsafe {
            let at = sequence * hidden;
            let cell = self.cell(time, sequence);
            self.last_cell.add(at).copy_from_nonoverlapping(cell, hidden);
            let row = self.row(time, sequence);
            self.last_hidden.add(at).copy_from_nonoverlapping(row, hidden);
        }
    }
}
