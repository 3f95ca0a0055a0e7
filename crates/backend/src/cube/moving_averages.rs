//! Moving averages, many of them by one kernel.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    tensor::CubeTensor,
};

use super::{
    buffers::{at_a_time, empty, row_of_units, rows},
    layout::{contiguous_in, in_original_order, order_of},
};

#[cube(launch)]
fn average(
    averages: &Sequence<Array<f32>>,
    values: &Sequence<Array<f32>>,
    results: &mut Sequence<Array<f32>>,
    share: f32,
    factor: f32,
) {
    #[unroll]
    for tensor in 0..averages.len() {
        if CUBE_POS_Y as usize == tensor {
            let average = averages.index(tensor);
            let value = values.index(tensor);
            let result = results.index_mut(tensor);
            for i in range_stepped(ABSOLUTE_POS_X as usize, average.len(), row_of_units()) {
                result[i] = average[i] + share * (factor * value[i] - average[i]);
            }
        }
    }
}

/// Each average and its new value, of one shape; returns the averages.
pub(super) fn moving_averages<R: CubeRuntime>(
    pairs: &[[CubeTensor<R>; 2]],
    [share, factor]: [f64; 2],
) -> Vec<CubeTensor<R>> {
    let client = pairs[0][0].client.clone();
    let mut results = Vec::new();
    for group in pairs.chunks(at_a_time(&client, 3, 0)) {
        let aligned = |[average, value]: &[CubeTensor<R>; 2]| {
            let order = order_of(average);
            let [average, value] =
                [average, value].map(|tensor| contiguous_in(tensor.clone(), &order));
            let result = empty(&average, average.meta.shape().clone());
            ([average, value, result], order)
        };
        let aligned: Vec<_> = group.iter().map(aligned).collect();
        let (count, cube) =
            rows(aligned.iter().map(|([average, ..], _)| average.meta.num_elements()));
        let sequence = |place: usize| {
            aligned.iter().map(|(tensors, _)| tensors[place].clone().into_array_arg()).collect()
        };
        average::launch::<R>(
            &client,
            count,
            cube,
            sequence(0),
            sequence(1),
            sequence(2),
            share as f32,
            factor as f32,
        );
        results.extend(
            aligned.into_iter().map(|([_, _, result], order)| in_original_order(result, &order)),
        );
    }
    results
}
