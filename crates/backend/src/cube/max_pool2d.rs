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

use super::buffers::{elementwise, empty, empty_of};

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
    #[comptime] rectified: bool,
    #[define(E)] _element: StorageType,
) {
    let i = ABSOLUTE_POS;
    if i < output.len() {
        let Size { height, width, channels } = size;
        let channel = i % channels;
        let column = i / channels % (width / 2);
        let row = i / channels / (width / 2) % (height / 2);
        let image = i / channels / (width / 2) / (height / 2);
        let first = ((image * height + 2 * row) * width + 2 * column) * channels + channel;
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
                value += f32::cast_from(bias[channel]);
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

/// A unit for each value before pooling.
#[cube(launch)]
fn differentiate<E: Float>(
    winners: &Array<i32>,
    gradient: &Array<E>,
    of_maps: &mut Array<E>,
    size: Size,
    #[define(E)] _element: StorageType,
) {
    let i = ABSOLUTE_POS;
    if i < of_maps.len() {
        let Size { height, width, channels } = size;
        let channel = i % channels;
        let column = i / channels % width;
        let row = i / channels / width % height;
        let image = i / channels / width / height;
        let mut value = E::from_int(0);
        // The last of an odd number of rows or columns is in no window.
        if row / 2 < height / 2 && column / 2 < width / 2 {
            let window = (image * (height / 2) + row / 2) * (width / 2) + column / 2;
            let window = window * channels + channel;
            if winners[window] == (row % 2 * 2 + column % 2) as i32 {
                value = gradient[window];
            }
        }
        of_maps[i] = value;
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
    let (count, cube) = elementwise(&gradient.client, of_maps.meta.num_elements());
    differentiate::launch::<R>(
        &of_maps.client,
        count,
        cube,
        winners.into_array_arg(),
        gradient.into_array_arg(),
        of_maps.clone().into_array_arg(),
        SizeLaunch::new(height, width, channels),
        of_maps.dtype.into(),
    );
    permute_nhwc_to_nchw(of_maps)
}
