//! Losses of each sample, from logits.
//!
//! They are not averaged: means could be neither accumulated nor divided among devices.

use backend::Backend;
use burn::tensor::{Tensor, activation::log_softmax};

pub use backend::functional::{binary_cross_entropy, cross_entropy};

/// Losses of smoothed labels: a share of each goes evenly to all classes (Szegedy et al., 2016).
///
/// - `losses`: the [`cross_entropy`] of each sample, `[batch]`, also of two labels that are mixed, and
///   multiplied by the weight of its class if `weights` are given
/// - `logits`: what it was computed from, `[batch, classes]`
/// - `smoothing`: the share, from 0 to 1; of 0 the losses stay as they are
/// - `weights`: how much each class counts, `[classes]`, if they do not count alike
/// - returns: `[batch]`
///
/// # Panics
///
/// Where there is not one loss for each sample, or not one weight for each class.
#[track_caller]
pub fn label_smoothed<B: Backend>(
    losses: Tensor<B, 1>,
    logits: Tensor<B, 2>,
    smoothing: f64,
    weights: Option<Tensor<B, 1>>,
) -> Tensor<B, 1> {
    if smoothing == 0.0 {
        return losses;
    }
    let ([samples, classes], [given]) = (logits.dims(), losses.dims());
    assert!(samples == given, "label_smoothed: there are {given} losses for {samples} samples");
    let of_classes = log_softmax(logits, 1);
    let of_classes = match weights {
        None => of_classes,
        Some(weights) => {
            let [given] = weights.dims();
            assert!(
                classes == given,
                "label_smoothed: there are {given} weights for {classes} classes"
            );
            of_classes * weights.unsqueeze()
        }
    };
    let even = of_classes.mean_dim(1).neg().reshape([samples]);
    losses * (1.0 - smoothing) + even * smoothing
}

/// The squared error.
///
/// - `outputs`, `targets`: `[batch]`
/// - returns: `[batch]`
///
/// # Panics
///
/// Where there is not one target for each sample.
#[track_caller]
pub fn squared_error<B: Backend>(outputs: Tensor<B, 1>, targets: Tensor<B, 1>) -> Tensor<B, 1> {
    let ([samples], [given]) = (outputs.dims(), targets.dims());
    // Burn would compare a single value with all of the other side.
    assert!(samples == given, "squared_error: there are {given} targets for {samples} outputs");
    let difference = outputs - targets;
    difference.clone() * difference
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};
    use burn::tensor::{TensorData, Tolerance};

    use super::*;

    #[test]
    #[should_panic(expected = "squared_error: there are 1 targets for 3 outputs")]
    fn a_squared_error_needs_a_target_for_each_output() {
        let numbers = |count| Tensor::<Selected, 1>::zeros([count], &Device::default());
        squared_error(numbers(3), numbers(1));
    }

    #[test]
    #[should_panic(expected = "label_smoothed: there are 1 losses for 2 samples")]
    fn label_smoothing_needs_a_loss_for_each_sample() {
        let device = Device::default();
        let logits = Tensor::<Selected, 2>::zeros([2, 3], &device);
        label_smoothed(Tensor::zeros([1], &device), logits, 0.1, None);
    }

    #[test]
    #[should_panic(expected = "label_smoothed: there are 1 weights for 3 classes")]
    fn label_smoothing_needs_a_weight_for_each_class() {
        let device = Device::default();
        let [losses, weight] = [2, 1].map(|count| Tensor::<Selected, 1>::ones([count], &device));
        label_smoothed(losses, Tensor::zeros([2, 3], &device), 0.1, Some(weight));
    }

    /// `torch.nn.functional.cross_entropy(.., label_smoothing=0.1, reduction="none")`, PyTorch 2.15.
    #[test]
    fn label_smoothing_is_pytorchs() {
        let logits = [[1.0, 2.0, 3.0], [0.5, -0.5, 0.0]];
        let logits = Tensor::<Selected, 2>::from_floats(logits, &Device::default());
        let losses = cross_entropy(logits.clone(), Tensor::from_ints([0, 1], &Device::default()));
        label_smoothed(losses, logits, 0.1, None).into_data().assert_approx_eq::<f32>(
            &TensorData::from([2.307_606, 1.630_27]),
            Tolerance::rel_abs(1e-6, 1e-7),
        );
    }

    /// The same with `weight=torch.tensor([2.0, 0.5, 1.0])`.
    #[test]
    fn label_smoothing_with_class_weights_is_pytorchs() {
        let device = Device::default();
        let logits = [[1.0, 2.0, 3.0], [0.5, -0.5, 0.0]];
        let logits = Tensor::<Selected, 2>::from_floats(logits, &device);
        let weights = Tensor::from_floats([2.0, 0.5, 1.0], &device);
        let losses = cross_entropy(logits.clone(), Tensor::from_ints([0, 1], &device));
        let losses = losses * Tensor::from_floats([2.0, 0.5], &device);
        label_smoothed(losses, logits, 0.1, Some(weights)).into_data().assert_approx_eq::<f32>(
            &TensorData::from([4.531_245, 0.868_819_5]),
            Tolerance::rel_abs(1e-6, 1e-7),
        );
    }
}
