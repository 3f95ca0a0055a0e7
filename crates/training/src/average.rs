//! The exponential moving average of the weights, as PyTorch's `AveragedModel` with
//! `get_ema_multi_avg_fn` takes it: it begins with the weights after the first update.

use backend::{AutodiffBackend, Backend};
use burn::{module::Module, tensor::ops::FloatTensor};

use crate::{
    parameters::Parameter,
    values::{values, with_values},
};

/// The average of each parameter that is trained, in the order in which the model is visited;
/// empty before the first update.
#[derive(Clone, Debug)]
pub(crate) struct Average<B: Backend>(pub(crate) Vec<Option<FloatTensor<B>>>);

impl<B: Backend> Average<B> {
    /// Takes in the weights after an update.
    pub(crate) fn note<A, M>(&mut self, model: &M, parameters: &[Parameter], decay: f64)
    where
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
        let averages = B::fused_moving_averages(pairs, decay);
        for (position, average) in positions.into_iter().zip(averages) {
            self.0[position] = Some(average);
        }
    }

    /// A model for evaluation, with the averages for its weights.
    pub(crate) fn apply<M: Module<B>>(&self, model: M) -> M {
        with_values(model, self.0.iter().cloned())
    }
}
