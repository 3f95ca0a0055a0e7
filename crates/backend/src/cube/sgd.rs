//! Gradient descent in place, with or without momentum.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
};

use super::{buffers::row_of_units, update::Group};
use crate::{SgdStep, update::exactly};

#[cube(launch)]
fn update_by_sgd(
    weights: &mut Sequence<Array<f32>>,
    velocities: &mut Sequence<Array<f32>>,
    gradients: &Sequence<Array<f32>>,
    diverged: &Array<f32>,
    learning_rate: f32,
    momentum: f32,
    weight_decay: f32,
    #[comptime] has_velocity: bool,
    #[comptime] nesterov: bool,
) {
    if diverged[0] == 0.0 {
        #[unroll]
        for parameter in 0..gradients.len() {
            if CUBE_POS_Y as usize == parameter {
                let weight = weights.index_mut(parameter);
                let gradient = gradients.index(parameter);
                for i in range_stepped(ABSOLUTE_POS_X as usize, gradient.len(), row_of_units()) {
                    let gradient = gradient[i] + weight[i] * weight_decay;
                    let mut direction = gradient;
                    if has_velocity {
                        let velocity = velocities.index_mut(parameter);
                        let moved = velocity[i] * momentum + gradient;
                        velocity[i] = moved;
                        direction = moved;
                        if nesterov {
                            direction = gradient + moved * momentum;
                        }
                    }
                    weight[i] -= direction * learning_rate;
                }
            }
        }
    }
}

pub(super) fn launch<R: CubeRuntime>(group: Group<R>, step: &SgdStep) {
    let has_velocity = step.has_velocity();
    let velocities = match has_velocity {
        true => {
            let [velocities] = exactly(group.slots);
            velocities
        }
        false => SequenceArg::new(),
    };
    update_by_sgd::launch::<R>(
        &group.client,
        group.count,
        group.cube,
        group.weights,
        velocities,
        group.gradients,
        group.diverged,
        step.learning_rate as f32,
        step.momentum as f32,
        step.weight_decay as f32,
        has_velocity,
        step.nesterov,
    );
}
