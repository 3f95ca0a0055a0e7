//! RMSprop (Tieleman and Hinton, lecture 6.5 of "Neural networks for machine learning", 2012), as
//! PyTorch defines it, with momentum and not centred.
//!
//! Overrides: Flex (`flex/rms_prop.rs`), CUDA and WGPU (`cube/rms_prop.rs`).

use burn::tensor::{Tensor, TensorMetadata, ops::FloatTensor};

use crate::{
    Backend, Parameter, Updated,
    operations::{flat, shaped},
    overrides::note_composed,
};

/// The constants of one update:
///
/// ```text
/// g  = gradient + weight_decay * weight
/// s  = alpha * s + (1 - alpha) g^2
/// v  = momentum * v + g / (sqrt(s) + epsilon)
/// w -= learning_rate * v
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RmsPropStep {
    /// The learning rate of this update.
    pub learning_rate: f64,
    /// Decay of the mean of squares.
    pub alpha: f64,
    /// Added to the denominator.
    pub epsilon: f64,
    /// The share of the velocity that is kept.
    pub momentum: f64,
    /// Weight decay, zero for none.
    pub weight_decay: f64,
}

pub(crate) fn composed<B: Backend>(
    parameter: Parameter<B, 2>,
    diverged: FloatTensor<B>,
    step: &RmsPropStep,
) -> Updated<B, 2> {
    note_composed();
    let Parameter { weight, gradient, slots: [square_mean, velocity] } = parameter;
    let shape = weight.shape();
    let [old_weight, gradient, old_square_mean, old_velocity] =
        [weight, gradient, square_mean, velocity].map(flat::<B>);

    let gradient = gradient + old_weight.clone() * step.weight_decay;
    let square = gradient.clone() * gradient.clone();
    let square_mean = old_square_mean.clone() * step.alpha + square * (1.0 - step.alpha);
    let direction = gradient / (square_mean.clone().sqrt() + step.epsilon);
    let velocity = old_velocity.clone() * step.momentum + direction;
    let weight = old_weight.clone() - velocity.clone() * step.learning_rate;

    let keep = flat::<B>(diverged).not_equal_elem(0.0).expand(weight.shape());
    let result = |new: Tensor<B, 1>, old| shaped(new.mask_where(keep.clone(), old), &shape);
    let state = [result(square_mean, old_square_mean), result(velocity, old_velocity)];
    (result(weight, old_weight), state)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{TensorPrimitive, Tolerance};

    use super::*;
    use crate::{Selected, device::Device};

    type Update =
        fn(Parameter<Selected, 2>, FloatTensor<Selected>, &RmsPropStep) -> Updated<Selected, 2>;

    fn one(
        parameter: Parameter<Selected, 2>,
        diverged: FloatTensor<Selected>,
        step: &RmsPropStep,
    ) -> Updated<Selected, 2> {
        Selected::fused_rms_prop(vec![parameter], diverged, step).remove(0)
    }

    /// The new weight, mean of squares and velocity.
    fn run(update: Update, diverged: f32) -> [Tensor<Selected, 1>; 3] {
        let tensor = |values: &[f32]| {
            let tensor = Tensor::<Selected, 1>::from_floats(values, &Device::default());
            tensor.into_primitive().tensor()
        };
        let step = RmsPropStep {
            learning_rate: 0.1,
            alpha: 0.9,
            epsilon: 1e-8,
            momentum: 0.5,
            weight_decay: 0.1,
        };
        let parameter = Parameter {
            weight: tensor(&[1.0, -1.0, 2.0]),
            gradient: tensor(&[0.5, 3.0, -1.0]),
            slots: [tensor(&[0.0, 4.0, 9.0]), tensor(&[1.0, 0.0, -1.0])],
        };
        let (weight, [square_mean, velocity]) = update(parameter, tensor(&[diverged]), &step);
        [weight, square_mean, velocity]
            .map(|result| Tensor::from_primitive(TensorPrimitive::Float(result)))
    }

    #[test]
    fn the_override_equals_the_default_body() {
        let pairs = run(one, 0.0).into_iter().zip(run(composed::<Selected>, 0.0));
        for (ours, reference) in pairs {
            let tolerance = Tolerance::<f32>::rel_abs(1e-5, 1e-6);
            ours.into_data().assert_approx_eq(&reference.into_data(), tolerance);
        }
    }

    #[test]
    fn nothing_changes_once_training_has_diverged() {
        for update in [one as Update, composed::<Selected>] {
            let [weight, square_mean, velocity] = run(update, 1.0).map(Tensor::into_data);
            assert_eq!(weight.to_vec::<f32>().unwrap(), [1.0, -1.0, 2.0]);
            assert_eq!(square_mean.to_vec::<f32>().unwrap(), [0.0, 4.0, 9.0]);
            assert_eq!(velocity.to_vec::<f32>().unwrap(), [1.0, 0.0, -1.0]);
        }
    }
}
