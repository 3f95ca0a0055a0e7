//! The operations that Flex, the CPU backend, does itself.

#![allow(
    unsafe_code,
    reason = "kernels use vector instructions and write to disjoint parts of a tensor"
)]

// An operation a file.
mod adam;
mod batch_norm2d;
mod conv;
mod rescale;
mod rms_prop;
mod sgd;
mod square_sum;

// What kernels are made of.
mod parallel;
mod recycled;
mod simd;
#[cfg(test)]
mod testing;

use burn::backend::Flex;
use burn::tensor::{DType, ops::FloatTensor};
use burn_flex::FlexTensor;

use crate::{
    AdamStep, Backend, BatchNorm2d, BatchNorm2dGradients, BatchNorm2dOutput, BatchNorm2dSaved,
    RmsPropStep, SgdStep,
    conv2d::{Conv2dGradients, Conv2dParents},
    functional::Conv2dOptions,
};

impl Backend for Flex {
    fn fused_batch_norm2d(layer: BatchNorm2d<Self>) -> BatchNorm2dOutput<Self> {
        batch_norm2d::forward(layer)
    }

    fn fused_batch_norm2d_backward(
        saved: BatchNorm2dSaved<Self>,
        gradient: FloatTensor<Self>,
    ) -> BatchNorm2dGradients<Self> {
        batch_norm2d::backward(saved, gradient)
    }

    fn fused_adam(
        weight: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        moments: [FloatTensor<Self>; 2],
        diverged: FloatTensor<Self>,
        step: &AdamStep,
    ) -> (FloatTensor<Self>, [FloatTensor<Self>; 2]) {
        adam::update(weight, gradient, moments, diverged, step)
    }

    fn fused_sgd(
        weight: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        momentum: FloatTensor<Self>,
        diverged: FloatTensor<Self>,
        step: &SgdStep,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        sgd::update(weight, gradient, momentum, diverged, step)
    }

    fn fused_rms_prop(
        weight: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        state: [FloatTensor<Self>; 2],
        diverged: FloatTensor<Self>,
        step: &RmsPropStep,
    ) -> (FloatTensor<Self>, [FloatTensor<Self>; 2]) {
        rms_prop::update(weight, gradient, state, diverged, step)
    }

    fn fused_rescale(values: FloatTensor<Self>, factor: FloatTensor<Self>) -> FloatTensor<Self> {
        rescale::by(values, factor)
    }

    fn fused_square_sum(sum: FloatTensor<Self>, values: FloatTensor<Self>) -> FloatTensor<Self> {
        square_sum::add(sum, values)
    }

    fn fused_conv2d(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: Option<FloatTensor<Self>>,
        options: &Conv2dOptions,
    ) -> FloatTensor<Self> {
        conv::forward(input, weight, bias, options)
    }

    fn fused_conv2d_backward(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        output: Option<FloatTensor<Self>>,
        gradient: FloatTensor<Self>,
        options: &Conv2dOptions,
        wanted: Conv2dParents<bool>,
    ) -> Conv2dGradients<Self> {
        conv::backward(input, weight, output, gradient, options, wanted)
    }
}

/// Whether the kernels, which are written for f32, apply to all of `tensors`.
fn all_f32<const N: usize>(tensors: [&FlexTensor; N]) -> bool {
    tensors.iter().all(|tensor| tensor.dtype() == DType::F32)
}

/// The tensor with its elements in one contiguous run, which covers its whole storage.
fn contiguous(tensor: FlexTensor) -> FlexTensor {
    let elements = tensor.layout().num_elements();
    if tensor.as_slice::<f32>().is_some_and(|slice| slice.len() == elements)
        && tensor.bytes().len() == elements * size_of::<f32>()
    {
        tensor
    } else {
        tensor.to_contiguous()
    }
}

/// The elements of a tensor that went through [`contiguous`].
fn elements(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice().expect("a contiguous f32 tensor")
}

/// The sizes of a tensor's `N` dimensions.
fn dimensions<const N: usize>(tensor: &FlexTensor) -> [usize; N] {
    tensor.layout().shape().dims()
}

/// A tensor for a result of the shape of `source`, which went through [`contiguous`], and the
/// source; or the source itself, where nobody else holds it and its elements may be overwritten.
fn output_from(source: FlexTensor) -> (FlexTensor, Option<FlexTensor>) {
    if source.is_unique() {
        (source, None)
    } else {
        (recycled::floats(source.layout().shape().clone()), Some(source))
    }
}
