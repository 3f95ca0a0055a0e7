//! The product that all passes consist of: a few rows by four vectors of columns.

use crate::flex::simd::{Vector, unroll};

/// The most rows of a tile: with four vectors of sums for each, and what they are multiplied by, as
/// many as the processor has registers for.
#[inline(always)]
pub(super) const fn tile_rows<V: Vector>() -> usize {
    if V::LANES == 16 { 6 } else { 3 }
}

/// A tile's product:
///
/// ```text
/// for k in 0..depth:  sums[row][v] += rows[row][k] * vectors[k][v]      (four vectors v)
/// ```
///
/// A row's sums are the same in a tile of any size.
#[derive(Clone, Copy)]
pub(super) struct Product {
    pub(super) depth: usize,
    pub(super) rows: *const f32,
    /// From one row to the next, and from one of its values to the next.
    pub(super) row_strides: [usize; 2],
    pub(super) vectors: *const f32,
    /// From four vectors to the next four.
    pub(super) vector_stride: usize,
    pub(super) sums: *mut f32,
    /// From one row's sums to the next one's.
    pub(super) sums_stride: usize,
    /// Whether the sums are added to those that are there.
    pub(super) adding: bool,
}

impl Product {
    /// Computes a tile of [`tile_rows`] at most.
    ///
    /// # Safety
    ///
    /// What the strides lead to can be read, and the sums of all rows can be written.
    #[inline(always)]
    pub(super) unsafe fn run<V: Vector>(self, rows: usize) {
        macro_rules! of_rows {
            ($($rows:literal)*) => {
                match rows {
                    $($rows if $rows <= tile_rows::<V>() => {
                        // SAFETY: the caller's promise.
                        unsafe {
                            if const { V::IN_ARRAYS } {
                                self.called_of_rows::<V, $rows>()
                            } else {
                                self.of_rows::<V, $rows>()
                            }
                        }
                    })*
                    other => unreachable!("a tile of {other} rows"),
                }
            };
        }
        of_rows!(1 2 3 4 5 6);
    }

    /// [`of_rows`](Self::of_rows), compiled once for all that call it.
    ///
    /// # Safety
    ///
    /// As for [`run`](Self::run).
    #[inline(never)]
    unsafe fn called_of_rows<V: Vector, const R: usize>(self) {
        // SAFETY: the caller's promise.
        unsafe { self.of_rows::<V, R>() }
    }

    /// # Safety
    ///
    /// As for [`run`](Self::run).
    #[inline(always)]
    unsafe fn of_rows<V: Vector, const R: usize>(self) {
        let [row_stride, value_stride] = self.row_strides;
        let mut sums = [[V::zero(); 4]; R];
        for k in 0..self.depth {
            // SAFETY: the caller's promise.
            unsafe {
                let (row, vectors) =
                    (self.rows.add(k * value_stride), self.vectors.add(k * self.vector_stride));
                let mut values = [V::zero(); R];
                unroll!(ROW < R => { values[ROW] = V::splat(*row.add(ROW * row_stride)) });
                let vector = V::load(vectors);
                unroll!(ROW < R => { sums[ROW][0] = values[ROW].mul_add(vector, sums[ROW][0]) });
                let vector = V::load(vectors.add(V::LANES));
                unroll!(ROW < R => { sums[ROW][1] = values[ROW].mul_add(vector, sums[ROW][1]) });
                let vector = V::load(vectors.add(2 * V::LANES));
                unroll!(ROW < R => { sums[ROW][2] = values[ROW].mul_add(vector, sums[ROW][2]) });
                let vector = V::load(vectors.add(3 * V::LANES));
                unroll!(ROW < R => { sums[ROW][3] = values[ROW].mul_add(vector, sums[ROW][3]) });
            }
        }
        unroll!(ROW < R => {
            // SAFETY: the caller's promise.
            unsafe {
                let target = self.sums.add(ROW * self.sums_stride);
                let [a, b, c, d] = sums[ROW];
                for (index, sum) in [a, b, c, d].into_iter().enumerate() {
                    let target = target.add(index * V::LANES);
                    let sum = if self.adding { sum.add(V::load(target)) } else { sum };
                    sum.store(target);
                }
            }
        });
    }
}
