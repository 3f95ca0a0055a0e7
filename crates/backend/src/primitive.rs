//! Between tensors and the primitives that the operations of the trait take, and what several default
//! bodies compute.

use burn::tensor::{Shape, Tensor, TensorMetadata, TensorPrimitive, ops::FloatTensor};

use crate::Backend;

/// The tensor around a primitive of `D` dimensions.
pub(crate) fn tensor<B: Backend, const D: usize>(primitive: FloatTensor<B>) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(primitive))
}

/// The reverse of [`tensor`].
pub(crate) fn primitive<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> FloatTensor<B> {
    tensor.into_primitive().tensor()
}

/// The tensor of one dimension around a primitive of any shape.
pub(crate) fn flat<B: Backend>(primitive: FloatTensor<B>) -> Tensor<B, 1> {
    let elements = primitive.shape().num_elements();
    tensor(B::float_reshape(primitive, [elements].into()))
}

/// The reverse of [`flat`].
pub(crate) fn shaped<B: Backend>(tensor: Tensor<B, 1>, shape: &Shape) -> FloatTensor<B> {
    B::float_reshape(primitive(tensor), shape.clone())
}

/// The transposed matrix as a copy, for the right side of a product.
///
/// CubeCL 0.10 multiplies by a view wrongly at some sizes: `[16, 1000]` by the view of `[32, 1000]`
/// is 8 % off, `[64, 520]` by that of `[64, 520]` 11 % (Mesa's llvmpipe).
pub(crate) fn transposed<B: Backend>(matrix: FloatTensor<B>) -> Tensor<B, 2> {
    let matrix = tensor::<B, 2>(matrix);
    let [rows, columns] = matrix.dims();
    matrix.transpose().reshape([rows * columns]).reshape([columns, rows])
}

/// The sum of each channel, `[channels]`.
///
/// - `maps`: `[batch, channels, height, width]`
pub(crate) fn channel_sums<B: Backend>(maps: Tensor<B, 4>) -> Tensor<B, 1> {
    let [batch, channels, height, width] = maps.dims();
    maps.reshape([batch, channels, height * width]).sum_dim(2).sum_dim(0).reshape([channels])
}
