//! The means of rows taken from a table, a cube for some columns of each mean.

use burn::tensor::Shape;
use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    tensor::CubeTensor,
};

use super::{
    buffers::{MOST_CUBES, cubes, empty},
    embedding,
    lanes::{UNITS, column_of_unit, lanes_of, sum_of_lane},
    taken::can_be_counted,
};

#[cube(launch)]
fn mean_rows<I: Int>(
    table: &Array<f32>,
    indices: &Array<I>,
    means: &mut Array<f32>,
    time: usize,
    width: usize,
    #[comptime] lanes: usize,
    #[define(I)] _index: StorageType,
) {
    let sample = CUBE_POS_Y as usize;
    let column = column_of_unit(lanes);
    let (begin, end) = (sample * time, (sample + 1) * time);
    let mut sum = 0.0f32;
    let mut rows = 0.0f32;
    for place in range_stepped(begin + UNIT_POS_Y as usize, end, UNITS / lanes) {
        let entry = usize::cast_from(indices[place]);
        if entry > 0 && column < width {
            sum += table[entry * width + column];
            rows += 1.0f32;
        }
    }
    let sum = sum_of_lane(sum, lanes);
    let rows = sum_of_lane(rows, lanes);
    if UNIT_POS_Y == 0 && column < width {
        means[sample * width + column] = sum / clamp_min(rows, 1.0f32);
    }
}

/// The gradient of each row of a mean: that of the mean, divided by how many rows it has.
#[cube(launch)]
fn divide_by_rows<I: Int>(
    indices: &Array<I>,
    gradient: &Array<f32>,
    divided: &mut Array<f32>,
    time: usize,
    width: usize,
    #[define(I)] _index: StorageType,
) {
    let sample = CUBE_POS;
    let unit = UNIT_POS as usize;
    let mut rows = 0.0f32;
    if sample < indices.len() / time {
        for place in range_stepped(sample * time + unit, (sample + 1) * time, UNITS) {
            if usize::cast_from(indices[place]) > 0 {
                rows += 1.0f32;
            }
        }
    }
    let rows = clamp_min(sum_of_lane(rows, 1usize), 1.0f32);
    if sample < indices.len() / time {
        for i in range_stepped(sample * width + unit, (sample + 1) * width, UNITS) {
            divided[i] = gradient[i] / rows;
        }
    }
}

/// Whether there are indices, and cubes for the mean of each row of them can be started at once.
pub(super) fn takes(indices: &Shape) -> bool {
    can_be_counted(indices.num_elements()) && indices[0] <= MOST_CUBES
}

pub(super) fn forward<R: CubeRuntime>(
    table: CubeTensor<R>,
    indices: CubeTensor<R>,
) -> CubeTensor<R> {
    let [table, indices] = [table, indices].map(into_contiguous);
    let [_, width] = table.meta.shape().dims();
    let [batch, time] = indices.meta.shape().dims();
    let means = empty(&table, [batch, width]);
    let (lanes, index) = (lanes_of(width), indices.dtype.into());
    mean_rows::launch::<R>(
        &means.client,
        CubeCount::Static(width.div_ceil(lanes) as u32, batch as u32, 1),
        CubeDim::new_2d(lanes as u32, (UNITS / lanes) as u32),
        table.into_array_arg(),
        indices.into_array_arg(),
        means.clone().into_array_arg(),
        time,
        width,
        lanes,
        index,
    );
    means
}

pub(super) fn backward<R: CubeRuntime>(
    entries: usize,
    indices: CubeTensor<R>,
    gradient: CubeTensor<R>,
) -> CubeTensor<R> {
    let [indices, gradient] = [indices, gradient].map(into_contiguous);
    let [batch, time] = indices.meta.shape().dims();
    let [_, width] = gradient.meta.shape().dims();
    let divided = empty(&gradient, [batch, width]);
    let (count, cube) = cubes(&divided.client, batch);
    let index = indices.dtype.into();
    divide_by_rows::launch::<R>(
        &divided.client,
        count,
        cube,
        indices.clone().into_array_arg(),
        gradient.into_array_arg(),
        divided.clone().into_array_arg(),
        time,
        width,
        index,
    );
    embedding::backward(entries, indices, divided, width, time, 1)
}
