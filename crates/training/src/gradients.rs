//! The gradients of a model, one for each parameter in the order in which the model is visited.

use std::time::Instant;

use backend::{
    AutodiffBackend, Backend, UpdateRule,
    primitive::{primitive, tensor},
};
use burn::{
    module::{Module, ModuleMapper, ModuleVisitor, Param},
    tensor::{Shape, Tensor, TensorMetadata, ops::FloatTensor},
};

use crate::{
    Group, GroupError,
    correct::{Correct, CorrectOnDevice},
    message,
    optimizer::{Slots, first_slots},
    parameters::Parameter,
    values::Replace,
};

/// One gradient for each parameter, `None` for a parameter without one.
pub(crate) struct Gradients<B: Backend>(Vec<Option<FloatTensor<B>>>);

impl<B: Backend> Gradients<B> {
    /// The gradients of `model` for the sum of `losses`, `[samples]`.
    pub(crate) fn of<A, M>(losses: &Tensor<A, 1>, model: &M) -> Self
    where
        A: AutodiffBackend<InnerBackend = B>,
        M: Module<A>,
    {
        let mut collect = Collect::<A> { found: losses.backward(), gradients: Vec::new() };
        model.visit(&mut collect);
        Self(collect.gradients)
    }

    /// Whether no parameter has any.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// Adds the gradients of another part of the same update.
    pub(crate) fn add(self, other: Self) -> Self {
        let sum = |pair| match pair {
            (Some(a), Some(b)) => Some(B::float_add(a, b)),
            (a, b) => a.or(b),
        };
        Self(self.0.into_iter().zip(other.0).map(sum).collect())
    }

    /// Whether each parameter has one.
    pub(crate) fn are_there(&self) -> impl Iterator<Item = bool> {
        self.0.iter().map(Option::is_some)
    }

    /// The sums of their squares.
    pub(crate) fn square_sums(&self) -> SquareSums<B> {
        let there = self.0.iter().enumerate().filter(|(_, gradient)| gradient.is_some());
        let positions = there.map(|(position, _)| position).collect();
        let gradients: Vec<_> = self.0.iter().flatten().cloned().collect();
        if gradients.is_empty() {
            return SquareSums::none();
        }
        SquareSums { positions, sums: Some(tensor(B::fused_square_sums(gradients))) }
    }

    /// All gradients times `factor` (`[1]`).
    pub(crate) fn rescaled(self, factor: Tensor<B, 1>) -> Self {
        let (there, gradients): (Vec<bool>, Vec<_>) =
            self.0.into_iter().map(|gradient| (gradient.is_some(), gradient)).unzip();
        let gradients = gradients.into_iter().flatten().collect();
        let mut rescaled = B::fused_rescale(gradients, primitive(factor)).into_iter();
        Self(there.into_iter().map(|there| if there { rescaled.next() } else { None }).collect())
    }
}

/// What a process computes on its share of an update.
pub(crate) struct UpdateShare<B: Backend> {
    pub(crate) gradients: Gradients<B>,
    /// The sum of the losses, `[1]`.
    pub(crate) loss: Tensor<B, 1>,
    pub(crate) correct: CorrectOnDevice<B>,
}

/// The sum of the shares of all processes.
pub(crate) struct UpdateSum<B: Backend> {
    pub(crate) gradients: Gradients<B>,
    /// `[1]`
    pub(crate) loss: Tensor<B, 1>,
    pub(crate) correct: Correct,
}

impl<B: Backend> UpdateShare<B> {
    /// The sum over the processes of a group, exchanged as one message; also returns the seconds that
    /// this took.
    pub(crate) fn sum_over(
        self,
        parameters: &[Parameter],
        group: &Group,
        message: &mut Vec<f32>,
    ) -> Result<(UpdateSum<B>, f64), GroupError> {
        let device = self.loss.device();
        self.pack(parameters, message);
        let start = Instant::now(); // now that the device has computed them
        group.all_reduce(message)?;
        let seconds = start.elapsed().as_secs_f64();
        Ok((UpdateSum::unpack(message, parameters, &device), seconds))
    }

