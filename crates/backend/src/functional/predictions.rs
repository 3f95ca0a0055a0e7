//! What is computed from predictions and targets: losses, and how many are correct.

use burn::tensor::{Int, Tensor};

use super::checks;
use crate::{
    Backend,
    primitive::{primitive, tensor},
};

/// Cross-entropy of the softmax, one value per sample.
///
/// - `logits`: `[batch, classes]`
/// - `targets`: `[batch]`, below `classes`; with others the loss is undefined on a GPU
/// - returns: `[batch]`
///
/// # Panics
///
/// Where there is not one target for each sample; on the CPU, where one is no class.
#[track_caller]
pub fn cross_entropy<B: Backend>(logits: Tensor<B, 2>, targets: Tensor<B, 1, Int>) -> Tensor<B, 1> {
    let [batch, classes] = logits.dims();
    checks::shape("cross_entropy: the targets", targets.dims(), [batch], "the batch of the logits");
    checks::indices("cross_entropy: the target", &targets, classes, "classes");
    tensor(B::fused_cross_entropy(primitive(logits), targets.into_primitive()).0)
}

/// Binary cross-entropy, one value per sample. Its gradient is `sigmoid(logit) - target` everywhere.
///
/// - `logits`: `[batch]`
/// - `targets`: `[batch]`, 0 or 1, which get no gradients
/// - returns: `[batch]`
///
/// # Panics
///
/// Where there is not one target for each sample.
#[track_caller]
pub fn binary_cross_entropy<B: Backend>(
    logits: Tensor<B, 1>,
    targets: Tensor<B, 1>,
) -> Tensor<B, 1> {
    let what = "binary_cross_entropy: the targets";
    checks::shape(what, targets.dims(), logits.dims(), "the batch of the logits");
    tensor(B::fused_binary_cross_entropy(primitive(logits), primitive(targets)))
}

/// Adds to `so_far` how many predictions are correct: the largest logit is the target's, the first of equal ones;
/// a single logit predicts 1 where it is positive, else 0.
///
/// - `logits`: `[batch, classes]`, of two classes perhaps `[batch, 1]`
/// - `targets`: `[batch]`, below `classes`, or 0 or 1
/// - `so_far`: `[1]`
/// - returns: `[1]`
///
/// # Panics
///
/// Where there is not one target for each sample.
#[track_caller]
pub fn correct_count<B: Backend>(
    logits: Tensor<B, 2>,
    targets: Tensor<B, 1, Int>,
    so_far: Tensor<B, 1>,
) -> Tensor<B, 1> {
    let [batch, _] = logits.dims();
    checks::shape("correct_count: the targets", targets.dims(), [batch], "the batch of the logits");
    let [logits, so_far] = [primitive(logits), primitive(so_far)];
    tensor(B::fused_correct_count(logits, targets.into_primitive(), so_far))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Selected, device::Device};

    #[test]
    fn the_first_of_equal_logits_is_the_prediction() {
        let device = Device::default();
        let count = |logits: Tensor<Selected, 2>, targets: &[i32]| {
            let so_far = Tensor::from_floats([2.0], &device);
            correct_count(logits, Tensor::from_ints(targets, &device), so_far).into_scalar()
        };
        let classes = Tensor::from_floats(
            [[1.0, 3.0, 2.0], [1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [-3.0, -2.0, -1.0]],
            &device,
        );
        assert_eq!(count(classes.clone(), &[1, 0, 0, 2]), 6.0);
        assert_eq!(count(classes, &[0, 2, 2, 1]), 2.0);
        let signs = Tensor::from_floats([[0.5], [0.0], [-0.5]], &device);
        assert_eq!(count(signs.clone(), &[1, 0, 0]), 5.0);
        assert_eq!(count(signs, &[0, 1, 1]), 2.0);
    }
}
