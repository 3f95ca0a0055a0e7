//! The operations that a backend may do better than by composing Burn's.
//!
//! Each has a default body in plain Burn operations, right on every backend and the reference of
//! the tests. A backend overrides those where it pays. The names begin with `fused_`, because a
//! method called like one of Burn's would be ambiguous in all code that is generic over both.

use burn::backend::autodiff::{Autodiff, checkpoint::strategy::CheckpointStrategy};
use burn::tensor::{
    Shape, Tensor, TensorMetadata, TensorPrimitive,
    ops::{FloatTensor, IntTensor},
};

use crate::{
    AdamStep, BatchNorm2d, BatchNorm2dGradients, BatchNorm2dOutput, BatchNorm2dSaved,
    LinearGradients, LinearSaved, Lstm, LstmGradients, LstmOutput, LstmOutputGradients, LstmSaved,
    SgdStep, adam, batch_norm2d, cross_entropy, embedding, linear, lstm, sgd, square_sum,
};

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

    /// Batch normalisation, then a residual and ReLU if asked for; see [`BatchNorm2d`].
    fn fused_batch_norm2d(layer: BatchNorm2d<Self>) -> BatchNorm2dOutput<Self> {
        batch_norm2d::composed(layer)
    }

    /// The gradients of [`fused_batch_norm2d`](Self::fused_batch_norm2d), from that of its output.
    fn fused_batch_norm2d_backward(
        saved: BatchNorm2dSaved<Self>,
        gradient: FloatTensor<Self>,
    ) -> BatchNorm2dGradients<Self> {
        batch_norm2d::composed_backward(saved, gradient)
    }

    /// An LSTM layer over a sequence; see [`Lstm`].
    fn fused_lstm(layer: Lstm<Self>) -> LstmOutput<Self> {
        Self::fused_lstm_saving(layer).0
    }

    /// [`fused_lstm`](Self::fused_lstm), and the values for [`LstmSaved`].
    fn fused_lstm_saving(layer: Lstm<Self>) -> (LstmOutput<Self>, Vec<FloatTensor<Self>>) {
        lstm::composed(layer)
    }

    /// The gradients of [`fused_lstm`](Self::fused_lstm), from those of what it returned.
    fn fused_lstm_backward(
        saved: LstmSaved<Self>,
        gradients: LstmOutputGradients<Self>,
    ) -> LstmGradients<Self> {
        lstm::composed_backward(saved, gradients)
    }

    /// A dense layer, then ReLU if `rectified`.
    ///
    /// - `input`: `[batch, inputs]`, `weight`: `[inputs, outputs]`, `bias`: `[outputs]`
    /// - returns: `[batch, outputs]`
    fn fused_linear(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        rectified: bool,
    ) -> FloatTensor<Self> {
        linear::composed::<Self>(input, weight, bias, rectified)
    }

    /// The gradients of [`fused_linear`](Self::fused_linear), from that of its output.
    fn fused_linear_backward(
        saved: LinearSaved<Self>,
        gradient: FloatTensor<Self>,
    ) -> LinearGradients<Self> {
        linear::composed_backward(saved, gradient)
    }

    /// The rows of a table by index.
    ///
    /// - `table`: `[entries, width]`, `indices`: `[batch, time]`
    /// - returns: `[batch, time, width]`
    fn fused_embedding(table: FloatTensor<Self>, indices: IntTensor<Self>) -> FloatTensor<Self> {
        Self::embedding(table, indices)
    }

    /// The gradient of the table, `[entries, width]`, from that of the rows taken from it.
    fn fused_embedding_backward(
        entries: usize,
        indices: IntTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        embedding::composed_backward::<Self>(entries, indices, gradient)
    }

    /// Cross-entropy of the softmax, a value for each sample.
    ///
    /// - `logits`: `[batch, classes]`, `targets`: `[batch]`
    /// - returns: `[batch]`
    fn fused_cross_entropy(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
    ) -> FloatTensor<Self> {
        Self::fused_cross_entropy_saving(logits, targets).0
    }

    /// [`fused_cross_entropy`](Self::fused_cross_entropy), and the softmax, `[batch, classes]`.
    fn fused_cross_entropy_saving(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        cross_entropy::composed::<Self>(logits, targets)
    }

    /// The gradient of the logits, from the softmax and the gradients of the losses, `[batch]`.
    fn fused_cross_entropy_backward(
        probabilities: FloatTensor<Self>,
        targets: IntTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        cross_entropy::composed_backward::<Self>(probabilities, targets, gradient)
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

impl<B: Backend, C: CheckpointStrategy> Backend for Autodiff<B, C> {
    fn fused_batch_norm2d(layer: BatchNorm2d<Self>) -> BatchNorm2dOutput<Self> {
        batch_norm2d::recorded(layer)
    }

    fn fused_lstm(layer: Lstm<Self>) -> LstmOutput<Self> {
        lstm::recorded(layer)
    }

    fn fused_linear(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        rectified: bool,
    ) -> FloatTensor<Self> {
        linear::recorded::<B, C>(input, weight, bias, rectified)
    }

    fn fused_embedding(table: FloatTensor<Self>, indices: IntTensor<Self>) -> FloatTensor<Self> {
        embedding::recorded::<B, C>(table, indices)
    }

    fn fused_cross_entropy(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
    ) -> FloatTensor<Self> {
        cross_entropy::recorded::<B, C>(logits, targets)
    }
}

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
