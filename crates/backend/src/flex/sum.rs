//! The sum of numbers, or of their squares.

use super::simd::{Kernel, Vector};

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
