//! RMSprop in place: one pass over weight, gradient, mean of squares and, with momentum, velocity.

use super::{
    lanes::{read, write},
    simd::{Kernel, Vector},
    update::Piece,
};
use crate::RmsPropStep;

/// The first slot is the mean of squares; where there is a second one, it is the velocity.
pub(super) struct Update<'a, const SLOTS: usize> {
    pub(super) piece: Piece<'a, SLOTS>,
    pub(super) step: &'a RmsPropStep,
}

impl<const SLOTS: usize> Kernel for Update<'_, SLOTS> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { piece: Piece { weight, gradient, mut slots }, step } = self;
        let velocity = slots.get_mut(1).map(|velocity| velocity.as_mut_ptr());
        let square_mean = slots[0].as_mut_ptr();
        let learning_rate = V::splat(step.learning_rate as f32);
        let momentum = V::splat(step.momentum as f32);
        let alpha = V::splat(step.alpha as f32);
        let rest = V::splat((1.0 - step.alpha) as f32);
        let epsilon = V::splat(step.epsilon as f32);
        let weight_decay = V::splat(step.weight_decay as f32);
        for at in (0..gradient.len()).step_by(V::LANES) {
            let count = gradient.len() - at;
            // SAFETY: `count` values follow in each slice, which are equally long.
            unsafe {
                let weight = weight.as_mut_ptr().add(at);
                let square_mean = square_mean.add(at);
                let old_weight = read::<V>(weight, count);
                let gradient = read::<V>(gradient.as_ptr().add(at), count);
                let gradient = old_weight.mul_add(weight_decay, gradient);
                let square = gradient.mul(gradient);
                let new_mean = read::<V>(square_mean, count).mul_add(alpha, square.mul(rest));
                let mut direction = gradient.div(new_mean.sqrt().add(epsilon));
                if let Some(velocity) = velocity {
                    let velocity = velocity.add(at);
                    direction = read::<V>(velocity, count).mul_add(momentum, direction);
                    write(direction, velocity, count);
                }
                write(direction.neg_mul_add(learning_rate, old_weight), weight, count);
                write(new_mean, square_mean, count);
            }
        }
    }
}
