//! The Adam family's update, in place.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
};

use super::{buffers::row_of_units, update::Group};
use crate::{AdamStep, update::exactly};

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
    weights: &mut Sequence<Array<f32>>,
    first_moments: &mut Sequence<Array<f32>>,
    second_moments: &mut Sequence<Array<f32>>,
    gradients: &Sequence<Array<f32>>,
    diverged: &Array<f32>,
    constants: Constants,
) {
    if diverged[0] == 0.0 {
        #[unroll]
        for parameter in 0..gradients.len() {
            if CUBE_POS_Y as usize == parameter {
                let weight = weights.index_mut(parameter);
                let first = first_moments.index_mut(parameter);
                let second = second_moments.index_mut(parameter);
                let gradient = gradients.index(parameter);
                for i in range_stepped(ABSOLUTE_POS_X as usize, gradient.len(), row_of_units()) {
                    let old = weight[i];
                    let gradient = gradient[i] + old * constants.decay;
                    let mean = first[i] + (gradient - first[i]) * constants.first_share;
                    let square = second[i] * constants.second_kept
                        + gradient * gradient * constants.second_share;
                    let denominator =
                        f32::sqrt(square) / constants.second_correction + constants.epsilon;
                    let direction =
                        gradient * constants.gradient_factor + mean * constants.moment_factor;
                    first[i] = mean;
                    second[i] = square;
                    weight[i] = old * constants.kept - direction / denominator;
                }
            }
        }
    }
}

pub(super) fn launch<R: CubeRuntime>(group: Group<R>, step: &AdamStep) {
    let [first_moments, second_moments] = exactly(group.slots);
    let [gradient_factor, moment_factor] = step.factors();
    let (kept, decay) = match step.decoupled {
        true => (1.0 - step.learning_rate * step.weight_decay, 0.0),
        false => (1.0, step.weight_decay),
    };
    update_by_adam::launch::<R>(
        &group.client,
        group.count,
        group.cube,
        group.weights,
        first_moments,
        second_moments,
        group.gradients,
        group.diverged,
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
}
