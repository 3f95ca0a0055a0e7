//! Sums of squares, each in one pass and a fixed order.

use burn::backend::Flex;
use burn_flex::FlexTensor;

use super::{
    all_f32, contiguous, elements,
    parallel::{self, TASK},
    recycled,
    simd::Level,
    sum::Sum,
};
use crate::{overrides::note_taken, square_sums};

pub(super) fn of(values: Vec<FlexTensor>) -> FlexTensor {
    if !all_f32(&values) {
        return square_sums::composed::<Flex>(values);
    }
    note_taken();
    let mut sums = recycled::floats([values.len()]);
    for (sum, values) in sums.storage_mut::<f32>().iter_mut().zip(values) {
        *sum = square_sum(Level::best(), elements(&contiguous(values)));
    }
    sums
}

fn square_sum(level: Level, values: &[f32]) -> f32 {
    let mut sums = vec![0.0; values.len().div_ceil(TASK)];
    parallel::chunks(&mut sums, 1, |task, sum, _| {
        let first = task * TASK;
        sum[0] = level.run(Sum::<true>(&values[first..values.len().min(first + TASK)]));
    });
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::testing::{assert_close, normal, on_1_2_and_3_threads, values};

    #[test]
    fn every_level_equals_the_plain_sum() {
        for count in [0, 1, 15, 16, 100, 2 * TASK + 7] {
            let numbers = values(normal([count], 1));
            let expected: f64 = numbers.iter().map(|value| f64::from(*value).powi(2)).sum();
            for level in Level::all() {
                let found = f64::from(square_sum(level, &numbers));
                let difference = (found - expected).abs();
                assert!(difference <= 1e-6 * expected, "{found} for {expected} at {level:?}");
            }
        }
    }

    #[test]
    fn they_equal_the_default_body() {
        let tensors = || vec![normal([1], 1), normal([16], 2), normal([7, 5], 3).transpose(0, 1)];
        assert_close("sums", of(tensors()), square_sums::composed::<Flex>(tensors()), 1e-6);
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let count = 3 * TASK + 5;
        let [one, two, three] = on_1_2_and_3_threads(|| values(of(vec![normal([count], 1)])));
        assert_eq!(one, two);
        assert_eq!(one, three);
    }
}
