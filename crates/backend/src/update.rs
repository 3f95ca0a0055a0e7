//! Updates of parameters by an optimizer.
//!
//! Overrides: Flex (`flex/update.rs`), CUDA and WGPU (`cube/update.rs`); the kernels of each rule are
//! beside them, its definition is in `adam.rs`, `sgd.rs` or `rms_prop.rs`.

use burn::tensor::{Tensor, TensorMetadata, ops::FloatTensor};

use crate::{
    AdamStep, Backend, RmsPropStep, SgdStep, adam,
    overrides::note_composed,
    primitive::{flat, shaped},
    rms_prop, sgd,
};

/// A parameter before its update; all tensors have its shape.
#[derive(Clone, Debug)]
pub struct Parameter<B: Backend> {
    /// Its values.
    pub weight: FloatTensor<B>,
    /// Their gradient.
    pub gradient: FloatTensor<B>,
    /// What the optimizer keeps for it between updates, as many as [`UpdateRule::slots`] says.
    pub slots: Vec<FloatTensor<B>>,
}

/// The new weight and slots of a [`Parameter`].
pub type Updated<B> = (FloatTensor<B>, Vec<FloatTensor<B>>);

/// An optimizer with the constants of one update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UpdateRule {
    /// Adam and its kin; slots: the first and the second moment.
    Adam(AdamStep),
    /// Gradient descent; slot: with momentum the velocity.
    Sgd(SgdStep),
    /// RMSprop; slots: the mean of squares, and with momentum the velocity.
    RmsProp(RmsPropStep),
}

impl UpdateRule {
    /// What the optimizer keeps for a parameter: tensors of its shape, by name.
    pub fn slot_names(&self) -> &'static [&'static str] {
        match self {
            Self::Adam(_) => &["first_moment", "second_moment"],
            Self::Sgd(step) if step.has_velocity() => &["velocity"],
            Self::Sgd(_) => &[],
            Self::RmsProp(step) if step.has_velocity() => &["square_mean", "velocity"],
            Self::RmsProp(_) => &["square_mean"],
        }
    }

    /// How many tensors the optimizer keeps for a parameter.
    pub fn slots(&self) -> usize {
        self.slot_names().len()
    }

    /// The rule for a parameter whose learning rate is `factor` times the others', with or without
    /// weight decay.
    pub fn of(mut self, factor: f64, decays: bool) -> Self {
        let (learning_rate, weight_decay) = match &mut self {
            Self::Adam(step) => (&mut step.learning_rate, &mut step.weight_decay),
            Self::Sgd(step) => (&mut step.learning_rate, &mut step.weight_decay),
            Self::RmsProp(step) => (&mut step.learning_rate, &mut step.weight_decay),
        };
        *learning_rate *= factor;
        if !decays {
            *weight_decay = 0.0;
        }
        self
    }
}

pub(crate) fn composed<B: Backend>(
    parameters: Vec<Parameter<B>>,
    diverged: FloatTensor<B>,
    rule: &UpdateRule,
) -> Vec<Updated<B>> {
    let diverged = flat::<B>(diverged).not_equal_elem(0.0);
    let update = |Parameter { weight, gradient, slots }: Parameter<B>| {
        note_composed();
        let shape = weight.shape();
        let [weight, gradient] = [weight, gradient].map(flat::<B>);
        let slots: Vec<_> = slots.into_iter().map(flat::<B>).collect();
        let old = (weight.clone(), slots.clone());
        let (new_weight, new_slots) = match rule {
            UpdateRule::Adam(step) => adam::composed(old, gradient, step),
            UpdateRule::Sgd(step) => sgd::composed(old, gradient, step),
            UpdateRule::RmsProp(step) => rms_prop::composed(old, gradient, step),
        };
        let keep = diverged.clone().expand(weight.shape());
        let result = |(new, old): (Tensor<B, 1>, Tensor<B, 1>)| {
            shaped(new.mask_where(keep.clone(), old), &shape)
        };
        let slots = new_slots.into_iter().zip(slots).map(result).collect();
        (result((new_weight, weight)), slots)
    };
    parameters.into_iter().map(update).collect()
}

/// A parameter's slots, of which there must be as many as its optimizer keeps.
pub(crate) fn exactly<T, const SLOTS: usize>(slots: Vec<T>) -> [T; SLOTS] {
    slots.try_into().unwrap_or_else(|slots: Vec<T>| {
        panic!("a parameter has {} slots, and its optimizer keeps {SLOTS}", slots.len())
    })
}
