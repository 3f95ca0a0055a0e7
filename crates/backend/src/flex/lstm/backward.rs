//! A share of the batch through all time steps, backward.

use std::ops::Range;

use super::{
    sizes::Sizes,
    tile::{Product, tile_rows},
};
use crate::flex::{
    activations::tanh,
    parallel::Shared,
    parts::cut,
    simd::{Kernel, Vector},
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
    /// Where the gradient of the input goes, `[batch, time, inputs]`.
    pub(super) of_input: Option<Shared<'a, f32>>,
    /// Where the gradients of the first cells and hidden units go, `[batch, hidden]` each.
    pub(super) of_first: Option<[Shared<'a, f32>; 2]>,
}

/// Some sequences, all steps.
pub(super) struct BackwardTask<'a, 'b> {
    memory: Backward<'a>,
    sequences: Range<usize>,
    of_cells: &'b mut [f32],
    of_rows: &'b mut [f32],
}

impl<'a, 'b> BackwardTask<'a, 'b> {
    /// - `of_cells`: `[sequences, padded]`, for the gradients of the cells
    /// - `of_rows`: `[sequences, width]`, for the gradients of hidden units and inputs
    ///
    /// # Safety
    ///
    /// The memory has the layouts that its sizes ask for, and no other task is given these
    /// sequences.
    pub(super) unsafe fn new(
        memory: Backward<'a>,
        sequences: Range<usize>,
        [of_cells, of_rows]: [&'b mut [f32]; 2],
    ) -> Self {
        Self { memory, sequences, of_cells, of_rows }
    }
}

impl Kernel for BackwardTask<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(mut self) {
        assert_eq!(self.memory.sizes.lanes, V::LANES);
        self.begin();
        let Sizes { time, inputs, .. } = self.memory.sizes;
        let (padded, blocks) = (self.memory.sizes.padded(), self.memory.sizes.backward_blocks());
        let width = 4 * V::LANES;
        for step in (0..time).rev() {
            for sequence in self.sequences.clone() {
                // SAFETY: the sequence is one of this task.
                unsafe { self.through_gates::<V>(step, sequence) };
            }
            let hidden_wanted = step > 0 || self.memory.of_first.is_some();
            let first_block = if hidden_wanted { 0 } else { padded / width };
            let end_block =
                if self.memory.of_input.is_some() { blocks } else { padded.div_ceil(width) };
            for block in first_block..end_block {
                for sequences in cut(self.sequences.clone(), tile_rows::<V>()) {
                    // SAFETY: the sequences are those of this task.
                    unsafe { self.tile::<V>(step, block, sequences) };
                }
            }
            if let Some(target) = self.memory.of_input {
                for sequence in self.sequences.clone() {
                    // SAFETY: the sequence is one of this task.
                    let target = unsafe { target.slice((sequence * time + step) * inputs, inputs) };
                    target.copy_from_slice(&self.row(sequence)[padded..][..inputs]);
                }
            }
        }
        self.finish();
    }
}

impl BackwardTask<'_, '_> {
    #[inline(always)]
    fn row(&mut self, sequence: usize) -> &mut [f32] {
        let width = self.memory.sizes.backward_width();
        &mut self.of_rows[(sequence - self.sequences.start) * width..][..width]
    }

    #[inline(always)]
    fn cells(&mut self, sequence: usize) -> &mut [f32] {
        let padded = self.memory.sizes.padded();
        &mut self.of_cells[(sequence - self.sequences.start) * padded..][..padded]
    }

    /// The gradients of the last state, padded.
    #[inline(always)]
    fn begin(&mut self) {
        let hidden = self.memory.sizes.hidden;
        self.of_cells.fill(0.0);
        self.of_rows.fill(0.0);
        let [of_cells, of_hidden] = self.memory.of_state;
        for sequence in self.sequences.clone() {
            if let Some(source) = of_cells {
                let source = &source[sequence * hidden..][..hidden];
                self.cells(sequence)[..hidden].copy_from_slice(source);
            }
            if let Some(source) = of_hidden {
                let source = &source[sequence * hidden..][..hidden];
                self.row(sequence)[..hidden].copy_from_slice(source);
            }
        }
    }

    /// From the gradients of hidden units and cells after a step to those of the sums of its gates
    /// and of the cells before.
    ///
    /// # Safety
    ///
    /// The sequence is one of this task.
    #[inline(always)]
    unsafe fn through_gates<V: Vector>(&mut self, step: usize, sequence: usize) {
        let Backward { sizes, of_outputs, cells, gates, .. } = self.memory;
        let Sizes { batch, time, hidden, .. } = sizes;
        let padded = sizes.padded();
        let row = step * batch + sequence;
        let of_outputs = of_outputs.map(|all| &all[(sequence * time + step) * hidden..][..hidden]);
        let before = &cells[row * padded..][..padded];
        let after = &cells[(row + batch) * padded..][..padded];
        let of_hidden = self.row(sequence).as_ptr();
        let of_cells = self.cells(sequence).as_mut_ptr();
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

    /// Four vectors of columns of the gradients of some rows.
    ///
    /// # Safety
    ///
    /// The sequences are of this task.
    #[inline(always)]
    unsafe fn tile<V: Vector>(&mut self, step: usize, block: usize, sequences: Range<usize>) {
        let Backward { sizes, gates, weights, .. } = self.memory;
        let (depth, width) = (sizes.gates(), 4 * V::LANES);
        let weights = &weights[block * depth * width..][..depth * width];
        let stride = sizes.backward_width();
        let (sequence, rows) = (sequences.start, sequences.len());
        let first = (sequence - self.sequences.start) * stride + block * width;
        let target = &mut self.of_rows[first..first + (rows - 1) * stride + width];
        // SAFETY: the gates have a row for each sequence, and the target four vectors.
        unsafe {
            let product = Product {
                depth,
                rows: gates.pointer((step * sizes.batch + sequence) * sizes.gate_stride()),
                row_strides: [sizes.gate_stride(), 1],
                vectors: weights.as_ptr(),
                vector_stride: width,
                sums: target.as_mut_ptr(),
                sums_stride: stride,
                adding: false,
            };
            product.run::<V>(rows);
        }
    }

    #[inline(always)]
    fn finish(&mut self) {
        let hidden = self.memory.sizes.hidden;
        let Some([of_cells, of_hidden]) = self.memory.of_first else { return };
        for sequence in self.sequences.clone() {
            // SAFETY: the sequence is one of this task.
            let [of_cells, of_hidden] =
                unsafe { [&of_cells, &of_hidden].map(|all| all.slice(sequence * hidden, hidden)) };
            of_cells.copy_from_slice(&self.cells(sequence)[..hidden]);
            of_hidden.copy_from_slice(&self.row(sequence)[..hidden]);
        }
    }
}
