//! The weights in the order in which the products read them.

use burn_flex::FlexTensor;

use super::sizes::Sizes;
use crate::flex::{
    parallel, recycled,
    simd::{Kernel, Level, Vector},
    transpose::ToPositions,
};

/// The weights of input and hidden units as they came: PyTorch's layout, contiguous.
#[derive(Clone, Copy)]
pub(super) struct Weights<'a> {
    /// `[4 hidden, inputs]`
    pub(super) input: &'a [f32],
    /// `[4 hidden, hidden]`
    pub(super) hidden: &'a [f32],
}

impl Weights<'_> {
    /// `[blocks, depth, 4, lanes]`: for each vector of hidden units and each value of a row the
    /// weights of the four gates.
    ///
    /// - `bias`: `[4 hidden]`
    pub(super) fn packed_forward(&self, level: Level, sizes: &Sizes, bias: &[f32]) -> FlexTensor {
        let length = sizes.depth() * 4 * sizes.lanes;
        let mut packed = recycled::floats([sizes.blocks() * length]);
        parallel::chunks(packed.storage_mut::<f32>(), length, |block, target, _| {
            level.run(PackForward { weights: *self, bias, sizes, block, target });
        });
        packed
    }

    /// `[backward blocks, blocks, 4, lanes, 4 lanes]`: for each block of columns (hidden units,
    /// then inputs) and each gate in the order of the gates' memory the weights.
    pub(super) fn packed_backward(&self, sizes: &Sizes) -> FlexTensor {
        let (width, padded) = (4 * sizes.lanes, sizes.padded());
        let length = sizes.gates() * width;
        let mut packed = recycled::floats([sizes.backward_blocks() * length]);
        parallel::chunks(packed.storage_mut::<f32>(), length, |block, target, _| {
            for (gate, target) in target.chunks_mut(width).enumerate() {
                target.fill(0.0);
                let Some(row) = sizes.row_of_gate(gate) else { continue };
                let columns = [(self.hidden, sizes.hidden, 0), (self.input, sizes.inputs, padded)];
                for (weights, count, start) in columns {
                    // What this block and these columns have in common.
                    let first = start.max(block * width);
                    let end = (start + count).min((block + 1) * width);
                    if first < end {
                        let weights = &weights[row * count..][first - start..end - start];
                        target[first - block * width..end - block * width].copy_from_slice(weights);
                    }
                }
            }
        });
        packed
    }
}

impl Sizes {
    /// The row of PyTorch's weights of a gate in the order of the gates' memory, unless it is
    /// padding.
    pub(super) fn row_of_gate(&self, gate: usize) -> Option<usize> {
        let (block, kind) = (gate / (4 * self.lanes), gate / self.lanes % 4);
        let unit = block * self.lanes + gate % self.lanes;
        (unit < self.hidden).then_some(kind * self.hidden + unit)
    }
}

/// Fills a block of [`Weights::packed_forward`].
struct PackForward<'a> {
    weights: Weights<'a>,
    bias: &'a [f32],
    sizes: &'a Sizes,
    block: usize,
    target: &'a mut [f32],
}

impl Kernel for PackForward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Sizes { inputs, hidden, .. } = *self.sizes;
        let padded = self.sizes.padded();
        let first_unit = self.block * V::LANES;
        let units = V::LANES.min(hidden - first_unit);
        let target = |depth: usize, gate: usize| (depth * 4 + gate) * V::LANES;
        for gate in 0..4 {
            let first_row = gate * hidden + first_unit;
            for depth in hidden..padded {
                self.target[target(depth, gate)..][..V::LANES].fill(0.0);
            }
            let bias = &mut self.target[target(padded + inputs, gate)..][..V::LANES];
            bias.fill(0.0);
            bias[..units].copy_from_slice(&self.bias[first_row..][..units]);
            for (weights, columns, start) in
                [(self.weights.hidden, hidden, 0), (self.weights.input, inputs, padded)]
            {
                ToPositions {
                    source: &weights[first_row * columns..],
                    plane: columns,
                    channels: units,
                    count: columns,
                    target: &mut self.target[target(start, gate)..],
                    width: V::LANES,
                    stride: 4 * V::LANES,
                }
                .run::<V>();
            }
        }
    }
}
