//! The optimizers: their settings, their state, and the update of one parameter.

use backend::{AdamStep, Backend, SgdStep};
use burn::tensor::{TensorMetadata, ops::FloatTensor};
use serde::{Deserialize, Serialize};

/// Which rule turns gradients into updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptimizerKind {
    /// Adam; `weight_decay` is added to the gradient.
    Adam,
    /// Adam with decay applied to the weight itself.
    AdamW,
    /// Gradient descent with momentum.
    Sgd,
}

/// The table `[optimizer]`; what the chosen kind has no use for is left alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptimizerConfig {
    /// Which rule turns gradients into updates.
    pub kind: OptimizerKind,
    /// The learning rate before the schedule.
    pub learning_rate: f64,
    /// Adam: decay of the first moment.
    pub beta_1: f64,
    /// Adam: decay of the second moment.
    pub beta_2: f64,
    /// Adam: added to the denominator.
    pub epsilon: f64,
    /// Gradient descent: the share of the velocity that is kept.
    pub momentum: f64,
    /// Gradient descent: whether to look ahead along the velocity.
    pub nesterov: bool,
    /// Pull of every weight towards zero.
    pub weight_decay: f64,
}

/// The state that an optimizer keeps for one parameter, each tensor in the parameter's shape.
#[derive(Clone, Debug)]
pub(crate) enum Slot<B: Backend> {
    Adam([FloatTensor<B>; 2]),
    Sgd(FloatTensor<B>),
}

/// Everything about one update that is the same for all parameters.
pub(crate) enum Rule {
    Adam(AdamStep),
    Sgd(SgdStep),
}

impl OptimizerConfig {
    /// The rule of update number `time` (from 1).
    pub(crate) fn rule(&self, learning_rate: f64, time: u64) -> Rule {
        let &Self { beta_1, beta_2, epsilon, momentum, nesterov, weight_decay, .. } = self;
        match self.kind {
            OptimizerKind::Adam | OptimizerKind::AdamW => Rule::Adam(AdamStep {
                learning_rate,
                beta_1,
                beta_2,
                epsilon,
                weight_decay,
                decoupled: self.kind == OptimizerKind::AdamW,
                time,
            }),
            OptimizerKind::Sgd => {
                Rule::Sgd(SgdStep { learning_rate, momentum, weight_decay, nesterov })
            }
        }
    }
}

impl Rule {
    /// Updates one parameter; `slot` is what this method returned for it last time.
    pub(crate) fn update<B: Backend>(
        &self,
        weight: FloatTensor<B>,
        gradient: FloatTensor<B>,
        slot: Option<Slot<B>>,
        diverged: FloatTensor<B>,
    ) -> (FloatTensor<B>, Slot<B>) {
        let zeros = || {
            let device = B::float_device(&weight);
            B::float_zeros(weight.shape(), &device, weight.dtype().into())
        };
        match self {
            Self::Adam(step) => {
                let moments = match slot {
                    Some(Slot::Adam(moments)) => moments,
                    _ => [zeros(), zeros()],
                };
                let (weight, moments) = B::fused_adam(weight, gradient, moments, diverged, step);
                (weight, Slot::Adam(moments))
            }
            Self::Sgd(step) => {
                let velocity = match slot {
                    Some(Slot::Sgd(velocity)) => velocity,
                    _ => zeros(),
                };
                let (weight, velocity) = B::fused_sgd(weight, gradient, velocity, diverged, step);
                (weight, Slot::Sgd(velocity))
            }
        }
    }
}
