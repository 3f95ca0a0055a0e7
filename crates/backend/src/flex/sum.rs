//! The sum of numbers.

use super::simd::{Kernel, Vector};

/// Sums up numbers in an order that depends on their count alone.
pub(super) struct Sum<'a>(pub(super) &'a [f32]);

impl Kernel for Sum<'_> {
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
                *sum = sum.add(unsafe { V::load(chunk.as_ptr().add(index * V::LANES)) });
            }
            rest = behind;
        }
        for chunk in rest.chunks(V::LANES) {
            // SAFETY: as many numbers as the chunk has.
            sums[0] = sums[0].add(unsafe { V::load_first(chunk.as_ptr(), chunk.len()) });
        }
        let [a, b, c, d] = sums;
        a.add(b).add(c.add(d)).sum()
    }
}
