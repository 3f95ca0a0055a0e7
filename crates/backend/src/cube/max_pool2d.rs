//! The maximum of windows of 2x2 side by side, after bias and ReLU or of the maps themselves, whose
//! channels lie last.
//!
//! Burn's kernel loses a NaN, as CUDA's maximum of two numbers does.

use burn::tensor::DType;
use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    ops::{permute_nchw_to_nhwc, permute_nhwc_to_nchw},
    tensor::CubeTensor,
};

use super::{
    buffers::{elementwise, empty, empty_of},
    extent::{Extent, ExtentLaunch},
};

/// The winner of a window where ReLU left nothing above zero, so that no gradient goes through it.
const NONE: u32 = 4;

/// Rows, columns and channels of the maps before pooling.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct Size {
    height: usize,
    width: usize,
    channels: usize,
}

/// A unit for each window. Bias and ReLU come first if `rectified`; the bias is not read otherwise.
#[cube(launch)]
fn pool<E: Float>(
    maps: &Array<E>,
    bias: &Array<E>,
    output: &mut Array<E>,
    winners: &mut Array<i32>,
    size: Size,
    windows: &Extent,
    #[comptime] rectified: bool,
    #[define(E)] _element: StorageType,
) {
    let i = ABSOLUTE_POS;
    if i < output.len() {
        let Size { height, width, channels } = size;
        let window = windows.position(i);
        let line = window.image * height + 2 * window.row;
        let first = (line * width + 2 * window.column) * channels + window.channel;
        // What ReLU keeps is above zero; without it the first value leads.
        let mut largest = 0.0f32;
        let mut winner = NONE.runtime();
        if comptime!(!rectified) {
            largest = f32::cast_from(maps[first]);
            winner = 0u32;
        }
        #[unroll]
        for place in 0..4u32 {
            let beside = (place / 2) as usize * width + (place % 2) as usize;
            let mut value = f32::cast_from(maps[first + beside * channels]);
            if rectified {
                value += f32::cast_from(bias[window.channel]);
            }
            // A NaN wins, and stays.
            if value > largest || value.is_nan() {
                largest = value;
                winner = place;
            }
        }
        output[i] = E::cast_from(largest);
        winners[i] = i32::cast_from(winner);
    }
}

/// A unit for each window, and for each part of one that rows or columns of an odd number leave, whose
/// values have no gradient.
#[cube(launch)]
fn differentiate<E: Float>(
    winners: &Array<i32>,
    gradient: &Array<E>,
    of_maps: &mut Array<E>,
    size: Size,
    windows: &Extent,
    units: usize,
    #[define(E)] _element: StorageType,
) {
    let i = ABSOLUTE_POS;
    if i < units {
        let Size { height, width, channels } = size;
        let window = windows.position(i);
        let mut winner = i32::cast_from(NONE.runtime());
        let mut value = E::from_int(0);
        if window.row < height / 2 && window.column < width / 2 {
            let line = window.image * (height / 2) + window.row;
            let pooled = (line * (width / 2) + window.column) * channels + window.channel;
            winner = winners[pooled];
            value = gradient[pooled];
        }
        let (top, left) = (2 * window.row, 2 * window.column);
        #[unroll]
        for place in 0..4usize {
            let (row, column) = (top + place / 2, left + place % 2);
            if row < height && column < width {
                let pixel = (window.image * height + row) * width + column;
                of_maps[pixel * channels + window.channel] =
                    select(winner == place as i32, value, E::from_int(0));
            }
        }
    }
}

/// The pooled maps, and the winner of each window. With the bias that a convolution left out, ReLU
/// follows it before the pooling.
pub(super) fn forward<R: CubeRuntime>(
    maps: CubeTensor<R>,
    bias: Option<CubeTensor<R>>,
) -> (CubeTensor<R>, CubeTensor<R>) {
    let maps = into_contiguous(permute_nchw_to_nhwc(maps));
    let rectified = bias.is_some();
    let bias = bias.map_or_else(|| maps.clone(), into_contiguous);
    let [batch, height, width, channels] = maps.meta.shape().dims();
    let pooled = [batch, height / 2, width / 2, channels];
    let (output, winners) = (empty(&maps, pooled), empty_of(DType::I32, &maps, pooled));
    let element = maps.dtype.into();
    let (count, cube) = elementwise(&maps.client, output.meta.num_elements());
    pool::launch::<R>(
        &output.client,
        count,
        cube,
        maps.into_array_arg(),
        bias.into_array_arg(),
        output.clone().into_array_arg(),
        winners.clone().into_array_arg(),
        SizeLaunch::new(height, width, channels),
        ExtentLaunch::new(height / 2, width / 2, channels),
        rectified,
        element,
    );
    [output, winners].map(permute_nhwc_to_nchw).into()
}

/// The gradient of the maps (`shape`), from that of the pooled ones.
pub(super) fn backward<R: CubeRuntime>(
    winners: CubeTensor<R>,
    gradient: CubeTensor<R>,
    [batch, channels, height, width]: [usize; 4],
) -> CubeTensor<R> {
    let [winners, gradient] =
        [winners, gradient].map(|maps| into_contiguous(permute_nchw_to_nhwc(maps)));
    let of_maps = empty(&gradient, [batch, height, width, channels]);
    let [down, across] = [height, width].map(|side| side.div_ceil(2));
    let units = batch * down * across * channels;
    let (count, cube) = elementwise(&gradient.client, units);
    differentiate::launch::<R>(
        &of_maps.client,
        count,
        cube,
        winners.into_array_arg(),
        gradient.into_array_arg(),
        of_maps.clone().into_array_arg(),
        SizeLaunch::new(height, width, channels),
        ExtentLaunch::new(down, across, channels),
        units,
        of_maps.dtype.into(),
    );
    permute_nhwc_to_nchw(of_maps)
}
