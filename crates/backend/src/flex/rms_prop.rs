//! RMSprop in place: one pass over weight, gradient, mean of squares and velocity.

use burn::backend::Flex;
use burn_flex::FlexTensor;

use super::{all_f32, assert_one_shape, contiguous, elements};
use crate::{Parameter, RmsPropStep, Updated, overrides::note_taken, rms_prop};

pub(super) fn update(
    parameter: Parameter<Flex, 2>,
    diverged: &FlexTensor,
    step: &RmsPropStep,
) -> Updated<Flex, 2> {
    let Parameter { weight, gradient, slots: [square_mean, velocity] } = &parameter;
    if !all_f32([weight, gradient, square_mean, velocity]) {
        return rms_prop::composed(parameter, diverged.clone(), step);
    }
    note_taken();
    assert_one_shape(&parameter);
    let Parameter { weight, gradient, slots: [square_mean, velocity] } = parameter;
    if elements(diverged)[0] != 0.0 {
        return (weight, [square_mean, velocity]);
    }
    let [mut weight, gradient, mut square_mean, mut velocity] =
        [weight, gradient, square_mean, velocity].map(contiguous);
    let values = weight
        .storage_mut::<f32>()
        .iter_mut()
        .zip(elements(&gradient))
        .zip(square_mean.storage_mut::<f32>().iter_mut().zip(velocity.storage_mut::<f32>()));

    let (learning_rate, momentum) = (step.learning_rate as f32, step.momentum as f32);
    let (alpha, rest) = (step.alpha as f32, (1.0 - step.alpha) as f32);
    let (epsilon, weight_decay) = (step.epsilon as f32, step.weight_decay as f32);
    for ((weight, gradient), (square_mean, velocity)) in values {
        let gradient = gradient + weight_decay * *weight;
        *square_mean = alpha * *square_mean + rest * gradient * gradient;
        *velocity = momentum * *velocity + gradient / (square_mean.sqrt() + epsilon);
        *weight -= learning_rate * *velocity;
    }
    (weight, [square_mean, velocity])
}
