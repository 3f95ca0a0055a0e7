//! The inner loop of every convolution here: a tile of sums that stays in registers.
//!
//! ```text
//! for outer, for k in table:
//!     weights[0..N]                                   N vectors
//!     for r in 0..R:  sums[r][0..N] += source[rows[r] + table[k]] * weights
//! ```
//!
//! Each step loads N vectors, broadcasts R numbers and makes R x N vectors of sums; with 6 x 2 the
//! sixteen registers of AVX2 are full, and most of NEON's thirty-two, of which a vector takes two; with
//! 10 x 2 the thirty-two of AVX-512. Then multiply-adds are the limit. Rows and steps are found through
//! tables of offsets, so the same loop does
//!
//! - the forward pass (rows: positions of the output; steps: taps; outer: input channels),
//! - the weight gradient (rows: input channels and taps; steps: positions),
//! - the products of Winograd's algorithm, where both are plain strides.

use super::super::simd::{Vector, unroll};

/// Vectors of the widest tile.
pub(super) const VECTORS: usize = 2;

/// What a tile sums up.
#[derive(Clone, Copy)]
pub(super) struct Products<'a> {
    pub(super) source: *const f32,
    /// Offsets of the rows in the source.
    pub(super) rows: &'a [u32],
    /// Offsets of the steps in the source.
    pub(super) table: &'a [u32],
    /// `[outer][steps][vectors]`
    pub(super) weights: *const f32,
    /// Numbers from one step's weights to the next.
    pub(super) weight_step: usize,
    pub(super) outer: usize,
    pub(super) outer_source: usize,
    pub(super) outer_weight: usize,
}

/// What is done with the sums of a tile.
pub(super) trait Finish<V: Vector> {
    /// `sums[row][vector]`
    ///
    /// # Safety
    ///
    /// What [`tile`]'s caller promised holds for the rows and vectors of this tile.
    unsafe fn finish<const R: usize, const N: usize>(&self, sums: &[[V; N]; R]);
}

/// One tile of `products.rows.len()` rows, [`most_rows`] at most.
///
/// # Safety
///
/// Every source and weight that the tables lead to can be read, and `finish` may write its sums.
#[inline(always)]
pub(super) unsafe fn tile<V: Vector>(
    vectors: usize,
    products: &Products<'_>,
    finish: &impl Finish<V>,
) {
    macro_rules! rows {
        ($vectors:literal: $($rows:literal)*) => {
            match products.rows.len() {
                $($rows if const { $rows <= most_rows(V::LANES, $vectors) } => {
                    // SAFETY: the caller's promise.
                    unsafe {
                        let sums = if const { V::IN_ARRAYS } {
                            called_sums::<V, $rows, $vectors>(products)
                        } else {
                            sums(products)
                        };
                        finish.finish(&sums)
                    }
                })*
                other => unreachable!("a tile of {other} rows"),
            }
        };
    }
    match vectors {
        1 => rows!(1: 1 2 3 4 5 6 7 8 9 10 11 12),
        _ => rows!(2: 1 2 3 4 5 6 7 8 9 10),
    }
}

/// # Safety
///
/// As for [`tile`].
#[inline(always)]
unsafe fn sums<V: Vector, const R: usize, const N: usize>(products: &Products<'_>) -> [[V; N]; R] {
    let mut sums = [[V::zero(); N]; R];
    let mut rows: [*const f32; R] =
        std::array::from_fn(|row| products.source.wrapping_add(products.rows[row] as usize));
    let mut outer_weights = products.weights;
    for _ in 0..products.outer {
        let mut weights = outer_weights;
        for step in products.table {
            let step = *step as usize;
            let mut vectors = [V::zero(); N];
            for (n, vector) in vectors.iter_mut().enumerate() {
                // SAFETY: the caller promises that the weights of each step can be read.
                *vector = unsafe { V::load(weights.wrapping_add(n * V::LANES)) };
            }
            unroll!(ROW < R => {
                // SAFETY: the caller promises that what the tables lead to can be read.
                let source = V::splat(unsafe { *rows[ROW].wrapping_add(step) });
                for n in 0..N {
                    sums[ROW][n] = source.mul_add(vectors[n], sums[ROW][n]);
                }
            });
            weights = weights.wrapping_add(products.weight_step);
        }
        for row in &mut rows {
            *row = row.wrapping_add(products.outer_source);
        }
        outer_weights = outer_weights.wrapping_add(products.outer_weight);
    }
    sums
}

/// [`sums`], compiled once for all that call it.
///
/// # Safety
///
/// As for [`tile`].
#[inline(never)]
unsafe fn called_sums<V: Vector, const R: usize, const N: usize>(
    products: &Products<'_>,
) -> [[V; N]; R] {
    // SAFETY: the caller's promise.
    unsafe { sums(products) }
}

/// The most rows of a tile with this many vectors of so many lanes.
pub(super) const fn most_rows(lanes: usize, vectors: usize) -> usize {
    match (lanes, vectors) {
        // Thirty-two registers. The compiler broadcasts all rows before it multiplies, so that
        // of twelve rows of two vectors some sums would go through memory at each step.
        (16, 1) => 12,
        (16, _) => 10,
        // Sixteen registers. Fewer sums than eight would wait for each other.
        (_, 1) => 8,
        _ => 6,
    }
}

/// Stores a tile in `[rows][stride]`, or adds it to what is there.
pub(super) struct Put<const ADDING: bool> {
    pub(super) sums: *mut f32,
    pub(super) stride: usize,
}

impl<V: Vector, const ADDING: bool> Finish<V> for Put<ADDING> {
    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn finish<const R: usize, const N: usize>(&self, sums: &[[V; N]; R]) {
        unroll!(ROW < R => {
            for (n, sum) in sums[ROW].iter().enumerate() {
                let target = self.sums.wrapping_add(ROW * self.stride + n * V::LANES);
                // SAFETY: whole vectors of this row of sums, by the caller's promise.
                unsafe {
                    let sum = if ADDING { sum.add(V::load(target)) } else { *sum };
                    sum.store(target);
                }
            }
        });
    }
}

/// A table of offsets `step` apart.
pub(super) fn strides(count: usize, step: usize) -> Vec<u32> {
    (0..count).map(|index| offset(index * step)).collect()
}

/// An offset in a table; they have half the size of an index.
///
/// # Panics
///
/// Where it has more than 32 bits, as in an image of 16 GiB.
pub(super) fn offset(index: usize) -> u32 {
    u32::try_from(index).expect("an image of fewer numbers than 32 bits count")
}
