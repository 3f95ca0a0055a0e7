//! The operations that CUDA and WGPU do themselves, by kernels that CubeCL compiles for either.
//!
//! Burn fuses what follows upon one another element by element. A kernel is worth its lines where that
//! fails: where sums stand between the elements, where Burn would start one small kernel after another,
//! or where one of its own does with one unit what many could do.
//!
//! Sums are made in an order that follows from shapes alone, without atomics, so a run can be repeated
//! bit for bit.

// An operation a file.
mod adam;
mod batch_norm2d;
mod cross_entropy;
mod embedding;
mod lstm;
mod rms_prop;
mod sgd;
mod square_sum;

// What kernels are made of.
mod buffers;
mod lanes;
mod registered;

use burn::tensor::{
    DType, TensorMetadata,
    ops::{FloatTensor, FloatTensorOps, IntTensor},
};
use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime, FloatElement, IntElement};
use burn_fusion::Fusion;

use crate::{
    AdamStep, Backend, BatchNorm2d, BatchNorm2dGradients, BatchNorm2dOutput, BatchNorm2dSaved,
    Lstm, LstmGradients, LstmOutput, LstmOutputGradients, LstmSaved, RmsPropStep, SgdStep,
    overrides::note_taken,
};

/// Whether kernels take the values, and notes that they do; else Burn's operations take them.
fn taken<const N: usize>(values: [&impl TensorMetadata; N]) -> bool {
    let taken = values.iter().all(|values| {
        values.dtype() == DType::F32 && can_be_counted(values.shape().num_elements())
    });
    if taken {
        note_taken();
    }
    taken
}

/// Maps `[batch, channels, height, width]` as `[batch, height * width, channels]`, which is how they
/// lie in memory where a convolution returned them, so that nothing is copied.
fn places<B: Backend>(maps: FloatTensor<B>) -> FloatTensor<B> {
    let [batch, channels, height, width] = maps.shape().dims();
    let maps = B::float_permute(maps, &[0, 2, 3, 1]);
    B::float_reshape(maps, [batch, height * width, channels].into())
}

/// Whether there are elements, and no more than kernels can count, which do so in 32 bits.
fn can_be_counted(elements: usize) -> bool {
    (1..=u32::MAX as usize).contains(&elements)
}

impl<R, F, I, T> Backend for Fusion<CubeBackend<R, F, I, T>>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    T: BoolElement,
{
    fn fused_adam(
        weight: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        moments: [FloatTensor<Self>; 2],
        diverged: FloatTensor<Self>,
        step: &AdamStep,
    ) -> (FloatTensor<Self>, [FloatTensor<Self>; 2]) {
        if !taken([&weight, &gradient]) {
            return crate::adam::composed::<Self>(weight, gradient, moments, diverged, step);
        }
        adam::adam(weight, gradient, moments, diverged, step)
    }

    fn fused_sgd(
        weight: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        momentum: FloatTensor<Self>,
        diverged: FloatTensor<Self>,
        step: &SgdStep,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        if !taken([&weight, &gradient]) {
            return crate::sgd::composed::<Self>(weight, gradient, momentum, diverged, step);
        }
        sgd::sgd(weight, gradient, momentum, diverged, step)
    }

    fn fused_rms_prop(
        weight: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        state: [FloatTensor<Self>; 2],
        diverged: FloatTensor<Self>,
        step: &RmsPropStep,
    ) -> (FloatTensor<Self>, [FloatTensor<Self>; 2]) {
        if !taken([&weight, &gradient]) {
            return crate::rms_prop::composed::<Self>(weight, gradient, state, diverged, step);
        }
        rms_prop::rms_prop(weight, gradient, state, diverged, step)
    }

    fn fused_square_sum(sum: FloatTensor<Self>, values: FloatTensor<Self>) -> FloatTensor<Self> {
        if !taken([&sum, &values]) {
            return crate::square_sum::composed::<Self>(sum, values);
        }
        square_sum::square_sum(sum, values)
    }

    fn fused_batch_norm2d(layer: BatchNorm2d<Self>) -> BatchNorm2dOutput<Self> {
        if !taken([&layer.input, &layer.scale]) {
            return crate::batch_norm2d::composed(layer);
        }
        batch_norm2d::forward(layer)
    }

    fn fused_batch_norm2d_backward(
        saved: BatchNorm2dSaved<Self>,
        gradient: FloatTensor<Self>,
    ) -> BatchNorm2dGradients<Self> {
        if !taken([&saved.input, &gradient]) {
            return crate::batch_norm2d::composed_backward(saved, gradient);
        }
        batch_norm2d::backward(saved, gradient)
    }

    fn fused_channel_sums(maps: FloatTensor<Self>) -> FloatTensor<Self> {
        let [_, channels, _, _] = maps.shape().dims();
        let sums = Self::float_sum_dim(Self::float_sum_dim(places::<Self>(maps), 1), 0);
        Self::float_reshape(sums, [channels].into())
    }

    fn fused_global_average_pool(input: FloatTensor<Self>) -> FloatTensor<Self> {
        let [batch, channels, _, _] = input.shape().dims();
        let means = Self::float_mean_dim(places::<Self>(input), 1);
        Self::float_reshape(means, [batch, channels].into())
    }

    fn fused_lstm_saving(layer: Lstm<Self>) -> (LstmOutput<Self>, Vec<FloatTensor<Self>>) {
        if !lstm::takes(&layer.hidden_weight, layer.input.shape().dims()) {
            return crate::lstm::composed(layer);
        }
        lstm::forward(layer)
    }

    fn fused_lstm_backward(
        saved: LstmSaved<Self>,
        gradients: LstmOutputGradients<Self>,
    ) -> LstmGradients<Self> {
        if !lstm::takes(&saved.hidden_weight, saved.shape) {
            return crate::lstm::composed_backward(saved, gradients);
        }
        lstm::backward(saved, gradients)
    }

    fn fused_embedding_backward(
        entries: usize,
        indices: IntTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        if !taken([&gradient]) {
            return crate::embedding::composed_backward::<Self>(entries, indices, gradient);
        }
        let [_, _, width] = gradient.shape().dims();
        let device = Self::float_device(&gradient);
        let table = Self::float_zeros([entries, width].into(), &device, DType::F32.into());
        embedding::backward(table, indices, gradient)
    }

    fn fused_cross_entropy_saving(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        if !taken([&logits]) {
            return crate::cross_entropy::composed::<Self>(logits, targets);
        }
        cross_entropy::forward(logits, targets)
    }

    fn fused_cross_entropy_backward(
        probabilities: FloatTensor<Self>,
        targets: IntTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        if !taken([&probabilities, &gradient]) {
            return crate::cross_entropy::composed_backward::<Self>(
                probabilities,
                targets,
                gradient,
            );
        }
        cross_entropy::backward(probabilities, targets, gradient)
    }
}
