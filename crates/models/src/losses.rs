//! Losses of each sample, from logits.
//!
//! They are not averaged: a mean could be neither accumulated nor divided among devices.

use backend::Backend;
use burn::tensor::Tensor;

pub use backend::functional::cross_entropy;

/// Binary cross-entropy, in the form that neither overflows nor loses digits:
/// `max(x, 0) - x y + ln(1 + exp(-|x|))`.
///
/// - `logits`: `[batch]`
/// - `targets`: `[batch]`, 0 or 1
/// - returns: `[batch]`
pub fn binary_cross_entropy<B: Backend>(
    logits: Tensor<B, 1>,
    targets: Tensor<B, 1>,
) -> Tensor<B, 1> {
    let overflow_free = logits.clone().abs().neg().exp().log1p();
    logits.clone().clamp_min(0.0) - logits * targets + overflow_free
}

/// The squared error.
///
/// - `outputs`, `targets`: `[batch]`
/// - returns: `[batch]`
pub fn squared_error<B: Backend>(outputs: Tensor<B, 1>, targets: Tensor<B, 1>) -> Tensor<B, 1> {
    let difference = outputs - targets;
    difference.clone() * difference
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};
    use burn::tensor::{TensorData, Tolerance};

    use super::*;

    /// `torch.nn.functional.binary_cross_entropy_with_logits(.., reduction="none")`, PyTorch 2.15.
    #[test]
    fn binary_cross_entropy_is_pytorchs_at_the_extremes_too() {
        let device = Device::default();
        let logits = Tensor::<Selected, 1>::from_floats([-200.0, -1.0, 0.5, 2.0, 200.0], &device);
        let targets = Tensor::from_floats([1.0, 0.0, 1.0, 0.0, 1.0], &device);
        let expected = [200.0, 0.313_261_7, 0.474_076_9, 2.126_928, 0.0];
        binary_cross_entropy(logits, targets)
            .into_data()
            .assert_approx_eq::<f32>(&TensorData::from(expected), Tolerance::rel_abs(1e-6, 1e-7));
    }

    /// `torch.nn.functional.cross_entropy(.., reduction="none")`, PyTorch 2.15.
    #[test]
    fn cross_entropy_is_pytorchs() {
        let device = Device::default();
        let logits =
            Tensor::<Selected, 2>::from_floats([[1.0, 2.0, 3.0], [300.0, -300.0, 0.0]], &device);
        let targets = Tensor::from_ints([0, 1], &device);
        cross_entropy(logits, targets).into_data().assert_approx_eq::<f32>(
            &TensorData::from([2.407_606, 600.0]),
            Tolerance::rel_abs(1e-6, 1e-7),
        );
    }
}
