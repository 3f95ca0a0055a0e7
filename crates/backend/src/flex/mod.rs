//! The operations that Flex, the CPU backend, does itself.

#![allow(
    unsafe_code,
    reason = "kernels use vector instructions and write to disjoint parts of a tensor"
)]

// An operation a file.
mod adam;
mod conv;
mod pool;
mod sgd;
mod square_sum;

// What kernels are made of.
mod parallel;
mod recycled;
mod simd;
mod sum;

use burn::backend::Flex;
use burn::tensor::{
    DType, Shape,
    ops::{FloatTensor, IntTensor},
};
use burn_flex::FlexTensor;

use crate::{
    AdamStep, Backend, SgdStep,
    conv2d::{Conv2dGradients, Conv2dParents},
    functional::{Conv2dOptions, PoolOptions},
};

impl Backend for Flex {
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

    fn fused_conv2d_relu_max_pool(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        options: &Conv2dOptions,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        conv::forward_and_pool(input, weight, bias, options)
    }

    fn fused_conv2d_relu_max_pool_backward(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        output_and_gradient: [FloatTensor<Self>; 2],
        indices: IntTensor<Self>,
        options: &Conv2dOptions,
        wanted: Conv2dParents<bool>,
    ) -> Conv2dGradients<Self> {
        conv::backward_of_pool(input, weight, output_and_gradient, indices, options, wanted)
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
