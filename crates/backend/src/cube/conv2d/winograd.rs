//! Convolution with a 3x3 kernel and stride 1, by Winograd's F(2x2, 3x3) (Lavin and Gray, 2016).
//!
//! Tiles of 4x4 inputs and the kernels are transformed, multiplied elementwise and summed over the
//! channels, which is 16 matrix products, and transformed back to tiles of 2x2 outputs: 16
//! multiplications instead of 36. Maps lie with their channels last, so that neighbouring units
//! transform the same tile of neighbouring channels.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    ops::{permute, permute_nchw_to_nhwc, permute_nhwc_to_nchw},
    tensor::CubeTensor,
};

use crate::cube::{
    buffers::{elementwise, empty},
    can_be_counted,
    extent::{Extent, ExtentLaunch},
    product::product,
};

/// Numbers of a transformed tile, and those along a side.
const MATRICES: usize = 16;
const SIDE: usize = 4;
/// Numbers along the side of a kernel, and outputs along that of a tile.
const KERNEL: usize = 3;
const STEP: usize = 2;
/// Bytes for the tiles that are done at a time: more would hardly keep a large device busier. There are
/// fewer numbers in them than units can count.
pub(super) const ROOM: usize = 1 << 28;
/// The same, of tiles that may stay in the cache of a large device, of 50 MB, until they are read. Not timed.
pub(super) const CACHED: usize = 3 << 23;

/// Whether it computes convolutions with a weight of this shape, and the gradients of their inputs.
///
/// - `maps`: batch, height and width, or the most that they can be
pub(super) fn takes(
    [batch, height, width]: [usize; 3],
    [outputs, inputs, rows, columns]: [usize; 4],
    [stride, padding]: [[usize; 2]; 2],
) -> bool {
    // What units count over: maps that have been padded, and all matrices of kernels.
    let numbers = |counts: [usize; 4]| counts.into_iter().fold(1, usize::saturating_mul);
    let of_maps = numbers([batch, height + 2, width + 2, inputs.max(outputs)]);
    let of_kernels = numbers([MATRICES, inputs, outputs, 1]);
    can_be_counted(of_maps.max(of_kernels))
        && [rows, columns] == [3, 3]
        && stride == [1, 1]
        && padding.iter().all(|&places| places <= 2)
}

/// Bytes of the tiles of maps: batch, height and width.
pub(super) fn bytes(
    [batch, height, width]: [usize; 3],
    [outputs, inputs, ..]: [usize; 4],
) -> usize {
    let tiles = [height.div_ceil(STEP), width.div_ceil(STEP)];
    let numbers = [MATRICES, batch, tiles[0], tiles[1], inputs + outputs];
    numbers.into_iter().fold(size_of::<f32>(), usize::saturating_mul)
}

/// Convolution without ReLU, of maps of f32.
///
/// - `room`: how many bytes of tiles are kept at a time, of one tile at least
pub fn forward<R: CubeRuntime>(
    input: CubeTensor<R>,
    weight: CubeTensor<R>,
    bias: Option<CubeTensor<R>>,
    padding: [usize; 2],
    room: usize,
) -> CubeTensor<R> {
    let kernels = permute(kernels(weight, false), &[0, 2, 1]);
    correlate(input, kernels, bias, padding, room)
}

/// The gradient of the input: that of the output, correlated with the kernels rotated.
pub fn input_gradient<R: CubeRuntime>(
    gradient: CubeTensor<R>,
    weight: CubeTensor<R>,
    padding: [usize; 2],
    room: usize,
) -> CubeTensor<R> {
    correlate(gradient, kernels(weight, true), None, padding.map(|places| 2 - places), room)
}

/// Rows and columns of maps, and the extent of their tiles.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct Sizes {
    height: usize,
    width: usize,
    tiles: Extent,
    /// The first value of the tiles that are done, of one for each tile and channel.
    first: usize,
}

#[cube]
impl Sizes {
    /// The number of a place of the maps.
    fn number(&self, image: usize, row: usize, column: usize) -> usize {
        (image * self.height + row) * self.width + column
    }
}

/// Four inputs, `step` apart, as what is multiplied.
#[cube]
fn transform_inputs(values: &mut Array<f32>, #[comptime] first: usize, #[comptime] step: usize) {
    let [b, c, d] = comptime!([first + step, first + 2 * step, first + 3 * step]);
    let second = values[b];
    let third = values[c];
    values[first] -= third;
    values[b] += third;
    values[c] = third - second;
    values[d] = second - values[d];
}

