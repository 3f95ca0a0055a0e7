//! Updates of many parameters by one kernel: with one for each, a network of small layers would spend
//! more time on starting kernels than on their work.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{client::ComputeClient, prelude::*},
    tensor::CubeTensor,
};

use super::{
    buffers::{at_a_time, strided, writable},
    lanes::UNITS,
    layout::{back, listed, order_of},
    registered::{Described, Lazy, register_many},
};
use crate::{Backend, Parameter, Updated};

/// What a kernel is launched with; each sequence has an array for each parameter, and those of a
/// parameter are equally long.
pub(super) struct Group<R: CubeRuntime, const SLOTS: usize> {
    pub(super) client: ComputeClient<R>,
    pub(super) count: CubeCount,
    pub(super) cube: CubeDim,
    pub(super) weights: SequenceArg<R, Array<f32>>,
    pub(super) gradients: SequenceArg<R, Array<f32>>,
    pub(super) slots: [SequenceArg<R, Array<f32>>; SLOTS],
    pub(super) diverged: ArrayArg<R>,
}

/// Updates parameters in place by `launch`, which is called for as many at a time as a kernel takes.
pub(super) fn update<R, B, const SLOTS: usize>(
    name: &'static str,
    parameters: Vec<Parameter<B, SLOTS>>,
    diverged: Lazy<R>,
    launch: impl Fn(Group<R, SLOTS>) + Send + Sync + 'static,
) -> Vec<Updated<B, SLOTS>>
where
    R: CubeRuntime,
    B: Backend<FloatTensorPrimitive = Lazy<R>>,
{
    let (mut inputs, mut outputs) = (vec![diverged], Vec::new());
    for Parameter { weight, gradient, slots } in parameters {
        outputs.extend(std::iter::once(&weight).chain(&slots).map(Described::like));
        inputs.extend([weight, gradient].into_iter().chain(slots));
    }
    let kernel = move |inputs: Vec<CubeTensor<R>>| launch_all::<R, SLOTS>(inputs, &launch);
    let mut updated = register_many(name, inputs, outputs, kernel).into_iter();
    let mut next = || updated.next();
    std::iter::from_fn(|| {
        let weight = next()?;
        Some((weight, std::array::from_fn(|_| next().expect("as many slots as were described"))))
    })
    .collect()
}

/// Takes the flag of divergence, then weight, gradient and slots of each parameter; returns weight and
/// slots of each.
fn launch_all<R: CubeRuntime, const SLOTS: usize>(
    inputs: Vec<CubeTensor<R>>,
    launch: &impl Fn(Group<R, SLOTS>),
) -> Vec<CubeTensor<R>> {
    let mut inputs = inputs.into_iter();
    let diverged = inputs.next().expect("the flag is the first input");
    let at_a_time = at_a_time(&diverged.client, 2 + SLOTS, 1);
    let mut updated = Vec::new();
    loop {
        let group: Vec<Aligned<R, SLOTS>> =
            std::iter::from_fn(|| Aligned::next(&mut inputs)).take(at_a_time).collect();
        let Some(largest) = group.iter().map(Aligned::elements).max() else { return updated };
        let sequence = |kept: usize| group.iter().map(|one| argument(&one.kept[kept])).collect();
        launch(Group {
            client: diverged.client.clone(),
            count: strided(largest),
            cube: CubeDim::new_1d(UNITS as u32),
            weights: sequence(0),
            gradients: group.iter().map(|one| argument(&one.gradient)).collect(),
            slots: std::array::from_fn(|slot| sequence(1 + slot)),
            diverged: argument(&diverged),
        });
        for Aligned { kept, order, .. } in group {
            updated.extend(kept.into_iter().map(|kept| back(kept, &order)));
        }
    }
}

/// A parameter's tensors, all listed in the order of its weight.
struct Aligned<R: CubeRuntime, const SLOTS: usize> {
    /// Weight and slots, which nobody else holds.
    kept: Vec<CubeTensor<R>>,
    gradient: CubeTensor<R>,
    order: Vec<usize>,
}

impl<R: CubeRuntime, const SLOTS: usize> Aligned<R, SLOTS> {
    fn next(inputs: &mut impl Iterator<Item = CubeTensor<R>>) -> Option<Self> {
        let (weight, gradient) = (inputs.next()?, inputs.next()?);
        let order = order_of(&weight);
        let kept = std::iter::once(weight).chain(inputs.take(SLOTS));
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
