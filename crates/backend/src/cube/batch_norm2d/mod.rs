//! Batch normalisation over channels-last maps, `[batch, height, width, channels]`, as CubeCL's
//! convolutions write and read them; a place is one pixel.
//!
//! Statistics are made in two steps: cubes sum a segment of the places each, for some channels, then a
//! cube for each channel adds up the segments. A third kernel goes over the elements, in segments too, so
//! that what depends on the channel alone is computed once for several of them.

mod kernels;

use burn_cubecl::{
    CubeRuntime,
    cubecl::prelude::*,
    kernel::into_contiguous,
    ops::{permute_nchw_to_nhwc, permute_nhwc_to_nchw},
    tensor::CubeTensor,
};

use self::kernels::{
    NormalLaunch, Rectified, differentiate_normal, join_gradients, join_statistics, normalize,
    sum_gradients, sum_values,
};
use super::{
    buffers::{MOST_CUBES, cubes, empty},
    lanes::{UNITS, lanes_of},
};
use crate::{
    Backend, BatchNorm2d, BatchNorm2dGradients, BatchNorm2dOutput, BatchNorm2dSaved,
    BatchNorm2dWanted,
};

/// Places that a unit sums, unless there are more segments than one unit should add up.
const SUMMED_BY_UNIT: usize = 8;
const SUMS: usize = 1024;
/// Places that a unit goes over, unless there are more segments than cubes can be started.
const DONE_BY_UNIT: usize = 4;

/// Arrays that a kernel takes.
pub(super) const MOST_ARRAYS: usize = 11;

/// How places and channels fall to cubes.
struct Division {
    lanes: usize,
    segment: usize,
    segments: usize,
    count: CubeCount,
    cube: CubeDim,
}

impl Division {
    /// For sums.
    fn of_sums(places: usize, channels: usize) -> Self {
        Self::new(places, channels, SUMMED_BY_UNIT, SUMS)
    }

    /// For what is done place by place.
    fn of_places(places: usize, channels: usize) -> Self {
        Self::new(places, channels, DONE_BY_UNIT, MOST_CUBES)
    }

    fn new(places: usize, channels: usize, of_unit: usize, most_segments: usize) -> Self {
        let lanes = lanes_of(channels);
        let rows = UNITS / lanes;
        let segment = (of_unit * rows).max(places.div_ceil(most_segments));
        let segments = places.div_ceil(segment);
        Self {
            lanes,
            segment,
            segments,
            count: CubeCount::Static(channels.div_ceil(lanes) as u32, segments as u32, 1),
            cube: CubeDim::new_2d(lanes as u32, rows as u32),
        }
    }
}

/// Scale, shift, mean and variance, `[channels]` each, as kernels take them.
fn normal<R: CubeRuntime>(per_channel: &[CubeTensor<R>; 4], epsilon: f64) -> NormalLaunch<R> {
    let [scale, shift, mean, variance] =
        per_channel.each_ref().map(|values| into_contiguous(values.clone()).into_array_arg());
    NormalLaunch::new(mean, variance, scale, shift, epsilon as f32)
}

/// Mean and variance of maps `[batch, height, width, channels]`.
fn statistics<R: CubeRuntime>(input: &CubeTensor<R>) -> [CubeTensor<R>; 2] {
    let [batch, height, width, channels] = input.meta.shape().dims();
    let (client, places) = (&input.client, batch * height * width);
    let Division { lanes, segment, segments, count, cube } = Division::of_sums(places, channels);
    let [sums, squares] = [(); 2].map(|()| empty(input, [segments, channels]));
    sum_values::launch::<R>(
        client,
        count,
        cube,
        input.clone().into_array_arg(),
        sums.clone().into_array_arg(),
        squares.clone().into_array_arg(),
        channels,
        segment,
        lanes,
    );
    let [mean, variance] = [(); 2].map(|()| empty(input, [channels]));
    let (count, cube) = cubes(client, channels);
    join_statistics::launch::<R>(
        client,
        count,
        cube,
        sums.into_array_arg(),
        squares.into_array_arg(),
        mean.clone().into_array_arg(),
        variance.clone().into_array_arg(),
        places,
        segment,
    );
    [mean, variance]
}

pub(super) fn forward<R, B>(layer: BatchNorm2d<B>) -> BatchNorm2dOutput<B>
where
    R: CubeRuntime,
    B: Backend<FloatTensorPrimitive = CubeTensor<R>>,
{
    let BatchNorm2d { input, scale, shift, stored, residual, epsilon, rectified, .. } = layer;
    let input = into_contiguous(permute_nchw_to_nhwc(input));
    let [mean, variance] = stored.unwrap_or_else(|| statistics(&input));
    let output = empty(&input, input.meta.shape().clone());
    let residual = residual.map(|maps| into_contiguous(permute_nchw_to_nhwc(maps)));
    let has_residual = residual.is_some();
    let per_channel = [scale, shift, mean, variance];
    let [batch, height, width, channels] = input.meta.shape().dims();
    let Division { lanes, segment, count, cube, .. } =
        Division::of_places(batch * height * width, channels);
    normalize::launch::<R>(
        &output.client,
        count,
        cube,
        input.clone().into_array_arg(),
        residual.unwrap_or(input).into_array_arg(),
        output.clone().into_array_arg(),
        normal(&per_channel, epsilon),
        segment,
        lanes,
        has_residual,
        rectified,
    );
    let [_, _, mean, variance] = per_channel;
    let output = permute_nhwc_to_nchw(output);
    BatchNorm2dOutput { output, mean, variance, over_processes: None }
}

