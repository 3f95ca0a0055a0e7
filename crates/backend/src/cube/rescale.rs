//! Multiplication by a number on the device, of many tensors by one kernel.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    tensor::CubeTensor,
};

use super::{
    buffers::{at_a_time, row_of_units, rows, writable},
    lanes::UNITS,
    layout::{back, listed, order_of},
    registered::{Described, Lazy, register_many},
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
pub(super) fn rescale<R: CubeRuntime>(values: Vec<Lazy<R>>, factor: Lazy<R>) -> Vec<Lazy<R>> {
    let outputs = values.iter().map(Described::like).collect();
    let inputs = std::iter::once(factor).chain(values).collect();
    register_many("rescale", inputs, outputs, launch)
}

/// Takes the factor, then the tensors.
fn launch<R: CubeRuntime>(inputs: Vec<CubeTensor<R>>) -> Vec<CubeTensor<R>> {
    let mut inputs = inputs.into_iter();
    let factor = inputs.next().expect("the factor is the first input");
    let aligned = |tensor: CubeTensor<R>| {
        let order = order_of(&tensor);
        (writable(listed(tensor, &order)), order)
    };
    let tensors: Vec<_> = inputs.map(aligned).collect();
    for group in tensors.chunks(at_a_time(&factor.client, 1, 1)) {
        let largest = group.iter().map(|(tensor, _)| tensor.meta.num_elements()).max();
        multiply::launch::<R>(
            &factor.client,
            rows(group.len(), largest.unwrap_or(0)),
            CubeDim::new_1d(UNITS as u32),
            group.iter().map(|(tensor, _)| tensor.clone().into_array_arg()).collect(),
            factor.clone().into_array_arg(),
        );
    }
    tensors.into_iter().map(|(tensor, order)| back(tensor, &order)).collect()
}
