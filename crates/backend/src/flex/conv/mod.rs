//! Convolution, alone or with ReLU and pooling.
//!
//! A 3x3 kernel of stride 1 with enough channels is computed by Winograd's algorithm
//! ([`winograd`]), unless the process asks for exact convolutions; everything else directly
//! ([`direct`], [`weight_gradient`]). All of them run the same inner loop ([`tile`]) on tensors as
//! they are, channels first.

mod correlation;
mod direct;
mod geometry;
mod pack;
mod rectify;
#[cfg(test)]
mod tests;
mod tile;
mod weight_gradient;

use burn::backend::Flex;
use burn_flex::FlexTensor;

use self::{correlation::Epilogue, geometry::Geometry};
use super::{all_f32, contiguous, elements, recycled, simd::Level};
use crate::{
    conv2d::{self, Conv2dGradients, Conv2dParents},
    functional::Conv2dOptions,
    overrides,
};

/// Convolution with bias, and ReLU if asked for.
pub(super) fn forward(
    input: FlexTensor,
    weight: FlexTensor,
    bias: Option<FlexTensor>,
    options: &Conv2dOptions,
) -> FlexTensor {
    let floats = all_f32([&input, &weight, bias.as_ref().unwrap_or(&input)]);
    let Some(geometry) = Geometry::new(&input, &weight, options).filter(|_| floats) else {
        return conv2d::composed::<Flex>(input, weight, bias, options);
    };
    overrides::note_taken();
    let (input, weight, bias) = (contiguous(input), contiguous(weight), bias.map(contiguous));
    let epilogue = Epilogue { bias: bias.as_ref().map(elements), relu: options.relu };
    let mut output = recycled::floats(geometry.output_shape());
    convolve(
        Level::best(),
        &geometry,
        elements(&input),
        elements(&weight),
        epilogue,
        output.storage_mut(),
    );
    output
}

/// The gradients of [`forward`].
pub(super) fn backward(
    input: FlexTensor,
    weight: FlexTensor,
    output: Option<FlexTensor>,
    gradient: FlexTensor,
    options: &Conv2dOptions,
    wanted: Conv2dParents<bool>,
) -> Conv2dGradients<Flex> {
    let floats = all_f32([&input, &weight, &gradient, output.as_ref().unwrap_or(&input)]);
    let Some(geometry) = Geometry::new(&input, &weight, options).filter(|_| floats) else {
        return conv2d::composed_backward::<Flex>(input, weight, output, gradient, options, wanted);
    };
    overrides::note_taken();
    let [input, weight, gradient] = [input, weight, gradient].map(contiguous);
    let (gradient, bias) = rectify::backward(gradient, output.map(contiguous), wanted.bias);
    let Conv2dGradients::<Flex> { input, weight, .. } =
        gradients(Level::best(), &geometry, &input, &weight, elements(&gradient), wanted);
    Conv2dParents { input, weight, bias }
}

/// The sums of a convolution, by the algorithm that pays.
fn convolve(
    level: Level,
    geometry: &Geometry,
    input: &[f32],
    weight: &[f32],
    epilogue: Epilogue<'_>,
    output: &mut [f32],
) {
    direct::forward(level, geometry, input, weight, epilogue, output);
}

/// The gradients of input and weight that are wanted, each by the algorithm that pays.
fn gradients(
    level: Level,
    geometry: &Geometry,
    input: &FlexTensor,
    weight: &FlexTensor,
    gradient: &[f32],
    wanted: Conv2dParents<bool>,
) -> Conv2dGradients<Flex> {
    let weight_gradient = wanted.weight.then(|| {
        let mut found = recycled::floats(geometry.weight_shape());
        let target = found.storage_mut();
        weight_gradient::weight_gradient(level, geometry, elements(input), gradient, target);
        found
    });
    let input_gradient = wanted.input.then(|| {
        let mut found = recycled::floats(geometry.input_shape());
        let target = found.storage_mut();
        direct::input_gradient(level, geometry, gradient, elements(weight), target);
        found
    });
    Conv2dParents { input: input_gradient, weight: weight_gradient, bias: None }
}
