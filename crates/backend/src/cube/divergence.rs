//! Whether an update is finite, and by what its gradients are clipped, by one cube.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    tensor::CubeTensor,
};

use super::{
    buffers::empty,
    lanes::{UNITS, sum_of_lane},
};
use crate::divergence::ADDED;

#[cube(launch)]
fn judge(
    square_sums: &Array<f32>,
    loss: &Array<f32>,
    before: &Array<f32>,
    factor: &mut Array<f32>,
    diverged: &mut Array<f32>,
    largest_norm: f32,
) {
    let mut sum = 0.0f32;
    for i in range_stepped(UNIT_POS as usize, square_sums.len(), UNITS) {
        sum += square_sums[i];
    }
    let sum = sum_of_lane(sum, 1usize);
    if UNIT_POS == 0 {
        let mut flag = 1.0f32;
        let both = sum + f32::abs(loss[0]);
        // By their bits: some drivers compute as if neither existed.
        if !both.is_nan() && !both.is_inf() {
            flag = before[0];
        }
        factor[0] = clamp_max(largest_norm / (f32::sqrt(sum) + ADDED), 1.0f32);
        diverged[0] = flag;
    }
}

pub(super) fn judged<R: CubeRuntime>(
    inputs: [CubeTensor<R>; 3],
    largest_norm: Option<f64>,
) -> [CubeTensor<R>; 2] {
    let [square_sums, loss, before] = inputs.map(into_contiguous);
    // The root of no finite sum is larger.
    let largest_norm = largest_norm.map_or(f32::MAX, |largest| largest as f32);
    let [factor, diverged] = [(); 2].map(|()| empty(&square_sums, [1]));
    judge::launch::<R>(
        &factor.client,
        CubeCount::Static(1, 1, 1),
        CubeDim::new_1d(UNITS as u32),
        square_sums.into_array_arg(),
        loss.into_array_arg(),
        before.into_array_arg(),
        factor.clone().into_array_arg(),
        diverged.clone().into_array_arg(),
        largest_norm,
    );
    [factor, diverged]
}
