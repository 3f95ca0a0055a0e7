//! Parameters as an optimizer's update takes and returns them.

use burn::tensor::ops::FloatTensor;

use crate::Backend;

/// A parameter before its update; all tensors have its shape.
#[derive(Clone, Debug)]
pub struct Parameter<B: Backend, const SLOTS: usize> {
    /// Its values.
    pub weight: FloatTensor<B>,
    /// Their gradient.
    pub gradient: FloatTensor<B>,
    /// What the optimizer keeps for it between updates.
    pub slots: [FloatTensor<B>; SLOTS],
}

/// The new weight and slots of a [`Parameter`].
pub type Updated<B, const SLOTS: usize> = (FloatTensor<B>, [FloatTensor<B>; SLOTS]);
