//! Updates of parameters, each in one pass in place over its tensors.

use burn::backend::Flex;
use burn_flex::FlexTensor;

use super::{
    adam, assert_shape, contiguous, elements,
    parallel::{self, Shared, TASK},
    rms_prop, sgd,
    simd::Level,
};
use crate::{Parameter, UpdateRule, Updated, update::exactly};

/// Equally long parts of a parameter's tensors.
pub(super) struct Piece<'a, const SLOTS: usize> {
    pub(super) weight: &'a mut [f32],
    pub(super) gradient: &'a [f32],
    pub(super) slots: [&'a mut [f32]; SLOTS],
}

pub(super) fn update(
    level: Level,
    parameter: Parameter<Flex>,
    diverged: &FlexTensor,
    rule: &UpdateRule,
) -> Updated<Flex> {
    match rule {
        UpdateRule::Adam(step) => {
            in_place(parameter, diverged, |piece| level.run(adam::Update { piece, step }))
        }
        UpdateRule::Sgd(step) if step.has_velocity() => {
            in_place::<1>(parameter, diverged, |piece| level.run(sgd::Update { piece, step }))
        }
        UpdateRule::Sgd(step) => {
            in_place::<0>(parameter, diverged, |piece| level.run(sgd::Update { piece, step }))
        }
        UpdateRule::RmsProp(step) if step.has_velocity() => {
            in_place::<2>(parameter, diverged, |piece| level.run(rms_prop::Update { piece, step }))
        }
        UpdateRule::RmsProp(step) => {
            in_place::<1>(parameter, diverged, |piece| level.run(rms_prop::Update { piece, step }))
        }
    }
}

