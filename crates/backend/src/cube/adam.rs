//! The Adam family's update, in place.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    tensor::CubeTensor,
};

use super::{
    buffers::{elementwise, writable},
    registered::{Described, Lazy, register},
};
use crate::AdamStep;

#[derive(CubeType, CubeLaunch)]
struct Constants {
    /// What the weight is multiplied by before the update.
    kept: f32,
    /// What of the weight is added to the gradient.
    decay: f32,
    /// The shares of the new values in the moments.
    first_share: f32,
    second_share: f32,
    second_kept: f32,
    gradient_factor: f32,
    moment_factor: f32,
    second_correction: f32,
    epsilon: f32,
}

#[cube(launch)]
fn update_by_adam(
    weight: &mut Array<f32>,
    first: &mut Array<f32>,
    second: &mut Array<f32>,
    gradient: &Array<f32>,
    diverged: &Array<f32>,
    constants: Constants,
) {
    let i = ABSOLUTE_POS;
    if i < weight.len() && diverged[0] == 0.0 {
        let old = weight[i];
        let gradient = gradient[i] + old * constants.decay;
        let mean = first[i] + (gradient - first[i]) * constants.first_share;
        let square =
            second[i] * constants.second_kept + gradient * gradient * constants.second_share;
        let denominator = f32::sqrt(square) / constants.second_correction + constants.epsilon;
        let direction = gradient * constants.gradient_factor + mean * constants.moment_factor;
        first[i] = mean;
        second[i] = square;
        weight[i] = old * constants.kept - direction / denominator;
    }
}

pub(super) fn adam<R: CubeRuntime>(
    weight: Lazy<R>,
    gradient: Lazy<R>,
    [first, second]: [Lazy<R>; 2],
    diverged: Lazy<R>,
    step: &AdamStep,
) -> (Lazy<R>, [Lazy<R>; 2]) {
    let outputs = [&weight, &first, &second].map(Described::like);
    let inputs = [weight, gradient, first, second, diverged];
    let step = *step;
    let [weight, first, second] =
        register("adam", inputs, outputs, move |inputs| launch(inputs, &step));
    (weight, [first, second])
}

/// Takes weight, gradient, both moments and the flag of divergence; returns weight and moments.
fn launch<R: CubeRuntime>(
    [weight, gradient, first, second, diverged]: [CubeTensor<R>; 5],
    step: &AdamStep,
) -> [CubeTensor<R>; 3] {
    let [weight, first, second] = [weight, first, second].map(writable);
    let [gradient_factor, moment_factor] = step.factors();
    let (kept, decay) = match step.decoupled {
        true => (1.0 - step.learning_rate * step.weight_decay, 0.0),
        false => (1.0, step.weight_decay),
    };
    let (count, cube) = elementwise(&weight.client, weight.meta.num_elements());
    update_by_adam::launch::<R>(
        &weight.client,
        count,
        cube,
        weight.clone().into_array_arg(),
        first.clone().into_array_arg(),
        second.clone().into_array_arg(),
        into_contiguous(gradient).into_array_arg(),
        diverged.into_array_arg(),
        ConstantsLaunch::new(
            kept as f32,
            decay as f32,
            (1.0 - step.beta_1) as f32,
            (1.0 - step.beta_2) as f32,
            step.beta_2 as f32,
            gradient_factor as f32,
            moment_factor as f32,
            step.second_correction() as f32,
            step.epsilon as f32,
        ),
    );
    [weight, first, second]
}
