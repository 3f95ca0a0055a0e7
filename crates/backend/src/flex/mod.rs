//! The operations that are overridden on Flex, the CPU backend.

#![allow(
    unsafe_code,
    reason = "kernels use vector instructions and write to disjoint parts of a tensor"
)]

// One operation per file.
mod adam;
mod affine;
mod batch_norm2d;
mod conv;
mod correct_count;
mod cross_entropy;
mod dropout;
mod embedding;
mod embedding_mean;
mod global_average_pool;
mod linear;
mod lstm;
mod moving_averages;
mod pool;
mod rescale;
mod rms_prop;
mod sgd;
mod square_sums;
mod subsample;
mod update;

// What kernels are made of.
mod activations;
mod indices;
mod lanes;
mod parallel;
mod parts;
mod product;
mod recycled;
mod simd;
mod sum;
#[cfg(test)]
mod testing;
mod transpose;

use burn::backend::Flex;
use burn::tensor::{
    DType, Shape,
    ops::{FloatTensor, IntTensor},
};
use burn_flex::FlexTensor;

pub(crate) use self::recycled::free_kept_memory;
use self::simd::Level;
use crate::{
    Backend, BatchNorm2d, BatchNorm2dGradients, BatchNorm2dOutput, BatchNorm2dSaved,
    Conv2dGradients, Conv2dSaved, DropoutMask, LinearGradients, LinearSaved, Lstm, LstmGradients,
    LstmOutput, LstmOutputGradients, LstmSaved, Parameter, PlaneMap, UpdateRule, Updated,
    functional::{Conv2dOptions, PoolOptions},
    overrides::note_taken,
};

impl Backend for Flex {
    const IS_SYNCHRONOUS: bool = true;

    fn fused_batch_norm2d(layer: BatchNorm2d<Self>) -> BatchNorm2dOutput<Self> {
        batch_norm2d::forward(layer)
    }

    fn fused_batch_norm2d_backward(
        saved: BatchNorm2dSaved<Self>,
        gradient: FloatTensor<Self>,
    ) -> BatchNorm2dGradients<Self> {
        batch_norm2d::backward(saved, gradient)
    }

    fn fused_lstm(layer: Lstm<Self>) -> LstmOutput<Self> {
        lstm::forward(layer, false).0
    }

    fn fused_lstm_saving(layer: Lstm<Self>) -> (LstmOutput<Self>, Vec<FloatTensor<Self>>) {
        lstm::forward(layer, true)
    }

    fn fused_lstm_backward(
        saved: LstmSaved<Self>,
        gradients: LstmOutputGradients<Self>,
    ) -> LstmGradients<Self> {
        lstm::backward(saved, gradients)
    }

    fn fused_linear(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        rectified: bool,
    ) -> FloatTensor<Self> {
        linear::forward(input, weight, bias, rectified)
    }

    fn fused_linear_backward(
        saved: LinearSaved<Self>,
        gradient: FloatTensor<Self>,
    ) -> LinearGradients<Self> {
        linear::backward(saved, gradient)
    }

    fn fused_embedding(table: FloatTensor<Self>, indices: IntTensor<Self>) -> FloatTensor<Self> {
        embedding::forward(table, indices)
    }

    fn fused_embedding_backward(
        entries: usize,
        indices: IntTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        embedding::backward(entries, indices, gradient)
    }

    fn fused_embedding_mean(
        table: FloatTensor<Self>,
        indices: IntTensor<Self>,
    ) -> FloatTensor<Self> {
        embedding_mean::forward(table, indices)
    }

    fn fused_embedding_mean_backward(
        entries: usize,
        indices: IntTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        embedding_mean::backward(entries, indices, gradient)
    }

    fn fused_correct_count(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
        so_far: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        correct_count::of(logits, targets, so_far)
    }

    fn fused_cross_entropy(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        cross_entropy::forward(logits, targets)
    }

    fn fused_cross_entropy_backward(
        probabilities: FloatTensor<Self>,
        targets: IntTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        cross_entropy::backward(probabilities, targets, gradient)
    }

    fn fused_update(
        parameters: Vec<Parameter<Self>>,
        diverged: FloatTensor<Self>,
        rule: &UpdateRule,
    ) -> Vec<Updated<Self>> {
        let slots = parameters.iter().flat_map(|one| &one.slots);
        let others = parameters.iter().flat_map(|one| [&one.weight, &one.gradient]);
        if !all_f32(slots.chain(others)) {
            return crate::update::composed(parameters, diverged, rule);
        }
        note_taken();
        let update = |parameter| update::update(Level::best(), parameter, &diverged, rule);
        parameters.into_iter().map(update).collect()
    }

    fn fused_moving_averages(
        pairs: Vec<[FloatTensor<Self>; 2]>,
        share: f64,
        factor: f64,
    ) -> Vec<FloatTensor<Self>> {
        if !all_f32(pairs.iter().flatten()) {
            return crate::moving_averages::composed::<Self>(pairs, share, factor);
        }
        note_taken();
        let moved = |pair| moving_averages::moved(Level::best(), pair, [share, factor]);
        pairs.into_iter().map(moved).collect()
    }

