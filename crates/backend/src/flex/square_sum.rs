//! The sum of squares in one pass and a fixed order.

use burn_flex::FlexTensor;

use super::{all_f32, contiguous, elements};
use crate::{overrides::note_taken, square_sum};

/// Independent partial sums, so that the compiler may keep them in vector registers.
const LANES: usize = 16;

pub(super) fn add(sum: FlexTensor, values: FlexTensor) -> FlexTensor {
    if !all_f32([&sum, &values]) {
        return square_sum::composed::<burn::backend::Flex>(sum, values);
    }
    note_taken();
    let (mut sum, values) = (contiguous(sum), contiguous(values));
    sum.storage_mut::<f32>()[0] += square_sum_of(elements(&values));
    sum
}

fn square_sum_of(values: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value * value;
        }
    }
    let rest: f32 = rest.iter().map(|value| value * value).sum();
    lanes.iter().sum::<f32>() + rest
}
