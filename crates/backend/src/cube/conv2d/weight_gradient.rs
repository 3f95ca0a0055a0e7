//! The gradient of a convolution's weight: a product of matrices with few results, each of which is a
//! sum over all places of all maps.
//!
//! One cube a tile of results, as products are usually divided, would leave most of a GPU idle. So the
//! places are divided as well: cubes make the results of a part of the places each, and then the parts
//! are added up. Nothing is rounded but the sums, which are made in f32 whatever the operands are.

use burn::tensor::{DType, TensorMetadata};
use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*, std::FastDivmod},
    kernel::into_contiguous,
    ops::{permute_nchw_to_nhwc, permute_nhwc_to_nchw, reshape},
    tensor::CubeTensor,
};

use crate::{
    cube::{
        buffers::{empty, empty_of},
        column_sums::{column_sums, takes_columns},
        lanes::UNITS,
        noted, takes_any_float,
    },
    functional::Conv2dOptions,
};

/// Places whose values a cube holds at a time.
const DEPTH: usize = 8;
/// A unit makes so many rows of results by as many columns.
const SIDE: usize = 4;
/// The most results of a cube.
const TILE: usize = UNITS * SIDE * SIDE;
/// Rows of a tile; fewer where the convolution has fewer outputs, and more columns then.
const ROWS: [usize; 2] = [16, 64];
/// Columns of a tile are a multiple of it, so that units beside each other read numbers beside each other.
const BESIDE: usize = 32;
/// Cubes that keep a large device busy while others wait for memory.
const CUBES: usize = 2048;
/// The most parts, and the least places of a part.
const PARTS: usize = 1024;
const PLACES: usize = 128;

/// How a convolution moves over its input, `[batch, height, width, channels]`, in both directions.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct Window {
    size: Pair,
    channels: usize,
    kernel_width: usize,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    out_height: FastDivmod<usize>,
    out_width: FastDivmod<usize>,
}

#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct Pair {
    y: usize,
    x: usize,
}

/// Each part's share of the results, `[parts, outputs, taps * channels]`.
///
/// A row of results belongs to an output, a column to a tap of the kernel and a channel.
#[cube(launch)]
fn multiply<E: Float, P: Float>(
    input: &Array<E>,
    gradient: &Array<E>,
    results: &mut Array<P>,
    window: &Window,
    outputs: usize,
    taps: usize,
    places_of_part: usize,
    #[comptime] tile: Tile,
    #[define(E)] _element: StorageType,
    #[define(P)] _result: StorageType,
) {
    let Tile { rows, columns } = comptime!(tile);
    let units = comptime!(tile.units());
    let mut of_gradient = SharedMemory::<f32>::new(DEPTH * rows);
    let mut of_input = SharedMemory::<f32>::new(DEPTH * columns);
    let unit = UNIT_POS as usize;
    let width = taps * window.channels;
    let first_row = CUBE_POS_Y as usize * rows;
    let begin = CUBE_POS_Z as usize * places_of_part;
    let end = clamp_max(begin + places_of_part, gradient.len() / outputs);

    // The column that this unit reads; where it lies above the map or left of it, the sums below wrap.
    let column = CUBE_POS_X as usize * columns + unit % columns;
    let channel = column % window.channels;
    let tap = column / window.channels;
    let down = tap / window.kernel_width * window.dilation.y;
    let right = tap % window.kernel_width * window.dilation.x;

    let row_of_unit = unit / (columns / SIDE) * SIDE;
    let column_of_unit = unit % (columns / SIDE) * SIDE;
    let mut sums = Array::<f32>::new(SIDE * SIDE);
    #[unroll]
    for i in 0..SIDE * SIDE {
        sums[i] = 0.0f32;
    }

    for first in range_stepped(begin, end, DEPTH) {
        #[unroll]
        for turn in 0..comptime!((DEPTH * rows).div_ceil(units)) {
            let i = turn * units + unit;
            let place = first + i / rows;
            let row = first_row + i % rows;
            if i < DEPTH * rows {
                let mut value = 0.0f32;
                if place < end && row < outputs {
                    value = f32::cast_from(gradient[place * outputs + row]);
                }
                of_gradient[i] = value;
            }
        }
        #[unroll]
        for turn in 0..comptime!(DEPTH * columns / units) {
            let i = turn * units + unit;
            let place = first + i / columns;
            let mut value = 0.0f32;
            if place < end && column < width {
                let (line, x) = window.out_width.div_mod(place);
                let (image, y) = window.out_height.div_mod(line);
                let y = y * window.stride.y + down;
                let x = x * window.stride.x + right;
                if y >= window.padding.y
                    && y - window.padding.y < window.size.y
                    && x >= window.padding.x
                    && x - window.padding.x < window.size.x
                {
                    let line = image * window.size.y + y - window.padding.y;
                    let pixel = line * window.size.x + x - window.padding.x;
                    value = f32::cast_from(input[pixel * window.channels + channel]);
                }
            }
            of_input[i] = value;
        }
        sync_cube();
        #[unroll]
        for depth in 0..DEPTH {
            let mut factors = Array::<f32>::new(SIDE);
            #[unroll]
            for j in 0..SIDE {
                factors[j] = of_input[depth * columns + column_of_unit + j];
            }
            #[unroll]
            for i in 0..SIDE {
                let factor = of_gradient[depth * rows + row_of_unit + i];
                #[unroll]
                for j in 0..SIDE {
                    sums[i * SIDE + j] += factor * factors[j];
                }
            }
        }
        sync_cube();
    }

    #[unroll]
    for i in 0..SIDE {
        #[unroll]
        for j in 0..SIDE {
            let row = first_row + row_of_unit + i;
            let column = CUBE_POS_X as usize * columns + column_of_unit + j;
            if row < outputs && column < width {
                results[(CUBE_POS_Z as usize * outputs + row) * width + column] =
                    P::cast_from(sums[i * SIDE + j]);
            }
        }
    }
}

