//! The gradients of the weights: one product of the gradients of all gates' sums by all rows.

use burn_flex::FlexTensor;

use super::{
    sizes::Sizes,
    tile::{Product, tile_rows},
};
use crate::flex::{
    parallel::{self, Shared},
    parts::cut,
    recycled,
    simd::{Kernel, Level, Vector},
};

/// Rows of which four vectors stay in the first-level cache while all gates of a task meet them.
const CHUNK: usize = 64;

/// The gradients of input weight, hidden weight and bias, in PyTorch's layout.
///
/// - `of_sums`: in the layout of the gates
pub(super) fn weight_gradients(
    level: Level,
    sizes: &Sizes,
    of_sums: &[f32],
    rows: &[f32],
) -> [FlexTensor; 3] {
    let Sizes { inputs, hidden, lanes, .. } = *sizes;
    let mut gradients = [
        recycled::floats([4 * hidden, inputs]),
        recycled::floats([4 * hidden, hidden]),
        recycled::floats([4 * hidden]),
    ];
    let targets = gradients.each_mut().map(|tensor| Shared::new(tensor.storage_mut::<f32>()));
    parallel::run(sizes.blocks(), |block, scratch| {
        let width = sizes.backward_width();
        let [sums, bias] = scratch.slices([4 * lanes * width, 4 * lanes]);
        level.run(OfBlock { sizes, of_sums, rows, block, sums, bias });
        for (gate, (sums, bias)) in sums.chunks_exact(width).zip(&*bias).enumerate() {
            let Some(row) = sizes.row_of_gate(block * 4 * lanes + gate) else { continue };
            let of_input = &sums[sizes.padded()..][..inputs];
            let parts = [of_input, &sums[..hidden], std::slice::from_ref(bias)];
            for (source, target) in parts.into_iter().zip(&targets) {
                // SAFETY: each row is of one gate, and each gate of one task.
                let target = unsafe { target.slice(row * source.len(), source.len()) };
                target.copy_from_slice(source);
            }
        }
    });
    gradients
}

/// The gradients for the gates of a vector of units.
struct OfBlock<'a> {
    sizes: &'a Sizes,
    of_sums: &'a [f32],
    rows: &'a [f32],
    block: usize,
    /// `[4, lanes, backward width]`: of the weights of hidden units and inputs.
    sums: &'a mut [f32],
    /// `[4, lanes]`
    bias: &'a mut [f32],
}

impl Kernel for OfBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { sizes, of_sums, rows, block, sums, bias } = self;
        let (width, gates) = (sizes.backward_width(), 4 * V::LANES);
        let (stride, gate_stride) = (sizes.stride(), sizes.gate_stride());
        assert!(sums.len() == gates * width && bias.len() == gates, "room for the gradients");
        sums.fill(0.0);
        let mut of_bias = [V::zero(); 4];
        // Chunks are summed apart and then added up: one sum of all rows would lose digits.
        let count = sizes.time * sizes.batch;
        for first in (0..count).step_by(CHUNK) {
            let depth = CHUNK.min(count - first);
            let of_gates = &of_sums[first * gate_stride + block * gates..];
            let of_gates = &of_gates[..(depth - 1) * gate_stride + gates];
            let mut of_chunk = [V::zero(); 4];
            for k in 0..depth {
                let of_gates = &of_gates[k * gate_stride..][..gates];
                for (index, sum) in of_chunk.iter_mut().enumerate() {
                    // SAFETY: the slice has four vectors.
                    *sum = sum.add(unsafe { V::load(of_gates.as_ptr().add(index * V::LANES)) });
                }
            }
            for (total, sum) in of_bias.iter_mut().zip(of_chunk) {
                *total = total.add(sum);
            }
            for column in (0..width).step_by(gates) {
                // What a last block reads behind a row's end is in the next row, and not used:
                // there are more rows than have gates.
                let vectors = &rows[first * stride + column..];
                let vectors = &vectors[..(depth - 1) * stride + gates];
                for tile in cut(0..gates, tile_rows::<V>()) {
                    let sums = &mut sums[tile.start * width + column..];
                    let product = Product {
                        depth,
                        rows: of_gates[tile.start..].as_ptr(),
                        row_strides: [1, gate_stride],
                        vectors: vectors.as_ptr(),
                        vector_stride: stride,
                        sums: sums[..(tile.len() - 1) * width + gates].as_mut_ptr(),
                        sums_stride: width,
                        adding: true,
                    };
                    // SAFETY: the slices above are as long as the strides ask for.
                    unsafe { product.run::<V>(tile.len()) };
                }
            }
        }
        for (index, sum) in of_bias.into_iter().enumerate() {
            // SAFETY: asserted above.
            unsafe { sum.store(bias.as_mut_ptr().add(index * V::LANES)) };
        }
    }
}
