//! The operations that Flex, the CPU backend, does itself.

mod adam;
mod rescale;
mod rms_prop;
mod sgd;
mod square_sum;

use burn::backend::Flex;
use burn::tensor::{DType, ops::FloatTensor};
use burn_flex::FlexTensor;

use crate::{AdamStep, Backend, RmsPropStep, SgdStep};

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