    /// Puts into `message` the loss, the correct predictions, the gradients of all trained parameters,
    /// whether each has one, and the number of predictions. The losses of another process may reach other
    /// parameters, so those without have zeros: all messages must be of one length.
    fn pack(self, parameters: &[Parameter], message: &mut Vec<f32>) {
        let (correct, of) = self.correct.into_parts();
        let [loss, correct] = [self.loss, correct].map(primitive);
        let (device, float) = (B::float_device(&loss), loss.dtype());
        let trained = self.gradients.0.into_iter().zip(parameters);
        let (mut tensors, mut there) = (vec![loss, correct], Vec::new());
        for (gradient, parameter) in trained.filter(|(_, known)| known.trained) {
            there.push(f32::from(u8::from(gradient.is_some())));
            let zeros = || B::float_zeros(parameter.shape.clone().into(), &device, float.into());
            tensors.push(gradient.unwrap_or_else(zeros));
        }
        message::pack::<B>(&tensors, message);
        message.extend(there);
        message.push(of as f32);
    }
}

impl<B: Backend> UpdateSum<B> {
    /// The content of a sum of messages; a gradient that no process has is none.
    fn unpack(message: &[f32], parameters: &[Parameter], device: &B::Device) -> Self {
        let trained = || parameters.iter().filter(|known| known.trained);
        let shapes = trained().map(|known| Shape::from(known.shape.clone()));
        let shapes: Vec<Shape> = [[1], [1]].map(Shape::from).into_iter().chain(shapes).collect();
        let (&of, message) = message.split_last().expect("the number of predictions comes last");
        let correct = Correct { count: message[1].into(), of: of as u64 };
        let (numbers, there) = message.split_at(message.len() - trained().count());
        let mut summed = message::unpack::<B>(numbers, &shapes, device).into_iter();
        let loss = tensor(summed.next().expect("the loss comes first"));
        let mut summed = summed.skip(1).zip(there); // without the correct predictions
        let gradient = |known: &Parameter| {
            if !known.trained {
                return None;
            }
            let (gradient, &processes) = summed.next()?;
            (processes > 0.0).then_some(gradient)
        };
        Self { gradients: Gradients(parameters.iter().map(gradient).collect()), loss, correct }
    }
}

/// The sums of the squares of an update's gradients.
pub(crate) struct SquareSums<B: Backend> {
    /// The parameters that have a gradient.
    positions: Vec<usize>,
    /// The sum of each of them: `[positions]`; none where there are no gradients.
    sums: Option<Tensor<B, 1>>,
}

impl<B: Backend> SquareSums<B> {
    /// Before the first update.
    pub(crate) fn none() -> Self {
        Self { positions: Vec::new(), sums: None }
    }

    /// The sum of each of them; none where there are no gradients.
    pub(crate) fn of_each(&self) -> Option<Tensor<B, 1>> {
        self.sums.clone()
    }

    /// The sum over all parameters (`[1]`), in their order: each process adds up alike, whatever kernel
    /// its device would choose. None where there are no gradients; waits for the device.
    pub(crate) fn total_in_order(&self) -> Option<Tensor<B, 1>> {
        let sums = self.sums.as_ref()?;
        let total = sums.to_data().iter::<f32>().sum::<f32>();
        Some(Tensor::from_floats([total], &sums.device()))
    }

    /// The position of the first parameter whose gradient makes the sum of squares infinite or NaN;
    /// waits for the device.
    pub(crate) fn first_not_finite(&self) -> Option<usize> {
        let sums = self.sums.clone()?.into_data();
        let mut up_to = 0.0;
        let first = sums.iter::<f32>().position(|sum| {
            up_to += sum;
            !up_to.is_finite()
        });
        Some(self.positions[first?])
    }
}

struct Collect<A: AutodiffBackend> {
    found: A::Gradients,
    gradients: Vec<Option<FloatTensor<A::InnerBackend>>>,
}

impl<A: AutodiffBackend> ModuleVisitor<A> for Collect<A> {
    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<A, D>>) {
        let gradient = parameter.val().grad_remove(&mut self.found);
        self.gradients.push(gradient.map(primitive));
    }
}

/// Updates every parameter of `model` that has a gradient, in place where it can.
///
/// - `rule`: that of the parameter at a position
pub(crate) fn update<A, M>(
    model: M,
    gradients: Gradients<A::InnerBackend>,
    slots: &mut [Option<Slots<A::InnerBackend>>],
    diverged: FloatTensor<A::InnerBackend>,
    rule: impl Fn(usize) -> UpdateRule,
) -> M
where
    A: AutodiffBackend,
    M: Module<A>,
{
    let each = gradients.0.into_iter().zip(&mut *slots).enumerate();
    let placeholder = diverged.clone();
    let mut take = Take::<A, _, _> { rule, each, taken: Vec::new(), placeholder };
    let model = model.map(&mut take);
    let taken = take.taken;
    let mut weights: Vec<_> = slots.iter().map(|_| None).collect();
    // Parameters of one rule are updated together.
    let mut alike = Vec::<(UpdateRule, Vec<usize>, Vec<_>)>::new();
    for (position, own, learning) in taken {
        match alike.iter_mut().find(|(rule, ..)| *rule == own) {
            Some((_, positions, these)) => {
                positions.push(position);
                these.push(learning);
            }
            None => alike.push((own, vec![position], vec![learning])),
        }
    }
    for (rule, positions, these) in alike {
        let updated = A::InnerBackend::fused_update(these, diverged.clone(), &rule);
        for (position, (weight, new_slots)) in positions.into_iter().zip(updated) {
            weights[position] = Some(weight);
            slots[position] = Some(new_slots);
        }
    }
    let put_back = |weight| A::float_set_require_grad(A::from_inner(weight), true);
    model.map(&mut Replace(weights.into_iter().map(|weight| weight.map(put_back))))
}

