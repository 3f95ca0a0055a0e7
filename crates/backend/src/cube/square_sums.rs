//! The sum of the squares of each of many tensors, by two kernels: each tensor's elements are summed
//! in shares by a row of cubes, and then the shares.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    tensor::CubeTensor,
};

use super::{
    buffers::{AT_ONCE, at_a_time, empty},
    lanes::{UNITS, sum_of_lane},
    layout::{contiguous_in, order_of},
};

/// What a cube goes through before another one is worth its start.
const VALUES: usize = 16 * UNITS;

/// The sum of each share of each tensor, `[tensors, shares]`, from row `first` on.
#[cube(launch)]
fn sum_shares(tensors: &Sequence<Array<f32>>, sums: &mut Array<f32>, first: usize) {
    let shares = CUBE_COUNT_X as usize;
    let mut sum = 0.0f32;
    #[unroll]
    for tensor in 0..tensors.len() {
        if CUBE_POS_Y as usize == tensor {
            let values = tensors.index(tensor);
            let share = values.len().div_ceil(shares);
            let begin = CUBE_POS_X as usize * share;
            let end = clamp_max(begin + share, values.len());
            for i in range_stepped(begin + UNIT_POS as usize, end, UNITS) {
                sum += values[i] * values[i];
            }
        }
    }
    let sum = sum_of_lane(sum, 1usize);
    if UNIT_POS == 0 {
        sums[(first + CUBE_POS_Y as usize) * shares + CUBE_POS_X as usize] = sum;
    }
}

/// The sum of each row, which a cube adds up.
#[cube(launch)]
fn sum_rows(values: &Array<f32>, sums: &mut Array<f32>, width: usize) {
    let begin = CUBE_POS * width;
    let mut sum = 0.0f32;
    for i in range_stepped(UNIT_POS as usize, width, UNITS) {
        sum += values[begin + i];
    }
    let sum = sum_of_lane(sum, 1usize);
    if UNIT_POS == 0 {
        sums[CUBE_POS] = sum;
    }
}

/// The sum of the squares of each, `[tensors]`.
pub(super) fn square_sums<R: CubeRuntime>(tensors: Vec<CubeTensor<R>>) -> CubeTensor<R> {
    let flat = |tensor: CubeTensor<R>| {
        let order = order_of(&tensor);
        contiguous_in(tensor, &order)
    };
    let tensors: Vec<_> = tensors.into_iter().map(flat).collect();
    let count = tensors.len();
    let (like, client) = (tensors[0].clone(), tensors[0].client.clone());
    let largest = tensors.iter().map(|tensor| tensor.meta.num_elements()).max().unwrap_or(0);
    let shares = largest.div_ceil(VALUES).clamp(1, AT_ONCE);
    let partial = empty(&like, [count, shares]);
    let at_a_time = at_a_time(&client, 1, 1);
    let cube = CubeDim::new_1d(UNITS as u32);
    for (group, tensors) in tensors.chunks(at_a_time).enumerate() {
        sum_shares::launch::<R>(
            &client,
            CubeCount::Static(shares as u32, tensors.len() as u32, 1),
            cube,
            tensors.iter().map(|tensor| tensor.clone().into_array_arg()).collect(),
            partial.clone().into_array_arg(),
            group * at_a_time,
        );
    }
    let sums = empty(&like, [count]);
    sum_rows::launch::<R>(
        &client,
        CubeCount::Static(count as u32, 1, 1),
        cube,
        partial.into_array_arg(),
        sums.clone().into_array_arg(),
        shares,
    );
    sums
}