    fn fused_rescale(
        values: Vec<FloatTensor<Self>>,
        factor: FloatTensor<Self>,
    ) -> Vec<FloatTensor<Self>> {
        if !all_f32(values.iter().chain([&factor])) {
            return crate::rescale::composed::<Self>(values, factor);
        }
        note_taken();
        let factor = elements(&contiguous(factor))[0];
        values.into_iter().map(|values| rescale::by(values, factor)).collect()
    }

    fn fused_square_sums(values: Vec<FloatTensor<Self>>) -> FloatTensor<Self> {
        square_sums::of(values)
    }

    fn fused_conv2d(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: Option<FloatTensor<Self>>,
        options: &Conv2dOptions,
        rectified: bool,
    ) -> FloatTensor<Self> {
        conv::forward(input, weight, bias, options, rectified)
    }

    fn fused_conv2d_backward(
        saved: Conv2dSaved<Self>,
        gradient: FloatTensor<Self>,
    ) -> Conv2dGradients<Self> {
        conv::backward(saved, gradient)
    }

    fn fused_conv2d_relu_max_pool(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        options: &Conv2dOptions,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        conv::forward_and_pool(input, weight, bias, options)
    }

    fn fused_conv2d_relu_max_pool_backward(
        saved: Conv2dSaved<Self>,
        indices: IntTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> Conv2dGradients<Self> {
        conv::backward_of_pool(saved, indices, gradient)
    }

    fn fused_max_pool2d(
        input: FloatTensor<Self>,
        options: &PoolOptions,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        pool::forward(input, options)
    }

    fn fused_max_pool2d_backward(
        indices: IntTensor<Self>,
        gradient: FloatTensor<Self>,
        input: Shape,
        options: &PoolOptions,
    ) -> FloatTensor<Self> {
        pool::backward(indices, gradient, input, options)
    }

    fn fused_subsample(
        maps: FloatTensor<Self>,
        stride: usize,
        channels: usize,
    ) -> FloatTensor<Self> {
        subsample::forward(maps, stride, channels)
    }

    fn fused_subsample_backward(
        gradient: FloatTensor<Self>,
        input: Shape,
        stride: usize,
    ) -> FloatTensor<Self> {
        subsample::backward(gradient, input, stride)
    }

    fn fused_global_average_pool(input: FloatTensor<Self>) -> FloatTensor<Self> {
        global_average_pool::forward(input)
    }

    fn fused_global_average_pool_backward(
        gradient: FloatTensor<Self>,
        input: Shape,
    ) -> FloatTensor<Self> {
        global_average_pool::backward(gradient, input)
    }

    fn fused_dropout(values: FloatTensor<Self>, mask: &DropoutMask) -> FloatTensor<Self> {
        dropout::apply(values, mask)
    }

    fn fused_affine(images: FloatTensor<Self>, maps: &[PlaneMap]) -> FloatTensor<Self> {
        affine::forward(images, maps)
    }
}

/// Whether the kernels, which are written for f32, apply to all of `tensors`.
fn all_f32<'a>(tensors: impl IntoIterator<Item = &'a FlexTensor>) -> bool {
    tensors.into_iter().all(|tensor| tensor.dtype() == DType::F32)
}

/// The tensor with its elements contiguous and covering its whole storage.
fn contiguous(tensor: FlexTensor) -> FlexTensor {
    // Kernels trust the shape, and the number of an expanded tensor's elements may overflow.
    let elements = number_of_elements(tensor.layout().shape());
    if tensor.as_slice::<f32>().is_some_and(|slice| slice.len() == elements)
        && tensor.bytes().len() == elements * size_of::<f32>()
    {
        tensor
    } else {
        tensor.to_contiguous()
    }
}

/// The number of elements of a tensor of this shape.
///
/// # Panics
///
/// Where it overflows.
fn number_of_elements(shape: &Shape) -> usize {
    let checked = |count: usize, &size: &usize| count.checked_mul(size);
    // Any zero makes it zero, whatever comes before.
    if shape.contains(&0) {
        return 0;
    }
    shape.iter().try_fold(1, checked).expect("fewer elements than addresses")
}

/// The elements of a tensor that went through [`contiguous`].
fn elements(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice().expect("a contiguous f32 tensor")
}

/// The sizes of a tensor's `N` dimensions.
///
/// # Panics
///
/// Where it has more or fewer: kernels trust these sizes, and one of zero behind them would leave
/// nothing to read.
fn dimensions<const N: usize>(tensor: &FlexTensor) -> [usize; N] {
    let shape = &tensor.layout().shape()[..];
    shape.try_into().unwrap_or_else(|_| panic!("shape {shape:?} instead of one of {N} sizes"))
}

/// Panics unless a tensor has the shape that the other operands imply: kernels trust it, and would
/// read past the end of a smaller tensor.
fn assert_shape(what: &str, tensor: &FlexTensor, shape: &[usize]) {
    let found = &tensor.layout().shape()[..];
    assert!(found == shape, "{what}: shape {found:?} instead of {shape:?}");
}

/// A tensor for a result of the shape of `source`, which went through [`contiguous`], and the
/// source; or the source itself, to be overwritten, if nobody else holds it.
fn output_from(source: FlexTensor) -> (FlexTensor, Option<FlexTensor>) {
    if source.is_unique() {
        (source, None)
    } else {
        (recycled::floats(source.layout().shape().clone()), Some(source))
    }
}
