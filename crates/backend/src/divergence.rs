//! Whether an update is finite, and by what its gradients are clipped, found on the device, so that no step
//! waits for the host to look.
//!
//! Override: CUDA and WGPU (`cube/divergence.rs`).

use burn::tensor::ops::FloatTensor;

use crate::{
    Backend,
    primitive::{primitive, tensor},
};

/// What PyTorch's `clip_grad_norm_` adds to a norm before it divides by it.
pub(crate) const ADDED: f32 = 1e-6;

/// See [`Backend::fused_divergence`].
pub(crate) fn composed<B: Backend>(
    square_sums: FloatTensor<B>,
    loss: FloatTensor<B>,
    diverged: FloatTensor<B>,
    largest_norm: Option<f64>,
) -> [FloatTensor<B>; 2] {
    let total = tensor::<B, 1>(square_sums).sum_dim(0);
    // An infinity or a NaN of either is one of the sum.
    let found = total.clone() + tensor::<B, 1>(loss).abs();
    let not_finite = found.ones_like().mask_fill(found.lower_equal_elem(f32::MAX), 0.0);
    let factor = match largest_norm {
        None => total.ones_like(),
        // Not with `recip`, of which ndarray computes only twelve bits.
        Some(largest) => (total.ones_like() * largest / (total.sqrt() + ADDED)).clamp_max(1.0),
    };
    [primitive(factor), primitive(tensor::<B, 1>(diverged).max_pair(not_finite))]
}

#[cfg(test)]
mod tests {
    use burn::tensor::Tensor;

    use super::*;
    use crate::Selected;

    /// As by PyTorch's `clip_grad_norm_`, also where they are near zero.
    #[test]
    fn gradients_are_scaled_down_to_the_largest_norm_and_never_up() {
        let check = |norm: f32, largest, expected: f32| {
            let vector = |value: f32| {
                primitive(Tensor::<Selected, 1>::from_floats([value], &Default::default()))
            };
            let sums = vector(norm * norm);
            let [factor, _] = Selected::fused_divergence(sums, vector(0.0), vector(0.0), largest);
            let found: f32 = tensor::<Selected, 1>(factor).into_scalar();
            assert!((found - expected).abs() < 1e-6, "{found} instead of {expected}");
        };
        check(4.0, Some(1.0), 0.25);
        check(4.0, Some(5.0), 1.0);
        check(1e-6, Some(1e-7), 0.05);
        check(0.0, Some(1e-7), 0.1);
        check(4.0, None, 1.0);
    }
}
