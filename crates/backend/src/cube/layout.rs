//! The order in which a tensor's elements lie in memory.

use burn::tensor::TensorMetadata;
use burn_cubecl::{CubeRuntime, kernel::into_contiguous, ops::permute, tensor::CubeTensor};

use super::registered::{Described, Lazy, register};

/// The weight of a convolution (`[outputs, inputs, height, width]`) in the order in which
/// convolutions read it, the inputs last; each of them would copy it otherwise.
pub(super) fn channels_last<R: CubeRuntime>(weight: Lazy<R>) -> Lazy<R> {
    const ORDER: [usize; 4] = [0, 2, 3, 1];
    let outputs = [Described::like(&weight)];
    let reorder = |[weight]: [CubeTensor<R>; 1]| [back(listed(weight, &ORDER), &ORDER)];
    let [weight] = register("channels_last", [weight], outputs, reorder);
    weight
}

/// The dimensions, that first whose neighbours lie farthest apart.
pub(super) fn order<R: CubeRuntime>(tensor: &CubeTensor<R>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tensor.meta.num_dims()).collect();
    order.sort_by_key(|&dimension| std::cmp::Reverse(tensor.meta.strides()[dimension]));
    order
}

/// The tensor with its dimensions in `order` and its elements one after another, which is a copy
/// unless they are already.
pub(super) fn listed<R: CubeRuntime>(tensor: CubeTensor<R>, order: &[usize]) -> CubeTensor<R> {
    let tensor = permute(tensor, order);
    if !lies_flat(tensor.meta.shape(), tensor.meta.strides()) {
        return into_contiguous(tensor);
    }
    let shape = tensor.shape();
    let CubeTensor { client, handle, device, dtype, .. } = tensor;
    CubeTensor::new_contiguous(client, device, shape, handle, dtype)
}

/// The dimensions of what [`listed`] returned as they were.
pub(super) fn back<R: CubeRuntime>(tensor: CubeTensor<R>, order: &[usize]) -> CubeTensor<R> {
    let mut places: Vec<usize> = (0..order.len()).collect();
    places.sort_by_key(|&place| order[place]);
    permute(tensor, &places)
}

/// Whether elements lie one after another; what step a dimension of size 1 has does not matter.
fn lies_flat(shape: &[usize], strides: &[usize]) -> bool {
    let mut expected = 1;
    shape.iter().zip(strides).rev().filter(|(size, _)| **size > 1).all(|(size, stride)| {
        let as_expected = *stride == expected;
        expected *= size;
        as_expected
    })
}

#[cfg(test)]
mod tests {
    use super::lies_flat;

    #[test]
    fn dimensions_of_size_one_do_not_matter() {
        assert!(lies_flat(&[2, 3, 4], &[12, 4, 1]));
        assert!(lies_flat(&[2, 1, 4], &[4, 1, 1]));
        assert!(lies_flat(&[1, 1], &[7, 7]));
        assert!(!lies_flat(&[2, 3], &[1, 2]), "another order");
        assert!(!lies_flat(&[2, 3], &[4, 1]), "a gap after each row");
        assert!(!lies_flat(&[2, 3], &[0, 1]), "rows in one place");
    }
}
