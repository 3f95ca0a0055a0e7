//! The sums of a matrix's columns, in f32 and in the same order each time.
//!
//! Cubes sum a segment of the rows each, for some columns, then others add up the segments.

use burn::tensor::DType;
use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    ops::reshape,
    tensor::CubeTensor,
};

use super::{
    buffers::{MOST_CUBES, empty_of},
    lanes::{MOST_LANES, UNITS, column_of_unit, lanes_of, sum_of_lane},
};

/// Rows that a unit sums, unless there are more segments than one unit should add up.
const SUMMED_BY_UNIT: usize = 64;
const SEGMENTS: usize = 256;

/// The sum of each column in a segment, times `factor`: `[segments, width]`.
#[cube(launch)]
fn sum_segments<E: Float, S: Float>(
    values: &Array<E>,
    sums: &mut Array<S>,
    width: usize,
    segment: usize,
    factor: f32,
    #[comptime] lanes: usize,
    #[define(E)] _element: StorageType,
    #[define(S)] _sum: StorageType,
) {
    let column = column_of_unit(lanes);
    let begin = CUBE_POS_Y as usize * segment;
    let end = clamp_max(begin + segment, values.len() / width);
    let mut sum = 0.0f32;
    if column < width {
        for row in range_stepped(begin + UNIT_POS_Y as usize, end, UNITS / lanes) {
            sum += f32::cast_from(values[row * width + column]);
        }
    }
    let sum = sum_of_lane(sum, lanes);
    if UNIT_POS_Y == 0 && column < width {
        sums[CUBE_POS_Y as usize * width + column] = S::cast_from(sum * factor);
    }
}

/// The sums of segments of so many rows, times `factor`: `[segments, width]`.
///
/// - `values`: `[rows, width]`
fn sums_of_segments<R: CubeRuntime>(
    values: CubeTensor<R>,
    segment: usize,
    factor: f32,
    dtype: DType,
) -> CubeTensor<R> {
    let [rows, width] = values.meta.shape().dims();
    let (segments, lanes) = (rows.div_ceil(segment), lanes_of(width));
    let sums = empty_of(dtype, &values, [segments, width]);
    let element = values.dtype.into();
    sum_segments::launch::<R>(
        &sums.client,
        CubeCount::Static(width.div_ceil(lanes) as u32, segments as u32, 1),
        CubeDim::new_2d(lanes as u32, (UNITS / lanes) as u32),
        values.into_array_arg(),
        sums.clone().into_array_arg(),
        width,
        segment,
        factor,
        lanes,
        element,
        dtype.into(),
    );
    sums
}

/// Whether cubes for so many columns can be started at once.
pub(super) fn takes_columns(width: usize) -> bool {
    width.div_ceil(MOST_LANES) <= MOST_CUBES
}

/// The sum of each column of `[rows, width]`, `[1, width]`.
pub(super) fn column_sums<R: CubeRuntime>(values: CubeTensor<R>, dtype: DType) -> CubeTensor<R> {
    let values = into_contiguous(values);
    let [rows, width] = values.meta.shape().dims();
    let segment = (SUMMED_BY_UNIT * UNITS / lanes_of(width)).max(rows.div_ceil(SEGMENTS));
    let segments = rows.div_ceil(segment);
    if segments == 1 {
        return sums_of_segments(values, rows, 1.0, dtype);
    }
    let parts = sums_of_segments(values, segment, 1.0, DType::F32);
    sums_of_segments(parts, segments, 1.0, dtype)
}

/// The mean of each column of each matrix in `[matrices, rows, width]`, `[matrices, width]`; there can be
/// [`MOST_CUBES`] matrices.
pub(super) fn column_means<R: CubeRuntime>(values: CubeTensor<R>) -> CubeTensor<R> {
    let [matrices, rows, width] = values.meta.shape().dims();
    let dtype = values.dtype;
    let values = reshape(into_contiguous(values), [matrices * rows, width].into());
    sums_of_segments(values, rows, 1.0 / rows as f32, dtype)
}
