//! The product that forward and backward are made of: a few rows by four vectors of columns.

use crate::flex::simd::Vector;

/// Rows of a tile: with four vectors of sums for each, and what they are multiplied by, as many as
/// the processor has registers for.
#[inline(always)]
pub(super) const fn tile_rows<V: Vector>() -> usize {
    if V::LANES == 16 { 6 } else { 3 }
}

/// Straight-line code for each of `R` rows, at most six, whose number is a literal in each copy: the
/// sums must stay in registers. A loop is not always unrolled, and then they live in memory.
macro_rules! each_row {
    ($row:ident => $body:block) => {
        $crate::flex::lstm::tile::each_row!(@ $row $body 0 1 2 3 4 5)
    };
    (@ $row:ident $body:block $($number:literal)*) => {
        $(if $number < R {
            const $row: usize = $number;
            $body;
        })*
    };
}
pub(super) use each_row;

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
            each_row!(ROW => { values[ROW] = V::splat(*rows.add(ROW * stride + k)) });
            let weight = V::load(weights);
            each_row!(ROW => { sums[ROW][0] = values[ROW].mul_add(weight, sums[ROW][0]) });
            let weight = V::load(weights.add(V::LANES));
            each_row!(ROW => { sums[ROW][1] = values[ROW].mul_add(weight, sums[ROW][1]) });
            let weight = V::load(weights.add(2 * V::LANES));
            each_row!(ROW => { sums[ROW][2] = values[ROW].mul_add(weight, sums[ROW][2]) });
            let weight = V::load(weights.add(3 * V::LANES));
            each_row!(ROW => { sums[ROW][3] = values[ROW].mul_add(weight, sums[ROW][3]) });
        }
    }
    sums
}

/// Calls a method for tiles that cover the rows from `$first` to `$end`. The last one overlaps the
/// one before it where the tile's size does not divide the rows, so a tile must give the same when
/// it is done again.
macro_rules! for_tiles {
    ($vector:ident, $first:expr, $end:expr, |$row:ident| $object:ident.$tile:ident($($argument:expr),*)) => {{
        let size = $crate::flex::lstm::tile::tile_rows::<$vector>();
        let (first, end): (usize, usize) = ($first, $end);
        if end - first < size {
            for $row in first..end {
                $object.$tile::<$vector, 1>($($argument),*);
            }
        } else {
            for start in (first..end).step_by(size) {
                let $row = start.min(end - size);
                if size == 6 {
                    $object.$tile::<$vector, 6>($($argument),*);
                } else {
                    $object.$tile::<$vector, 3>($($argument),*);
                }
            }
        }
    }};
}
pub(super) use for_tiles;
