//! Multiplication in place.

use burn_flex::FlexTensor;

use super::{
    contiguous,
    lanes::{read, write},
    parallel::{self, TASK},
    simd::{Kernel, Level, Vector},
};

pub(super) fn by(values: FlexTensor, factor: f32) -> FlexTensor {
    let (mut values, level) = (contiguous(values), Level::best());
    parallel::chunks(values.storage_mut::<f32>(), TASK, |_, values, _| {
        level.run(Scale { values, factor });
    });
    values
}

/// Multiplies all values.
pub(super) struct Scale<'a> {
    pub(super) values: &'a mut [f32],
    pub(super) factor: f32,
}

impl Kernel for Scale<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        for at in (0..self.values.len()).step_by(V::LANES) {
            let count = self.values.len() - at;
            // SAFETY: `count` values follow.
            unsafe {
                let target = self.values.as_mut_ptr().add(at);
                write(read::<V>(target, count).mul(V::splat(self.factor)), target, count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::backend::Flex;

    use super::*;
    use crate::{
        Backend as _,
        flex::testing::{assert_close, normal, values},
        rescale,
    };

    #[test]
    fn every_value_of_every_task_is_multiplied() {
        for count in [0, 1, 17, 2 * TASK + 3] {
            let numbers = values(normal([count], 1)).into_iter();
            let expected: Vec<f32> = numbers.map(|value| value * 0.7).collect();
            assert_eq!(values(by(normal([count], 1), 0.7)), expected);
        }
    }

    #[test]
    fn it_equals_the_default_body() {
        let tensors = || vec![normal([7, 5], 1).transpose(0, 1), normal([2, 3, 4], 2)];
        let ours = Flex::fused_rescale(tensors(), normal([1], 3));
        let reference = rescale::composed::<Flex>(tensors(), normal([1], 3));
        for (ours, reference) in ours.into_iter().zip(reference) {
            assert_close("rescaled", ours, reference, 0.0);
        }
    }

    #[test]
    fn a_factor_may_be_a_view_of_another_tensor() {
        let factors = normal([2, 2], 2);
        let factor = factors.narrow(1, 1, 1).narrow(0, 1, 1);
        let expected = values(normal([3], 1)).into_iter().map(|v| v * values(factors.clone())[3]);
        let ours = Flex::fused_rescale(vec![normal([3], 1)], factor).remove(0);
        assert_eq!(values(ours), expected.collect::<Vec<_>>());
    }
}
