//! The binary cross-entropy of logits, one value per sample.
//!
//! Override: CUDA and WGPU (`cube/binary_cross_entropy.rs`).

use burn::backend::autodiff::{Autodiff, checkpoint::strategy::CheckpointStrategy};
use burn::tensor::{activation::sigmoid, ops::FloatTensor};

use crate::{
    Backend,
    primitive::{primitive, tensor},
    tape,
};

/// `max(x, 0) - x y + ln(1 + exp(-|x|))`, which neither overflows nor loses digits.
pub(crate) fn composed<B: Backend>(
    logits: FloatTensor<B>,
    targets: FloatTensor<B>,
) -> FloatTensor<B> {
    let (x, y) = (tensor::<B, 1>(logits), tensor::<B, 1>(targets));
    let overflow_free = x.clone().abs().neg().exp().log1p();
    primitive(x.clone().clamp_min(0.0) - x * y + overflow_free)
}

/// `(sigmoid(x) - y) * gradient of the loss`
pub(crate) fn composed_backward<B: Backend>(
    logits: FloatTensor<B>,
    targets: FloatTensor<B>,
    gradient: FloatTensor<B>,
) -> FloatTensor<B> {
    let difference = sigmoid(tensor::<B, 1>(logits)) - tensor(targets);
    primitive(difference * tensor(gradient))
}

pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    logits: FloatTensor<Autodiff<B, C>>,
    targets: FloatTensor<Autodiff<B, C>>,
) -> FloatTensor<Autodiff<B, C>> {
    let recording = tape::begin::<B, C, _, 1>([&logits], |(logits, targets), gradient| {
        [Some(B::fused_binary_cross_entropy_backward(logits, targets, gradient))]
    });
    let (logits, targets) = (logits.primitive, targets.primitive);
    let losses = B::fused_binary_cross_entropy(logits.clone(), targets.clone());
    tape::finish(recording, (logits, targets), losses)
}
