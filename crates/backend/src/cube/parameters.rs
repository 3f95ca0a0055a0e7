//! Updates of many parameters by one kernel: with one for each, a network of small layers would spend
//! more time on starting kernels than on their work.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{client::ComputeClient, prelude::*},
    tensor::CubeTensor,
};

use super::{
    buffers::writable,
    lanes::UNITS,
    layout::{back, listed, order},
    registered::{Described, Lazy, register_many},
};
use crate::{Backend, Parameter, Updated};

/// The most parameters of a kernel, whose code grows with them.
const PARAMETERS: usize = 32;
/// More cubes than any device runs at a time.
const CUBES: usize = 1024;

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
    let bindings = diverged.client.properties().hardware.max_bindings as usize;
    let at_a_time = ((bindings - 1) / (2 + SLOTS)).clamp(1, PARAMETERS);
    let mut parameters = Vec::new();
    while let (Some(weight), Some(gradient)) = (inputs.next(), inputs.next()) {
        let order = order(&weight);
        let slots = inputs.by_ref().take(SLOTS);
        let written: Vec<_> = std::iter::once(weight)
            .chain(slots)
            .map(|kept| writable(listed(kept, &order)))
            .collect();
        parameters.push((written, listed(gradient, &order), order));
    }
    for group in parameters.chunks(at_a_time) {
        let sequence =
            |slot: usize| group.iter().map(|(written, ..)| argument(&written[slot])).collect();
        let largest = group.iter().map(|(_, gradient, _)| gradient.meta.num_elements()).max();
        launch(Group {
            client: diverged.client.clone(),
            count: CubeCount::Static(
                largest.unwrap_or(0).div_ceil(UNITS).clamp(1, CUBES) as u32,
                1,
                1,
            ),
            cube: CubeDim::new_1d(UNITS as u32),
            weights: sequence(0),
            gradients: group.iter().map(|(_, gradient, _)| argument(gradient)).collect(),
            slots: std::array::from_fn(|slot| sequence(1 + slot)),
            diverged: argument(&diverged),
        });
    }
    let unlisted = |(written, _, order): (Vec<_>, _, Vec<usize>)| {
        written.into_iter().map(move |kept| back(kept, &order))
    };
    parameters.into_iter().flat_map(unlisted).collect()
}

fn argument<R: CubeRuntime>(tensor: &CubeTensor<R>) -> ArrayArg<R> {
    tensor.clone().into_array_arg()
}
