//! Multiplication by a number on the device, of many tensors by one kernel.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    tensor::CubeTensor,
};

use super::{
    buffers::{at_a_time, row_of_units, rows, writable},
    layout::{contiguous_in, in_original_order, order_of},
};

#[cube(launch)]
fn multiply(tensors: &mut Sequence<Array<f32>>, factor: &Array<f32>) {
    #[unroll]
    for tensor in 0..tensors.len() {
        if CUBE_POS_Y as usize == tensor {
            let values = tensors.index_mut(tensor);
            for i in range_stepped(ABSOLUTE_POS_X as usize, values.len(), row_of_units()) {
                values[i] *= factor[0];
            }
        }
    }
}

/// Multiplies tensors of any shapes by `factor` (`[1]`).
pub(super) fn rescale<R: CubeRuntime>(
    values: Vec<CubeTensor<R>>,
    factor: &CubeTensor<R>,
) -> Vec<CubeTensor<R>> {
    let aligned = |tensor: CubeTensor<R>| {
        let order = order_of(&tensor);
        (writable(contiguous_in(tensor, &order)), order)
    };
    let tensors: Vec<_> = values.into_iter().map(aligned).collect();
    for group in tensors.chunks(at_a_time(&factor.client, 1, 1)) {
        let (count, cube) = rows(group.iter().map(|(tensor, _)| tensor.meta.num_elements()));
        multiply::launch::<R>(
            &factor.client,
            count,
            cube,
            group.iter().map(|(tensor, _)| tensor.clone().into_array_arg()).collect(),
            factor.clone().into_array_arg(),
        );
    }
    tensors.into_iter().map(|(tensor, order)| in_original_order(tensor, &order)).collect()
}
