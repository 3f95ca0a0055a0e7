//! The gradient of a convolution's weight: a product of matrices with few results, each of which is a
//! sum over all places of all maps.
//!
//! One cube a tile of results, as products are usually divided, would leave most of a GPU idle. So the
//! places are divided as well: cubes make the results of a part of the places each, and then the parts
//! are added up. Nothing is rounded but the sums, which are made in f32 whatever the operands are.

use burn::tensor::{DType, TensorMetadata};
use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, io::read_masked, prelude::*, std::FastDivmod},
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
/// Numbers that a unit reads at a time, where channels come in multiples of it.
const VECTOR: usize = 4;
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
const PARTS: usize = 512;
const PLACES: usize = 128;

/// How a convolution moves over its input, `[batch, height, width, channels]`, in both directions.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct Window {
    size: Pair,
    channels: usize,
    kernel_width: usize,
    stride: Pair,
    padding: Pair,
    out_height: FastDivmod<usize>,
    out_width: FastDivmod<usize>,
}

#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct Pair {
    y: usize,
    x: usize,
}

/// What a unit reads of all places: neighbouring channels of the input, as many as there are in a vector,
/// where a tap of the kernel lies.
#[derive(CubeType, Clone, Copy)]
struct Column {
    exists: bool,
    /// In vectors.
    channel: usize,
    /// The tap's rows below and columns right of the padding's begin, less the padding: above the map or
    /// left of it they wrap, and lie beyond it.
    down: usize,
    right: usize,
}

/// Reads, for places from `first` on, as many vectors of the input as each unit stores. None waits for
/// another one, so nothing branches: what is beyond the maps or the part is read elsewhere, and is zero.
#[cube]
fn read_inputs<E: Float, N: Size>(
    input: &Array<Vector<E, N>>,
    values: &mut Array<Vector<E, N>>,
    window: &Window,
    column: Column,
    first: usize,
    end: usize,
    #[comptime] tile: Tile,
) {
    let vector = N::value();
    let across = comptime!(tile.columns / vector);
    let vectors = window.channels / vector;
    #[unroll]
    for turn in 0..comptime!(tile.turns(across)) {
        let depth = (turn * comptime!(tile.units()) + UNIT_POS as usize) / across;
        let place = first + depth;
        let (line, x) = window.out_width.div_mod(place);
        let (image, y) = window.out_height.div_mod(line);
        let y = y * window.stride.y + column.down;
        let x = x * window.stride.x + column.right;
        let is_inside =
            depth < DEPTH && place < end && column.exists && y < window.size.y && x < window.size.x;
        let pixel = (image * window.size.y + y) * window.size.x + x;
        let i = pixel * vectors + column.channel;
        values[turn] = read_masked(is_inside, input.to_slice(), i, Vector::new(E::from_int(0)));
    }
}

/// As [`read_inputs`], of the gradient from the output `row` on.
#[cube]
fn read_gradients<E: Float, M: Size>(
    gradient: &Array<Vector<E, M>>,
    values: &mut Array<Vector<E, M>>,
    outputs: usize,
    row: usize,
    first: usize,
    end: usize,
    #[comptime] tile: Tile,
) {
    let vector = M::value();
    let across = comptime!(tile.rows / vector);
    #[unroll]
    for turn in 0..comptime!(tile.turns(across)) {
        let depth = (turn * comptime!(tile.units()) + UNIT_POS as usize) / across;
        let place = first + depth;
        let is_inside = depth < DEPTH && place < end && row < outputs;
        let i = place * (outputs / vector) + row / vector;
        values[turn] = read_masked(is_inside, gradient.to_slice(), i, Vector::new(E::from_int(0)));
    }
}

/// Writes what each unit has read, `across` vectors of each place.
#[cube]
fn store<E: Float, N: Size>(
    values: &Array<Vector<E, N>>,
    shared: &mut SharedMemory<f32>,
    #[comptime] across: usize,
    #[comptime] tile: Tile,
) {
    let vector = N::value();
    #[unroll]
    for turn in 0..comptime!(tile.turns(across)) {
        let i = turn * comptime!(tile.units()) + UNIT_POS as usize;
        if i < comptime!(DEPTH * across) {
            #[unroll]
            for j in 0..vector {
                shared[i * vector + j] = f32::cast_from(values[turn][j]);
            }
        }
    }
}

