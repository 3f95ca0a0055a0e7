//! The product that forward and backward are made of: a few rows by four vectors of columns.

use crate::flex::simd::{Vector, unroll};

/// Rows of a tile: with four vectors of sums for each, and what they are multiplied by, as many as
/// the processor has registers for.
#[inline(always)]
pub(super) const fn tile_rows<V: Vector>() -> usize {
    if V::LANES == 16 { 6 } else { 3 }
}

/// ```text
/// for k in 0..depth:  sums[row][v] += rows[row][k] * weights[k][v]
/// ```
///
/// # Safety
///
/// `R` rows of `depth` values lie at distances of `stride` from `rows` on, and `depth` times four
/// vectors from `weights` on.
#[inline(always)]
pub(super) unsafe fn product<V: Vector, const R: usize>(
    rows: *const f32,
    stride: usize,
    depth: usize,
    weights: *const f32,
) -> [[V; 4]; R] {
    let mut sums = [[V::zero(); 4]; R];
    for k in 0..depth {
        // SAFETY: the caller's promise.
        unsafe {
            let weights = weights.add(4 * V::LANES * k);
            let mut values = [V::zero(); R];
            unroll!(ROW => {
                if ROW < R {
                    values[ROW] = V::splat(*rows.add(ROW * stride + k));
                }
            });
            unroll!(COLUMN => {
                if COLUMN < 4 {
                    let weight = V::load(weights.add(COLUMN * V::LANES));
                    unroll!(ROW => {
                        if ROW < R {
                            sums[ROW][COLUMN] = values[ROW].mul_add(weight, sums[ROW][COLUMN]);
                        }
                    });
                }
            });
        }
    }
    sums
}

/// Cuts `rows` rows into tiles whose sizes differ by at most one, and calls `$tile::<V, SIZE>` with
/// the first row of each.
macro_rules! for_tiles {
    ($vector:ident, $first:expr, $end:expr, |$row:ident| $object:ident.$tile:ident($($argument:expr),*)) => {{
        let rows: usize = $end - $first;
        let tiles = rows.div_ceil($crate::flex::lstm::tile::tile_rows::<$vector>()).max(1);
        let mut $row = $first;
        for index in 0..tiles {
            let size = (rows + index) / tiles;
            match size {
                6 => $object.$tile::<$vector, 6>($($argument),*),
                5 => $object.$tile::<$vector, 5>($($argument),*),
                4 => $object.$tile::<$vector, 4>($($argument),*),
                3 => $object.$tile::<$vector, 3>($($argument),*),
                2 => $object.$tile::<$vector, 2>($($argument),*),
                1 => $object.$tile::<$vector, 1>($($argument),*),
                _ => {}
            }
            $row += size;
        }
    }};
}
pub(super) use for_tiles;
