//! What is computed by the units of a GPU; [`super`] says how they are started.

use burn_cubecl::cubecl::{self, prelude::*};

use crate::cube::{
    lanes::{UNITS, column_of_unit, sum_of_lane},
    linear::relu,
};

/// The sum of each channel in a segment and that of the squares around the segment's mean, both
/// `[segments, channels]`.
///
/// The squares are first taken around the segment's first value, which no large mean blurs.
#[cube(launch)]
pub(super) fn sum_values(
    input: &Array<f32>,
    sums: &mut Array<f32>,
    squares: &mut Array<f32>,
    channels: usize,
    segment: usize,
    #[comptime] lanes: usize,
) {
    let channel = column_of_unit(lanes);
    let begin = CUBE_POS_Y as usize * segment;
    let end = clamp_max(begin + segment, input.len() / channels);
    let mut origin = 0.0f32;
    let mut sum = 0.0f32;
    let mut square = 0.0f32;
    if channel < channels {
        origin = input[begin * channels + channel];
        for place in range_stepped(begin + UNIT_POS_Y as usize, end, UNITS / lanes) {
            let value = input[place * channels + channel] - origin;
            sum += value;
            square += value * value;
        }
    }
    let sum = sum_of_lane(sum, lanes);
    let square = sum_of_lane(square, lanes);
    if UNIT_POS_Y == 0 && channel < channels {
        let at = CUBE_POS_Y as usize * channels + channel;
        let count = f32::cast_from((end - begin) as u32);
        sums[at] = sum + origin * count;
        squares[at] = square - sum * sum / count;
    }
}

/// The sum of a channel of all segments, `[segments, channels]`, by all units of a cube.
#[cube]
fn sum_of_channel(values: &Array<f32>, channel: usize, channels: usize) -> f32 {
    let mut sum = 0.0f32;
    for i in range_stepped(UNIT_POS as usize, values.len() / channels, UNITS) {
        sum += values[i * channels + channel];
    }
    sum_of_lane(sum, 1usize)
}

/// Mean and variance of each channel, from its segments: a cube for each.
#[cube(launch)]
pub(super) fn join_statistics(
    sums: &Array<f32>,
    squares: &Array<f32>,
    mean: &mut Array<f32>,
    variance: &mut Array<f32>,
    places: usize,
    segment: usize,
) {
    let channel = CUBE_POS;
    let channels = mean.len();
    let middle = sum_of_channel(sums, channel, channels) / f32::cast_from(places as u32);
    let mut around = 0.0f32;
    for i in range_stepped(UNIT_POS as usize, sums.len() / channels, UNITS) {
        let count = f32::cast_from((clamp_max((i + 1) * segment, places) - i * segment) as u32);
        let distance = sums[i * channels + channel] / count - middle;
        around += squares[i * channels + channel] + distance * distance * count;
    }
    let around = sum_of_lane(around, 1usize);
    if UNIT_POS == 0 && channel < channels {
        mean[channel] = middle;
        variance[channel] = around / f32::cast_from(places as u32);
    }
}

/// By what a channel is normalised.
#[derive(CubeType, CubeLaunch)]
pub(super) struct Normal {
    mean: Array<f32>,
    variance: Array<f32>,
    scale: Array<f32>,
    shift: Array<f32>,
    epsilon: f32,
}

/// [`Normal`] of one channel.
#[derive(CubeType, Clone, Copy)]
struct NormalOfChannel {
    mean: f32,
    inverse_deviation: f32,
    scale: f32,
    shift: f32,
}

#[cube]
impl Normal {
    fn of_channel(&self, channel: usize) -> NormalOfChannel {
        NormalOfChannel {
            mean: self.mean[channel],
            inverse_deviation: 1.0 / f32::sqrt(self.variance[channel] + self.epsilon),
            scale: self.scale[channel],
            shift: self.shift[channel],
        }
    }
}

#[cube]
impl NormalOfChannel {
    fn output(&self, value: f32) -> f32 {
        (value - self.mean) * (self.scale * self.inverse_deviation) + self.shift
    }
}

#[cube(launch)]
pub(super) fn normalize(
    input: &Array<f32>,
    residual: &Array<f32>,
    output: &mut Array<f32>,
    normal: &Normal,
    segment: usize,
    #[comptime] lanes: usize,
    #[comptime] has_residual: bool,
    #[comptime] rectified: bool,
) {
    let channels = normal.mean.len();
    let channel = column_of_unit(lanes);
    let begin = CUBE_POS_Y as usize * segment;
    let end = clamp_max(begin + segment, output.len() / channels);
    if channel < channels {
        let normal = normal.of_channel(channel);
        for place in range_stepped(begin + UNIT_POS_Y as usize, end, UNITS / lanes) {
            let i = place * channels + channel;
            let mut value = normal.output(input[i]);
            if has_residual {
                value += residual[i];
            }
            if rectified {
                value = relu(value);
            }
            output[i] = value;
        }
    }
}

