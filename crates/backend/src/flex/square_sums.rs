//! Sums of squares, each in one pass and a fixed order.

use burn_flex::FlexTensor;

use super::{
    all_f32, contiguous, elements,
    parallel::{self, Shared},
    recycled,
    simd::{Kernel, Level, Vector},
};
use crate::{overrides::note_taken, square_sums};

/// Values of a task.
const TASK_VALUES: usize = 1 << 15;

pub(super) fn of(values: Vec<FlexTensor>) -> FlexTensor {
    if !values.iter().all(|values| all_f32([values])) {
        return square_sums::composed::<burn::backend::Flex>(values);
    }
    note_taken();
    let mut sums = recycled::floats([values.len()]);
    for (sum, values) in sums.storage_mut::<f32>().iter_mut().zip(values) {
        *sum = square_sum(Level::best(), elements(&contiguous(values)));
    }
    sums
}

fn square_sum(level: Level, values: &[f32]) -> f32 {
    let mut sums = vec![0.0; values.len().div_ceil(TASK_VALUES)];
    let of_tasks = Shared::new(&mut sums);
    parallel::run(values.len().div_ceil(TASK_VALUES), |task, _| {
        let start = task * TASK_VALUES;
        let values = &values[start..values.len().min(start + TASK_VALUES)];
        // SAFETY: each task has a sum of its own.
        unsafe { of_tasks.slice(task, 1)[0] = level.run(SquareSum(values)) };
    });
    sums.iter().sum()
}

/// Sums up squares in an order that depends on their count alone.
struct SquareSum<'a>(&'a [f32]);

impl Kernel for SquareSum<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<V: Vector>(self) -> f32 {
        // Four sums at once, which do not wait for each other.
        let mut sums = [V::zero(); 4];
        let mut chunks = self.0.chunks_exact(4 * V::LANES);
        for chunk in &mut chunks {
            for (index, sum) in sums.iter_mut().enumerate() {
                // SAFETY: the chunk has four vectors.
                let values = unsafe { V::load(chunk.as_ptr().add(index * V::LANES)) };
                *sum = values.mul_add(values, *sum);
            }
        }
        for chunk in chunks.remainder().chunks(V::LANES) {
            // SAFETY: as many numbers as the chunk has.
            let values = unsafe { V::load_first(chunk.as_ptr(), chunk.len()) };
            sums[0] = values.mul_add(values, sums[0]);
        }
        let [a, b, c, d] = sums;
        a.add(b).add(c.add(d)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::testing::{normal, on_1_2_and_3_threads, values};

    #[test]
    fn every_level_equals_the_plain_sum() {
        for count in [0, 1, 15, 16, 100, 2 * TASK_VALUES + 7] {
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
    fn the_number_of_threads_changes_no_bit() {
        let count = 3 * TASK_VALUES + 5;
        let [one, two, three] = on_1_2_and_3_threads(|| values(of(vec![normal([count], 1)])));
        assert_eq!(one, two);
        assert_eq!(one, three);
    }
}
