//! Gradient descent in place: one pass over weight, gradient and, with momentum, velocity.

use super::{
    lanes::{read, write},
    simd::{Kernel, Vector},
    update::Piece,
};
use crate::SgdStep;

/// With one slot there is a velocity, with none there is no momentum.
pub(super) struct Update<'a, const SLOTS: usize> {
    pub(super) piece: Piece<'a, SLOTS>,
    pub(super) step: &'a SgdStep,
}

impl<const SLOTS: usize> Kernel for Update<'_, SLOTS> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { piece: Piece { weight, gradient, mut slots }, step } = self;
        let velocity = slots.first_mut().map(|velocity| velocity.as_mut_ptr());
        let learning_rate = V::splat(step.learning_rate as f32);
        let momentum = V::splat(step.momentum as f32);
        let weight_decay = V::splat(step.weight_decay as f32);
        for at in (0..gradient.len()).step_by(V::LANES) {
            let count = gradient.len() - at;
            // SAFETY: `count` values follow in each slice, which are equally long.
            unsafe {
                let weight = weight.as_mut_ptr().add(at);
                let old_weight = read::<V>(weight, count);
                let gradient = read::<V>(gradient.as_ptr().add(at), count);
                let gradient = old_weight.mul_add(weight_decay, gradient);
                let mut direction = gradient;
                if let Some(velocity) = velocity {
                    let velocity = velocity.add(at);
                    let new_velocity = read::<V>(velocity, count).mul_add(momentum, gradient);
                    let ahead = new_velocity.mul_add(momentum, gradient);
                    direction = if step.nesterov { ahead } else { new_velocity };
                    write(new_velocity, velocity, count);
                }
                write(direction.neg_mul_add(learning_rate, old_weight), weight, count);
            }
        }
    }
}
