//! The values of a model's parameters, in the order in which it is visited, read and replaced.

use backend::{
    AutodiffBackend, Backend,
    primitive::{flat, primitive, shaped, tensor},
};
use burn::{
    module::{AutodiffModule, Module, ModuleMapper, ModuleVisitor, Param},
    tensor::{Shape, Tensor, TensorData, ops::FloatTensor},
};

use crate::parameters::Parameter;

/// The values of all parameters.
pub(crate) fn values<B: Backend, M: Module<B>>(model: &M) -> Vec<FloatTensor<B>> {
    let mut collect = Collect::<B>(Vec::new());
    model.visit(&mut collect);
    collect.0
}

/// A model without gradients, with other values, laid out as the backend's operations read them; where
/// there are none, it keeps its own.
pub(crate) fn with_values<B: Backend, M: Module<B>>(
    model: M,
    values: impl IntoIterator<Item = Option<FloatTensor<B>>>,
) -> M {
    model.map(&mut Replace(values.into_iter().map(|value| value.map(B::laid_out))))
}

/// A model with other values; the same parameters are trained as before.
pub(crate) fn trainable_with_values<B, M>(
    model: &M,
    values: impl IntoIterator<Item = FloatTensor<B::InnerBackend>>,
    parameters: &[Parameter],
) -> M
where
    B: AutodiffBackend,
    M: AutodiffModule<B>,
{
    let replaced = with_values(model.valid(), values.into_iter().map(Some));
    M::from_inner(replaced).map(&mut Train(parameters.iter()))
}

/// The numbers of a tensor of any rank, read from the device.
pub(crate) fn to_host<B: Backend>(primitive: FloatTensor<B>) -> Vec<f32> {
    let data = flat::<B>(primitive).into_data().convert::<f32>();
    data.into_vec().expect("it was just made of this type")
}

/// The reverse of [`to_host`].
pub(crate) fn from_host<B: Backend>(
    values: Vec<f32>,
    shape: Shape,
    device: &B::Device,
) -> FloatTensor<B> {
    let count = values.len();
    let flat = Tensor::<B, 1>::from_data(TensorData::new(values, [count]), device);
    shaped(flat, &shape)
}

struct Collect<B: Backend>(Vec<FloatTensor<B>>);

impl<B: Backend> ModuleVisitor<B> for Collect<B> {
    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<B, D>>) {
        self.0.push(primitive(parameter.val()));
    }
}

/// Puts the values in the places of the parameters' own; where there are none, a parameter stays.
pub(crate) struct Replace<I>(pub(crate) I);

impl<B, I> ModuleMapper<B> for Replace<I>
where
    B: Backend,
    I: Iterator<Item = Option<FloatTensor<B>>>,
{
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
        let Some(Some(value)) = self.0.next() else { return parameter };
        let (id, _, mapper) = parameter.consume();
        Param::from_mapped_value(id, tensor(value), mapper)
    }
}

struct Train<'a, I: Iterator<Item = &'a Parameter>>(I);

impl<'a, B: AutodiffBackend, I: Iterator<Item = &'a Parameter>> ModuleMapper<B> for Train<'a, I> {
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
        let trained = self.0.next().is_some_and(|known| known.trained);
        parameter.set_require_grad(trained)
    }
}