/// How a backward pass is done.
#[derive(Clone, Copy, Debug)]
struct Backward {
    of_batch: bool,
    epsilon: f64,
    rectified: Rectified,
    wanted: BatchNorm2dWanted,
}

pub(super) fn backward<R, B>(
    saved: BatchNorm2dSaved<B>,
    gradient: CubeTensor<R>,
) -> BatchNorm2dGradients<B>
where
    R: CubeRuntime,
    B: Backend<FloatTensorPrimitive = CubeTensor<R>>,
{
    let BatchNorm2dSaved { input, scale, shift, mean, variance, output, .. } = saved;
    let BatchNorm2dSaved { of_batch, epsilon, rectified, wanted, .. } = saved;
    let rectified = match (rectified, &output) {
        (false, _) => Rectified::No,
        (true, Some(_)) => Rectified::Kept,
        (true, None) => Rectified::FromInput,
    };
    let pass = Backward { of_batch, epsilon, rectified, wanted };
    // In place of an output that was not kept, something that is not looked at.
    let output = output.unwrap_or_else(|| gradient.clone());
    let maps = [input, output, gradient].map(|maps| into_contiguous(permute_nchw_to_nhwc(maps)));
    let per_channel = [scale, shift, mean, variance];
    let sums = (wanted.affine || of_batch).then(|| launch_sums(&maps, &per_channel, pass));
    let [of_input, of_residual] = match wanted.input || wanted.residual {
        true => launch_maps(maps, &per_channel, sums.as_ref(), pass).map(Some),
        false => [None, None],
    };
    let affine = sums.map(|[of_shift, of_scale]| [of_scale, of_shift]);
    BatchNorm2dGradients {
        input: of_input.filter(|_| wanted.input),
        affine: affine.filter(|_| wanted.affine),
        residual: of_residual.filter(|_| wanted.residual),
    }
}

/// The gradients of input and residual, the latter any `[1]` where it is not wanted.
fn launch_maps<R: CubeRuntime>(
    [input, output, gradient]: [CubeTensor<R>; 3],
    per_channel: &[CubeTensor<R>; 4],
    sums: Option<&[CubeTensor<R>; 2]>,
    pass: Backward,
) -> [CubeTensor<R>; 2] {
    let Backward { of_batch, wanted, .. } = pass;
    let [batch, height, width, channels] = input.meta.shape().dims();
    let places = batch * height * width;
    let of_input = empty(&input, input.meta.shape().clone());
    let of_residual = match wanted.residual {
        true => empty(&input, input.meta.shape().clone()),
        false => empty(&input, [1]),
    };
    // Looked at only where the statistics were those of the batch.
    let [scale, shift, ..] = per_channel;
    let [of_shift, of_scale] = sums.map_or([shift, scale], <[_; 2]>::each_ref);
    let Division { lanes, segment, count, cube, .. } = Division::of_places(places, channels);
    differentiate_normal::launch::<R>(
        &of_input.client,
        count,
        cube,
        input.into_array_arg(),
        output.into_array_arg(),
        gradient.into_array_arg(),
        of_shift.clone().into_array_arg(),
        of_scale.clone().into_array_arg(),
        of_input.clone().into_array_arg(),
        of_residual.clone().into_array_arg(),
        normal(per_channel, pass.epsilon),
        1.0 / places as f32,
        segment,
        lanes,
        of_batch,
        wanted.residual,
        pass.rectified,
    );
    let of_residual = if wanted.residual { permute_nhwc_to_nchw(of_residual) } else { of_residual };
    [permute_nhwc_to_nchw(of_input), of_residual]
}

/// The gradients of shift and scale, of which that of the input is made too where the statistics were
/// those of the batch.
fn launch_sums<R: CubeRuntime>(
    [input, output, gradient]: &[CubeTensor<R>; 3],
    per_channel: &[CubeTensor<R>; 4],
    pass: Backward,
) -> [CubeTensor<R>; 2] {
    let [batch, height, width, channels] = input.meta.shape().dims();
    let (client, places) = (&input.client, batch * height * width);
    let Division { lanes, segment, segments, count, cube } = Division::of_sums(places, channels);
    let [sums, products] = [(); 2].map(|()| empty(input, [segments, channels]));
    sum_gradients::launch::<R>(
        client,
        count,
        cube,
        input.clone().into_array_arg(),
        output.clone().into_array_arg(),
        gradient.clone().into_array_arg(),
        sums.clone().into_array_arg(),
        products.clone().into_array_arg(),
        normal(per_channel, pass.epsilon),
        segment,
        lanes,
        pass.rectified,
    );
    let [of_shift, of_scale] = [(); 2].map(|()| empty(input, [channels]));
    let (count, cube) = cubes(client, channels);
    join_gradients::launch::<R>(
        client,
        count,
        cube,
        sums.into_array_arg(),
        products.into_array_arg(),
        of_shift.clone().into_array_arg(),
        of_scale.clone().into_array_arg(),
    );
    [of_shift, of_scale]
}
