//! Moving averages in place: one pass over average and value.

use burn_flex::FlexTensor;

use super::{
    assert_shape, contiguous, elements,
    lanes::{read, write},
    parallel::{self, TASK},
    simd::{Kernel, Level, Vector},
};

/// The average, moved by a share of the distance towards the value times a factor.
pub(super) fn moved(
    level: Level,
    [average, value]: [FlexTensor; 2],
    [share, factor]: [f64; 2],
) -> FlexTensor {
    assert_shape("a value", &value, average.layout().shape());
    let (mut average, value) = (contiguous(average), contiguous(value));
    let value = elements(&value);
    parallel::chunks(average.storage_mut::<f32>(), TASK, |number, average, _| {
        let value = &value[number * TASK..][..average.len()];
        level.run(Move { average, value, share, factor });
    });
    average
}

/// Moves averages towards values, of which there are as many.
struct Move<'a> {
    average: &'a mut [f32],
    value: &'a [f32],
    share: f64,
    factor: f64,
}

impl Kernel for Move<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { average, value, share, factor } = self;
        let share = V::splat(share as f32);
        let factor = V::splat(factor as f32);
        for at in (0..value.len()).step_by(V::LANES) {
            let count = value.len() - at;
            // SAFETY: `count` values follow in each slice, which are equally long.
            unsafe {
                let average = average.as_mut_ptr().add(at);
                let from = read::<V>(average, count);
                let towards = read::<V>(value.as_ptr().add(at), count).mul(factor);
                // Rounded after each step, so that it equals the default body bit for bit.
                write(from.add(towards.sub(from).mul(share)), average, count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::backend::Flex;

    use super::*;
    use crate::{
        flex::testing::{assert_close, normal, values},
        moving_averages,
    };

    /// With a factor that corrects the value for its bias.
    const SHARES: [f64; 2] = [0.1, 1.1];

    fn reference(pair: [FlexTensor; 2]) -> FlexTensor {
        moving_averages::composed::<Flex>(vec![pair], SHARES[0], SHARES[1]).remove(0)
    }

    #[test]
    fn every_level_equals_the_default_body() {
        for [rows, columns] in [[0, 3], [1, 1], [3, 5], [2, 8], [5, TASK / 5 + 2]] {
            // The value is transposed, as a weight may be.
            let pair = || [normal([rows, columns], 1), normal([columns, rows], 2).transpose(0, 1)];
            let reference = reference(pair());
            for level in Level::all() {
                let what = format!("{rows} x {columns} at {level:?}");
                assert_close(&what, moved(level, pair(), SHARES), reference.clone(), 0.0);
            }
        }
    }

    #[test]
    fn what_is_held_elsewhere_stays() {
        let [average, value] = [1, 2].map(|stream| normal([4, 7], stream));
        let whole = || [average.clone(), value.clone()];
        let rows = whole().map(|tensor| tensor.narrow(0, 1, 2));
        let columns = whole().map(|tensor| tensor.narrow(1, 2, 3));
        for pair in [whole(), rows, columns] {
            let ours = moved(Level::best(), pair.clone(), SHARES);
            assert_close("average", ours, reference(pair), 0.0);
        }
        assert_eq!(values(average), values(normal([4, 7], 1)));
        assert_eq!(values(value), values(normal([4, 7], 2)));
    }

    #[test]
    #[should_panic(expected = "a value: shape [4] instead of [1, 5]")]
    fn a_value_of_another_shape_is_refused() {
        moved(Level::best(), [normal([1, 5], 1), normal([4], 2)], SHARES);
    }
}
