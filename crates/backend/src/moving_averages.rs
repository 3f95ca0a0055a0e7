//! Moving averages: of weights, and of the statistics of batches.
//!
//! Overrides: Flex (`flex/moving_averages.rs`), CUDA and WGPU (`cube/moving_averages.rs`).

use burn::tensor::ops::FloatTensor;

use crate::Backend;

/// See [`Backend::fused_moving_averages`].
pub(crate) fn composed<B: Backend>(
    pairs: Vec<[FloatTensor<B>; 2]>,
    share: f64,
    factor: f64,
) -> Vec<FloatTensor<B>> {
    let next = |[average, value]: [FloatTensor<B>; 2]| {
        let distance = B::float_sub(B::float_mul_scalar(value, factor.into()), average.clone());
        B::float_add(average, B::float_mul_scalar(distance, share.into()))
    };
    pairs.into_iter().map(next).collect()
}
