//! The sum of squares, from which the norm of all gradients is made.
//!
//! Overrides: Flex (`flex/square_sum.rs`).

use burn::tensor::ops::FloatTensor;

use crate::Backend;

pub(crate) fn composed<B: Backend>(sum: FloatTensor<B>, values: FloatTensor<B>) -> FloatTensor<B> {
    let squares = B::float_mul(values.clone(), values);
    B::float_add(sum, B::float_sum(squares))
}