/// Calls `work` with each piece of the parameter, unless training has diverged.
fn in_place<const SLOTS: usize>(
    parameter: Parameter<Flex>,
    diverged: &FlexTensor,
    work: impl Fn(Piece<'_, SLOTS>) + Sync,
) -> Updated<Flex> {
    let Parameter { weight, gradient, slots } = parameter;
    let slots: [FlexTensor; SLOTS] = exactly(slots);
    for (what, tensor) in
        slots.iter().map(|slot| ("a slot", slot)).chain([("a gradient", &gradient)])
    {
        assert_shape(what, tensor, weight.layout().shape());
    }
    if elements(&contiguous(diverged.clone()))[0] != 0.0 {
        return (weight, slots.into());
    }
    let (mut weight, gradient, mut slots) =
        (contiguous(weight), contiguous(gradient), slots.map(contiguous));
    let gradient = elements(&gradient);
    let of_weight = Shared::new(weight.storage_mut::<f32>());
    let of_slots = slots.each_mut().map(|slot| Shared::new(slot.storage_mut::<f32>()));
    parallel::ranges(gradient.len(), TASK, |range, _| {
        // SAFETY: each task has a part of its own of each tensor.
        let (weight, slots) = unsafe {
            let slots = of_slots.each_ref().map(|slot| slot.slice(range.start, range.len()));
            (of_weight.slice(range.start, range.len()), slots)
        };
        work(Piece { weight, gradient: &gradient[range], slots });
    });
    (weight, slots.into())
}

#[cfg(test)]
mod tests {
    use burn::tensor::ops::FloatTensorOps;

    use super::*;
    use crate::{
        AdamStep, RmsPropStep, SgdStep,
        flex::testing::{assert_close, normal, on_1_2_and_3_threads, values},
        update::composed,
    };

    const SGD: SgdStep =
        SgdStep { learning_rate: 0.1, momentum: 0.9, weight_decay: 0.1, nesterov: false };

    fn rules() -> [UpdateRule; 10] {
        let adam = AdamStep {
            learning_rate: 0.1,
            beta_1: 0.9,
            beta_2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.1,
            decoupled: false,
            look_ahead: None,
            time: 3,
        };
        let rms_prop = RmsPropStep {
            learning_rate: 0.1,
            alpha: 0.9,
            epsilon: 1e-8,
            momentum: 0.5,
            weight_decay: 0.1,
        };
        [
            UpdateRule::Adam(AdamStep { weight_decay: 0.0, ..adam }),
            UpdateRule::Adam(adam),
            UpdateRule::Adam(AdamStep { decoupled: true, ..adam }),
            UpdateRule::Adam(AdamStep { look_ahead: Some([0.7, 0.4]), ..adam }),
            UpdateRule::Sgd(SgdStep { momentum: 0.0, weight_decay: 0.0, ..SGD }),
            UpdateRule::Sgd(SGD),
            UpdateRule::Sgd(SgdStep { momentum: 0.0, ..SGD }),
            UpdateRule::Sgd(SgdStep { nesterov: true, ..SGD }),
            UpdateRule::RmsProp(rms_prop),
            UpdateRule::RmsProp(RmsPropStep { momentum: 0.0, ..rms_prop }),
        ]
    }

    /// All slots hold values above zero, as means of squares do. The gradient is transposed, as
    /// products' are.
    fn parameter([rows, columns]: [usize; 2], slots: usize) -> Parameter<Flex> {
        let slot = |slot| Flex::float_abs(normal([rows, columns], 3 + slot as u64));
        Parameter {
            weight: normal([rows, columns], 1),
            gradient: normal([columns, rows], 2).transpose(0, 1),
            slots: (0..slots).map(slot).collect(),
        }
    }

    fn flag(diverged: f32) -> FlexTensor {
        FlexTensor::from_data(burn::tensor::TensorData::new(vec![diverged], [1]))
    }

    /// The weight and the slots.
    fn all((weight, slots): Updated<Flex>) -> Vec<FlexTensor> {
        std::iter::once(weight).chain(slots).collect()
    }

    /// What a rule makes of a parameter at a level, or by its default body.
    fn updated(
        level: Option<Level>,
        shape: [usize; 2],
        diverged: f32,
        rule: &UpdateRule,
    ) -> Vec<FlexTensor> {
        let parameter = parameter(shape, rule.slots());
        all(match level {
            Some(level) => update(level, parameter, &flag(diverged), rule),
            None => composed(vec![parameter], flag(diverged), rule).remove(0),
        })
    }

    #[test]
    fn every_level_equals_the_default_bodies() {
        for shape in [[0, 3], [1, 1], [3, 5], [2, 8], [10, 10], [5, TASK / 5 + 2]] {
            for rule in rules() {
                let reference = updated(None, shape, 0.0, &rule);
                for level in Level::all() {
                    let ours = updated(Some(level), shape, 0.0, &rule);
                    assert_eq!(ours.len(), reference.len());
                    for (index, (ours, reference)) in ours.into_iter().zip(&reference).enumerate() {
                        let what = format!("tensor {index} of {shape:?} at {level:?}, {rule:?}");
                        assert_close(&what, ours, reference.clone(), 1e-6);
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_changes_once_training_has_diverged() {
        let shape = [5, 7];
        for rule in rules() {
            let Parameter { weight, slots, .. } = parameter(shape, rule.slots());
            let before = all((weight, slots)).into_iter().map(values).collect::<Vec<_>>();
            for level in [Some(Level::best()), None] {
                let after = updated(level, shape, 1.0, &rule).into_iter().map(values);
                assert_eq!(after.collect::<Vec<_>>(), before, "{level:?}, {rule:?}");
            }
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let [one, two, three] = on_1_2_and_3_threads(|| {
            let shape = [3, TASK + 2];
            let updated = |rule| updated(Some(Level::best()), shape, 0.0, &rule);
            rules().map(|rule| updated(rule).into_iter().map(values).collect::<Vec<_>>())
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
            let rule = UpdateRule::Sgd(SGD);
            values(update(Level::best(), parameter([1, 5], 1), &diverged, &rule).0)
        };
        assert_ne!(weight(0), values(normal([1, 5], 1)));
        assert_eq!(weight(1), values(normal([1, 5], 1)));
    }

    #[track_caller]
    fn refuse(parameter: Parameter<Flex>) {
        update(Level::best(), parameter, &flag(0.0), &UpdateRule::Sgd(SGD));
    }

    #[test]
    #[should_panic(expected = "a gradient: shape [4] instead of [1, 5]")]
    fn a_gradient_of_another_shape_is_refused() {
        refuse(Parameter { gradient: normal([4], 2), ..parameter([1, 5], 1) });
    }

    #[test]
    #[should_panic(expected = "a slot: shape [4] instead of [1, 5]")]
    fn a_slot_of_another_shape_is_refused() {
        refuse(Parameter { slots: vec![normal([4], 2)], ..parameter([1, 5], 1) });
    }

    #[test]
    #[should_panic(expected = "a parameter has 2 slots, and its optimizer keeps 1")]
    fn slots_of_another_optimizer_are_refused() {
        refuse(parameter([1, 5], 2));
    }
}
