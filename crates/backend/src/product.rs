//! The products of matrices, and how they are differentiated.

use burn::backend::autodiff::{Autodiff, checkpoint::strategy::CheckpointStrategy};
use burn::tensor::{TensorMetadata, ops::FloatTensor};

use crate::{Backend, tape};

/// Left and right, each where the gradient of the other is wanted.
type Operands<B> = [Option<FloatTensor<B>>; 2];

pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    left: FloatTensor<Autodiff<B, C>>,
    right: FloatTensor<Autodiff<B, C>>,
) -> FloatTensor<Autodiff<B, C>> {
    let recording = tape::begin::<B, C, Operands<B>, 2>([&left, &right], |operands, gradient| {
        let [left, right] = operands;
        let of_left = right.map(|right| B::product(gradient.clone(), transposed::<B>(right)));
        [of_left, left.map(|left| B::product(transposed::<B>(left), gradient))]
    });
    let tracked = [&left, &right].map(|parent| parent.is_tracked());
    let (left, right) = (left.primitive, right.primitive);
    let saved = [tracked[1].then(|| left.clone()), tracked[0].then(|| right.clone())];
    tape::finish(recording, saved, B::product(left, right))
}

/// `[.., rows, columns]` as `[.., columns, rows]`
fn transposed<B: Backend>(matrices: FloatTensor<B>) -> FloatTensor<B> {
    let last = matrices.rank() - 1;
    B::float_swap_dims(matrices, last - 1, last)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Distribution, Tensor, TensorData, Tolerance};

    use crate::{Selected, device::Device, functional::product};

    type B = Autodiff<Selected>;

    use super::*;

    #[test]
    fn gradients_are_those_of_burns_product() {
        let device = Device::default();
        let random = |shape: [usize; 3]| -> TensorData {
            Tensor::<Selected, 3>::random(shape, Distribution::Default, &device).into_data()
        };
        let [left, right, weight] = [[2, 3, 4], [2, 4, 5], [2, 3, 5]].map(random);
        let gradients = |by: fn(Tensor<B, 3>, Tensor<B, 3>) -> Tensor<B, 3>, tracked: [bool; 2]| {
            let parent = |(values, tracked): (&TensorData, bool)| {
                Tensor::<B, 3>::from_data(values.clone(), &device).set_require_grad(tracked)
            };
            let parents = [(&left, tracked[0]), (&right, tracked[1])].map(parent);
            let [left, right] = parents.clone();
            let loss = by(left, right) * Tensor::from_data(weight.clone(), &device);
            let gradients = loss.sum().backward();
            parents.map(|parent| Some(parent.grad(&gradients)?.into_data()))
        };
        let theirs = gradients(Tensor::matmul, [true; 2]);
        for tracked in [[true, true], [true, false], [false, true]] {
            let ours = gradients(product, tracked);
            for ((ours, theirs), tracked) in ours.iter().zip(&theirs).zip(tracked) {
                assert_eq!(ours.is_some(), tracked);
                let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
                // Burn's may be by tensor cores, which round.
                ours.assert_approx_eq::<f32>(theirs, Tolerance::rel_abs(1e-2, 1e-2));
            }
        }
    }
}
