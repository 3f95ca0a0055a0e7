//! RMSprop's update, in place.

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
use crate::RmsPropStep;

#[derive(CubeType, CubeLaunch)]
struct Constants {
    learning_rate: f32,
    /// The shares of the old mean of squares, and of the new square.
    kept: f32,
    share: f32,
    epsilon: f32,
    momentum: f32,
    weight_decay: f32,
}

#[cube(launch)]
fn update_by_rms_prop(
    weight: &mut Array<f32>,
    square_mean: &mut Array<f32>,
    velocity: &mut Array<f32>,
    gradient: &Array<f32>,
    diverged: &Array<f32>,
    constants: Constants,
) {
    let i = ABSOLUTE_POS;
    if i < weight.len() && diverged[0] == 0.0 {
        let gradient = gradient[i] + weight[i] * constants.weight_decay;
        let mean = square_mean[i] * constants.kept + gradient * gradient * constants.share;
        let direction = gradient / (f32::sqrt(mean) + constants.epsilon);
        let moved = velocity[i] * constants.momentum + direction;
        square_mean[i] = mean;
        velocity[i] = moved;
        weight[i] -= moved * constants.learning_rate;
    }
}

pub(super) fn rms_prop<R: CubeRuntime>(
    weight: Lazy<R>,
    gradient: Lazy<R>,
    [square_mean, velocity]: [Lazy<R>; 2],
    diverged: Lazy<R>,
    step: &RmsPropStep,
) -> (Lazy<R>, [Lazy<R>; 2]) {
    let outputs = [&weight, &square_mean, &velocity].map(Described::like);
    let inputs = [weight, gradient, square_mean, velocity, diverged];
    let step = *step;
    let [weight, square_mean, velocity] =
        register("rms_prop", inputs, outputs, move |inputs| launch(inputs, &step));
    (weight, [square_mean, velocity])
}

/// Takes weight, gradient, mean of squares, velocity and the flag of divergence; returns weight, mean
/// of squares and velocity.
fn launch<R: CubeRuntime>(
    [weight, gradient, square_mean, velocity, diverged]: [CubeTensor<R>; 5],
    step: &RmsPropStep,
) -> [CubeTensor<R>; 3] {
    let [weight, square_mean, velocity] = [weight, square_mean, velocity].map(writable);
    let (count, cube) = elementwise(&weight.client, weight.meta.num_elements());
    update_by_rms_prop::launch::<R>(
        &weight.client,
        count,
        cube,
        weight.clone().into_array_arg(),
        square_mean.clone().into_array_arg(),
        velocity.clone().into_array_arg(),
        into_contiguous(gradient).into_array_arg(),
        diverged.into_array_arg(),
        ConstantsLaunch::new(
            step.learning_rate as f32,
            step.alpha as f32,
            (1.0 - step.alpha) as f32,
            step.epsilon as f32,
            step.momentum as f32,
            step.weight_decay as f32,
        ),
    );
    [weight, square_mean, velocity]
}
