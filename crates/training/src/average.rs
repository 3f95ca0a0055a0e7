//! The exponential moving average of the weights. It begins with the weights after the first update,
//! made or skipped, as PyTorch's `AveragedModel` does, and decays faster in the first updates, as
//! TensorFlow's `ExponentialMovingAverage` with `num_updates` does; otherwise the average of a short
//! run would be mostly of its beginning.

use backend::{AutodiffBackend, Backend};
use burn::{module::Module, tensor::ops::FloatTensor};

use crate::{
    parameters::Parameter,
    values::{values, with_values},
};

/// The average of each trained parameter, in the order in which the model is visited; empty before
/// the first update.
#[derive(Clone, Debug)]
pub(crate) struct Average<B: Backend>(pub(crate) Vec<Option<FloatTensor<B>>>);

impl<B: Backend> Average<B> {
    /// Adds the weights after update number `update`, counted from 1.
    pub(crate) fn note<A, M>(
        &mut self,
        model: &M,
        parameters: &[Parameter],
        decay: f64,
        update: u64,
    ) where
        A: AutodiffBackend<InnerBackend = B>,
        M: Module<A>,
    {
        self.0.resize_with(parameters.len(), || None);
        let (mut positions, mut pairs) = (Vec::new(), Vec::new());
        let weights = values::<A, M>(model).into_iter().map(A::inner).enumerate();
        for (position, weight) in weights.filter(|(position, _)| parameters[*position].trained) {
            match self.0[position].take() {
                None => self.0[position] = Some(weight),
                Some(average) => {
                    positions.push(position);
                    pairs.push([average, weight]);
                }
            }
        }
        let averages = B::fused_moving_averages(pairs, 1.0 - decay_at(decay, update), 1.0);
        for (position, average) in positions.into_iter().zip(averages) {
            self.0[position] = Some(average);
        }
    }

    /// The model for evaluation, with the averages as its weights.
    pub(crate) fn apply<M: Module<B>>(&self, model: M) -> M {
        with_values(model, self.0.iter().cloned())
    }
}

/// The share of the average that an update keeps.
fn decay_at(decay: f64, update: u64) -> f64 {
    let update = update as f64;
    decay.min((1.0 + update) / (10.0 + update))
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};
    use burn::{backend::Autodiff, module::Param, tensor::Tensor};

    use super::*;
    use crate::values::to_host;

    #[derive(Module, Debug)]
    struct OneWeight<B: Backend> {
        weight: Param<Tensor<B, 1>>,
    }

    /// Rounding must not let it shrink or grow.
    #[test]
    fn the_average_of_a_weight_that_stays_is_the_weight() {
        let weight = [1.0, -0.3, 1e-4, 12345.678];
        let tensor = Tensor::<Autodiff<Selected>, 1>::from_floats(weight, &Device::default());
        let model = OneWeight { weight: Param::from_tensor(tensor) };
        let parameter = Parameter {
            path: "weight".to_owned(),
            shape: vec![4],
            trained: true,
            factor: 1.0,
            decays: true,
        };
        let mut average = Average::<Selected>(Vec::new());
        let after = 1_000_000; // the decay is whole by then
        for update in [1].into_iter().chain(after..after + 20_000) {
            average.note(&model, std::slice::from_ref(&parameter), 0.9999, update);
        }
        let average = average.0.remove(0).unwrap();
        assert_eq!(to_host::<Selected>(average), weight);
    }
}
