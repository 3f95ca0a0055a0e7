//! Tensors as one message between processes.

use std::ops::Range;

use backend::{
    Backend,
    primitive::{flat, primitive, shaped},
};
use burn::tensor::{Shape, Tensor, TensorData, TensorMetadata, ops::FloatTensor};

use crate::values::to_host;

/// How many numbers of small tensors cross to or from the device together: 25 MB, as in PyTorch's
/// `DistributedDataParallel`. Each crossing waits for the device, and a larger one takes more memory.
const BUCKET: usize = if cfg!(test) { 10 } else { (25 << 20) / size_of::<f32>() };

/// Puts the numbers of tensors, one after another, into `message`.
pub(crate) fn pack<B: Backend>(tensors: &[FloatTensor<B>], message: &mut Vec<f32>) {
    let lengths: Vec<usize> = tensors.iter().map(|tensor| tensor.shape().num_elements()).collect();
    message.clear();
    for bucket in buckets(&lengths) {
        let joined = match &tensors[bucket] {
            [tensor] => tensor.clone(),
            several => {
                let several = several.iter().cloned().map(flat::<B>).collect();
                primitive(Tensor::cat(several, 0))
            }
        };
        message.extend(to_host::<B>(joined));
    }
}

/// Tensors of these shapes with the numbers of `message`.
pub(crate) fn unpack<B: Backend>(
    message: &[f32],
    shapes: &[Shape],
    device: &B::Device,
) -> Vec<FloatTensor<B>> {
    let lengths: Vec<usize> = shapes.iter().map(Shape::num_elements).collect();
    let mut tensors = Vec::with_capacity(shapes.len());
    let mut rest = message;
    for bucket in buckets(&lengths) {
        let (numbers, after) = rest.split_at(lengths[bucket.clone()].iter().sum());
        rest = after;
        let numbers = TensorData::new(numbers.to_vec(), [numbers.len()]);
        let numbers = Tensor::<B, 1>::from_data(numbers, device);
        let mut start = 0;
        for (shape, length) in shapes[bucket.clone()].iter().zip(&lengths[bucket]) {
            tensors.push(shaped(numbers.clone().slice(start..start + length), shape));
            start += length;
        }
    }
    tensors
}

/// Neighbours with at most [`BUCKET`] numbers together; what has more is alone.
fn buckets(lengths: &[usize]) -> Vec<Range<usize>> {
    let mut buckets: Vec<Range<usize>> = Vec::new();
    let mut full = BUCKET;
    for (index, &length) in lengths.iter().enumerate() {
        match buckets.last_mut() {
            Some(bucket) if full + length <= BUCKET => {
                bucket.end += 1;
                full += length;
            }
            _ => {
                buckets.push(index..index + 1);
                full = length;
            }
        }
    }
    buckets
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device, primitive::tensor};

    use super::*;

    #[test]
    fn small_neighbours_cross_together() {
        assert_eq!(buckets(&[3, 4, 3, 11, 1, 9, 1]), [0..3, 3..4, 4..6, 6..7]);
        assert_eq!(buckets(&[10, 10]), [0..1, 1..2]);
        assert_eq!(buckets(&[]), []);
    }

    #[test]
    fn tensors_cross_whole_and_in_order() {
        let device = Device::default();
        let shapes = [[1usize, 1], [3, 2], [1, 3], [3, 5], [5, 1]].map(Shape::from);
        let count = shapes.iter().map(Shape::num_elements).sum::<usize>();
        let numbers: Vec<f32> = (0..count).map(|index| index as f32).collect();
        let tensors = unpack::<Selected>(&numbers, &shapes, &device);
        let found: Vec<Shape> = tensors.iter().map(TensorMetadata::shape).collect();
        assert_eq!(found, shapes);
        let third = tensor::<Selected, 2>(tensors[2].clone());
        third.into_data().assert_eq(&TensorData::from([[7.0f32, 8.0, 9.0]]), true);

        let mut message = vec![9.0];
        pack::<Selected>(&tensors, &mut message);
        assert_eq!(message, numbers);
    }
}