/// What was passed on, where ReLU followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Rectified {
    No,
    /// The output was kept.
    Kept,
    /// The output follows from the input.
    FromInput,
}

/// The gradient where ReLU let it through.
#[cube]
fn let_through(
    gradient: f32,
    input: f32,
    output: f32,
    normal: NormalOfChannel,
    #[comptime] rectified: Rectified,
) -> f32 {
    let mut through = gradient;
    if comptime!(rectified == Rectified::Kept) && output <= 0.0 {
        through = 0.0f32;
    }
    if comptime!(rectified == Rectified::FromInput) && normal.output(input) <= 0.0 {
        through = 0.0f32;
    }
    through
}

/// The sums of the gradient and of its product with the normalised input of each channel in a segment,
/// both `[segments, channels]`.
#[cube(launch)]
pub(super) fn sum_gradients(
    input: &Array<f32>,
    output: &Array<f32>,
    gradient: &Array<f32>,
    sums: &mut Array<f32>,
    products: &mut Array<f32>,
    normal: &Normal,
    segment: usize,
    #[comptime] lanes: usize,
    #[comptime] rectified: Rectified,
) {
    let channels = normal.mean.len();
    let channel = column_of_unit(lanes);
    let begin = CUBE_POS_Y as usize * segment;
    let end = clamp_max(begin + segment, input.len() / channels);
    let mut sum = 0.0f32;
    let mut product = 0.0f32;
    if channel < channels {
        let normal = normal.of_channel(channel);
        for place in range_stepped(begin + UNIT_POS_Y as usize, end, UNITS / lanes) {
            let i = place * channels + channel;
            let value = input[i];
            let gradient = let_through(gradient[i], value, output[i], normal, rectified);
            sum += gradient;
            product += gradient * (value - normal.mean) * normal.inverse_deviation;
        }
    }
    let sum = sum_of_lane(sum, lanes);
    let product = sum_of_lane(product, lanes);
    if UNIT_POS_Y == 0 && channel < channels {
        let at = CUBE_POS_Y as usize * channels + channel;
        sums[at] = sum;
        products[at] = product;
    }
}

/// The gradients of shift and scale, from the sums of the segments: a cube for each channel.
#[cube(launch)]
pub(super) fn join_gradients(
    sums: &Array<f32>,
    products: &Array<f32>,
    of_shift: &mut Array<f32>,
    of_scale: &mut Array<f32>,
) {
    let channel = CUBE_POS;
    let channels = of_shift.len();
    let sum = sum_of_channel(sums, channel, channels);
    let product = sum_of_channel(products, channel, channels);
    if UNIT_POS == 0 && channel < channels {
        of_shift[channel] = sum;
        of_scale[channel] = product;
    }
}

/// The gradients of input and residual.
///
/// - `share`: one over the values of a channel
#[cube(launch)]
pub(super) fn differentiate_normal(
    input: &Array<f32>,
    output: &Array<f32>,
    gradient: &Array<f32>,
    of_shift: &Array<f32>,
    of_scale: &Array<f32>,
    of_input: &mut Array<f32>,
    of_residual: &mut Array<f32>,
    normal: &Normal,
    share: f32,
    segment: usize,
    #[comptime] lanes: usize,
    #[comptime] of_batch: bool,
    #[comptime] wants_residual: bool,
    #[comptime] rectified: Rectified,
) {
    let channels = normal.mean.len();
    let channel = column_of_unit(lanes);
    let begin = CUBE_POS_Y as usize * segment;
    let end = clamp_max(begin + segment, input.len() / channels);
    if channel < channels {
        let normal = normal.of_channel(channel);
        let mut of_shift_here = 0.0f32;
        let mut of_scale_here = 0.0f32;
        if of_batch {
            of_shift_here = of_shift[channel];
            of_scale_here = of_scale[channel];
        }
        for place in range_stepped(begin + UNIT_POS_Y as usize, end, UNITS / lanes) {
            let i = place * channels + channel;
            let value = input[i];
            let gradient = let_through(gradient[i], value, output[i], normal, rectified);
            if wants_residual {
                of_residual[i] = gradient;
            }
            let mut of_normal = gradient;
            if of_batch {
                let normalized = (value - normal.mean) * normal.inverse_deviation;
                of_normal -= (of_shift_here + normalized * of_scale_here) * share;
            }
            of_input[i] = of_normal * normal.scale * normal.inverse_deviation;
        }
    }
}
