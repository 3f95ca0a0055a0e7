//! Stochastic gradient descent, with or without momentum, as PyTorch defines it (no dampening).
//!
//! Overrides: Flex (`flex/sgd.rs`), CUDA and WGPU (`cube/sgd.rs`).

use burn::tensor::Tensor;

use crate::{Backend, update::exactly};

/// The constants of one update:
///
/// ```text
/// g  = gradient + weight_decay * weight
/// v  = momentum * v + g
/// w -= learning_rate * (nesterov ? g + momentum * v : v)
/// ```
///
/// Without momentum the velocity is the gradient, and is not kept.
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

impl SgdStep {
    /// Whether a velocity is kept: there is momentum.
    pub(crate) fn has_velocity(&self) -> bool {
        self.momentum > 0.0
    }
}

/// The new weight, and the velocity if there is momentum.
pub(crate) fn composed<B: Backend>(
    (weight, velocity): (Tensor<B, 1>, Vec<Tensor<B, 1>>),
    gradient: Tensor<B, 1>,
    step: &SgdStep,
) -> (Tensor<B, 1>, Vec<Tensor<B, 1>>) {
    let gradient = gradient + weight.clone() * step.weight_decay;
    if !step.has_velocity() {
        let [] = exactly(velocity);
        return (weight - gradient * step.learning_rate, Vec::new());
    }
    let [velocity] = exactly(velocity);
    let velocity = velocity * step.momentum + gradient.clone();
    let direction =
        if step.nesterov { gradient + velocity.clone() * step.momentum } else { velocity.clone() };
    (weight - direction * step.learning_rate, vec![velocity])
}
