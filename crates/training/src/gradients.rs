//! The gradients of a model, one for each parameter in the order in which the model is visited.
//!
//! The order of a module's parameters is fixed by its definition, so a position stands for a
//! parameter, without the random identities that Burn gives them.

use backend::{AutodiffBackend, Backend};
use burn::{
    module::{Module, ModuleMapper, ModuleVisitor, Param},
    tensor::{Tensor, TensorPrimitive, ops::FloatTensor},
};

use crate::optimizer::{Rule, Slot};

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

    /// The sum of all squares added to `zero` (`[1]`).
    pub(crate) fn square_sum(&self, zero: FloatTensor<B>) -> FloatTensor<B> {
        self.0.iter().flatten().cloned().fold(zero, B::fused_square_sum)
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
    gradients: Gradients<A::InnerBackend>,
    slots: &mut Vec<Option<Slot<A::InnerBackend>>>,
    diverged: FloatTensor<A::InnerBackend>,
    rule: &Rule,
) -> M
where
    A: AutodiffBackend,
    M: Module<A>,
{
    slots.resize_with(gradients.0.len(), || None);
    let each = gradients.0.into_iter().zip(slots.iter_mut());
    model.map(&mut Update::<A, _> { each, diverged, rule })
}

struct Update<'a, A: AutodiffBackend, I> {
    each: I,
    diverged: FloatTensor<A::InnerBackend>,
    rule: &'a Rule,
}

impl<'a, A, I> ModuleMapper<A> for Update<'_, A, I>
where
    A: AutodiffBackend,
    I: Iterator<
        Item = (Option<FloatTensor<A::InnerBackend>>, &'a mut Option<Slot<A::InnerBackend>>),
    >,
{
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<A, D>>) -> Param<Tensor<A, D>> {
        let Some((Some(gradient), slot)) = self.each.next() else { return parameter };
        let (id, weight, mapper) = parameter.consume();
        // `inner` moves the tensor out of the graph: with the losses gone it has no other owner.
        let weight = weight.inner().into_primitive().tensor();
        let (weight, new_slot) = self.rule.update::<A::InnerBackend>(
            weight,
            gradient,
            slot.take(),
            self.diverged.clone(),
        );
        *slot = Some(new_slot);
        let weight = Tensor::from_primitive(TensorPrimitive::Float(weight));
        Param::from_mapped_value(id, Tensor::from_inner(weight).require_grad(), mapper)
    }
}
