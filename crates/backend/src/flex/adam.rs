//! Adam in place: one pass over weight, gradient and moments.

use burn::backend::Flex;
use burn_flex::FlexTensor;

use super::{
    all_f32, assert_one_shape, contiguous, elements,
    lanes::{read, write},
    parallel::{self, Shared},
    simd::{Kernel, Level, Vector},
};
use crate::{AdamStep, Parameter, Updated, adam, overrides::note_taken};

/// Weights of a task.
const TASK_WEIGHTS: usize = 1 << 15;

pub(super) fn update(
    parameter: Parameter<Flex, 2>,
    diverged: &FlexTensor,
    step: &AdamStep,
) -> Updated<Flex, 2> {
    let Parameter { weight, gradient, slots: [first, second] } = &parameter;
    if !all_f32([weight, gradient, first, second]) {
        return adam::composed(parameter, diverged.clone(), step);
    }
    note_taken();
    assert_one_shape(&parameter);
    let Parameter { weight, gradient, slots: [first, second] } = parameter;
    if elements(diverged)[0] != 0.0 {
        return (weight, [first, second]);
    }
    let gradient = contiguous(gradient);
    let mut updated = [weight, first, second].map(contiguous);
    let count = elements(&gradient).len();
    let targets = updated.each_mut().map(|tensor| Shared::new(tensor.storage_mut::<f32>()));
    let level = Level::best();
    parallel::run(count.div_ceil(TASK_WEIGHTS), |task, _| {
        let start = task * TASK_WEIGHTS;
        let length = TASK_WEIGHTS.min(count - start);
        // SAFETY: each task has a part of its own of each tensor.
        let targets = targets.each_ref().map(|target| unsafe { target.slice(start, length) });
        level.run(Update { targets, gradient: &elements(&gradient)[start..][..length], step });
    });
    let [weight, first, second] = updated;
    (weight, [first, second])
}

/// Updates weights and their moments, slices as long as the gradient.
struct Update<'a> {
    targets: [&'a mut [f32]; 3],
    gradient: &'a [f32],
    step: &'a AdamStep,
}

impl Kernel for Update<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(mut self) {
        let constant = |value: f64| V::splat(value as f32);
        let step = self.step;
        let decay = step.learning_rate * step.weight_decay;
        let coupled_decay = constant(if step.decoupled { 0.0 } else { step.weight_decay });
        let shrink = constant(if step.decoupled { 1.0 - decay } else { 1.0 });
        let (rest_1, rest_2) = (constant(1.0 - step.beta_1), constant(1.0 - step.beta_2));
        let beta_2 = constant(step.beta_2);
        let second_correction = constant(1.0 / step.second_correction());
        let epsilon = constant(step.epsilon);
        let [gradient_factor, moment_factor] = step.factors().map(constant);
        for at in (0..self.gradient.len()).step_by(V::LANES) {
            let count = self.gradient.len() - at;
            // SAFETY: `count` values follow in each slice.
            unsafe {
                let targets = self.targets.each_mut().map(|slice| slice.as_mut_ptr().add(at));
                let [weight, first, second] = targets.map(|slice| read::<V>(slice, count));
                let gradient = read::<V>(self.gradient.as_ptr().add(at), count);
                let gradient = weight.mul_add(coupled_decay, gradient);
                let first = gradient.sub(first).mul_add(rest_1, first);
                let square = gradient.mul(gradient);
                let second = second.mul_add(beta_2, square.mul(rest_2));
                let denominator = second.sqrt().mul_add(second_correction, epsilon);
                let direction = gradient.mul_add(gradient_factor, first.mul(moment_factor));
                let change = direction.div(denominator);
                let weight = weight.mul_add(shrink, V::zero().sub(change));
                for (values, target) in [weight, first, second].into_iter().zip(targets) {
                    write(values, target, count);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::testing::normal;

    #[test]
    #[should_panic(expected = "a gradient: shape [4] in place of [5]")]
    fn a_gradient_of_another_shape_is_refused() {
        let [weight, first, second] = [1, 2, 3].map(|stream| normal([5], stream));
        let parameter = Parameter { weight, gradient: normal([4], 4), slots: [first, second] };
        let step = AdamStep {
            learning_rate: 0.1,
            beta_1: 0.9,
            beta_2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.0,
            decoupled: false,
            look_ahead: None,
            time: 1,
        };
        update(parameter, &normal([1], 5), &step);
    }
}
