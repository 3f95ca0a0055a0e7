//! The operations that a backend may do better than a composition of Burn's.
//!
//! Each has a default body of plain Burn operations, which is correct on every backend and the
//! reference of the tests; a backend overrides it where that pays. Most names begin with `fused_`,
//! because a method named like one of Burn's would be ambiguous in code that is generic over both.

use burn::tensor::{
    Shape, TensorMetadata,
    ops::{FloatTensor, IntTensor},
};

use crate::{
    BatchNorm2d, BatchNorm2dGradients, BatchNorm2dOutput, BatchNorm2dSaved, DropoutMask,
    LinearGradients, LinearSaved, Lstm, LstmGradients, LstmOutput, LstmOutputGradients, LstmSaved,
    Parameter, PlaneMap, UpdateRule, Updated, affine, batch_norm2d, binary_cross_entropy,
    conv2d::{self, Conv2dGradients, Conv2dSaved},
    conv2d_relu_max_pool, correct_count, cross_entropy, divergence, dropout, embedding,
    embedding_mean,
    functional::{Conv2dOptions, PoolOptions},
    global_average_pool, linear, lstm, max_pool2d, moving_averages, normalized, pixels, rescale,
    square_sums, subsample, update,
};

/// A Burn backend with this project's fused operations.
pub trait Backend: burn::tensor::backend::Backend {
    /// Whether maps lie in memory with their channels last where a convolution returned them.
    const CHANNELS_LAST: bool = false;
    /// Whether an operation has been computed once the call returns. On a GPU it has only been
    /// queued, and reading a result waits for it.
    const IS_SYNCHRONOUS: bool;

    /// Bytes of the device's memory that this program has now, if known: what the process has, or on
    /// a GPU what CubeCL has reserved for tensors.
    fn memory_in_use(_: &Self::Device) -> Option<u64> {
        crate::device::process_memory()
    }

    /// One update of each parameter.
    ///
    /// - `diverged`: `[1]`; if not zero, everything is returned unchanged
    ///
    /// # Panics
    ///
    /// If a parameter has other than [`UpdateRule::slots`] slots.
    fn fused_update(
        parameters: Vec<Parameter<Self>>,
        diverged: FloatTensor<Self>,
        rule: &UpdateRule,
    ) -> Vec<Updated<Self>> {
        update::composed(parameters, diverged, rule)
    }

    /// Moves averages towards values: each `average + share * (factor * value - average)`. This multiplies
    /// the distance: with `1 - share` and `share` rounded separately, averages would shrink or grow.
    ///
    /// - `pairs`: an average and its value, of one shape (any)
    fn fused_moving_averages(
        pairs: Vec<[FloatTensor<Self>; 2]>,
        share: f64,
        factor: f64,
    ) -> Vec<FloatTensor<Self>> {
        moving_averages::composed::<Self>(pairs, share, factor)
    }

    /// The sum of the squares of each tensor (any shape, at least one): `[tensors]`.
    fn fused_square_sums(values: Vec<FloatTensor<Self>>) -> FloatTensor<Self> {
        square_sums::composed::<Self>(values)
    }

    /// The factor that clips an update's gradients, and whether the update is finite.
    ///
    /// - `square_sums`: `[tensors]`, of [`fused_square_sums`](Self::fused_square_sums); the others `[1]`
    /// - `largest_norm`: that of all gradients together, if it is limited
    /// - returns: the factor that limits the norm, at most 1, and 1 where the sum of `square_sums` or `loss` is
    ///   infinite or NaN, else `diverged`: `[1]` each
    fn fused_divergence(
        square_sums: FloatTensor<Self>,
        loss: FloatTensor<Self>,
        diverged: FloatTensor<Self>,
        largest_norm: Option<f64>,
    ) -> [FloatTensor<Self>; 2] {
        divergence::composed::<Self>(square_sums, loss, diverged, largest_norm)
    }

    /// The values (any shape); where gradients are recorded, theirs is divided by `divisor`.
    fn gradient_divided(values: FloatTensor<Self>, divisor: usize) -> FloatTensor<Self> {
        let _ = divisor;
        values
    }

    /// The values in the memory layout in which operations read a parameter of this shape.
    fn laid_out(values: FloatTensor<Self>) -> FloatTensor<Self> {
        values
    }

