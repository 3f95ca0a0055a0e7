//! Values whose gradient is divided: a sum of losses becomes their mean where it is differentiated.

use burn::backend::autodiff::{Autodiff, checkpoint::strategy::CheckpointStrategy};
use burn::tensor::ops::FloatTensor;

use crate::{Backend, tape};

pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    values: FloatTensor<Autodiff<B, C>>,
    divisor: usize,
) -> FloatTensor<Autodiff<B, C>> {
    let recording = tape::begin::<B, C, _, 1>([&values], |divisor: usize, gradient| {
        [Some(B::float_div_scalar(gradient, (divisor as f64).into()))]
    });
    tape::finish(recording, divisor, values.primitive)
}
