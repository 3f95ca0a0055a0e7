//! Gradient descent in place: one pass over weight, gradient and, with momentum, velocity.

use super::{
    lanes::{read, write},
    simd::{Kernel, Vector},
    update::Piece,
};
use crate::SgdStep;

pub(super) struct Update<'a> {
    pub(super) piece: Piece<'a, 1>,
    pub(super) step: &'a SgdStep,
}

pub(super) struct WithoutMomentum<'a> {
    pub(super) piece: Piece<'a, 0>,
    pub(super) step: &'a SgdStep,
}

impl Kernel for WithoutMomentum<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { piece: Piece { weight, gradient, slots: [] }, step } = self;
        let learning_rate = V::splat(step.learning_rate as f32);
        let weight_decay = V::splat(step.weight_decay as f32);
        for at in (0..gradient.len()).step_by(V::LANES) {
            let count = gradient.len() - at;
            // SAFETY: `count` values follow in both slices, which are equally long.
            unsafe {
                let weight = weight.as_mut_ptr().add(at);
                let old_weight = read::<V>(weight, count);
                let gradient = read::<V>(gradient.as_ptr().add(at), count);
                let gradient = old_weight.mul_add(weight_decay, gradient);
                write(gradient.neg_mul_add(learning_rate, old_weight), weight, count);
            }
        }
    }
}

impl Kernel for Update<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { piece: Piece { weight, gradient, slots: [velocity] }, step } = self;
        let learning_rate = V::splat(step.learning_rate as f32);
        let momentum = V::splat(step.momentum as f32);
        let weight_decay = V::splat(step.weight_decay as f32);
        for at in (0..gradient.len()).step_by(V::LANES) {
            let count = gradient.len() - at;
            // SAFETY: `count` values follow in each slice, which are equally long.
            unsafe {
                let (weight, velocity) =
                    (weight.as_mut_ptr().add(at), velocity.as_mut_ptr().add(at));
                let old_weight = read::<V>(weight, count);
                let gradient = read::<V>(gradient.as_ptr().add(at), count);
                let gradient = old_weight.mul_add(weight_decay, gradient);
                let new_velocity = read::<V>(velocity, count).mul_add(momentum, gradient);
                let ahead = new_velocity.mul_add(momentum, gradient);
                let direction = if step.nesterov { ahead } else { new_velocity };
                write(direction.neg_mul_add(learning_rate, old_weight), weight, count);
                write(new_velocity, velocity, count);
            }
        }
    }
}
