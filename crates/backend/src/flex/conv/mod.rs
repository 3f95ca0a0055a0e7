//! Convolution, alone or with ReLU and pooling.
//!
//! A 3x3 kernel of stride 1 with enough channels is computed by Winograd's algorithm
//! ([`winograd`]), unless sums are to be exact ([`Arithmetic::Exact`]); everything else directly
//! ([`direct`], [`weight_gradient`]). All of them run the same inner loop ([`tile`]) on tensors as
//! they are, channels first.

mod correlation;
mod direct;
#[cfg(test)]
mod drawn_shapes;
mod geometry;
mod pooled;
mod rectify;
#[cfg(test)]
mod tests;
mod tile;
mod weight_gradient;
mod window;
mod winograd;

use burn::{backend::Flex, tensor::DType};
use burn_flex::FlexTensor;

use self::{
    correlation::Epilogue,
    geometry::Geometry,
    pooled::{Source, Target},
    winograd::{Kernels, Maps},
};
use super::{
    all_f32, assert_shape, contiguous, elements, parallel::Shared, pool::Windows, recycled,
    simd::Level,
};
use crate::{
    Arithmetic, Conv2dGradients, Conv2dParents, Conv2dSaved, arithmetic, conv2d,
    conv2d_relu_max_pool,
    functional::{Conv2dOptions, PoolOptions},
    overrides,
};

/// Convolution with bias, and ReLU if asked for.
pub(super) fn forward(
    input: FlexTensor,
    weight: FlexTensor,
    bias: Option<FlexTensor>,
    options: &Conv2dOptions,
    rectified: bool,
) -> FlexTensor {
    forward_at(Level::best(), input, weight, bias, options, rectified)
}

fn forward_at(
    level: Level,
    input: FlexTensor,
    weight: FlexTensor,
    bias: Option<FlexTensor>,
    options: &Conv2dOptions,
    rectified: bool,
) -> FlexTensor {
    let floats = all_f32([&input, &weight].into_iter().chain(&bias));
    let Some(geometry) = Geometry::new(&input, &weight, options).filter(|_| floats) else {
        return conv2d::composed::<Flex>(input, weight, bias, options, rectified);
    };
    overrides::note_taken();
    if let Some(bias) = &bias {
        assert_shape("the bias", bias, &[geometry.output_shape()[1]]);
    }
    let (input, weight, bias) = (contiguous(input), contiguous(weight), bias.map(contiguous));
    let epilogue = Epilogue { bias: bias.as_ref().map(elements), relu: rectified };
    let mut output = recycled::floats(geometry.output_shape());
    let target = Target::maps(output.storage_mut());
    convolve(level, &geometry, elements(&input), elements(&weight), epilogue, target);
    output
}

/// The gradients of [`forward`].
pub(super) fn backward(saved: Conv2dSaved<Flex>, gradient: FlexTensor) -> Conv2dGradients<Flex> {
    backward_at(Level::best(), saved, gradient)
}

fn backward_at(
    level: Level,
    saved: Conv2dSaved<Flex>,
    gradient: FlexTensor,
) -> Conv2dGradients<Flex> {
    let Conv2dSaved { input, weight, output, options, .. } = &saved;
    let floats = all_f32([input, weight, &gradient].into_iter().chain(output));
    let Some(geometry) = Geometry::new(input, weight, options).filter(|_| floats) else {
        return conv2d::composed_backward(saved, gradient);
    };
    overrides::note_taken();
    for maps in [Some(&gradient), output.as_ref()].into_iter().flatten() {
        assert_shape("the output and its gradient", maps, &geometry.output_shape());
    }
    let Conv2dSaved { input, weight, output, wanted, .. } = saved;
    let [input, weight, gradient] = [input, weight, gradient].map(contiguous);
    let (gradient, bias) = rectify::backward(level, gradient, output.map(contiguous), wanted.bias);
    let source = Source::Maps(elements(&gradient));
    let found = gradients(level, &geometry, &input, &weight, source, wanted);
    Conv2dParents { bias, ..found }
}

/// Convolution with bias, ReLU and pooling of 2x2. No tensor holds the full maps.
pub(super) fn forward_and_pool(
    input: FlexTensor,
    weight: FlexTensor,
    bias: FlexTensor,
    options: &Conv2dOptions,
) -> (FlexTensor, FlexTensor) {
    forward_and_pool_at(Level::best(), input, weight, bias, options)
}

fn forward_and_pool_at(
    level: Level,
    input: FlexTensor,
    weight: FlexTensor,
    bias: FlexTensor,
    options: &Conv2dOptions,
) -> (FlexTensor, FlexTensor) {
    let floats = all_f32([&input, &weight, &bias]);
    let Some((geometry, windows)) = pooled(&input, &weight, options).filter(|_| floats) else {
        return conv2d_relu_max_pool::composed::<Flex>(input, weight, bias, options);
    };
    overrides::note_taken();
    assert_shape("the bias", &bias, &[geometry.output_shape()[1]]);
    let [input, weight, bias] = [input, weight, bias].map(contiguous);
    let epilogue = Epilogue { bias: Some(elements(&bias)), relu: false };
    let [batch, channels, ..] = geometry.output_shape();
    let shape = [batch, channels, windows.output[0], windows.output[1]];
    let (mut output, mut places) = (recycled::floats(shape), recycled::bytes(shape));
    let (source, kernels) = (elements(&input), elements(&weight));
    let target =
        Target::Pooled(Shared::new(output.storage_mut()), Shared::new(places.storage_mut()));
    convolve(level, &geometry, source, kernels, epilogue, target);
    (output, places)
}

