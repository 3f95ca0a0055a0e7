//! Adds the sum of squares of a tensor to a sum: by one cube, or for a large tensor by many and then
//! one.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    tensor::CubeTensor,
};

use super::{
    buffers::empty,
    lanes::{UNITS, sum_of_lane},
    registered::{Described, Lazy, register},
};

/// What a cube goes through before another one is worth its start.
const VALUES: usize = 64 * UNITS;
/// More cubes than any device runs at a time would only leave the last one more to add.
const CUBES: usize = 512;

/// Each cube sums `share` values; `[cubes]`.
#[cube(launch)]
fn sum_squares(values: &Array<f32>, partial: &mut Array<f32>, share: usize) {
    let first = CUBE_POS * share;
    let end = clamp_max(first + share, values.len());
    let mut sum = 0.0f32;
    for i in range_stepped(first + UNIT_POS as usize, end, UNITS) {
        sum += values[i] * values[i];
    }
    let sum = sum_of_lane(sum, 1usize);
    if UNIT_POS == 0 {
        partial[CUBE_POS] = sum;
    }
}

/// One cube adds all values, or their squares, to `sum`.
#[cube(launch)]
fn add_to_sum(
    sum: &Array<f32>,
    values: &Array<f32>,
    new_sum: &mut Array<f32>,
    #[comptime] squared: bool,
) {
    let mut own = 0.0f32;
    for i in range_stepped(UNIT_POS as usize, values.len(), UNITS) {
        let value = values[i];
        if squared {
            own += value * value;
        } else {
            own += value;
        }
    }
    let own = sum_of_lane(own, 1usize);
    if UNIT_POS == 0 {
        new_sum[0] = sum[0] + own;
    }
}

pub(super) fn square_sum<R: CubeRuntime>(sum: Lazy<R>, values: Lazy<R>) -> Lazy<R> {
    let outputs = [Described::like(&sum)];
    let [sum] = register("square_sum", [sum, values], outputs, |inputs| [launch(inputs)]);
    sum
}

fn launch<R: CubeRuntime>(inputs: [CubeTensor<R>; 2]) -> CubeTensor<R> {
    let [sum, values] = inputs.map(into_contiguous);
    let client = sum.client.clone();
    let cube = CubeDim::new_1d(UNITS as u32);
    let count = values.meta.num_elements();
    let is_small = count <= VALUES;
    let values = if is_small {
        values
    } else {
        let cubes = count.div_ceil(VALUES).min(CUBES);
        let partial = empty(&sum, [cubes]);
        sum_squares::launch::<R>(
            &client,
            CubeCount::Static(cubes as u32, 1, 1),
            cube,
            values.into_array_arg(),
            partial.clone().into_array_arg(),
            count.div_ceil(cubes),
        );
        partial
    };
    let new_sum = empty(&sum, [1]);
    add_to_sum::launch::<R>(
        &client,
        CubeCount::Static(1, 1, 1),
        cube,
        sum.into_array_arg(),
        values.into_array_arg(),
        new_sum.clone().into_array_arg(),
        is_small,
    );
    new_sum
}
