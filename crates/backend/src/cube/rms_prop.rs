//! RMSprop's update in place, with or without momentum.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
};

use super::{buffers::row_of_units, update::Group};
use crate::{RmsPropStep, update::exactly};

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
    weights: &mut Sequence<Array<f32>>,
    square_means: &mut Sequence<Array<f32>>,
    velocities: &mut Sequence<Array<f32>>,
    gradients: &Sequence<Array<f32>>,
    diverged: &Array<f32>,
    constants: Constants,
    #[comptime] has_velocity: bool,
) {
    if diverged[0] == 0.0 {
        #[unroll]
        for parameter in 0..gradients.len() {
            if CUBE_POS_Y as usize == parameter {
                let weight = weights.index_mut(parameter);
                let square_mean = square_means.index_mut(parameter);
                let gradient = gradients.index(parameter);
                for i in range_stepped(ABSOLUTE_POS_X as usize, gradient.len(), row_of_units()) {
                    let gradient = gradient[i] + weight[i] * constants.weight_decay;
                    let mean =
                        square_mean[i] * constants.kept + gradient * gradient * constants.share;
                    square_mean[i] = mean;
                    let mut direction = gradient / (f32::sqrt(mean) + constants.epsilon);
                    if has_velocity {
                        let velocity = velocities.index_mut(parameter);
                        direction += velocity[i] * constants.momentum;
                        velocity[i] = direction;
                    }
                    weight[i] -= direction * constants.learning_rate;
                }
            }
        }
    }
}

pub(super) fn launch<R: CubeRuntime>(group: Group<R>, step: &RmsPropStep) {
    let has_velocity = step.has_velocity();
    let (square_means, velocities) = match has_velocity {
        true => exactly::<_, 2>(group.slots).into(),
        false => {
            let [square_means] = exactly(group.slots);
            (square_means, SequenceArg::new())
        }
    };
    update_by_rms_prop::launch::<R>(
        &group.client,
        group.count,
        group.cube,
        group.weights,
        square_means,
        velocities,
        group.gradients,
        group.diverged,
        ConstantsLaunch::new(
            step.learning_rate as f32,
            step.alpha as f32,
            (1.0 - step.alpha) as f32,
            step.epsilon as f32,
            step.momentum as f32,
            step.weight_decay as f32,
        ),
        has_velocity,
    );
}
