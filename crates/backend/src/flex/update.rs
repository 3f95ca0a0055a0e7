//! What the updates of optimizers share: one pass in place over a parameter's tensors.

use burn::backend::Flex;
use burn_flex::FlexTensor;

use super::{
    all_f32, assert_shape, contiguous, elements,
    parallel::{self, Shared},
};
use crate::{Parameter, Updated, overrides::note_taken};

/// Weights of a task.
const TASK_WEIGHTS: usize = 1 << 15;

/// Equally long parts of a parameter's tensors.
pub(super) struct Piece<'a, const SLOTS: usize> {
    pub(super) weight: &'a mut [f32],
    pub(super) gradient: &'a [f32],
    pub(super) slots: [&'a mut [f32]; SLOTS],
}

/// Whether the kernels apply.
pub(super) fn supported<const SLOTS: usize>(parameter: &Parameter<Flex, SLOTS>) -> bool {
    all_f32([&parameter.weight, &parameter.gradient])
        && parameter.slots.iter().all(|slot| all_f32([slot]))
}

/// Calls `work` with each piece of the parameter, unless training has diverged.
pub(super) fn in_place<const SLOTS: usize>(
    parameter: Parameter<Flex, SLOTS>,
    diverged: &FlexTensor,
    work: impl Fn(Piece<'_, SLOTS>) + Sync,
) -> Updated<Flex, SLOTS> {
    note_taken();
    let Parameter { weight, gradient, slots } = parameter;
    for (what, tensor) in
        slots.iter().map(|slot| ("a slot", slot)).chain([("a gradient", &gradient)])
    {
        assert_shape(what, tensor, weight.layout().shape());
    }
    if elements(&contiguous(diverged.clone()))[0] != 0.0 {
        return (weight, slots);
    }
    let (mut weight, gradient, mut slots) =
        (contiguous(weight), contiguous(gradient), slots.map(contiguous));
    let gradient = elements(&gradient);
    let of_weight = Shared::new(weight.storage_mut::<f32>());
    let of_slots = slots.each_mut().map(|slot| Shared::new(slot.storage_mut::<f32>()));
    parallel::ranges(gradient.len(), TASK_WEIGHTS, |range, _| {
        // SAFETY: each task has a part of its own of each tensor.
        let (weight, slots) = unsafe {
            let slots = of_slots.each_ref().map(|slot| slot.slice(range.start, range.len()));
            (of_weight.slice(range.start, range.len()), slots)
        };
        work(Piece { weight, gradient: &gradient[range], slots });
    });
    (weight, slots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AdamStep, RmsPropStep, SgdStep, adam,
        flex::{
            adam as flex_adam, rms_prop as flex_rms_prop, sgd as flex_sgd,
            simd::Level,
            testing::{assert_close, normal, on_1_2_and_3_threads, values},
        },
        rms_prop, sgd,
    };

    const ADAM: AdamStep = AdamStep {
        learning_rate: 0.1,
        beta_1: 0.9,
        beta_2: 0.999,
        epsilon: 1e-8,
        weight_decay: 0.1,
        decoupled: false,
        look_ahead: None,
        time: 3,
    };
    const SGD: SgdStep =
        SgdStep { learning_rate: 0.1, momentum: 0.9, weight_decay: 0.1, nesterov: true };
    const RMS_PROP: RmsPropStep = RmsPropStep {
        learning_rate: 0.1,
        alpha: 0.9,
        epsilon: 1e-8,
        momentum: 0.5,
        weight_decay: 0.1,
    };

    /// All slots hold values above zero, as means of squares do.
    fn parameter<const SLOTS: usize>(count: usize) -> Parameter<Flex, SLOTS> {
        use burn::tensor::ops::FloatTensorOps;
        Parameter {
            weight: normal([count], 1),
            gradient: normal([count], 2),
            slots: std::array::from_fn(|slot| Flex::float_abs(normal([count], 3 + slot as u64))),
        }
    }

    fn zero() -> FlexTensor {
        FlexTensor::from_data(burn::tensor::TensorData::new(vec![0.0_f32], [1]))
    }

    fn all<const SLOTS: usize>((weight, slots): Updated<Flex, SLOTS>) -> Vec<FlexTensor> {
        std::iter::once(weight).chain(slots).collect()
    }

    /// What the three optimizers make of a parameter at a level, or by their default bodies.
    fn updated(level: Option<Level>, count: usize) -> Vec<FlexTensor> {
        let (two, one) = (|| parameter::<2>(count), parameter::<1>(count));
        let [adam, sgd, rms_prop] = match level {
            Some(level) => [
                all(flex_adam::update(level, two(), &zero(), &ADAM)),
                all(flex_sgd::update(level, one, &zero(), &SGD)),
                all(flex_rms_prop::update(level, two(), &zero(), &RMS_PROP)),
            ],
            None => [
                all(adam::composed(two(), zero(), &ADAM)),
                all(sgd::composed(one, zero(), &SGD)),
                all(rms_prop::composed(two(), zero(), &RMS_PROP)),
            ],
        };
        [adam, sgd, rms_prop].concat()
    }

    #[test]
    fn every_level_equals_the_default_bodies() {
        for count in [0, 1, 15, 16, 100, TASK_WEIGHTS + 7] {
            let reference = updated(None, count);
            for level in Level::all() {
                let ours = updated(Some(level), count);
                assert_eq!(ours.len(), reference.len());
                for (index, (ours, reference)) in ours.into_iter().zip(&reference).enumerate() {
                    let what = format!("tensor {index} of {count} at {level:?}");
                    assert_close(&what, ours, reference.clone(), 1e-5);
                }
            }
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let [one, two, three] = on_1_2_and_3_threads(|| {
            let updated = updated(Some(Level::best()), 3 * TASK_WEIGHTS + 5);
            updated.into_iter().map(values).collect::<Vec<_>>()
        });
        assert_eq!(one, two);
        assert_eq!(one, three);
    }

    #[test]
    fn what_says_whether_training_has_diverged_may_be_a_view() {
        let numbers = burn::tensor::TensorData::new(vec![0.0_f32, 0.0, 0.0, 1.0], [2, 2]);
        let numbers = FlexTensor::from_data(numbers);
        let weight = |row| {
            let diverged = numbers.narrow(1, 1, 1).narrow(0, row, 1);
            values(flex_sgd::update(Level::best(), parameter(5), &diverged, &SGD).0)
        };
        assert_ne!(weight(0), values(normal([5], 1)));
        assert_eq!(weight(1), values(normal([5], 1)));
    }

    #[test]
    #[should_panic(expected = "a gradient: shape [4] instead of [5]")]
    fn a_gradient_of_another_shape_is_refused() {
        let parameter = Parameter { gradient: normal([4], 2), ..parameter::<2>(5) };
        flex_adam::update(Level::best(), parameter, &zero(), &ADAM);
    }

    #[test]
    #[should_panic(expected = "a slot: shape [4] instead of [5]")]
    fn a_slot_of_another_shape_is_refused() {
        let parameter = Parameter { slots: [normal([4], 2)], ..parameter::<1>(5) };
        flex_sgd::update(Level::best(), parameter, &zero(), &SGD);
    }
}
