//! The cross-entropy of the softmax, one value per sample.
//!
//! Overrides: Flex (`flex/cross_entropy.rs`), CUDA and WGPU (`cube/cross_entropy.rs`).

use burn::backend::autodiff::{Autodiff, checkpoint::strategy::CheckpointStrategy};
use burn::tensor::{
    IndexingUpdateOp, Int, Tensor, TensorMetadata,
    activation::log_softmax,
    backend::AutodiffBackend,
    ops::{FloatTensor, IntTensor},
};

use crate::{
    Backend,
    overrides::note_composed,
    primitive::{primitive, tensor},
    tape,
};

/// The losses `[batch]`, and the softmax `[batch, classes]`, from which the backward pass starts.
pub(crate) fn composed<B: Backend>(
    logits: FloatTensor<B>,
    targets: IntTensor<B>,
) -> (FloatTensor<B>, FloatTensor<B>) {
    note_composed();
    let rows = logits.shape()[0];
    let logarithms = log_softmax(tensor::<B, 2>(logits), 1);
    let targets = Tensor::<B, 1, Int>::from_primitive(targets).reshape([rows, 1]);
    let losses = logarithms.clone().gather(1, targets).neg().reshape([rows]);
    (primitive(losses), primitive(logarithms.exp()))
}

/// `(softmax - 1 at the target) * gradient of the loss`
pub(crate) fn composed_backward<B: Backend>(
    probabilities: FloatTensor<B>,
    targets: IntTensor<B>,
    gradient: FloatTensor<B>,
) -> FloatTensor<B> {
    note_composed();
    let rows = probabilities.shape()[0];
    let gradient = tensor::<B, 1>(gradient).reshape([rows, 1]);
    let targets = Tensor::<B, 1, Int>::from_primitive(targets).reshape([rows, 1]);
    let everywhere = tensor::<B, 2>(probabilities) * gradient.clone();
    primitive(everywhere.scatter(1, targets, gradient.neg(), IndexingUpdateOp::Add))
}

type Recorded<B, C> = FloatTensor<Autodiff<B, C>>;

pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    logits: Recorded<B, C>,
    targets: IntTensor<B>,
) -> (Recorded<B, C>, Recorded<B, C>) {
    let recording = tape::begin::<B, C, _, 1>([&logits], |(probabilities, targets), gradient| {
        [Some(B::fused_cross_entropy_backward(probabilities, targets, gradient))]
    });
    let (losses, probabilities) = B::fused_cross_entropy(logits.primitive, targets.clone());
    let losses = tape::finish(recording, (probabilities.clone(), targets), losses);
    (losses, Autodiff::<B, C>::from_inner(probabilities))
}
