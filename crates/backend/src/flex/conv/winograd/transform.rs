//! The transforms, on vectors of channels: `B` of inputs, `G` of kernels and `A` of outputs with
//! their transposes, for the points 0, 1, -1, 2, -2 and infinity.

use super::super::super::simd::Vector;

/// A transform of one axis. A trait and not a function to be passed on, because calls through one
/// are not always inlined, and then lose the instructions of their level.
pub(super) trait Transform<const N: usize, const M: usize> {
    fn apply<V: Vector>(values: [V; N]) -> [V; M];
}

/// `B' d`
pub(super) struct Input;

impl Transform<6, 6> for Input {
    #[inline(always)]
    fn apply<V: Vector>(d: [V; 6]) -> [V; 6] {
        let [four, five] = [V::splat(4.0), V::splat(5.0)];
        let even = four.neg_mul_add(d[2], d[4]);
        let odd = four.neg_mul_add(d[1], d[3]);
        let difference = d[4].sub(d[2]);
        let twice = V::splat(2.0).mul(d[3].sub(d[1]));
        [
            four.mul_add(d[0], five.neg_mul_add(d[2], d[4])),
            even.add(odd),
            even.sub(odd),
            difference.add(twice),
            difference.sub(twice),
            four.mul_add(d[1], five.neg_mul_add(d[3], d[5])),
        ]
    }
}

/// `A' m`
pub(super) struct Output;

impl Transform<6, 4> for Output {
    #[inline(always)]
    fn apply<V: Vector>(m: [V; 6]) -> [V; 4] {
        let (sum_1, difference_1) = (m[1].add(m[2]), m[1].sub(m[2]));
        let (sum_2, difference_2) = (m[3].add(m[4]), m[3].sub(m[4]));
        [
            m[0].add(sum_1).add(sum_2),
            V::splat(2.0).mul_add(difference_2, difference_1),
            V::splat(4.0).mul_add(sum_2, sum_1),
            V::splat(8.0).mul_add(difference_2, difference_1).add(m[5]),
        ]
    }
}

/// `G g`
pub(super) struct Kernel;

impl Transform<3, 6> for Kernel {
    #[inline(always)]
    fn apply<V: Vector>(g: [V; 3]) -> [V; 6] {
        let [two, four] = [V::splat(2.0), V::splat(4.0)];
        let [sixth, twenty_fourth] = [V::splat(-1.0 / 6.0), V::splat(1.0 / 24.0)];
        let even = g[0].add(g[2]);
        let even_2 = four.mul_add(g[2], g[0]);
        [
            V::splat(0.25).mul(g[0]),
            sixth.mul(even.add(g[1])),
            sixth.mul(even.sub(g[1])),
            twenty_fourth.mul(two.mul_add(g[1], even_2)),
            twenty_fourth.mul(two.neg_mul_add(g[1], even_2)),
            g[2],
        ]
    }
}

/// `A y`, the adjoint of [`Output`].
pub(super) struct OutputAdjoint;

impl Transform<4, 6> for OutputAdjoint {
    #[inline(always)]
    fn apply<V: Vector>(y: [V; 4]) -> [V; 6] {
        let four = V::splat(4.0);
        let (even, odd) = (y[0].add(y[2]), y[1].add(y[3]));
        let even_2 = four.mul_add(y[2], y[0]);
        let odd_2 = V::splat(2.0).mul(four.mul_add(y[3], y[1]));
        [y[0], even.add(odd), even.sub(odd), even_2.add(odd_2), even_2.sub(odd_2), y[3]]
    }
}

/// `G' u`, the adjoint of [`Kernel`].
pub(super) struct KernelAdjoint;

impl Transform<6, 3> for KernelAdjoint {
    #[inline(always)]
    fn apply<V: Vector>(u: [V; 6]) -> [V; 3] {
        let sixth = V::splat(1.0 / 6.0);
        let (sum_1, difference_1) = (u[1].add(u[2]), u[2].sub(u[1]));
        let (sum_2, difference_2) = (u[3].add(u[4]), u[3].sub(u[4]));
        let sum_1 = V::splat(-1.0 / 6.0).mul(sum_1);
        [
            V::splat(0.25).mul_add(u[0], V::splat(1.0 / 24.0).mul_add(sum_2, sum_1)),
            V::splat(1.0 / 12.0).mul_add(difference_2, sixth.mul(difference_1)),
            sixth.mul_add(sum_2, sum_1).add(u[5]),
        ]
    }
}

/// Applies a transform to both axes of `from(row, column)`, handing each number of the result to
/// `to(row, column, value)`. Both must be `#[inline(always)]`.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "an iterator's closure may not be inlined")]
pub(super) fn both_axes<T: Transform<N, M>, V: Vector, const N: usize, const M: usize>(
    from: impl Fn(usize, usize) -> V,
    mut to: impl FnMut(usize, usize, V),
) {
    let mut half = [[V::zero(); N]; M];
    for column in 0..N {
        let mut values = [V::zero(); N];
        for row in 0..N {
            values[row] = from(row, column);
        }
        let values = T::apply(values);
        for row in 0..M {
            half[row][column] = values[row];
        }
    }
    for row in 0..M {
        let values = T::apply(half[row]);
        for column in 0..M {
            to(row, column, values[column]);
        }
    }
}