/// Takes the weights that have a gradient out of a model, so that nothing else refers to them.
struct Take<A: AutodiffBackend, I, R> {
    rule: R,
    each: I,
    taken: Vec<(usize, UpdateRule, backend::Parameter<A::InnerBackend>)>,
    /// A parameter must have a tensor. This one, of another shape, is never used.
    placeholder: FloatTensor<A::InnerBackend>,
}

/// A position, and the gradient and the optimizer's state of the parameter there.
type Visited<'a, B> = (usize, (Option<FloatTensor<B>>, &'a mut Option<Slots<B>>));

impl<'a, A, I, R> ModuleMapper<A> for Take<A, I, R>
where
    A: AutodiffBackend,
    I: Iterator<Item = Visited<'a, A::InnerBackend>>,
    R: Fn(usize) -> UpdateRule,
{
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<A, D>>) -> Param<Tensor<A, D>> {
        let Some((position, (Some(gradient), slots))) = self.each.next() else {
            return parameter;
        };
        let (id, weight, mapper) = parameter.consume();
        // `inner` moves the tensor out of the graph: with the losses gone it has no other owner.
        let weight = primitive(weight.inner());
        let rule = (self.rule)(position);
        let slots = slots.take().unwrap_or_else(|| first_slots::<A::InnerBackend>(&rule, &weight));
        self.taken.push((position, rule, backend::Parameter { weight, gradient, slots }));
        let other = Tensor::from_inner(tensor(self.placeholder.clone()));
        Param::from_mapped_value(id, other, mapper)
    }
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;

    type Found = Gradients<Selected>;

    fn parameter(trained: bool, values: usize) -> Parameter {
        Parameter { path: String::new(), shape: vec![values], trained, factor: 1.0, decays: true }
    }

    fn vector(values: &[f32]) -> Tensor<Selected, 1> {
        Tensor::from_floats(values, &Device::default())
    }

    fn numbers(gradients: Found) -> Vec<Option<Vec<f32>>> {
        let gradients = gradients.0.into_iter();
        gradients.map(|gradient| gradient.map(crate::values::to_host::<Selected>)).collect()
    }

    #[test]
    fn processes_whose_losses_reach_other_parameters_send_messages_of_one_length() {
        let parameters = [(true, 2), (false, 5), (true, 1), (true, 3), (true, 1)];
        let parameters = parameters.map(|(trained, values)| parameter(trained, values));
        let message = |gradients: [Option<&[f32]>; 5], loss: f32| {
            let gradient = |values| primitive(vector(values));
            let gradients = Gradients(gradients.map(|values| values.map(gradient)).into());
            let correct = Correct { count: 2.0, of: 3 };
            let correct = CorrectOnDevice::new(correct, &Device::default());
            let share = UpdateShare { gradients, loss: vector(&[loss]), correct };
            let mut message = vec![9.0];
            share.pack(&parameters, &mut message);
            message
        };
        let first = message([Some(&[1.0, 2.0]), None, Some(&[4.0]), None, None], 0.5);
        let second = message([None, None, Some(&[8.0]), Some(&[5.0, 6.0, 7.0]), None], 0.25);
        assert_eq!(first.len(), second.len());
        let sum: Vec<f32> = first.iter().zip(&second).map(|(a, b)| a + b).collect();
        let sum = UpdateSum::<Selected>::unpack(&sum, &parameters, &Device::default());
        assert_eq!(sum.loss.into_scalar(), 0.75);
        assert_eq!(sum.correct, Correct { count: 4.0, of: 6 });
        let expected: [Option<&[f32]>; 5] =
            [Some(&[1.0, 2.0]), None, Some(&[12.0]), Some(&[5.0, 6.0, 7.0]), None];
        assert_eq!(numbers(sum.gradients), expected.map(|values| values.map(<[f32]>::to_vec)));
    }
}
