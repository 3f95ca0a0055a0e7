//! The order in which a tensor's elements lie in memory.

use burn::tensor::{TensorMetadata, ops::FloatTensor};
use burn_cubecl::{CubeRuntime, kernel::into_contiguous, ops::permute, tensor::CubeTensor};

use crate::{
    Backend,
    strides::{lies_flat, slowest_first},
};

/// The weight of a convolution (`[outputs, inputs, height, width]`) in the order in which
/// convolutions read it, the inputs last; each of them would copy it otherwise.
pub(super) fn channels_last<R: CubeRuntime>(weight: CubeTensor<R>) -> CubeTensor<R> {
    const ORDER: [usize; 4] = [0, 2, 3, 1];
    in_original_order(contiguous_in(weight, &ORDER), &ORDER)
}

/// The order in which a tensor's dimensions lie in memory.
pub(super) fn order_of<R: CubeRuntime>(tensor: &CubeTensor<R>) -> Vec<usize> {
    slowest_first(tensor.meta.shape(), tensor.meta.strides())
}

/// The tensor with its dimensions in `order` and its elements one after another, which is a copy
/// unless they are already.
pub(super) fn contiguous_in<R: CubeRuntime>(
    tensor: CubeTensor<R>,
    order: &[usize],
) -> CubeTensor<R> {
    let tensor = permute(tensor, order);
    if !lies_flat(tensor.meta.shape(), tensor.meta.strides()) {
        return into_contiguous(tensor);
    }
    let shape = tensor.shape();
    let CubeTensor { client, handle, device, dtype, .. } = tensor;
    CubeTensor::new_contiguous(client, device, shape, handle, dtype)
}

/// The dimensions of what [`contiguous_in`] returned as they were.
pub(super) fn in_original_order<R: CubeRuntime>(
    tensor: CubeTensor<R>,
    order: &[usize],
) -> CubeTensor<R> {
    let mut places: Vec<usize> = (0..order.len()).collect();
    places.sort_by_key(|&place| order[place]);
    permute(tensor, &places)
}

/// Maps `[batch, channels, height, width]` as `[batch, height * width, channels]`, which is how they
/// lie in memory where a convolution returned them, so that nothing is copied.
pub(super) fn places<B: Backend>(maps: FloatTensor<B>) -> FloatTensor<B> {
    let [batch, channels, height, width] = maps.shape().dims();
    let maps = B::float_permute(maps, &[0, 2, 3, 1]);
    B::float_reshape(maps, [batch, height * width, channels].into())
}