    /// The sum of each column of a matrix `[rows, columns]`, `[columns]`, or that of a vector `[rows]`,
    /// `[1]`; in the same order each time.
    fn column_sums(values: FloatTensor<Self>) -> FloatTensor<Self> {
        let columns = values.shape().iter().skip(1).product();
        Self::float_reshape(Self::float_sum_dim(values, 0), Shape::new([columns]))
    }

    /// The products of matrices, pair by pair: `[.., rows, inner]` by `[.., inner, columns]`.
    fn product(left: FloatTensor<Self>, right: FloatTensor<Self>) -> FloatTensor<Self> {
        Self::float_matmul(left, right)
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
        embedding::composed::<Self>(table, indices)
    }

    /// The gradient of the table, `[entries, width]`, from that of the rows taken from it.
    ///
    /// - `indices`: `[batch, time]`, `gradient`: `[batch, time, width]`
    fn fused_embedding_backward(
        entries: usize,
        indices: IntTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        embedding::composed_backward::<Self>(entries, indices, gradient)
    }

    /// The mean of the rows of a table by index; 0 is no row, and the mean of none is 0.
    ///
    /// - `table`: `[entries, width]`, `indices`: `[batch, time]`
    /// - returns: `[batch, width]`
    fn fused_embedding_mean(
        table: FloatTensor<Self>,
        indices: IntTensor<Self>,
    ) -> FloatTensor<Self> {
        embedding_mean::composed::<Self>(table, indices)
    }

    /// The gradient of the table, `[entries, width]`, from that of the means, `[batch, width]`; that of entry 0
    /// is zeros.
    ///
    /// - `indices`: `[batch, time]`
    fn fused_embedding_mean_backward(
        entries: usize,
        indices: IntTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        embedding_mean::composed_backward::<Self>(entries, indices, gradient)
    }

