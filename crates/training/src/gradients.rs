//! The gradients of a model, one for each parameter in the order in which the model is visited.

use std::time::Instant;

use backend::{AutodiffBackend, Backend};
use burn::{
    module::{Module, ModuleMapper, ModuleVisitor, Param},
    tensor::{ElementConversion, Tensor, TensorMetadata, TensorPrimitive, ops::FloatTensor},
};

use crate::{
    Group, GroupError,
    optimizer::{Rule, Slot},
    parameters::Parameter,
    values::{from_host, to_host},
};

/// One gradient for each parameter, none where it has none.
pub(crate) struct Gradients<B: Backend>(Vec<Option<FloatTensor<B>>>);

impl<B: Backend> Gradients<B> {
    /// Runs the backward pass of `loss` (`[1]`) and takes what it found for `model`.
    pub(crate) fn of<A, M>(loss: &Tensor<A, 1>, model: &M) -> Self
    where
        A: AutodiffBackend<InnerBackend = B>,
        M: Module<A>,
    {
        let mut collect = Collect::<A> { found: loss.backward(), gradients: Vec::new() };
        model.visit(&mut collect);
        Self(collect.gradients)
    }

    /// Adds the gradients of another part of the same update.
    pub(crate) fn add(self, other: Self) -> Self {
        let sum = |pair| match pair {
            (Some(a), Some(b)) => Some(B::float_add(a, b)),
            (a, b) => a.or(b),
        };
        Self(self.0.into_iter().zip(other.0).map(sum).collect())
    }

    /// The gradients that the processes of a group found of their shares of an update, added up, and
    /// their losses (`[1]`) with them. They travel as one message; also tells the seconds of that.
    pub(crate) fn sum_over(
        self,
        loss: Tensor<B, 1>,
        group: &Group,
        message: &mut Vec<f32>,
    ) -> Result<(Self, Tensor<B, 1>, f64), GroupError> {
        let device = loss.device();
        let loss = loss.into_primitive().tensor();
        message.clear();
        for tensor in std::iter::once(&loss).chain(self.0.iter().flatten()) {
            message.extend(to_host::<B>(tensor.clone()));
        }
        let start = Instant::now(); // now that the device has computed them
        group.sum(message)?;
        let seconds = start.elapsed().as_secs_f64();
        let mut rest = &message[..];
        let mut summed = |tensor: FloatTensor<B>| {
            let shape = tensor.shape();
            let (values, after) = rest.split_at(shape.num_elements());
            rest = after;
            from_host::<B>(values.to_vec(), shape, &device)
        };
        let loss = Tensor::from_primitive(TensorPrimitive::Float(summed(loss)));
        let gradients = self.0.into_iter().map(|gradient| gradient.map(&mut summed)).collect();
        Ok((Self(gradients), loss, seconds))
    }

    /// The sums of squares, which begin with `zero` (`[1]`).
    pub(crate) fn square_sums(&self, zero: Tensor<B, 1>) -> SquareSums<B> {
        let mut sum = zero.into_primitive().tensor();
        let mut up_to = |gradient: &Option<FloatTensor<B>>| {
            if let Some(gradient) = gradient {
                sum = B::fused_square_sum(sum.clone(), gradient.clone());
            }
            Tensor::from_primitive(TensorPrimitive::Float(sum.clone()))
        };
        SquareSums(self.0.iter().map(&mut up_to).collect())
    }

    /// All gradients times `factor` (`[1]`).
    pub(crate) fn rescaled(self, factor: Tensor<B, 1>) -> Self {
        let factor = factor.into_primitive().tensor();
        let rescale = |gradient| B::fused_rescale(gradient, factor.clone());
        Self(self.0.into_iter().map(|gradient| gradient.map(rescale)).collect())
    }
}

/// The squares of an update's gradients, summed from the first parameter to each: `[1]`.
pub(crate) struct SquareSums<B: Backend>(Vec<Tensor<B, 1>>);

impl<B: Backend> SquareSums<B> {
    /// Of an update that has not come yet.
    pub(crate) fn none() -> Self {
        Self(Vec::new())
    }

    /// The sum over all parameters; none where there are no parameters.
    pub(crate) fn total(&self) -> Option<Tensor<B, 1>> {
        self.0.last().cloned()
    }

    /// The position of the first parameter whose gradient is not finite; waits for the device.
    pub(crate) fn first_not_finite(&self) -> Option<usize> {
        self.0.iter().position(|sum| {
            let sum: f64 = sum.clone().into_scalar().elem();
            !sum.is_finite()
        })
    }
}

struct Collect<A: AutodiffBackend> {
    found: A::Gradients,
    gradients: Vec<Option<FloatTensor<A::InnerBackend>>>,
}

impl<A: AutodiffBackend> ModuleVisitor<A> for Collect<A> {
    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<A, D>>) {
        let gradient = parameter.val().grad_remove(&mut self.found);
        self.gradients.push(gradient.map(|gradient| gradient.into_primitive().tensor()));
    }
}

/// Applies `rule` to every parameter of `model` that has a gradient, in place where it can.
pub(crate) fn update<A, M>(
    model: M,
    parameters: &[Parameter],
    gradients: Gradients<A::InnerBackend>,
    slots: &mut [Option<Slot<A::InnerBackend>>],
    diverged: FloatTensor<A::InnerBackend>,
    rule: Rule,
) -> M
where
    A: AutodiffBackend,
    M: Module<A>,
{
    let each = parameters.iter().zip(gradients.0).zip(slots);
    model.map(&mut Update::<A, _> { each, diverged, rule })
}

struct Update<A: AutodiffBackend, I> {
    each: I,
    diverged: FloatTensor<A::InnerBackend>,
    rule: Rule,
}

/// A parameter, its gradient and its optimizer's state.
type Visited<'a, B> = ((&'a Parameter, Option<FloatTensor<B>>), &'a mut Option<Slot<B>>);

impl<'a, A, I> ModuleMapper<A> for Update<A, I>
where
    A: AutodiffBackend,
    I: Iterator<Item = Visited<'a, A::InnerBackend>>,
{
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<A, D>>) -> Param<Tensor<A, D>> {
        let Some(((known, Some(gradient)), slot)) = self.each.next() else { return parameter };
        let (id, weight, mapper) = parameter.consume();
        // `inner` moves the tensor out of the graph: with the losses gone it has no other owner.
        let weight = weight.inner().into_primitive().tensor();
        let rule = self.rule.of(known.factor, known.decays);
        let (weight, new_slot) =
            rule.update::<A::InnerBackend>(weight, gradient, slot.take(), self.diverged.clone());
        *slot = Some(new_slot);
        let weight = Tensor::from_primitive(TensorPrimitive::Float(weight));
        Param::from_mapped_value(id, Tensor::from_inner(weight).require_grad(), mapper)
    }
}
