//! Updates of many parameters by one kernel: with one for each, a network of small layers would spend
//! more time on starting kernels than on their work.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{client::ComputeClient, prelude::*},
    tensor::CubeTensor,
};

use super::{
    adam,
    buffers::{at_a_time, rows, writable},
    lanes::UNITS,
    layout::{back, listed, order_of},
    registered::{Described, Lazy, register_many},
    rms_prop, sgd,
};
use crate::{Backend, Parameter, UpdateRule, Updated};

/// What a kernel is launched with; each sequence has an array for each parameter, and those of a
/// parameter are equally long.
pub(super) struct Group<R: CubeRuntime> {
    pub(super) client: ComputeClient<R>,
    pub(super) count: CubeCount,
    pub(super) cube: CubeDim,
    pub(super) weights: SequenceArg<R, Array<f32>>,
    pub(super) gradients: SequenceArg<R, Array<f32>>,
    pub(super) slots: Vec<SequenceArg<R, Array<f32>>>,
    pub(super) diverged: ArrayArg<R>,
}

/// Updates parameters in place, as many at a time as a kernel takes.
pub(super) fn update<R, B>(
    parameters: Vec<Parameter<B>>,
    diverged: Lazy<R>,
    rule: UpdateRule,
) -> Vec<Updated<B>>
where
    R: CubeRuntime,
    B: Backend<FloatTensorPrimitive = Lazy<R>>,
{
    let (mut inputs, mut outputs) = (vec![diverged], Vec::new());
    for Parameter { weight, gradient, slots } in parameters {
        assert_eq!(slots.len(), rule.slots(), "the slots of a parameter");
        outputs.extend(std::iter::once(&weight).chain(&slots).map(Described::like));
        inputs.extend([weight, gradient].into_iter().chain(slots));
    }
    let kernel = move |inputs| launch_all::<R>(inputs, &rule);
    let mut updated = register_many("update", inputs, outputs, kernel).into_iter();
    std::iter::from_fn(|| {
        let weight = updated.next()?;
        Some((weight, updated.by_ref().take(rule.slots()).collect()))
    })
    .collect()
}

/// Takes the flag of divergence, then weight, gradient and slots of each parameter; returns weight and
/// slots of each.
fn launch_all<R: CubeRuntime>(inputs: Vec<CubeTensor<R>>, rule: &UpdateRule) -> Vec<CubeTensor<R>> {
    let mut inputs = inputs.into_iter();
    let diverged = inputs.next().expect("the flag is the first input");
    let at_a_time = at_a_time(&diverged.client, 2 + rule.slots(), 1);
    let mut updated = Vec::new();
    loop {
        let next = || Aligned::next(&mut inputs, rule.slots());
        let aligned: Vec<Aligned<R>> = std::iter::from_fn(next).take(at_a_time).collect();
        let Some(largest) = aligned.iter().map(Aligned::elements).max() else { return updated };
        let sequence = |kept: usize| aligned.iter().map(|one| argument(&one.kept[kept])).collect();
        let group = Group {
            client: diverged.client.clone(),
            count: rows(aligned.len(), largest),
            cube: CubeDim::new_1d(UNITS as u32),
            weights: sequence(0),
            gradients: aligned.iter().map(|one| argument(&one.gradient)).collect(),
            slots: (1..=rule.slots()).map(sequence).collect(),
            diverged: argument(&diverged),
        };
        match rule {
            UpdateRule::Adam(step) => adam::launch(group, step),
            UpdateRule::Sgd(step) => sgd::launch(group, step),
            UpdateRule::RmsProp(step) => rms_prop::launch(group, step),
        }
        for Aligned { kept, order, .. } in aligned {
            updated.extend(kept.into_iter().map(|kept| back(kept, &order)));
        }
    }
}

/// A parameter's tensors, all listed in the order of its weight.
struct Aligned<R: CubeRuntime> {
    /// Weight and slots, which nobody else holds.
    kept: Vec<CubeTensor<R>>,
    gradient: CubeTensor<R>,
    order: Vec<usize>,
}

impl<R: CubeRuntime> Aligned<R> {
    fn next(inputs: &mut impl Iterator<Item = CubeTensor<R>>, slots: usize) -> Option<Self> {
        let (weight, gradient) = (inputs.next()?, inputs.next()?);
        let order = order_of(&weight);
        let kept = std::iter::once(weight).chain(inputs.take(slots));
        let kept = kept.map(|kept| writable(listed(kept, &order))).collect();
        Some(Self { kept, gradient: listed(gradient, &order), order })
    }

    fn elements(&self) -> usize {
        self.gradient.meta.num_elements()
    }
}

fn argument<R: CubeRuntime>(tensor: &CubeTensor<R>) -> ArrayArg<R> {
    tensor.clone().into_array_arg()
}
