//! Windows of any size, a vector of neighbours at a time where all their taps fall inside of the input.

use std::ops::Range;

use super::{
    super::simd::{Kernel, Vector},
    Windows,
    pairs::{challenge, read, read_pairs, write, write_bytes},
};

/// Pools one plane.
pub(super) struct PoolWindows<'a> {
    pub(super) windows: &'a Windows,
    pub(super) input: &'a [f32],
    pub(super) output: &'a mut [f32],
    pub(super) places: &'a mut [u8],
}

impl Kernel for PoolWindows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { windows, input, output, places } = self;
        let (columns, inner) = (windows.output[1], windows.inner_columns());
        let rows = output.chunks_exact_mut(columns).zip(places.chunks_exact_mut(columns));
        for (row, (output, places)) in rows.enumerate() {
            for column in inner.clone().step_by(V::LANES) {
                let count = V::LANES.min(inner.end - column);
                let (best, place) = windows.best_of_each::<V>(input, row, column, count);
                write(best, &mut output[..inner.end], column);
                write_bytes(place, &mut places[..inner.end], column);
            }
            for column in (0..inner.start).chain(inner.end..columns) {
                (output[column], places[column]) = windows.best(input, row, column);
            }
        }
    }
}

impl Windows {
    /// The windows along a row of which all taps fall inside of the input.
    fn inner_columns(&self) -> Range<usize> {
        let [width, kernel] = [self.input[1], self.options.kernel[1]];
        let (stride, padding) = (self.options.stride[1], self.options.padding[1]);
        let first = padding.div_ceil(stride).min(self.output[1]);
        let fitting = (width + padding).checked_sub(kernel).map_or(0, |room| room / stride + 1);
        first..fitting.clamp(first, self.output[1])
    }

    /// The maximum and its place of each of `count` windows from a column on.
    #[inline(always)]
    fn best_of_each<V: Vector>(
        &self,
        input: &[f32],
        row: usize,
        column: usize,
        count: usize,
    ) -> (V, V) {
        let (width, taps) = (self.input[1], self.taps(row, 0));
        let place = |tap: usize, tap_x: usize| f32::from(self.place(tap, tap_x));
        let mut leader = (V::splat(f32::NEG_INFINITY), V::splat(place(taps.start, 0)));
        for tap in taps {
            let values = &input[self.at(row, tap, 0) * width..][..width];
            for tap_x in 0..self.options.kernel[1] {
                let values = &values[self.at(column, tap_x, 1)..];
                let values = every::<V>(self.options.stride[1], values, count);
                leader = challenge(leader, values, place(tap, tap_x));
            }
        }
        leader
    }

    /// The maximum of one window and its place.
    fn best(&self, input: &[f32], row: usize, column: usize) -> (f32, u8) {
        let (width, taps, across) = (self.input[1], self.taps(row, 0), self.taps(column, 1));
        let mut best = f32::NEG_INFINITY;
        let mut place = self.place(taps.start, across.start);
        for tap in taps {
            for tap_x in across.clone() {
                let value = input[self.at(row, tap, 0) * width + self.at(column, tap_x, 1)];
                // A NaN wins, and stays.
                if value > best || value.is_nan() {
                    (best, place) = (value, self.place(tap, tap_x));
                }
            }
        }
        (best, place)
    }
}

/// `count` values, a stride apart.
#[inline(always)]
fn every<V: Vector>(stride: usize, values: &[f32], count: usize) -> V {
    match stride {
        1 => read(values, 0),
        2 => read_pairs::<V>(values, 0, 2 * count)[0],
        _ => {
            let mut lanes = [0.0; 16];
            let values = values.iter().step_by(stride);
            lanes.iter_mut().zip(values).take(count).for_each(|(lane, value)| *lane = *value);
            read(&lanes, 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        flex::{
            simd::Level,
            testing::{normal, values},
        },
        functional::PoolOptions,
    };

    #[test]
    fn vectors_of_windows_equal_windows_one_by_one() {
        let pools = [
            ([3, 3], [2, 2], [1, 1]),
            ([3, 3], [1, 1], [1, 1]),
            ([2, 3], [1, 2], [1, 0]),
            ([5, 4], [3, 3], [2, 2]),
            ([1, 2], [2, 5], [0, 1]),
        ];
        for (kernel, stride, padding) in pools {
            for input in [[7, 75], [5, 16], [6, 5], [2, 3]] {
                let options = PoolOptions { kernel, stride, padding };
                let Some(windows) = Windows::new(input, &options) else { continue };
                let mut numbers = values(normal(input, 1));
                numbers[3] = f32::NAN;
                numbers[1] = f32::NEG_INFINITY;
                let [_, count] = windows.planes();
                let expected = (0..count).map(|index| {
                    let (row, column) = (index / windows.output[1], index % windows.output[1]);
                    let (best, place) = windows.best(&numbers, row, column);
                    (best.to_bits(), place)
                });
                let expected: Vec<_> = expected.collect();
                for level in Level::all() {
                    let (mut output, mut places) = (vec![0.0; count], vec![0; count]);
                    let (output, places) = (&mut output[..], &mut places[..]);
                    let input = &numbers;
                    level.run(PoolWindows { windows: &windows, input, output, places });
                    let found = output.iter().map(|best| best.to_bits()).zip(places.to_vec());
                    let found: Vec<_> = found.collect();
                    assert_eq!(found, expected, "{options:?} at {level:?}");
                }
            }
        }
    }
}
