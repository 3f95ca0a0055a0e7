//! The optimizers: their settings, their state, and the update of parameters.

use backend::{AdamStep, Backend, RmsPropStep, SgdStep, UpdateRule};
use burn::tensor::{TensorMetadata, ops::FloatTensor};
use serde::{Deserialize, Serialize};

use crate::state::UpdatesOf;

/// Which rule turns gradients into updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptimizerKind {
    /// Adam; `weight_decay` is added to the gradient.
    Adam,
    /// Adam with decay applied to the weight itself.
    AdamW,
    /// Adam with Nesterov's look-ahead.
    NAdam,
    /// Gradient descent with momentum.
    Sgd,
    /// Gradients over the root of their mean square.
    RmsProp,
}

/// The table `[optimizer]`. Settings that the chosen kind does not use have no effect, but must be in
/// range, and a resumed run must keep them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptimizerConfig {
    /// Which rule turns gradients into updates.
    pub kind: OptimizerKind,
    /// The learning rate before the schedule.
    pub learning_rate: f64,
    /// The Adam kinds: decay of the first moment.
    pub beta_1: f64,
    /// The Adam kinds: decay of the second moment.
    pub beta_2: f64,
    /// RMSprop: decay of the mean of squares.
    pub alpha: f64,
    /// Added to the denominator; gradient descent has none.
    pub epsilon: f64,
    /// Gradient descent and RMSprop: the share of the velocity that is kept.
    pub momentum: f64,
    /// Gradient descent: whether to look ahead along the velocity; needs momentum.
    pub nesterov: bool,
    /// Weight decay.
    pub weight_decay: f64,
    /// Whether weight decay also acts on parameters of one dimension: biases, and the scales and
    /// shifts of normalisation.
    pub decay_biases: bool,
}

/// The state that an optimizer keeps for one parameter, each tensor in the parameter's shape, in the
/// order of [`OptimizerConfig::slot_names`].
pub(crate) type Slots<B> = Vec<FloatTensor<B>>;

impl OptimizerConfig {
    /// An optimizer with PyTorch's defaults.
    pub fn new(kind: OptimizerKind, learning_rate: f64) -> Self {
        Self {
            kind,
            learning_rate,
            beta_1: 0.9,
            beta_2: 0.999,
            alpha: 0.99,
            epsilon: 1e-8,
            momentum: 0.0,
            nesterov: false,
            weight_decay: if kind == OptimizerKind::AdamW { 1e-2 } else { 0.0 },
            decay_biases: true,
        }
    }

    /// What is kept between updates for each parameter: tensors of its shape, by name.
    pub fn slot_names(&self) -> &'static [&'static str] {
        self.rule(self.learning_rate, &UpdatesOf::default()).slot_names()
    }

    /// The rule of the last of a parameter's updates.
    pub(crate) fn rule(&self, learning_rate: f64, updates: &UpdatesOf) -> UpdateRule {
        let &UpdatesOf { count: time, momentum_product } = updates;
        let &Self { beta_1, beta_2, alpha, epsilon, momentum, nesterov, weight_decay, .. } = self;
        match self.kind {
            OptimizerKind::Adam | OptimizerKind::AdamW | OptimizerKind::NAdam => {
                let next = self.momentum_of_nadam(time + 1);
                let look_ahead = [
                    (1.0 - self.momentum_of_nadam(time)) / (1.0 - momentum_product),
                    next / (1.0 - momentum_product * next),
                ];
                UpdateRule::Adam(AdamStep {
                    learning_rate,
                    beta_1,
                    beta_2,
                    epsilon,
                    weight_decay,
                    decoupled: self.kind == OptimizerKind::AdamW,
                    look_ahead: (self.kind == OptimizerKind::NAdam).then_some(look_ahead),
                    time,
                })
            }
            OptimizerKind::Sgd => {
                UpdateRule::Sgd(SgdStep { learning_rate, momentum, weight_decay, nesterov })
            }
            OptimizerKind::RmsProp => UpdateRule::RmsProp(RmsPropStep {
                learning_rate,
                alpha,
                epsilon,
                momentum,
                weight_decay,
            }),
        }
    }

    /// The momentum of NAdam at update number `time`, which approaches `beta_1`; the constants are
    /// those of the paper and of PyTorch.
    pub(crate) fn momentum_of_nadam(&self, time: u64) -> f64 {
        self.beta_1 * (1.0 - 0.5 * 0.96f64.powf(time as f64 * 4e-3))
    }
}

/// What is kept for a parameter before its first update.
pub(crate) fn first_slots<B: Backend>(rule: &UpdateRule, weight: &FloatTensor<B>) -> Slots<B> {
    let zeros = || B::float_zeros(weight.shape(), &B::float_device(weight), weight.dtype().into());
    (0..rule.slots()).map(|_| zeros()).collect()
}
