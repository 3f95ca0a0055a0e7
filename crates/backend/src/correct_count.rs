//! How many predictions are correct, from which the training accuracy is computed.
//!
//! Overrides: Flex (`flex/correct_count.rs`), CUDA and WGPU (`cube/correct_count.rs`).

use burn::tensor::{
    Int, Tensor, TensorMetadata,
    ops::{FloatTensor, IntTensor},
};

use crate::{
    Backend,
    overrides::note_composed,
    primitive::{primitive, tensor},
};

/// See [`Backend::fused_correct_count`].
pub(crate) fn composed<B: Backend>(
    logits: FloatTensor<B>,
    targets: IntTensor<B>,
    so_far: FloatTensor<B>,
) -> FloatTensor<B> {
    note_composed();
    let [batch, classes] = logits.shape().dims();
    let logits = tensor::<B, 2>(logits);
    let predictions = match classes {
        1 => logits.greater_elem(0.0).int(),
        _ => logits.argmax(1),
    };
    let targets = Tensor::<B, 1, Int>::from_primitive(targets).cast(predictions.dtype());
    let correct = predictions.reshape([batch]).equal(targets);
    let so_far = tensor::<B, 1>(so_far);
    let count = correct.float().sum().cast(so_far.dtype());
    primitive(so_far + count)
}
