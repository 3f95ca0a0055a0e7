//! Stochastic gradient descent with momentum, as PyTorch defines it (no dampening).
//!
//! Overrides: Flex (`flex/sgd.rs`), CUDA and WGPU (`cube/sgd.rs`).

use burn::tensor::{Tensor, TensorMetadata, ops::FloatTensor};

use crate::{
    Backend, Parameter, Updated,
    operations::{flat, shaped},
    overrides::note_composed,
};

/// The constants of one update:
///
/// ```text
/// g  = gradient + weight_decay * weight
/// v  = momentum * v + g
/// w -= learning_rate * (nesterov ? g + momentum * v : v)
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SgdStep {
    /// The learning rate of this update.
    pub learning_rate: f64,
    /// The share of the velocity that is kept.
    pub momentum: f64,
    /// Weight decay, zero for none.
    pub weight_decay: f64,
    /// Whether to look ahead along the velocity.
    pub nesterov: bool,
}

pub(crate) fn composed<B: Backend>(
    parameter: Parameter<B, 1>,
    diverged: FloatTensor<B>,
    step: &SgdStep,
) -> Updated<B, 1> {
    note_composed();
    let Parameter { weight, gradient, slots: [velocity] } = parameter;
    let shape = weight.shape();
    let [old_weight, gradient, old_velocity] = [weight, gradient, velocity].map(flat::<B>);

    let gradient = gradient + old_weight.clone() * step.weight_decay;
    let velocity = old_velocity.clone() * step.momentum + gradient.clone();
    let direction =
        if step.nesterov { gradient + velocity.clone() * step.momentum } else { velocity.clone() };
    let weight = old_weight.clone() - direction * step.learning_rate;

    let keep = flat::<B>(diverged).not_equal_elem(0.0).expand(weight.shape());
    let result = |new: Tensor<B, 1>, old| shaped(new.mask_where(keep.clone(), old), &shape);
    (result(weight, old_weight), [result(velocity, old_velocity)])
}

#[cfg(test)]
mod tests {
    use burn::tensor::{TensorPrimitive, Tolerance};

    use super::*;
    use crate::{
        Selected,
        device::Device,
        random::{Purpose, Random},
    };

    fn values(stream: u64) -> Tensor<Selected, 2> {
        let random = Random::new(1, Purpose::Synthetic, stream);
        let values: Vec<f32> = (0..35).map(|i| random.normal(i)).collect();
        Tensor::<Selected, 1>::from_floats(values.as_slice(), &Device::default()).reshape([5, 7])
    }

    fn primitive<const D: usize>(tensor: Tensor<Selected, D>) -> FloatTensor<Selected> {
        tensor.into_primitive().tensor()
    }

    /// Weight and velocity after the override, and after the default body.
    fn both(step: &SgdStep, diverged: f32) -> [[Tensor<Selected, 2>; 2]; 2] {
        let one = |parameter, diverged, step: &SgdStep| {
            Selected::fused_sgd(vec![parameter], diverged, step).remove(0)
        };
        [one, composed::<Selected>].map(|update| {
            let parameter = Parameter {
                weight: primitive(values(1)),
                // A transposed gradient: what a product's backward returns on some backends.
                gradient: primitive(values(2).reshape([7, 5]).transpose()),
                slots: [primitive(values(3))],
            };
            let diverged = Tensor::<Selected, 1>::from_floats([diverged], &Device::default());
            let (weight, [velocity]) = update(parameter, primitive(diverged), step);
            [weight, velocity].map(|result| Tensor::from_primitive(TensorPrimitive::Float(result)))
        })
    }

    #[test]
    fn the_override_equals_the_default_body() {
        let plain =
            SgdStep { learning_rate: 0.1, momentum: 0.0, weight_decay: 0.0, nesterov: false };
        let momentum = SgdStep { momentum: 0.9, weight_decay: 0.01, ..plain };
        for step in [plain, momentum, SgdStep { nesterov: true, ..momentum }] {
            let [ours, reference] = both(&step, 0.0);
            for (ours, reference) in ours.into_iter().zip(reference) {
                let tolerance = Tolerance::<f32>::rel_abs(1e-5, 1e-6);
                ours.into_data().assert_approx_eq(&reference.into_data(), tolerance);
            }
        }
    }

    #[test]
    fn nothing_changes_once_training_has_diverged() {
        let step = SgdStep { learning_rate: 0.1, momentum: 0.9, weight_decay: 0.1, nesterov: true };
        for [weight, velocity] in both(&step, 1.0) {
            assert_eq!(weight.into_data(), values(1).into_data());
            assert_eq!(velocity.into_data(), values(3).into_data());
        }
    }
}
