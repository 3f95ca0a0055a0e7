//! RMSprop (Tieleman and Hinton, lecture 6.5 of "Neural networks for machine learning", 2012), as
//! PyTorch defines it, with or without momentum and not centred.
//!
//! Overrides: Flex (`flex/rms_prop.rs`), CUDA and WGPU (`cube/rms_prop.rs`).

use burn::tensor::Tensor;

use crate::{Backend, update::exactly};

/// The constants of one update:
///
/// ```text
/// g  = gradient + weight_decay * weight
/// s  = alpha * s + (1 - alpha) g^2
/// v  = momentum * v + g / (sqrt(s) + epsilon)
/// w -= learning_rate * v
/// ```
///
/// Without momentum the velocity is not kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RmsPropStep {
    /// The learning rate of this update.
    pub learning_rate: f64,
    /// Decay of the mean of squares.
    pub alpha: f64,
    /// Added to the denominator.
    pub epsilon: f64,
    /// The share of the velocity that is kept.
    pub momentum: f64,
    /// Weight decay, zero for none.
    pub weight_decay: f64,
}

impl RmsPropStep {
    /// Whether a velocity is kept: there is momentum.
    pub(crate) fn has_velocity(&self) -> bool {
        self.momentum > 0.0
    }
}

/// The new weight, mean of squares, and velocity if there is momentum.
pub(crate) fn composed<B: Backend>(
    (weight, slots): (Tensor<B, 1>, Vec<Tensor<B, 1>>),
    gradient: Tensor<B, 1>,
    step: &RmsPropStep,
) -> (Tensor<B, 1>, Vec<Tensor<B, 1>>) {
    let gradient = gradient + weight.clone() * step.weight_decay;
    let square = gradient.clone() * gradient.clone();
    let moved = |square_mean: Tensor<B, 1>| {
        let square_mean = square_mean * step.alpha + square * (1.0 - step.alpha);
        let direction = gradient / (square_mean.clone().sqrt() + step.epsilon);
        (square_mean, direction)
    };
    if !step.has_velocity() {
        let [square_mean] = exactly(slots);
        let (square_mean, direction) = moved(square_mean);
        return (weight - direction * step.learning_rate, vec![square_mean]);
    }
    let [square_mean, velocity] = exactly(slots);
    let (square_mean, direction) = moved(square_mean);
    let velocity = velocity * step.momentum + direction;
    (weight - velocity.clone() * step.learning_rate, vec![square_mean, velocity])
}
