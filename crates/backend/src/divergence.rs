//! Whether an update is finite, found on the device, so that no step waits for the host to look.
//!
//! Override: CUDA and WGPU (`cube/divergence.rs`).

use burn::tensor::ops::FloatTensor;

use crate::{
    Backend,
    primitive::{primitive, tensor},
};

/// See [`Backend::fused_divergence`].
pub(crate) fn composed<B: Backend>(
    square_sums: FloatTensor<B>,
    loss: FloatTensor<B>,
    diverged: FloatTensor<B>,
) -> [FloatTensor<B>; 2] {
    let total = tensor::<B, 1>(square_sums).sum_dim(0);
    // An infinity or a NaN of either is one of the sum.
    let found = total.clone() + tensor::<B, 1>(loss).abs();
    let not_finite = found.ones_like().mask_fill(found.lower_equal_elem(f32::MAX), 0.0);
    [primitive(total), primitive(tensor::<B, 1>(diverged).max_pair(not_finite))]
}