/// The gradients of [`forward_and_pool`].
pub(super) fn backward_of_pool(
    saved: Conv2dSaved<Flex>,
    places: FlexTensor,
    gradient: FlexTensor,
) -> Conv2dGradients<Flex> {
    backward_of_pool_at(Level::best(), saved, places, gradient)
}

fn backward_of_pool_at(
    level: Level,
    saved: Conv2dSaved<Flex>,
    places: FlexTensor,
    gradient: FlexTensor,
) -> Conv2dGradients<Flex> {
    let Conv2dSaved { input, weight, options, .. } = &saved;
    // The forward pass chose by the types of all tensors, and that of the places tells how.
    let were_pooled = places.dtype() == DType::U8;
    let Some((geometry, windows)) = pooled(input, weight, options).filter(|_| were_pooled) else {
        return conv2d_relu_max_pool::composed_backward(saved, places, gradient);
    };
    overrides::note_taken();
    let [batch, channels, ..] = geometry.output_shape();
    for maps in [&gradient, &places] {
        let shape = [batch, channels, windows.output[0], windows.output[1]];
        assert_shape("the gradient and the places", maps, &shape);
    }
    let Conv2dSaved { input, weight, wanted, .. } = saved;
    let [input, weight, gradient] = [input, weight, gradient].map(contiguous);
    let (gradient, places) = (elements(&gradient), places.storage::<u8>());
    let bias =
        wanted.bias.then(|| pooled::channel_sums(level, gradient, places, [batch, channels]));
    let source = Source::Pooled(gradient, places);
    let found = gradients(level, &geometry, &input, &weight, source, wanted);
    Conv2dParents { bias, ..found }
}

/// The sizes of a convolution and of the pooling that follows.
fn pooled(
    input: &FlexTensor,
    weight: &FlexTensor,
    options: &Conv2dOptions,
) -> Option<(Geometry, Windows)> {
    let geometry = Geometry::new(input, weight, options)?;
    Some((geometry, Windows::new(geometry.output, &PoolOptions::square(2))?))
}

/// The sums of a convolution, by the faster algorithm.
fn convolve(
    level: Level,
    geometry: &Geometry,
    input: &[f32],
    weight: &[f32],
    epilogue: Epilogue<'_>,
    target: Target<'_>,
) {
    match Maps::forward(geometry).filter(|_| arithmetic() == Arithmetic::Fast) {
        Some(maps) => {
            let kernels = Kernels::Forward;
            let input = Source::Maps(input);
            winograd::correlate(level, &maps, input, weight, kernels, epilogue, target);
        }
        None => direct::forward(level, geometry, input, weight, epilogue, target),
    }
}

/// The gradients of input and weight that are wanted, each by the faster algorithm.
fn gradients(
    level: Level,
    geometry: &Geometry,
    input: &FlexTensor,
    weight: &FlexTensor,
    gradient: Source<'_>,
    wanted: Conv2dParents<bool>,
) -> Conv2dGradients<Flex> {
    let fast = arithmetic() == Arithmetic::Fast;
    let weight_gradient = wanted.weight.then(|| {
        let mut found = recycled::floats(geometry.weight_shape());
        let target = found.storage_mut();
        let input = elements(input);
        match Maps::forward(geometry).filter(|_| fast) {
            Some(maps) => winograd::weight_gradient(level, &maps, input, gradient, target),
            None => weight_gradient::weight_gradient(level, geometry, input, gradient, target),
        }
        found
    });
    let input_gradient = wanted.input.then(|| {
        let mut found = recycled::floats(geometry.input_shape());
        let target = found.storage_mut();
        let weight = elements(weight);
        match Maps::input_gradient(geometry).filter(|_| fast) {
            Some(maps) => {
                let epilogue = Epilogue { bias: None, relu: false };
                let kernels = Kernels::Rotated;
                let target = Target::maps(target);
                winograd::correlate(level, &maps, gradient, weight, kernels, epilogue, target);
            }
            None => match gradient {
                Source::Maps(gradient) => {
                    direct::input_gradient(level, geometry, gradient, weight, target);
                }
                Source::Pooled(gradient, places) => {
                    let mut map = recycled::floats(geometry.output_shape());
                    let windows = Windows::new(geometry.output, &PoolOptions::square(2));
                    let windows = windows.expect("a window fits, or there was no forward pass");
                    windows.scatter(gradient, places, map.storage_mut());
                    direct::input_gradient(level, geometry, elements(&map), weight, target);
                }
            },
        }
        found
    });
    Conv2dParents { input: input_gradient, weight: weight_gradient, bias: None }
}
