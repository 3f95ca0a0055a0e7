//! Affine maps of images, the channels last: a unit for each number of the result.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    ops::{permute_nchw_to_nhwc, permute_nhwc_to_nchw},
    tensor::CubeTensor,
};

use super::{
    buffers::{elementwise, empty},
    extent::{Extent, ExtentLaunch},
};
use crate::affine::NUMBERS;

/// Where a position lies along a side of its image, from the numbers of a coordinate that begin there.
#[cube]
fn coordinate(numbers: &Array<f32>, begin: usize, x: f32, y: f32) -> f32 {
    let sum = numbers[begin] * x + numbers[begin + 1] * y + numbers[begin + 2];
    clamp(sum, numbers[begin + 3], numbers[begin + 4])
}

/// How much a pixel beside a coordinate counts: nothing where it is not among the side's.
#[cube]
fn weight(pixel: f32, coordinate: f32, side: usize) -> f32 {
    let inside = pixel >= 0.0 && pixel < f32::cast_from(side);
    select(inside, 1.0 - (pixel - coordinate).abs(), 0.0)
}

/// - `numbers`: of each image's columns, then of its rows
/// - `rows`, `columns`, `channels`: those of `extent`
#[cube(launch)]
fn sample(
    images: &Array<f32>,
    numbers: &Array<f32>,
    result: &mut Array<f32>,
    extent: &Extent,
    rows: usize,
    columns: usize,
    channels: usize,
) {
    let i = ABSOLUTE_POS;
    if i < result.len() {
        let to = extent.position(i);
        let x = f32::cast_from(to.column) - (0.5 * f32::cast_from(columns) - 0.5);
        let y = f32::cast_from(to.row) - (0.5 * f32::cast_from(rows) - 0.5);
        let begin = 2 * NUMBERS * to.image;
        let across = coordinate(numbers, begin, x, y);
        let down = coordinate(numbers, begin + NUMBERS, x, y);
        let mut sum = 0.0f32;
        #[unroll]
        for neighbour in 0..4usize {
            let row = down.floor() + f32::cast_from(neighbour / 2);
            let column = across.floor() + f32::cast_from(neighbour % 2);
            let weight = weight(row, down, rows) * weight(column, across, columns);
            if weight > 0.0 {
                let line = to.image * rows + usize::cast_from(row);
                let place = line * columns + usize::cast_from(column);
                sum += weight * images[place * channels + to.channel];
            }
        }
        result[i] = sum;
    }
}

/// Takes the [numbers](crate::affine::numbers) of the images' maps.
pub(super) fn forward<R: CubeRuntime>(
    images: CubeTensor<R>,
    numbers: CubeTensor<R>,
) -> CubeTensor<R> {
    let images = into_contiguous(permute_nchw_to_nhwc(images));
    let [_, rows, columns, channels] = images.meta.shape().dims();
    let result = empty(&images, images.meta.shape().clone());
    let (count, cube) = elementwise(&images.client, result.meta.num_elements());
    sample::launch::<R>(
        &result.client,
        count,
        cube,
        images.into_array_arg(),
        numbers.into_array_arg(),
        result.clone().into_array_arg(),
        ExtentLaunch::new(rows, columns, channels),
        rows,
        columns,
        channels,
    );
    permute_nhwc_to_nchw(result)
}
