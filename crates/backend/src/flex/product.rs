//! Products of matrices, by the `gemm` crate that Flex uses as well.

/// A matrix in a slice, with any distances between rows and between columns.
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
        Self::with_stride(values, [rows, columns], columns)
    }

    /// Row after row, `stride` from one to the next.
    pub(super) fn with_stride(
        values: &'a [f32],
        [rows, columns]: [usize; 2],
        stride: usize,
    ) -> Self {
        let end = if rows == 0 { 0 } else { (rows - 1) * stride + columns };
        assert!(columns <= stride && end <= values.len(), "a matrix inside of the slice");
        Self { values, rows, columns, row_stride: stride, column_stride: 1 }
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

/// Multiplications from which on threads pay; to wake them costs some ten microseconds.
const PARALLEL_FROM: usize = 1 << 19;

/// `left right`, written to `target` row after row.
pub(super) fn product(target: &mut [f32], left: Matrix, right: Matrix) {
    let (rows, depth, columns) = (left.rows, left.columns, right.columns);
    assert_eq!(depth, right.rows, "the sizes of a product");
    assert_eq!(target.len(), rows * columns, "the size of a product's result");
    let parallelism = match rows * depth * columns {
        0..PARALLEL_FROM => gemm::Parallelism::None,
        _ => gemm::Parallelism::Rayon(0),
    };
    // SAFETY: the matrices lie inside of their slices by the way they are made, the target's size
    // was asserted, and it is borrowed mutably, so it overlaps neither.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            depth,
            target.as_mut_ptr(),
            1,
            columns as isize,
            false,
            left.values.as_ptr(),
            left.column_stride as isize,
            left.row_stride as isize,
            right.values.as_ptr(),
            right.column_stride as isize,
            right.row_stride as isize,
            0.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::testing::{normal, on_1_2_and_3_threads, values};

    #[test]
    fn it_equals_the_plain_sums_on_any_number_of_threads() {
        for [rows, depth, columns] in [[1, 1, 1], [3, 0, 2], [0, 3, 2], [5, 7, 9], [70, 90, 110]] {
            let left = values(normal([depth * rows + 1], 1));
            let right = values(normal([depth * (columns + 3) + 1], 2));
            let compute = || {
                let mut target = vec![7.0; rows * columns];
                let left = Matrix::new(&left, [depth, rows]).transposed();
                let right = Matrix::with_stride(&right, [depth, columns], columns + 3);
                product(&mut target, left, right);
                target
            };
            let results = on_1_2_and_3_threads(compute);
            assert_eq!(results[0], results[1]);
            assert_eq!(results[0], results[2]);
            for (index, ours) in results[0].iter().enumerate() {
                let (row, column) = (index / columns, index % columns);
                let expected: f64 = (0..depth)
                    .map(|k| {
                        f64::from(left[k * rows + row])
                            * f64::from(right[k * (columns + 3) + column])
                    })
                    .sum();
                assert!((f64::from(*ours) - expected).abs() < 1e-4);
            }
        }
    }
}