/// Three numbers of a kernel, `step` apart, as four.
#[cube]
fn transform_kernel(values: &mut Array<f32>, #[comptime] first: usize, #[comptime] step: usize) {
    let [b, c, d] = comptime!([first + step, first + 2 * step, first + 3 * step]);
    let outer = 0.5 * (values[first] + values[c]);
    let middle = 0.5 * values[b];
    values[d] = values[c];
    values[b] = outer + middle;
    values[c] = outer - middle;
}

/// Four sums, `step` apart, as two outputs, in place of the first two.
#[cube]
fn transform_sums(values: &mut Array<f32>, #[comptime] first: usize, #[comptime] step: usize) {
    let [b, c, d] = comptime!([first + step, first + 2 * step, first + 3 * step]);
    let second = values[b];
    let third = values[c];
    values[first] += second + third;
    values[b] = second - third - values[d];
}

/// Writes the numbers of a tile into as many matrices, each into element `i`.
#[cube]
fn put(values: &Array<f32>, matrices: &mut Array<f32>, i: usize) {
    let elements = matrices.len() / MATRICES;
    #[unroll]
    for matrix in 0..MATRICES {
        matrices[matrix * elements + i] = values[matrix];
    }
}

/// Tiles of maps, which begin `padding` before their outputs, as 16 matrices of tiles by channels.
#[cube(launch)]
fn transform_maps(
    maps: &Array<f32>,
    matrices: &mut Array<f32>,
    sizes: &Sizes,
    channels: usize,
    above: usize,
    left: usize,
) {
    let i = ABSOLUTE_POS;
    if i < matrices.len() / MATRICES {
        let tile = sizes.tiles.position(sizes.first + i);
        let mut values = Array::<f32>::new(MATRICES);
        #[unroll]
        for down in 0..SIDE {
            #[unroll]
            for right in 0..SIDE {
                let row = tile.row * STEP + down;
                let column = tile.column * STEP + right;
                let mut value = 0.0f32;
                if row >= above
                    && row - above < sizes.height
                    && column >= left
                    && column - left < sizes.width
                {
                    let place = sizes.number(tile.image, row - above, column - left);
                    value = maps[place * channels + tile.channel];
                }
                values[comptime!(down * SIDE + right)] = value;
            }
        }
        #[unroll]
        for row in 0..SIDE {
            transform_inputs(&mut values, comptime!(row * SIDE), 1usize);
        }
        #[unroll]
        for column in 0..SIDE {
            transform_inputs(&mut values, column, SIDE);
        }
        put(&values, matrices, i);
    }
}

/// The number of a kernel that is read for a place, from its end where it is rotated by 180 degrees.
fn tap_at(down: usize, right: usize, rotated: bool) -> usize {
    let tap = down * KERNEL + right;
    if rotated { KERNEL * KERNEL - 1 - tap } else { tap }
}

/// Kernels, `[outputs, 3, 3, inputs]`, as 16 matrices of outputs by inputs.
#[cube(launch)]
fn transform_kernels(
    kernels: &Array<f32>,
    matrices: &mut Array<f32>,
    inputs: usize,
    #[comptime] rotated: bool,
) {
    let i = ABSOLUTE_POS;
    if i < matrices.len() / MATRICES {
        let begin = i / inputs * (KERNEL * KERNEL) * inputs + i % inputs;
        let mut values = Array::<f32>::new(MATRICES);
        #[unroll]
        for down in 0..KERNEL {
            #[unroll]
            for right in 0..KERNEL {
                let tap = comptime!(tap_at(down, right, rotated));
                values[comptime!(down * SIDE + right)] = kernels[begin + tap * inputs];
            }
        }
        #[unroll]
        for row in 0..KERNEL {
            transform_kernel(&mut values, comptime!(row * SIDE), 1usize);
        }
        #[unroll]
        for column in 0..SIDE {
            transform_kernel(&mut values, column, SIDE);
        }
        put(&values, matrices, i);
    }
}