    /// Cross-entropy of the softmax, one value per sample.
    ///
    /// - `logits`: `[batch, classes]`, `targets`: `[batch]`
    /// - returns: `[batch]`, and the softmax, `[batch, classes]`, without gradients
    fn fused_cross_entropy(
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

    /// Adds to `so_far` how many predictions are correct.
    ///
    /// - `logits`: `[batch, classes]`, of two classes perhaps `[batch, 1]`
    /// - `targets`: `[batch]`
    /// - `so_far`: `[1]`
    /// - returns: `[1]`
    fn fused_correct_count(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
        so_far: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        correct_count::composed::<Self>(logits, targets, so_far)
    }

    /// Binary cross-entropy, one value per sample; all are `[batch]`, the targets 0 or 1.
    fn fused_binary_cross_entropy(
        logits: FloatTensor<Self>,
        targets: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        binary_cross_entropy::composed::<Self>(logits, targets)
    }

    /// The gradient of the logits, from those of the losses.
    fn fused_binary_cross_entropy_backward(
        logits: FloatTensor<Self>,
        targets: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        binary_cross_entropy::composed_backward::<Self>(logits, targets, gradient)
    }

    /// Multiplies tensors (any shapes) by `factor` (`[1]`), which lies on the device.
    fn fused_rescale(
        values: Vec<FloatTensor<Self>>,
        factor: FloatTensor<Self>,
    ) -> Vec<FloatTensor<Self>> {
        rescale::composed::<Self>(values, factor)
    }

    /// Convolution; shapes as in [`conv2d`](crate::functional::conv2d).
    fn fused_conv2d(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: Option<FloatTensor<Self>>,
        options: &Conv2dOptions,
        rectified: bool,
    ) -> FloatTensor<Self> {
        conv2d::composed::<Self>(input, weight, bias, options, rectified)
    }

    /// The gradients of [`fused_conv2d`](Self::fused_conv2d) that are wanted, from that of its output.
    fn fused_conv2d_backward(
        saved: Conv2dSaved<Self>,
        gradient: FloatTensor<Self>,
    ) -> Conv2dGradients<Self> {
        conv2d::composed_backward(saved, gradient)
    }

    /// Convolution, ReLU and pooling; shapes as in
    /// [`conv2d_relu_max_pool`](crate::functional::conv2d_relu_max_pool).
    ///
    /// - returns: the output, and a tensor of its shape by which the backward pass finds the winner of
    ///   each window; its type and meaning are up to the backend
    fn fused_conv2d_relu_max_pool(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        options: &Conv2dOptions,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        conv2d_relu_max_pool::composed::<Self>(input, weight, bias, options)
    }

    /// The gradients of [`fused_conv2d_relu_max_pool`](Self::fused_conv2d_relu_max_pool) that are
    /// wanted, from that of its output.
    ///
    /// - `indices`: what the forward pass returned
    fn fused_conv2d_relu_max_pool_backward(
        saved: Conv2dSaved<Self>,
        indices: IntTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> Conv2dGradients<Self> {
        conv2d_relu_max_pool::composed_backward(saved, indices, gradient)
    }

    /// The maximum of each window; shapes as in [`max_pool2d`](crate::functional::max_pool2d).
    ///
    /// - returns: the output, and a tensor of its shape by which the backward pass finds the winner of
    ///   each window; its type and meaning are up to the backend
    fn fused_max_pool2d(
        input: FloatTensor<Self>,
        options: &PoolOptions,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        max_pool2d::composed::<Self>(input, options)
    }

    /// The gradient of [`fused_max_pool2d`](Self::fused_max_pool2d), of the shape `input`.
    ///
    /// - `indices`: what the forward pass returned
    /// - `gradient`: of the shape of the output
    fn fused_max_pool2d_backward(
        indices: IntTensor<Self>,
        gradient: FloatTensor<Self>,
        input: Shape,
        options: &PoolOptions,
    ) -> FloatTensor<Self> {
        max_pool2d::composed_backward::<Self>(indices, gradient, input, options)
    }

    /// Every so many rows and columns; shapes as in [`subsample`](crate::functional::subsample).
    fn fused_subsample(
        maps: FloatTensor<Self>,
        stride: usize,
        channels: usize,
    ) -> FloatTensor<Self> {
        subsample::composed::<Self>(maps, stride, channels)
    }

    /// The gradient of [`fused_subsample`](Self::fused_subsample), of the shape `input`, from that of
    /// its output.
    fn fused_subsample_backward(
        gradient: FloatTensor<Self>,
        input: Shape,
        stride: usize,
    ) -> FloatTensor<Self> {
        subsample::composed_backward::<Self>(gradient, input, stride)
    }

    /// The mean of each map.
    ///
    /// - `input`: `[batch, channels, height, width]`
    /// - returns: `[batch, channels]`
    fn fused_global_average_pool(input: FloatTensor<Self>) -> FloatTensor<Self> {
        global_average_pool::composed::<Self>(input)
    }

    /// The gradient of [`fused_global_average_pool`](Self::fused_global_average_pool), of the
    /// shape `input`, from that of its output.
    fn fused_global_average_pool_backward(
        gradient: FloatTensor<Self>,
        input: Shape,
    ) -> FloatTensor<Self> {
        global_average_pool::composed_backward::<Self>(gradient, input)
    }

    /// Images `[batch, channels, height, width]` times factors, plus summands, `[channels]` each.
    fn fused_normalized(
        images: FloatTensor<Self>,
        factors_and_summands: [FloatTensor<Self>; 2],
    ) -> FloatTensor<Self> {
        normalized::composed::<Self>(images, factors_and_summands)
    }

    /// Multiplies each element (any shape, `[batch, ..]`) by its factor in the mask.
    fn fused_dropout(values: FloatTensor<Self>, mask: &DropoutMask) -> FloatTensor<Self> {
        dropout::composed::<Self>(values, mask)
    }

    /// Converts images of bytes to numbers between 0 and 1; see [`pixels`](crate::functional::pixels).
    fn fused_pixels(
        packed: IntTensor<Self>,
        indices: Option<IntTensor<Self>>,
        shape: [usize; 3],
    ) -> FloatTensor<Self> {
        pixels::composed::<Self>(packed, indices, shape)
    }

    /// Transforms each image by its own map; see [`affine`](crate::functional::affine).
    fn fused_affine(images: FloatTensor<Self>, maps: &[PlaneMap]) -> FloatTensor<Self> {
        affine::composed::<Self>(images, maps)
    }
}

#[cfg(feature = "ndarray")]
impl Backend for burn::backend::NdArray {
    const IS_SYNCHRONOUS: bool = true;
}