/// Each part's share of the results, `[parts, outputs, taps * channels]`.
///
/// A row of results belongs to an output, a column to a tap of the kernel and a channel.
#[cube(launch)]
fn multiply<E: Float, P: Float, N: Size, M: Size>(
    input: &Array<Vector<E, N>>,
    gradient: &Array<Vector<E, M>>,
    results: &mut Array<P>,
    window: &Window,
    outputs: usize,
    taps: usize,
    places: usize,
    places_of_part: usize,
    #[comptime] tile: Tile,
    #[define(E)] _element: StorageType,
    #[define(P)] _result: StorageType,
) {
    let Tile { rows, columns } = comptime!(tile);
    let (together, outputs_together) = (N::value(), M::value());
    let inputs_across = comptime!(columns / together);
    let gradients_across = comptime!(rows / outputs_together);
    let mut of_gradient = SharedMemory::<f32>::new(DEPTH * rows);
    let mut of_input = SharedMemory::<f32>::new(DEPTH * columns);
    let unit = UNIT_POS as usize;
    let width = taps * window.channels;
    let first_row = CUBE_POS_Y as usize * rows;
    let begin = CUBE_POS_Z as usize * places_of_part;
    let end = clamp_max(begin + places_of_part, places);

    let column = CUBE_POS_X as usize * columns + unit % inputs_across * together;
    let tap = column / window.channels;
    let column = Column {
        exists: column < width,
        channel: column % window.channels / together,
        down: tap / window.kernel_width - window.padding.y,
        right: tap % window.kernel_width - window.padding.x,
    };
    let row = first_row + unit % gradients_across * outputs_together;
    let mut inputs = Array::<Vector<E, N>>::new(comptime!(tile.turns(inputs_across)));
    let mut gradients = Array::<Vector<E, M>>::new(comptime!(tile.turns(gradients_across)));

    let row_of_unit = unit / (columns / SIDE) * SIDE;
    let column_of_unit = unit % (columns / SIDE) * SIDE;
    let mut sums = Array::<f32>::new(SIDE * SIDE);
    #[unroll]
    for i in 0..SIDE * SIDE {
        sums[i] = 0.0f32;
    }

    for first in range_stepped(begin, end, DEPTH) {
        read_gradients(gradient, &mut gradients, outputs, row, first, end, tile);
        read_inputs(input, &mut inputs, window, column, first, end, tile);
        sync_cube();
        store(&gradients, &mut of_gradient, gradients_across, tile);
        store(&inputs, &mut of_input, inputs_across, tile);
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

    /// A multiple of the rows and of the columns, so that a unit reads the same ones each time.
    fn units(self) -> usize {
        self.rows * self.columns / (SIDE * SIDE)
    }

    /// How often all units read a vector until they have `across` of each place, in the last turn perhaps
    /// not all of them.
    fn turns(self, across: usize) -> usize {
        (DEPTH * across).div_ceil(self.units())
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
) -> bool {
    let has_elements = weight.iter().product::<usize>() > 0;
    noted(has_elements && takes_any_float(input) && takes_any_float(gradient))
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
    let places = batch * out_height * out_width;
    let division = Division::new(outputs, taps * channels, places);
    let Division { tile, places: places_of_part, parts } = division;
    let pair = |[y, x]: [usize; 2]| PairLaunch::new(y, x);
    let shape = [outputs, kernel_height, kernel_width, channels];
    let partial = match parts {
        1 => empty(&input, shape),
        _ => empty_of(DType::F32, &input, [parts, outputs * taps * channels]),
    };
    let element = input.dtype.into();
    let vector = |channels: usize| if channels.is_multiple_of(VECTOR) { VECTOR } else { 1 };
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
        vector(channels),
        vector(outputs),
        input.clone().into_array_arg(),
        gradient.into_array_arg(),
        partial.clone().into_array_arg(),
        WindowLaunch::new(
            pair([height, width]),
            channels,
            kernel_width,
            pair(options.stride),
            pair(options.padding),
            out_height,
            out_width,
        ),
        outputs,
        taps,
        places,
        places_of_part,
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
