//! Adam in place: one pass over weight, gradient and moments.

use burn_flex::FlexTensor;

use super::{all_f32, contiguous, elements};
use crate::{AdamStep, adam};

pub(super) fn update(
    weight: FlexTensor,
    gradient: FlexTensor,
    [first, second]: [FlexTensor; 2],
    diverged: FlexTensor,
    step: &AdamStep,
) -> (FlexTensor, [FlexTensor; 2]) {
    if !all_f32([&weight, &gradient, &first, &second]) {
        return adam::composed::<burn::backend::Flex>(
            weight,
            gradient,
            [first, second],
            diverged,
            step,
        );
    }
    if elements(&diverged)[0] != 0.0 {
        return (weight, [first, second]);
    }
    let [mut weight, gradient, mut first, mut second] =
        [weight, gradient, first, second].map(contiguous);
    let values = weight
        .storage_mut::<f32>()
        .iter_mut()
        .zip(elements(&gradient))
        .zip(first.storage_mut::<f32>().iter_mut().zip(second.storage_mut::<f32>()));

    let coupled_decay = if step.decoupled { 0.0 } else { step.weight_decay as f32 };
    let shrink =
        if step.decoupled { (1.0 - step.learning_rate * step.weight_decay) as f32 } else { 1.0 };
    let (rest_1, rest_2) = ((1.0 - step.beta_1) as f32, (1.0 - step.beta_2) as f32);
    let beta_2 = step.beta_2 as f32;
    let second_correction = step.second_correction() as f32;
    let epsilon = step.epsilon as f32;
    let [gradient_factor, moment_factor] = step.factors().map(|factor| factor as f32);
    for ((weight, gradient), (first, second)) in values {
        let gradient = gradient + coupled_decay * *weight;
        *first += rest_1 * (gradient - *first);
        *second = beta_2 * *second + rest_2 * gradient * gradient;
        let denominator = second.sqrt() / second_correction + epsilon;
        let direction = gradient_factor * gradient + moment_factor * *first;
        *weight = *weight * shrink - direction / denominator;
    }
    (weight, [first, second])
}
