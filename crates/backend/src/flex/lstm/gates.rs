//! From the sums of the four gates of a vector of units to its cells and hidden units.

use crate::flex::{
    activations::{sigmoid, tanh},
    simd::Vector,
};

/// The gates of a vector of units after their activations, and what a step makes of the units.
pub(super) struct Gates<V: Vector> {
    pub(super) input: V,
    pub(super) forget: V,
    pub(super) new: V,
    pub(super) output: V,
    /// The cells after the step.
    pub(super) cell: V,
    pub(super) hidden: V,
}

impl<V: Vector> Gates<V> {
    /// - `sums`: before the activations, in PyTorch's order
    /// - `before`: the cells before the step
    #[inline(always)]
    pub(super) fn of([input, forget, new, output]: [V; 4], before: V) -> Self {
        let [input, forget, output] = [sigmoid(input), sigmoid(forget), sigmoid(output)];
        let new = tanh(new);
        let cell = forget.mul_add(before, input.mul(new));
        Self { input, forget, new, output, cell, hidden: output.mul(tanh(cell)) }
    }
}
