//! Stochastic gradient descent with momentum, as PyTorch defines it (no dampening).
//!
//! Overrides: Flex (`flex/sgd.rs`).

use burn::tensor::{Tensor, TensorMetadata, ops::FloatTensor};

use crate::{
    Backend,
    operations::{flat, shaped},
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
    weight: FloatTensor<B>,
    gradient: FloatTensor<B>,
    velocity: FloatTensor<B>,
    diverged: FloatTensor<B>,
    step: &SgdStep,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let shape = weight.shape();
    let [old_weight, gradient, old_velocity] = [weight, gradient, velocity].map(flat::<B>);

    let gradient = gradient + old_weight.clone() * step.weight_decay;
    let velocity = old_velocity.clone() * step.momentum + gradient.clone();
    let direction =
        if step.nesterov { gradient + velocity.clone() * step.momentum } else { velocity.clone() };
    let weight = old_weight.clone() - direction * step.learning_rate;

    let keep = flat::<B>(diverged).not_equal_elem(0.0).expand(weight.shape());
    let result = |new: Tensor<B, 1>, old| shaped(new.mask_where(keep.clone(), old), &shape);
    (result(weight, old_weight), result(velocity, old_velocity))
}
