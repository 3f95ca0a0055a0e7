//! The sum of numbers, or of their squares.

use std::ops::Range;

use super::simd::{Kernel, Vector};

/// Numbers that are summed in f32 before they are added to a sum in f64: one chain of a million would
/// lose the third digit.
const PART: usize = 1 << 13;

/// The sum of `count` numbers, from the sums of parts of them.
pub(super) fn in_parts(count: usize, mut of_part: impl FnMut(Range<usize>) -> f32) -> f32 {
    let starts = (0..count).step_by(PART);
    let sums = starts.map(|start| f64::from(of_part(start..count.min(start + PART))));
    sums.sum::<f64>() as f32
}

/// Sums up numbers, or their squares, in an order that depends on their count alone.
pub(super) struct Sum<'a, const SQUARED: bool>(pub(super) &'a [f32]);

impl<const SQUARED: bool> Kernel for Sum<'_, SQUARED> {
    type Output = f32;

    #[inline(always)]
    fn run<V: Vector>(self) -> f32 {
        // Four sums at once, which do not wait for each other.
        let mut sums = [V::zero(); 4];
        let mut rest = self.0;
        while rest.len() >= 4 * V::LANES {
            let (chunk, behind) = rest.split_at(4 * V::LANES);
            for (index, sum) in sums.iter_mut().enumerate() {
                // SAFETY: the chunk has four vectors.
                let values = unsafe { V::load(chunk.as_ptr().add(index * V::LANES)) };
                *sum = add::<V, SQUARED>(*sum, values);
            }
            rest = behind;
        }
        for chunk in rest.chunks(V::LANES) {
            // SAFETY: as many numbers as the chunk has.
            let values = unsafe { V::load_first(chunk.as_ptr(), chunk.len()) };
            sums[0] = add::<V, SQUARED>(sums[0], values);
        }
        let [a, b, c, d] = sums;
        a.add(b).add(c.add(d)).sum()
    }
}

#[inline(always)]
fn add<V: Vector, const SQUARED: bool>(sum: V, values: V) -> V {
    if SQUARED { values.mul_add(values, sum) } else { sum.add(values) }
}
