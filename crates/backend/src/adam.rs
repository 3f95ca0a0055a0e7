//! The Adam update (Kingma and Ba, 2015) and its variants: decoupled decay (AdamW: Loshchilov and
//! Hutter, 2019) and the look-ahead of Nesterov's momentum (NAdam: Dozat, 2016).
//!
//! Overrides: Flex (`flex/adam.rs`), CUDA and WGPU (`cube/adam.rs`).

use burn::tensor::Tensor;

use crate::{Backend, update::exactly};

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

/// The new weight and moments.
pub(crate) fn composed<B: Backend>(
    (mut weight, moments): (Tensor<B, 1>, Vec<Tensor<B, 1>>),
    mut gradient: Tensor<B, 1>,
    step: &AdamStep,
) -> (Tensor<B, 1>, Vec<Tensor<B, 1>>) {
    let [first, second] = exactly(moments);
    if step.decoupled {
        weight = weight * (1.0 - step.learning_rate * step.weight_decay);
    } else if step.weight_decay != 0.0 {
        gradient = gradient + weight.clone() * step.weight_decay;
    }
    let first = first.clone() + (gradient.clone() - first) * (1.0 - step.beta_1);
    let square = gradient.clone() * gradient.clone();
    let second = second * step.beta_2 + square * (1.0 - step.beta_2);
    let denominator = second.clone().sqrt() / step.second_correction() + step.epsilon;
    let [gradient_factor, moment_factor] = step.factors();
    let direction = gradient * gradient_factor + first.clone() * moment_factor;
    (weight - direction / denominator, vec![first, second])
}
