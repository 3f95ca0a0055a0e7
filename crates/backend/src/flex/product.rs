//! Products of matrices, by the `gemm` crate that Flex uses as well.

use std::ops::Range;

use super::{
    parallel::{self, Shared},
    parts::part,
};

/// A matrix in a slice, as it lies there or transposed.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// Row after row, without gaps.
    pub(super) fn new(values: &'a [f32], [rows, columns]: [usize; 2]) -> Self {
        assert!(rows * columns <= values.len(), "a matrix inside of the slice");
        Self { values, rows, columns, row_stride: columns, column_stride: 1 }
    }

    pub(super) fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }
}

/// The fewest multiplications of a task; waking threads costs some ten microseconds.
const TASK_PRODUCTS: usize = 1 << 19;
/// The most tasks.
const TASKS: usize = 64;
/// The fewest columns and rows of a task. Each task packs what it reads, so that thin ones pay
/// twice: those of rows more, since the right side is packed slowly where it is transposed.
const TASK_COLUMNS: usize = 96;
const TASK_ROWS: usize = 64;
/// With this many tasks rows are left whole.
const ENOUGH: usize = 8;

/// `left right`, written to `target` row after row.
pub(super) fn product(target: &mut [f32], left: Matrix, right: Matrix) {
    let (rows, depth, columns) = (left.rows, left.columns, right.columns);
    assert_eq!(depth, right.rows, "the sizes of a product");
    assert_eq!(target.len(), rows * columns, "the size of a product's result");
    let tasks = (rows * depth * columns / TASK_PRODUCTS).clamp(1, TASKS);
    let column_parts = (columns / TASK_COLUMNS).clamp(1, tasks);
    let row_parts = match column_parts {
        0..ENOUGH => (rows / TASK_ROWS).clamp(1, tasks / column_parts),
        _ => 1,
    };
    let target = Shared::new(target);
    // Not by gemm's own tasks, in which denormals would not be flushed.
    parallel::run(row_parts * column_parts, |task, _| {
        let own_rows = in_units(rows, 8, row_parts, task / column_parts);
        let own_columns = in_units(columns, 48, column_parts, task % column_parts);
        let (row, column) = (own_rows.start, own_columns.start);
        let start = target.pointer(row * columns + column);
        // SAFETY: the matrices lie inside of their slices by the way they are made. The target's
        // size was asserted, it is borrowed mutably, so it overlaps neither, and each task writes
        // to rows and columns of its own.
        unsafe {
            gemm::gemm(
                own_rows.len(),
                own_columns.len(),
                depth,
                start,
                1,
                columns as isize,
                false,
                left.values.as_ptr().wrapping_add(row * left.row_stride),
                left.column_stride as isize,
                left.row_stride as isize,
                right.values.as_ptr().wrapping_add(column * right.column_stride),
                right.column_stride as isize,
                right.row_stride as isize,
                0.0,
                1.0,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
    });
}

/// One of `parts` nearly equal parts of `count`, in whole units, those of gemm's own tiles, but for
/// the last one.
fn in_units(count: usize, unit: usize, parts: usize, index: usize) -> Range<usize> {
    let units = part(count.div_ceil(unit), parts, index);
    (units.start * unit).min(count)..(units.end * unit).min(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::testing::{normal, on_1_2_and_3_threads, values};

    #[test]
    fn it_equals_the_plain_sums_on_any_number_of_threads() {
        let shapes = [
            [1, 1, 1],
            [3, 0, 2],
            [0, 3, 2],
            [5, 7, 9],
            [70, 90, 110],
            [200, 90, 330],
            [190, 130, 50],
            [9, 90, 1000],
        ];
        for [rows, depth, columns] in shapes {
            let left = values(normal([depth * rows], 1));
            let right = values(normal([depth * columns], 2));
            for transposes_left in [false, true] {
                let compute = || {
                    let mut target = vec![7.0; rows * columns];
                    let (left, right) = if transposes_left {
                        let left = Matrix::new(&left, [depth, rows]).transposed();
                        (left, Matrix::new(&right, [depth, columns]))
                    } else {
                        let right = Matrix::new(&right, [columns, depth]).transposed();
                        (Matrix::new(&left, [rows, depth]), right)
                    };
                    product(&mut target, left, right);
                    target
                };
                let results = on_1_2_and_3_threads(compute);
                assert_eq!(results[0], results[1]);
                assert_eq!(results[0], results[2]);
                let places = |row, column, k| match transposes_left {
                    true => [k * rows + row, k * columns + column],
                    false => [row * depth + k, column * depth + k],
                };
                for (index, ours) in results[0].iter().enumerate() {
                    let products = (0..depth).map(|k| {
                        let [l, r] = places(index / columns, index % columns, k);
                        f64::from(left[l]) * f64::from(right[r])
                    });
                    assert!((f64::from(*ours) - products.sum::<f64>()).abs() < 1e-4);
                }
            }
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn denormals_are_flushed_on_all_threads() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for [rows, depth, columns] in [[2, 3, 4], [200, 90, 330]] {
            let (left, right) = (vec![1e-20; rows * depth], vec![1e-20; depth * columns]);
            let mut target = vec![7.0; rows * columns];
            pool.install(|| {
                let left = Matrix::new(&left, [rows, depth]);
                product(&mut target, left, Matrix::new(&right, [depth, columns]));
            });
            assert!(target.iter().all(|value| *value == 0.0));
        }
    }
}
