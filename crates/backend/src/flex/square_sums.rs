//! Sums of squares, each in one pass and a fixed order.

use burn_flex::FlexTensor;

use super::{all_f32, contiguous, elements, recycled};
use crate::{overrides::note_taken, square_sums};

/// Independent partial sums, so that the compiler may keep them in vector registers.
const LANES: usize = 16;

pub(super) fn of(values: Vec<FlexTensor>) -> FlexTensor {
    if !values.iter().all(|values| all_f32([values])) {
        return square_sums::composed::<burn::backend::Flex>(values);
    }
    note_taken();
    let mut sums = recycled::floats([values.len()]);
    for (sum, values) in sums.storage_mut::<f32>().iter_mut().zip(values) {
        *sum = square_sum(elements(&contiguous(values)));
    }
    sums
}

fn square_sum(values: &[f32]) -> f32 {
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