/// 16 matrices of tiles by channels as tiles of maps, with a bias of each channel.
#[cube(launch)]
fn transform_back(
    matrices: &Array<f32>,
    bias: &Array<f32>,
    maps: &mut Array<f32>,
    sizes: &Sizes,
    channels: usize,
    #[comptime] has_bias: bool,
) {
    let elements = matrices.len() / MATRICES;
    let i = ABSOLUTE_POS;
    if i < elements {
        let tile = sizes.tiles.position(sizes.first + i);
        let mut values = Array::<f32>::new(MATRICES);
        #[unroll]
        for matrix in 0..MATRICES {
            values[matrix] = matrices[matrix * elements + i];
        }
        #[unroll]
        for row in 0..SIDE {
            transform_sums(&mut values, comptime!(row * SIDE), 1usize);
        }
        let mut shift = 0.0f32;
        if has_bias {
            shift = bias[tile.channel];
        }
        #[unroll]
        for column in 0..STEP {
            transform_sums(&mut values, column, SIDE);
            #[unroll]
            for row in 0..STEP {
                let (y, x) = (tile.row * STEP + row, tile.column * STEP + column);
                if y < sizes.height && x < sizes.width {
                    let place = sizes.number(tile.image, y, x);
                    maps[place * channels + tile.channel] =
                        values[comptime!(row * SIDE + column)] + shift;
                }
            }
        }
    }
}

/// The transformed kernels, `[16, outputs, inputs]`.
fn kernels<R: CubeRuntime>(weight: CubeTensor<R>, rotated: bool) -> CubeTensor<R> {
    let weight = into_contiguous(permute_nchw_to_nhwc(weight));
    let [outputs, _, _, inputs] = weight.meta.shape().dims();
    let matrices = empty(&weight, [MATRICES, outputs, inputs]);
    let (count, cube) = elementwise(&weight.client, outputs * inputs);
    transform_kernels::launch::<R>(
        &matrices.client,
        count,
        cube,
        weight.into_array_arg(),
        matrices.clone().into_array_arg(),
        inputs,
        rotated,
    );
    matrices
}

/// - `kernels`: `[16, inputs, outputs]`
fn correlate<R: CubeRuntime>(
    maps: CubeTensor<R>,
    kernels: CubeTensor<R>,
    bias: Option<CubeTensor<R>>,
    padding: [usize; 2],
    room: usize,
) -> CubeTensor<R> {
    let maps = into_contiguous(permute_nchw_to_nhwc(maps));
    let [batch, height, width, inputs] = maps.meta.shape().dims();
    let outputs = kernels.meta.shape()[2];
    let [out_height, out_width] = [height + 2 * padding[0] - 2, width + 2 * padding[1] - 2];
    let [down, across] = [out_height, out_width].map(|places| places.div_ceil(STEP));
    let sizes = |[height, width]: [usize; 2], channels: usize, first_tile: usize| {
        let tiles = ExtentLaunch::new(down, across, channels);
        SizesLaunch::new(height, width, tiles, first_tile * channels)
    };
    let all = batch * down * across;
    let fit = (room / (MATRICES * (inputs + outputs) * size_of::<f32>())).clamp(1, all);
    let at_a_time = all.div_ceil(all.div_ceil(fit));
    let correlated = empty(&maps, [batch, out_height, out_width, outputs]);
    let has_bias = bias.is_some();
    let bias = bias.map_or_else(|| maps.clone(), into_contiguous); // or what is not looked at
    for first in (0..all).step_by(at_a_time) {
        let tiles = at_a_time.min(all - first);
        let matrices = empty(&maps, [MATRICES, tiles, inputs]);
        let (count, cube) = elementwise(&maps.client, tiles * inputs);
        transform_maps::launch::<R>(
            &maps.client,
            count,
            cube,
            maps.clone().into_array_arg(),
            matrices.clone().into_array_arg(),
            sizes([height, width], inputs, first),
            inputs,
            padding[0],
            padding[1],
        );
        let sums = product(matrices, kernels.clone());
        let (count, cube) = elementwise(&maps.client, tiles * outputs);
        transform_back::launch::<R>(
            &maps.client,
            count,
            cube,
            sums.into_array_arg(),
            bias.clone().into_array_arg(),
            correlated.clone().into_array_arg(),
            sizes([out_height, out_width], outputs, first),
            outputs,
            has_bias,
        );
    }
    permute_nhwc_to_nchw(correlated)
}
