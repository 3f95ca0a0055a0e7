//! Between tensors and the primitives that the operations of the trait take, and what several default
//! bodies compute.

use burn::tensor::{Shape, Tensor, TensorMetadata, TensorPrimitive, ops::FloatTensor};

use crate::Backend;

/// The tensor around a primitive of `D` dimensions.
pub fn tensor<B: Backend, const D: usize>(primitive: FloatTensor<B>) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(primitive))
}

/// The reverse of [`tensor`].
pub fn primitive<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> FloatTensor<B> {
    tensor.into_primitive().tensor()
}

/// The tensor of one dimension around a primitive of any shape.
pub fn flat<B: Backend>(primitive: FloatTensor<B>) -> Tensor<B, 1> {
    let elements = primitive.shape().num_elements();
    tensor(B::float_reshape(primitive, [elements].into()))
}

/// The reverse of [`flat`].
pub fn shaped<B: Backend>(tensor: Tensor<B, 1>, shape: &Shape) -> FloatTensor<B> {
    B::float_reshape(primitive(tensor), shape.clone())
}

/// ReLU that keeps NaN, as PyTorch's does; that of Flex and ndarray makes it 0.
pub(crate) fn relu<B: Backend, const D: usize>(values: Tensor<B, D>) -> Tensor<B, D> {
    let mask = values.clone().lower_equal_elem(0.0);
    values.mask_fill(mask, 0.0)
}

/// The gradient of what [`relu`] was given, from its result.
pub(crate) fn relu_backward<B: Backend, const D: usize>(
    output: Tensor<B, D>,
    gradient: Tensor<B, D>,
) -> Tensor<B, D> {
    gradient.mask_fill(output.lower_equal_elem(0.0), 0.0)
}

/// The sum of each channel, `[channels]`.
///
/// - `maps`: `[batch, channels, height, width]`
pub(crate) fn channel_sums<B: Backend>(maps: Tensor<B, 4>) -> Tensor<B, 1> {
    let [batch, channels, height, width] = maps.dims();
    maps.reshape([batch, channels, height * width]).sum_dim(2).sum_dim(0).reshape([channels])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Selected;

    #[test]
    fn relu_keeps_nan_and_its_gradient() {
        let values =
            |values: [f32; 4]| Tensor::<Selected, 1>::from_floats(values, &Default::default());
        let output = relu(values([f32::NAN, -1.0, 0.0, 2.0]));
        let gradient = relu_backward(output.clone(), values([3.0; 4]));
        let output: Vec<f32> = output.into_data().to_vec().unwrap();
        assert!(output[0].is_nan() && output[1..] == [0.0, 0.0, 2.0], "{output:?}");
        assert_eq!(gradient.into_data().to_vec::<f32>().unwrap(), [3.0, 0.0, 0.0, 3.0]);
    }
}
