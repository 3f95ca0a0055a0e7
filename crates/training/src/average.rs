//! The exponential moving average of the weights, as PyTorch's `AveragedModel` with
//! `get_ema_multi_avg_fn` takes it: it begins with the weights after the first update.

use backend::{AutodiffBackend, Backend};
use burn::{
    module::{Module, ModuleMapper, ModuleVisitor, Param},
    tensor::{Tensor, TensorPrimitive, ops::FloatTensor},
};

use crate::parameters::Parameter;

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
        model.visit(&mut Note { each: parameters.iter().zip(&mut self.0), decay });
    }

    /// A model for evaluation, with the averages for its weights.
    pub(crate) fn apply<M: Module<B>>(&self, model: M) -> M {
        model.map(&mut Apply(self.0.iter()))
    }
}

struct Note<I> {
    each: I,
    decay: f64,
}

impl<'a, A, I> ModuleVisitor<A> for Note<I>
where
    A: AutodiffBackend,
    I: Iterator<Item = (&'a Parameter, &'a mut Option<FloatTensor<A::InnerBackend>>)>,
{
    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<A, D>>) {
        let Some((Parameter { trained: true, .. }, average)) = self.each.next() else { return };
        let weight = parameter.val().inner();
        let next = match average.take() {
            None => weight,
            Some(before) => {
                let before = Tensor::from_primitive(TensorPrimitive::Float(before));
                before * self.decay + weight * (1.0 - self.decay)
            }
        };
        *average = Some(next.into_primitive().tensor());
    }
}

struct Apply<I>(I);

impl<'a, B, I> ModuleMapper<B> for Apply<I>
where
    B: Backend,
    I: Iterator<Item = &'a Option<FloatTensor<B>>>,
{
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
        let Some(Some(average)) = self.0.next() else { return parameter };
        let (id, _, mapper) = parameter.consume();
        let average = Tensor::from_primitive(TensorPrimitive::Float(average.clone()));
        Param::from_mapped_value(id, average, mapper)
    }
}
