//! Gradient descent in place: one pass over weight, gradient and velocity.

use burn::backend::Flex;
use burn_flex::FlexTensor;

use super::{all_f32, assert_one_shape, contiguous, elements};
use crate::{Parameter, SgdStep, Updated, overrides::note_taken, sgd};

pub(super) fn update(
    parameter: Parameter<Flex, 1>,
    diverged: &FlexTensor,
    step: &SgdStep,
) -> Updated<Flex, 1> {
    let Parameter { weight, gradient, slots: [velocity] } = &parameter;
    if !all_f32([weight, gradient, velocity]) {
        return sgd::composed(parameter, diverged.clone(), step);
    }
    note_taken();
    assert_one_shape(&parameter);
    let Parameter { weight, gradient, slots: [velocity] } = parameter;
    if elements(diverged)[0] != 0.0 {
        return (weight, [velocity]);
    }
    let [mut weight, gradient, mut velocity] = [weight, gradient, velocity].map(contiguous);
    let values = weight
        .storage_mut::<f32>()
        .iter_mut()
        .zip(elements(&gradient).iter().zip(velocity.storage_mut::<f32>()));

    let (learning_rate, momentum) = (step.learning_rate as f32, step.momentum as f32);
    let weight_decay = step.weight_decay as f32;
    for (weight, (gradient, velocity)) in values {
        let gradient = gradient + weight_decay * *weight;
        *velocity = momentum * *velocity + gradient;
        let direction = if step.nesterov { gradient + momentum * *velocity } else { *velocity };
        *weight -= learning_rate * direction;
    }
    (weight, [velocity])
}
