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
    layout::{contiguous_in, in_original_order, order_of},
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
    diverged: &CubeTensor<R>,
    rule: &UpdateRule,
) -> Vec<Updated<B>>
where
    R: CubeRuntime,
    B: Backend<FloatTensorPrimitive = CubeTensor<R>>,
{
    let mut slots = parameters.iter().map(|one| one.slots.len());
    assert!(slots.all(|slots| slots == rule.slots()), "the slots of each parameter");
    let at_a_time = at_a_time(&diverged.client, 2 + rule.slots(), 1);
    let mut parameters = parameters.into_iter().map(Aligned::new::<B>);
    let mut updated = Vec::new();
    loop {
        let aligned: Vec<Aligned<R>> = parameters.by_ref().take(at_a_time).collect();
        if aligned.is_empty() {
            return updated;
        }
        let (count, cube) = rows(aligned.iter().map(Aligned::elements));
        let slot = |slot: usize| aligned.iter().map(|one| argument(&one.slots[slot])).collect();
        let group = Group {
            client: diverged.client.clone(),
            count,
            cube,
            weights: aligned.iter().map(|one| argument(&one.weight)).collect(),
            gradients: aligned.iter().map(|one| argument(&one.gradient)).collect(),
            slots: (0..rule.slots()).map(slot).collect(),
            diverged: argument(diverged),
        };
        match rule {
            UpdateRule::Adam(step) => adam::launch(group, step),
            UpdateRule::Sgd(step) => sgd::launch(group, step),
            UpdateRule::RmsProp(step) => rms_prop::launch(group, step),
        }
        updated.extend(aligned.into_iter().map(Aligned::updated));
    }
}

/// A parameter's tensors, all contiguous in the order of its weight.
struct Aligned<R: CubeRuntime> {
    /// Held by nobody else, like the slots.
    weight: CubeTensor<R>,
    gradient: CubeTensor<R>,
    slots: Vec<CubeTensor<R>>,
    order: Vec<usize>,
}

impl<R: CubeRuntime> Aligned<R> {
    fn new<B>(Parameter { weight, gradient, slots }: Parameter<B>) -> Self
    where
        B: Backend<FloatTensorPrimitive = CubeTensor<R>>,
    {
        let order = order_of(&weight);
        Self {
            weight: writable(contiguous_in(weight, &order)),
            gradient: contiguous_in(gradient, &order),
            slots: slots.into_iter().map(|slot| writable(contiguous_in(slot, &order))).collect(),
            order,
        }
    }

    /// Weight and slots as they lay before.
    fn updated(self) -> (CubeTensor<R>, Vec<CubeTensor<R>>) {
        let Self { weight, slots, order, .. } = self;
        (
            in_original_order(weight, &order),
            slots.into_iter().map(|slot| in_original_order(slot, &order)).collect(),
        )
    }

    fn elements(&self) -> usize {
        self.gradient.meta.num_elements()
    }
}

fn argument<R: CubeRuntime>(tensor: &CubeTensor<R>) -> ArrayArg<R> {
    tensor.clone().into_array_arg()
}
