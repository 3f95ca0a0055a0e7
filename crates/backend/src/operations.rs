//! The operations that a backend may do better than by composing Burn's.
//!
//! Each has a default body in plain Burn operations, right on every backend and the reference of
//! the tests. A backend overrides those where it pays. The names begin with `fused_`, because a
//! method called like one of Burn's would be ambiguous in all code that is generic over both.

use burn::backend::autodiff::{Autodiff, checkpoint::strategy::CheckpointStrategy};
use burn::tensor::{Shape, Tensor, TensorMetadata, TensorPrimitive, ops::FloatTensor};

use crate::{AdamStep, RmsPropStep, SgdStep, adam, rescale, rms_prop, sgd, square_sum};

/// A Burn backend with this project's fused operations.
pub trait Backend: burn::tensor::backend::Backend {
    /// One Adam update of one parameter; see [`AdamStep`].
    ///
    /// - `weight`, `gradient`, `first_moment`, `second_moment`: one shape
    /// - `diverged`: `[1]`; where it is not zero everything is returned as it came
    /// - returns the new weight and moments
    fn fused_adam(
        weight: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        moments: [FloatTensor<Self>; 2],
        diverged: FloatTensor<Self>,
        step: &AdamStep,
    ) -> (FloatTensor<Self>, [FloatTensor<Self>; 2]) {
        adam::composed::<Self>(weight, gradient, moments, diverged, step)
    }

    /// One update of one parameter by gradient descent with momentum; see [`SgdStep`].
    ///
    /// - `weight`, `gradient`, `momentum`: one shape
    /// - `diverged`: `[1]`; where it is not zero everything is returned as it came
    /// - returns the new weight and momentum
    fn fused_sgd(
        weight: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        momentum: FloatTensor<Self>,
        diverged: FloatTensor<Self>,
        step: &SgdStep,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        sgd::composed::<Self>(weight, gradient, momentum, diverged, step)
    }

    /// One update of one parameter by RMSprop; see [`RmsPropStep`].
    ///
    /// - `weight`, `gradient`, `[square_mean, velocity]`: one shape
    /// - `diverged`: `[1]`; where it is not zero everything is returned as it came
    /// - returns the new weight, and the new mean of squares and velocity
    fn fused_rms_prop(
        weight: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        state: [FloatTensor<Self>; 2],
        diverged: FloatTensor<Self>,
        step: &RmsPropStep,
    ) -> (FloatTensor<Self>, [FloatTensor<Self>; 2]) {
        rms_prop::composed::<Self>(weight, gradient, state, diverged, step)
    }

    /// Multiplies `values` (any shape) by `factor` (`[1]`), which lies on the device.
    fn fused_rescale(values: FloatTensor<Self>, factor: FloatTensor<Self>) -> FloatTensor<Self> {
        rescale::composed::<Self>(values, factor)
    }

    /// Adds the sum of the squares of `values` (any shape) to `sum` (`[1]`).
    fn fused_square_sum(sum: FloatTensor<Self>, values: FloatTensor<Self>) -> FloatTensor<Self> {
        square_sum::composed::<Self>(sum, values)
    }
}

/// A [`Backend`] that records gradients, over one that does the work.
pub trait AutodiffBackend:
    Backend + burn::tensor::backend::AutodiffBackend<InnerBackend: Backend>
{
}

impl<B: Backend, C: CheckpointStrategy> Backend for Autodiff<B, C> {}
impl<B: Backend, C: CheckpointStrategy> AutodiffBackend for Autodiff<B, C> {}

#[cfg(feature = "ndarray")]
impl Backend for burn::backend::NdArray {}
#[cfg(feature = "wgpu")]
impl Backend for burn::backend::Wgpu {}
#[cfg(feature = "cuda")]
impl Backend for burn::backend::Cuda {}

/// A primitive of any shape as a tensor of one dimension, for the default bodies.
pub(crate) fn flat<B: Backend>(primitive: FloatTensor<B>) -> Tensor<B, 1> {
    let elements = primitive.shape().num_elements();
    Tensor::from_primitive(TensorPrimitive::Float(B::float_reshape(primitive, [elements].into())))
}

/// The reverse of [`flat`].
pub(crate) fn shaped<B: Backend>(tensor: Tensor<B, 1>, shape: &Shape) -> FloatTensor<B> {
    B::float_reshape(tensor.into_primitive().tensor(), shape.clone())
}
