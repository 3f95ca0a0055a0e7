//! Gradient descent with momentum, in place.

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
use crate::SgdStep;

#[cube(launch)]
fn update_by_sgd(
    weight: &mut Array<f32>,
    velocity: &mut Array<f32>,
    gradient: &Array<f32>,
    diverged: &Array<f32>,
    learning_rate: f32,
    momentum: f32,
    weight_decay: f32,
    #[comptime] nesterov: bool,
) {
    let i = ABSOLUTE_POS;
    if i < weight.len() && diverged[0] == 0.0 {
        let gradient = gradient[i] + weight[i] * weight_decay;
        let moved = velocity[i] * momentum + gradient;
        velocity[i] = moved;
        if nesterov {
            weight[i] -= (gradient + moved * momentum) * learning_rate;
        } else {
            weight[i] -= moved * learning_rate;
        }
    }
}

pub(super) fn sgd<R: CubeRuntime>(
    weight: Lazy<R>,
    gradient: Lazy<R>,
    velocity: Lazy<R>,
    diverged: Lazy<R>,
    step: &SgdStep,
) -> (Lazy<R>, Lazy<R>) {
    let outputs = [&weight, &velocity].map(Described::like);
    let inputs = [weight, gradient, velocity, diverged];
    let step = *step;
    let [weight, velocity] = register("sgd", inputs, outputs, move |inputs| launch(inputs, &step));
    (weight, velocity)
}

/// Takes weight, gradient, velocity and the flag of divergence; returns weight and velocity.
fn launch<R: CubeRuntime>(
    [weight, gradient, velocity, diverged]: [CubeTensor<R>; 4],
    step: &SgdStep,
) -> [CubeTensor<R>; 2] {
    let [weight, velocity] = [weight, velocity].map(writable);
    let (count, cube) = elementwise(&weight.client, weight.meta.num_elements());
    update_by_sgd::launch::<R>(
        &weight.client,
        count,
        cube,
        weight.clone().into_array_arg(),
        velocity.clone().into_array_arg(),
        into_contiguous(gradient).into_array_arg(),
        diverged.into_array_arg(),
        step.learning_rate as f32,
        step.momentum as f32,
        step.weight_decay as f32,
        step.nesterov,
    );
    [weight, velocity]
}
