//! The Adam update (Kingma and Ba, 2015) and its variants: decoupled decay (AdamW: Loshchilov and
//! Hutter, 2019) and the look-ahead of Nesterov's momentum (NAdam: Dozat, 2016).
//!
//! Overrides: Flex (`flex/adam.rs`), CUDA and WGPU (`cube/adam.rs`).

use burn::tensor::{Tensor, TensorMetadata, ops::FloatTensor};

use crate::{
    Backend, Parameter, Updated,
    operations::{flat, shaped},
    overrides::note_composed,
};

/// The constants of one Adam update, in the order of PyTorch's own arithmetic:
///
/// ```text
/// g  = gradient + weight_decay * weight          (coupled decay only)
/// w  = weight * (1 - learning_rate * weight_decay)    (decoupled decay only)
/// m  = m + (1 - beta_1) (g - m)
/// v  = beta_2 v + (1 - beta_2) g^2
/// w -= (gradient_factor * g + moment_factor * m) / (sqrt(v) / sqrt(1 - beta_2^t) + epsilon)
/// ```
///
/// The factors are `learning_rate` times those of [`AdamStep::look_ahead`]; without it, they are 0
/// and `1 / (1 - beta_1^t)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamStep {
    /// The learning rate of this update.
    pub learning_rate: f64,
    /// Decay of the first moment.
    pub beta_1: f64,
    /// Decay of the second moment.
    pub beta_2: f64,
    /// Added to the denominator.
    pub epsilon: f64,
    /// Weight decay, zero for none.
    pub weight_decay: f64,
    /// Whether the decay bypasses the moments, which is AdamW.
    pub decoupled: bool,
    /// The factors of the gradient and of the first moment in NAdam's direction.
    pub look_ahead: Option<[f64; 2]>,
    /// The number of this update, from 1.
    pub time: u64,
}

impl AdamStep {
    /// What the gradient and the first moment are multiplied by.
    pub(crate) fn factors(&self) -> [f64; 2] {
        let adam = || [0.0, 1.0 / (1.0 - self.beta_1.powf(self.time as f64))];
        self.look_ahead.unwrap_or_else(adam).map(|factor| self.learning_rate * factor)
    }

    /// The square root of the bias correction of the second moment.
    pub(crate) fn second_correction(&self) -> f64 {
        (1.0 - self.beta_2.powf(self.time as f64)).sqrt()
    }
}

pub(crate) fn composed<B: Backend>(
    parameter: Parameter<B, 2>,
    diverged: FloatTensor<B>,
    step: &AdamStep,
) -> Updated<B, 2> {
    note_composed();
    let Parameter { weight, gradient, slots: [first_moment, second_moment] } = parameter;
    let shape = weight.shape();
    let [old_weight, mut gradient, old_first, old_second] =
        [weight, gradient, first_moment, second_moment].map(flat::<B>);

    let mut weight = old_weight.clone();
    if step.decoupled {
        weight = weight * (1.0 - step.learning_rate * step.weight_decay);
    } else if step.weight_decay != 0.0 {
        gradient = gradient + weight.clone() * step.weight_decay;
    }
    let first = old_first.clone() + (gradient.clone() - old_first.clone()) * (1.0 - step.beta_1);
    let square = gradient.clone() * gradient.clone();
    let second = old_second.clone() * step.beta_2 + square * (1.0 - step.beta_2);
    let denominator = second.clone().sqrt() / step.second_correction() + step.epsilon;
    let [gradient_factor, moment_factor] = step.factors();
    let direction = gradient * gradient_factor + first.clone() * moment_factor;
    let weight = weight - direction / denominator;

    let keep = flat::<B>(diverged).not_equal_elem(0.0).expand(weight.shape());
    let result = |new: Tensor<B, 1>, old| shaped(new.mask_where(keep.clone(), old), &shape);
    (result(weight, old_weight), [result(first, old_first), result(second, old_second)])
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

    type Pair = [Tensor<Selected, 2>; 4];

    fn values(seed: u64) -> Tensor<Selected, 2> {
        let random = Random::new(seed, Purpose::Synthetic, 0);
        let values: Vec<f32> = (0..35).map(|i| random.normal(i)).collect();
        Tensor::<Selected, 1>::from_floats(values.as_slice(), &Device::default()).reshape([5, 7])
    }

    fn primitive<const D: usize>(tensor: Tensor<Selected, D>) -> FloatTensor<Selected> {
        tensor.into_primitive().tensor()
    }

    /// Runs the override and the default body on the same values.
    fn both(step: &AdamStep, diverged: f32) -> (Pair, Pair) {
        type Update =
            fn(Parameter<Selected, 2>, FloatTensor<Selected>, &AdamStep) -> Updated<Selected, 2>;
        let run = |update: Update| {
            let parameter = Parameter {
                weight: primitive(values(1)),
                // A transposed gradient: what a product's backward returns on some backends.
                gradient: primitive(values(2).reshape([7, 5]).transpose()),
                slots: [primitive(values(3)), primitive(values(4).abs())],
            };
            let diverged = Tensor::<Selected, 1>::from_floats([diverged], &Device::default());
            let (weight, [first, second]) = update(parameter, primitive(diverged), step);
            [weight, first, second, primitive(values(1))]
                .map(|result| Tensor::from_primitive(TensorPrimitive::Float(result)))
        };
        let one = |parameter, diverged, step: &AdamStep| {
            Selected::fused_adam(vec![parameter], diverged, step).remove(0)
        };
        (run(one), run(composed::<Selected>))
    }

    fn step(weight_decay: f64, decoupled: bool) -> AdamStep {
        AdamStep {
            learning_rate: 0.01,
            beta_1: 0.9,
            beta_2: 0.999,
            epsilon: 1e-8,
            weight_decay,
            decoupled,
            look_ahead: None,
            time: 3,
        }
    }

    #[test]
    fn the_override_equals_the_default_body() {
        let look_ahead = AdamStep { look_ahead: Some([0.7, 0.4]), ..step(0.1, false) };
        for step in [step(0.0, false), step(0.1, false), step(0.1, true), look_ahead] {
            let (ours, reference) = both(&step, 0.0);
            for (ours, reference) in ours.into_iter().zip(reference) {
                let tolerance = Tolerance::<f32>::rel_abs(1e-5, 1e-6);
                ours.into_data().assert_approx_eq(&reference.into_data(), tolerance);
            }
        }
    }

    #[test]
    fn nothing_changes_once_training_has_diverged() {
        for result in <[Pair; 2]>::from(both(&step(0.1, true), 1.0)) {
            let [weight, first, second, before] = result.map(Tensor::into_data);
            assert_eq!(weight, before);
            assert_eq!(first, values(3).into_data());
            assert_eq!(second, values(4).abs().into_data());
        }
    }
}
