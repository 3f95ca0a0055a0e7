//! Adam in place: one pass over weight, gradient and moments.

use super::{
    lanes::{read, write},
    simd::{Kernel, Vector},
    update::Piece,
};
use crate::AdamStep;

pub(super) struct Update<'a> {
    pub(super) piece: Piece<'a, 2>,
    pub(super) step: &'a AdamStep,
}

impl Kernel for Update<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { piece: Piece { weight, gradient, slots: [first, second] }, step } = self;
        let decay = step.learning_rate * step.weight_decay;
        let coupled_decay = if step.decoupled { 0.0 } else { step.weight_decay };
        let shrink = if step.decoupled { 1.0 - decay } else { 1.0 };
        let [gradient_factor, moment_factor] = step.factors();
        let coupled_decay = V::splat(coupled_decay as f32);
        let shrink = V::splat(shrink as f32);
        let rest_1 = V::splat((1.0 - step.beta_1) as f32);
        let rest_2 = V::splat((1.0 - step.beta_2) as f32);
        let beta_2 = V::splat(step.beta_2 as f32);
        let second_correction = V::splat((1.0 / step.second_correction()) as f32);
        let epsilon = V::splat(step.epsilon as f32);
        let gradient_factor = V::splat(gradient_factor as f32);
        let moment_factor = V::splat(moment_factor as f32);
        for at in (0..gradient.len()).step_by(V::LANES) {
            let count = gradient.len() - at;
            // SAFETY: `count` values follow in each slice, which are equally long.
            unsafe {
                let weight = weight.as_mut_ptr().add(at);
                let (first, second) = (first.as_mut_ptr().add(at), second.as_mut_ptr().add(at));
                let old_weight = read::<V>(weight, count);
                let gradient = read::<V>(gradient.as_ptr().add(at), count);
                let gradient = old_weight.mul_add(coupled_decay, gradient);
                let old_first = read::<V>(first, count);
                let new_first = gradient.sub(old_first).mul_add(rest_1, old_first);
                let square = gradient.mul(gradient);
                let new_second = read::<V>(second, count).mul_add(beta_2, square.mul(rest_2));
                let denominator = new_second.sqrt().mul_add(second_correction, epsilon);
                let direction = gradient.mul_add(gradient_factor, new_first.mul(moment_factor));
                let change = direction.div(denominator);
                write(old_weight.mul_add(shrink, V::zero().sub(change)), weight, count);
                write(new_first, first, count);
                write(new_second, second, count);
            }
        }
    }
}
