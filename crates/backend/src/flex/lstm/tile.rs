//! The product that forward and backward are made of: a few rows by four vectors of columns.

use super::sizes::part;
use crate::flex::simd::Vector;

/// The most rows of a tile: with four vectors of sums for each, and what they are multiplied by, as
/// many as the processor has registers for.
#[inline(always)]
pub(super) const fn tile_rows<V: Vector>() -> usize {
    if V::LANES == 16 { 6 } else { 3 }
}

/// Straight-line code for each of `R` rows, at most six, whose number is a literal in each copy: the
/// sums must stay in registers. A loop is not always unrolled, and then they live in memory.
macro_rules! each_row {
    ($row:ident => $body:block) => {
        each_row!(@ $row $body 0 1 2 3 4 5)
    };
    (@ $row:ident $body:block $($number:literal)*) => {
        $(if $number < R {
            const $row: usize = $number;
            $body;
        })*
    };
}

/// Cuts the rows from `first` to `end` into tiles of nearly equal size: `(start, rows)`.
pub(super) fn tiles<V: Vector>(first: usize, end: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = end - first;
    let tiles = count.div_ceil(tile_rows::<V>());
    (0..tiles).map(move |tile| {
        let [start, end] = part(count, tiles, tile);
        (first + start, end - start)
    })
}

/// ```text
/// for k in 0..depth:  sums[row][v] += rows[row][k] * weights[k][v]
/// ```
///
/// of as many rows as a tile of [`tiles`] has. A row's sums are the same in a tile of any size.
///
/// # Safety
///
/// `count` rows of `depth` values lie at distances of `stride` from `rows` on, and `depth` times
/// four vectors from `weights` on. From `sums` on there is room for four vectors, `count` times at
/// distances of `sums_stride`.
#[inline(always)]
pub(super) unsafe fn product<V: Vector>(
    count: usize,
    [rows, weights]: [*const f32; 2],
    stride: usize,
    depth: usize,
    sums: *mut f32,
    sums_stride: usize,
) {
    macro_rules! of_rows {
        ($($rows:literal)*) => {
            match count {
                $($rows if $rows <= tile_rows::<V>() => {
                    // SAFETY: the caller's promise.
                    unsafe {
                        product_of::<V, $rows>([rows, weights], stride, depth, sums, sums_stride);
                    }
                })*
                other => unreachable!("a tile of {other} rows"),
            }
        };
    }
    of_rows!(1 2 3 4 5 6);
}

/// # Safety
///
/// As for [`product`], with `R` rows.
#[inline(always)]
unsafe fn product_of<V: Vector, const R: usize>(
    [rows, weights]: [*const f32; 2],
    stride: usize,
    depth: usize,
    target: *mut f32,
    target_stride: usize,
) {
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
    each_row!(ROW => {
        // SAFETY: the caller's promise.
        unsafe {
            let target = target.add(ROW * target_stride);
            sums[ROW][0].store(target);
            sums[ROW][1].store(target.add(V::LANES));
            sums[ROW][2].store(target.add(2 * V::LANES));
            sums[ROW][3].store(target.add(3 * V::LANES));
        }
    });
}
