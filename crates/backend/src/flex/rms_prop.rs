//! RMSprop in place: one pass over weight, gradient, mean of squares and, with momentum, velocity.

use super::{
    lanes::{read, write},
    simd::{Kernel, Vector},
    update::Piece,
};
use crate::RmsPropStep;

pub(super) struct Update<'a> {
    pub(super) piece: Piece<'a, 2>,
    pub(super) step: &'a RmsPropStep,
}

pub(super) struct WithoutMomentum<'a> {
    pub(super) piece: Piece<'a, 1>,
    pub(super) step: &'a RmsPropStep,
}

/// The constants of a step in each lane.
struct Constants<V> {
    learning_rate: V,
    alpha: V,
    rest: V,
    epsilon: V,
    weight_decay: V,
}

impl<V: Vector> Constants<V> {
    #[inline(always)]
    fn of(step: &RmsPropStep) -> Self {
        Self {
            learning_rate: V::splat(step.learning_rate as f32),
            alpha: V::splat(step.alpha as f32),
            rest: V::splat((1.0 - step.alpha) as f32),
            epsilon: V::splat(step.epsilon as f32),
            weight_decay: V::splat(step.weight_decay as f32),
        }
    }

    /// The new mean of squares, and the direction of the step.
    #[inline(always)]
    fn moved(&self, weight: V, gradient: V, square_mean: V) -> [V; 2] {
        let gradient = weight.mul_add(self.weight_decay, gradient);
        let square = gradient.mul(gradient);
        let square_mean = square_mean.mul_add(self.alpha, square.mul(self.rest));
        [square_mean, gradient.div(square_mean.sqrt().add(self.epsilon))]
    }
}

impl Kernel for Update<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { piece: Piece { weight, gradient, slots: [square_mean, velocity] }, step } = self;
        let constants = Constants::<V>::of(step);
        let momentum = V::splat(step.momentum as f32);
        for at in (0..gradient.len()).step_by(V::LANES) {
            let count = gradient.len() - at;
            // SAFETY: `count` values follow in each slice, which are equally long.
            unsafe {
                let weight = weight.as_mut_ptr().add(at);
                let square_mean = square_mean.as_mut_ptr().add(at);
                let velocity = velocity.as_mut_ptr().add(at);
                let old_weight = read::<V>(weight, count);
                let gradient = read::<V>(gradient.as_ptr().add(at), count);
                let old_mean = read::<V>(square_mean, count);
                let [new_mean, direction] = constants.moved(old_weight, gradient, old_mean);
                let new_velocity = read::<V>(velocity, count).mul_add(momentum, direction);
                let rate = constants.learning_rate;
                write(new_velocity.neg_mul_add(rate, old_weight), weight, count);
                write(new_mean, square_mean, count);
                write(new_velocity, velocity, count);
            }
        }
    }
}

impl Kernel for WithoutMomentum<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { piece: Piece { weight, gradient, slots: [square_mean] }, step } = self;
        let constants = Constants::<V>::of(step);
        for at in (0..gradient.len()).step_by(V::LANES) {
            let count = gradient.len() - at;
            // SAFETY: `count` values follow in each slice, which are equally long.
            unsafe {
                let weight = weight.as_mut_ptr().add(at);
                let square_mean = square_mean.as_mut_ptr().add(at);
                let old_weight = read::<V>(weight, count);
                let gradient = read::<V>(gradient.as_ptr().add(at), count);
                let old_mean = read::<V>(square_mean, count);
                let [new_mean, direction] = constants.moved(old_weight, gradient, old_mean);
                let rate = constants.learning_rate;
                write(direction.neg_mul_add(rate, old_weight), weight, count);
                write(new_mean, square_mean, count);
            }
        }
    }
}