/// Results that a cube makes at a time, at most [`TILE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Tile {
    rows: usize,
    columns: usize,
}

impl Tile {
    /// - `width`: columns of all tiles
    fn new(outputs: usize, width: usize) -> Self {
        let rows = outputs.next_power_of_two().clamp(ROWS[0], ROWS[1]);
        let beside = width.div_ceil(TILE / rows);
        Self { rows, columns: width.div_ceil(beside).next_multiple_of(BESIDE) }
    }

    /// A multiple of the columns, so that a unit reads the same column each time.
    fn units(self) -> usize {
        self.rows * self.columns / (SIDE * SIDE)
    }
}

/// Places of a part, and how many parts there are.
struct Division {
    tile: Tile,
    places: usize,
    parts: usize,
}

impl Division {
    fn new(outputs: usize, width: usize, places: usize) -> Self {
        let tile = Tile::new(outputs, width);
        let tiles = outputs.div_ceil(tile.rows) * width.div_ceil(tile.columns);
        let most = if takes_columns(outputs * width) { PARTS } else { 1 };
        let parts = (CUBES / tiles).min(places / PLACES).clamp(1, most);
        let of_part = places.div_ceil(parts);
        Self { tile, places: of_part, parts: places.div_ceil(of_part) }
    }
}

/// Whether the kernels take maps and a weight of the shape `weight`.
pub(super) fn takes<'a, T: TensorMetadata + 'a>(
    input: &'a T,
    gradient: &'a T,
    weight: [usize; 4],
    options: &Conv2dOptions,
) -> bool {
    let is_taken = weight.iter().product::<usize>() > 0
        && options.groups == 1
        && takes_any_float(input)
        && takes_any_float(gradient);
    noted(is_taken)
}

/// The gradient of a weight of the shape `size`.
pub(super) fn launch<R: CubeRuntime>(
    input: CubeTensor<R>,
    gradient: CubeTensor<R>,
    size: [usize; 4],
    options: &Conv2dOptions,
) -> CubeTensor<R> {
    let [input, gradient] =
        [input, gradient].map(|maps| into_contiguous(permute_nchw_to_nhwc(maps)));
    let [outputs, channels, kernel_height, kernel_width] = size;
    let [_, height, width, _] = input.meta.shape().dims();
    let [batch, out_height, out_width, _] = gradient.meta.shape().dims();
    let taps = kernel_height * kernel_width;
    let division = Division::new(outputs, taps * channels, batch * out_height * out_width);
    let Division { tile, places, parts } = division;
    let pair = |[y, x]: [usize; 2]| PairLaunch::new(y, x);
    let shape = [outputs, kernel_height, kernel_width, channels];
    let partial = match parts {
        1 => empty(&input, shape),
        _ => empty_of(DType::F32, &input, [parts, outputs * taps * channels]),
    };
    let element = input.dtype.into();
    let tiles = |results: usize, of_tile| results.div_ceil(of_tile) as u32;
    let client = input.client.clone();
    multiply::launch::<R>(
        &client,
        CubeCount::Static(
            tiles(taps * channels, tile.columns),
            tiles(outputs, tile.rows),
            parts as u32,
        ),
        CubeDim::new_1d(tile.units() as u32),
        input.clone().into_array_arg(),
        gradient.into_array_arg(),
        partial.clone().into_array_arg(),
        WindowLaunch::new(
            pair([height, width]),
            channels,
            kernel_width,
            pair(options.stride),
            pair(options.padding),
            pair(options.dilation),
            out_height,
            out_width,
        ),
        outputs,
        taps,
        places,
        tile,
        element,
        partial.dtype.into(),
    );
    if parts == 1 {
        return permute_nhwc_to_nchw(partial);
    }
    let results = reshape(column_sums(partial, input.dtype), shape.into());
    permute_nhwc_to_nchw(results)
}
