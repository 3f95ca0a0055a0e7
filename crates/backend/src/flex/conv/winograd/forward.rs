//! The forward pass and, with the kernels turned, the input gradient.

use std::ops::Range;

use super::{
    super::{
        super::{
            parallel::{self, Shared},
            recycled,
            simd::{Kernel, Level, Vector},
        },
        correlation::{Epilogue, TASKS, width},
        pack::{ToPlanes, ToPositions, odd_stride, strides},
        pooled::{PoolRows, Source, Target},
        tile::{Products, Put, VECTORS, cut, most_rows, tile},
    },
    MATRICES, Maps, TILE, transform,
};

/// Bytes of transformed inputs and outputs of one task: they stay in a second-level cache.
const TASK_BYTES: usize = 640 << 10;
/// Tiles of a task at least, so that the kernels are read from the cache often enough.
const TILES: usize = 24;
/// Bytes of transformed kernels up to which each task reads all of them.
const KERNEL_BYTES: usize = 16 << 20;
/// Bytes of transformed inputs and outputs that all threads work on; they stay in the last cache.
const SHARED_BYTES: usize = 20 << 20;

/// Which kernels meet which maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::flex::conv) enum Kernels {
    /// `weight[output][input]`, as they are.
    Forward,
    /// `weight[input][output]`, turned by half a circle: the input gradient.
    Turned,
}

/// The maps that come out, with bias and ReLU.
pub(in crate::flex::conv) fn correlate(
    level: Level,
    maps: &Maps,
    input: Source<'_>,
    weight: &[f32],
    kernels: Kernels,
    epilogue: Epilogue<'_>,
    output: Target<'_>,
) {
    let transformed = transform_kernels(level, maps, weight, kernels);
    let tile_bytes = MATRICES * (maps.inputs + maps.outputs) * size_of::<f32>();
    let together = MATRICES * maps.inputs * maps.outputs * size_of::<f32>() > KERNEL_BYTES;
    let rows = if together {
        let most = (SHARED_BYTES / tile_bytes / maps.tiles(1)).max(1);
        maps.tile_rows().div_ceil(maps.tile_rows().div_ceil(most).max(1)).max(1)
    } else {
        let fitting = (TASK_BYTES / tile_bytes).max(TILES).div_ceil(maps.tiles(1));
        fitting.min(maps.tile_rows().div_ceil(TASKS)).max(1)
    };
    let tiles = rows * maps.tiles(1);
    let job = Job {
        level,
        maps,
        input,
        kernels: transformed.storage(),
        epilogue,
        output,
        // The 36 matrices are written side by side.
        input_matrix: odd_stride(tiles * maps.inputs),
        output_matrix: odd_stride(tiles * maps.outputs),
        tiles: strides(tiles, maps.inputs),
        channels: strides(maps.inputs, 1),
    };
    if together { job.run_together(rows) } else { job.run_apart(rows) }
}

impl Maps {
    /// Numbers of a row of tiles for one vector of channels: six rows of input or four of output,
    /// in the order of vectors, and again in the order of maps.
    pub(super) fn buffer(&self, level: Level) -> usize {
        let width = self.input[1].max(self.output[1]);
        (TILE + 2) * (self.columns() + width) * level.lanes()
    }

    /// Image and first row of output of a row of tiles.
    pub(super) fn place(&self, tile_row: usize) -> (usize, usize) {
        (tile_row / self.tiles(0), tile_row % self.tiles(0) * TILE)
    }

    /// Transforms the inputs of a row of tiles.
    ///
    /// - `target`: `[36][tile][channel]`, `matrix` and `stride` numbers apart
    ///
    /// # Safety
    ///
    /// The target has room for the tiles of the row.
    #[inline(always)]
    pub(super) unsafe fn transform_inputs<V: Vector>(
        &self,
        input: Source<'_>,
        tile_row: usize,
        buffer: &mut [f32],
        target: *mut f32,
        [matrix, stride]: [usize; 2],
    ) {
        let (image, first) = self.place(tile_row);
        let [height, width] = self.input;
        let [top, left] = self.padding;
        let columns = self.columns();
        let (buffer, planes) = buffer.split_at_mut((TILE + 2) * columns * V::LANES);
        // The rows that are inside of the image: none where there are only rows of padding.
        let inside = |row: usize| row.saturating_sub(top).min(height);
        let rows = inside(first)..inside(first + TILE + 2);
        // What is outside of the image stays zero for all channels.
        buffer.fill(0.0);
        for channel in (0..self.inputs).step_by(V::LANES) {
            let first_plane = image * self.inputs + channel;
            let channels = first_plane..first_plane + V::LANES;
            let (source, plane) = input.rows::<V>(channels, rows.clone(), [height, width], planes);
            for y in rows.clone() {
                let row = y + top - first;
                let transposition = ToPositions {
                    source: source.wrapping_add((y - rows.start) * width),
                    plane,
                    channels: V::LANES,
                    count: width.min(columns - left),
                    target: buffer[(row * columns + left) * V::LANES..].as_mut_ptr(),
                    width: V::LANES,
                    stride: V::LANES,
                };
                // SAFETY: the source has a row of each of these channels, and the row of the
                // buffer room for as many positions.
                unsafe { transposition.transpose::<V>() };
            }
            for tile in 0..self.tiles(1) {
                let target = target.wrapping_add(tile * stride + channel);
                transform::both_axes::<transform::Input, V, _, _>(
                    #[inline(always)]
                    |row, column| {
                        let place = (row * columns + tile * TILE + column) * V::LANES;
                        // SAFETY: six columns from each tile's first are in the buffer.
                        unsafe { V::load(buffer.as_ptr().wrapping_add(place)) }
                    },
                    // SAFETY: the caller promises room for this tile.
                    #[inline(always)]
                    |row, column, value| unsafe {
                        value.store(target.wrapping_add((row * 6 + column) * matrix));
                    },
                );
            }
        }
    }
}

/// What all tasks share.
struct Job<'a> {
    level: Level,
    maps: &'a Maps,
    input: Source<'a>,
    kernels: &'a [f32],
    epilogue: Epilogue<'a>,
    output: Target<'a>,
    /// Numbers from one matrix of transformed inputs to the next, and of sums.
    input_matrix: usize,
    output_matrix: usize,
    /// Where each tile and each channel is in a matrix of transformed inputs.
    tiles: Vec<u32>,
    channels: Vec<u32>,
}

impl Job<'_> {
    /// Each task does all for some rows of tiles.
    fn run_apart(&self, rows: usize) {
        let last = self.maps.tile_rows();
        parallel::run(last.div_ceil(rows), |task, scratch| {
            let [input, sums, buffer] = scratch.slices([
                MATRICES * self.input_matrix,
                MATRICES * self.output_matrix,
                self.maps.buffer(self.level),
            ]);
            let first = task * rows;
            let rows = first..(first + rows).min(last);
            let tiles = rows.len() * self.maps.tiles(1);
            let input = Shared::new(input);
            let sums = Shared::new(sums);
            self.level.run(TransformInputs { job: self, rows: rows.clone(), first, buffer, input });
            for matrix in 0..MATRICES {
                let blocks = 0..self.blocks();
                self.level.run(Multiply { job: self, matrix, blocks, tiles, input, sums });
            }
            self.level.run(Write { job: self, rows, first, buffer, sums });
        });
    }

    /// All threads transform the inputs of some rows, then divide the products among themselves,
    /// so that each of them reads its own kernels, once.
    fn run_together(&self, rows: usize) {
        /// Tasks that the products of one matrix are divided into.
        const PARTS: usize = 4;
        let mut input = recycled::floats([MATRICES * self.input_matrix]);
        let mut sums = recycled::floats([MATRICES * self.output_matrix]);
        for first in (0..self.maps.tile_rows()).step_by(rows) {
            let count = rows.min(self.maps.tile_rows() - first);
            let tiles = count * self.maps.tiles(1);
            let input = Shared::new(input.storage_mut::<f32>());
            let sums = Shared::new(sums.storage_mut::<f32>());
            parallel::run(count, |row, scratch| {
                let [buffer] = scratch.slices([self.maps.buffer(self.level)]);
                let rows = first + row..first + row + 1;
                self.level.run(TransformInputs { job: self, rows, first, buffer, input });
            });
            parallel::run(MATRICES * PARTS, |task, _| {
                let (matrix, part) = (task / PARTS, task % PARTS);
                let start = |part: usize| part * self.blocks() / PARTS;
                let blocks = start(part)..start(part + 1);
                self.level.run(Multiply { job: self, matrix, blocks, tiles, input, sums });
            });
            parallel::run(count, |row, scratch| {
                let [buffer] = scratch.slices([self.maps.buffer(self.level)]);
                let rows = first + row..first + row + 1;
                self.level.run(Write { job: self, rows, first, buffer, sums });
            });
        }
    }

    /// Blocks of output channels.
    fn blocks(&self) -> usize {
        self.maps.outputs.div_ceil(width(self.level, self.maps.outputs))
    }
}

/// Transforms the inputs of rows of tiles.
struct TransformInputs<'a, 'b> {
    job: &'a Job<'a>,
    rows: Range<usize>,
    /// The first row of those that are worked on together.
    first: usize,
    buffer: &'b mut [f32],
    /// `[36][tiles][inputs]`, of which these rows are this task's.
    input: Shared<'b, f32>,
}

impl Kernel for TransformInputs<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { job, rows, first, buffer, input } = self;
        let Maps { inputs, .. } = *job.maps;
        for row in rows {
            let target = input.pointer((row - first) * job.maps.tiles(1) * inputs);
            let strides = [job.input_matrix, inputs];
            // SAFETY: `input` has room for the tiles of all rows.
            unsafe { job.maps.transform_inputs::<V>(job.input, row, buffer, target, strides) };
        }
    }
}

/// The products of one matrix for some blocks of outputs.
struct Multiply<'a, 'b> {
    job: &'a Job<'a>,
    matrix: usize,
    blocks: Range<usize>,
    tiles: usize,
    /// `[36][tiles][inputs]`
    input: Shared<'b, f32>,
    /// `[36][tiles][outputs]`, of which these blocks of this matrix are this task's.
    sums: Shared<'b, f32>,
}

impl Kernel for Multiply<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { job, matrix, blocks, tiles, input, sums } = self;
        let Maps { inputs, outputs, .. } = *job.maps;
        let width = width(job.level, outputs);
        for block in blocks {
            let kernels = &job.kernels[(matrix * job.blocks() + block) * inputs * width..];
            let left = outputs - block * width;
            let vectors = if left <= V::LANES { 1 } else { VECTORS };
            for (start, count) in cut(tiles, most_rows(vectors)) {
                let target = matrix * job.output_matrix + start * outputs + block * width;
                let products = Products {
                    source: input.pointer(matrix * job.input_matrix),
                    rows: &job.tiles[start..start + count],
                    table: &job.channels,
                    weights: kernels.as_ptr(),
                    weight_step: width,
                    outer: 1,
                    outer_source: 0,
                    outer_weight: 0,
                };
                let put = Put { sums: sums.pointer(target), stride: outputs };
                // SAFETY: the tables lead to tiles and channels of this matrix, which were
                // transformed; the kernels are whole blocks; the sums have room for all tiles and
                // channels, and those of these blocks are this task's alone.
                unsafe { tile::<V>(vectors, &products, &put) };
            }
        }
    }
}

/// Transforms rows of tiles back and stores them.
struct Write<'a, 'b> {
    job: &'a Job<'a>,
    rows: Range<usize>,
    /// The first row of those that are worked on together.
    first: usize,
    buffer: &'b mut [f32],
    /// `[36][tiles][outputs]`
    sums: Shared<'b, f32>,
}

impl Kernel for Write<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { job, rows, first, buffer, sums } = self;
        let outputs = job.maps.outputs;
        for row in rows {
            for channel in (0..outputs).step_by(V::LANES) {
                let place = (row - first) * job.maps.tiles(1) * outputs + channel;
                // SAFETY: the sums of these tiles and channels were computed, and these rows of
                // output are this task's alone.
                unsafe { write::<V>(job, row, channel, sums.pointer(place), buffer) };
            }
        }
    }
}

/// Transforms a row of tiles of one vector of channels back and stores it.
///
/// # Safety
///
/// The sums of these tiles can be read, and nobody else uses these rows of output.
#[inline(always)]
unsafe fn write<V: Vector>(
    job: &Job<'_>,
    tile_row: usize,
    channel: usize,
    sums: *const f32,
    buffer: &mut [f32],
) {
    let Maps { outputs, output: [height, width], .. } = *job.maps;
    let across = job.maps.tiles(1);
    let bias = match job.epilogue.bias {
        // SAFETY: the slice has a whole vector of channels.
        Some(bias) => unsafe { V::load(bias[channel..channel + V::LANES].as_ptr()) },
        None => V::zero(),
    };
    let floor = V::splat(if job.epilogue.relu { 0.0 } else { f32::NEG_INFINITY });
    let (buffer, planes) = buffer.split_at_mut(TILE * across * TILE * V::LANES);
    for tile in 0..across {
        let sums = sums.wrapping_add(tile * outputs);
        transform::both_axes::<transform::Output, V, _, _>(
            // SAFETY: the caller promises the sums of all tiles.
            #[inline(always)]
            |row, column| unsafe {
                V::load(sums.wrapping_add((row * 6 + column) * job.output_matrix))
            },
            #[inline(always)]
            |row, column, value| {
                let place = ((row * across + tile) * TILE + column) * V::LANES;
                // In this order a NaN stays one.
                let value = floor.max(value.add(bias));
                // SAFETY: the buffer has four rows of four columns for each tile.
                unsafe { value.store(buffer.as_mut_ptr().wrapping_add(place)) };
            },
        );
    }
    let (image, first) = job.maps.place(tile_row);
    let rows = TILE.min(height - first);
    let plane = image * outputs + channel;
    // The rows of these channels: where they lie in the output, or in the buffer to be pooled.
    let planes = &mut planes[..V::LANES * rows * width];
    let (target, target_plane) = match job.output {
        Target::Maps(output) => (output.pointer((plane * height + first) * width), height * width),
        Target::Pooled(..) => (planes.as_mut_ptr(), rows * width),
    };
    for row in 0..rows {
        let transposition = ToPlanes {
            source: buffer[row * across * TILE * V::LANES..].as_ptr(),
            stride: V::LANES,
            channels: V::LANES,
            count: width,
            target: target.wrapping_add(row * width),
            plane: target_plane,
        };
        // SAFETY: the row of the buffer has at least `width` positions, and the output's rows of
        // these channels are ours by the caller's promise.
        unsafe { transposition.transpose::<V>() };
    }
    if let Target::Pooled(output, places) = job.output {
        let channels = plane..plane + V::LANES;
        let size = [height, width];
        PoolRows { rows: planes, planes: channels, first, size, output, places }.run::<V>();
    }
}

/// `[36][outputs / width][inputs][width]`
fn transform_kernels(
    level: Level,
    maps: &Maps,
    weight: &[f32],
    kernels: Kernels,
) -> burn_flex::FlexTensor {
    let blocks = maps.outputs.div_ceil(width(level, maps.outputs));
    let size = MATRICES * blocks * maps.inputs * width(level, maps.outputs);
    let mut transformed = recycled::floats([size]);
    let target = Shared::new(transformed.storage_mut());
    parallel::run(maps.outputs / level.lanes(), |task, scratch| {
        let [buffer] = scratch.slices([maps.inputs * 9 * level.lanes()]);
        let output = task * level.lanes();
        level.run(TransformKernels { level, maps, weight, kernels, output, buffer, target });
    });
    transformed
}

/// Transforms the kernels of one vector of outputs.
struct TransformKernels<'a, 'b> {
    level: Level,
    maps: &'a Maps,
    weight: &'a [f32],
    kernels: Kernels,
    output: usize,
    buffer: &'b mut [f32],
    target: Shared<'a, f32>,
}

impl Kernel for TransformKernels<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Maps { inputs, outputs, .. } = *self.maps;
        let width = width(self.level, outputs);
        let blocks = outputs.div_ceil(width);
        let buffer = &mut self.buffer[..inputs * 9 * V::LANES];
        match self.kernels {
            Kernels::Forward => {
                let source = &self.weight[self.output * inputs * 9..];
                turn::<V>(source, inputs * 9, inputs * 9, buffer);
            }
            Kernels::Turned => {
                for (input, buffer) in buffer.chunks_exact_mut(9 * V::LANES).enumerate() {
                    turn::<V>(&self.weight[(input * outputs + self.output) * 9..], 9, 9, buffer);
                }
            }
        }
        for input in 0..inputs {
            transform::both_axes::<transform::Kernel, V, _, _>(
                #[inline(always)]
                |row, column| {
                    let number = row * 3 + column;
                    let number = if self.kernels == Kernels::Turned { 8 - number } else { number };
                    let place = (input * 9 + number) * V::LANES;
                    // SAFETY: the buffer has nine vectors for each input.
                    unsafe { V::load(buffer.as_ptr().wrapping_add(place)) }
                },
                #[inline(always)]
                |row, column, value| {
                    let block = (row * 6 + column) * blocks + self.output / width;
                    let place = (block * inputs + input) * width + self.output % width;
                    // SAFETY: each task has the vectors of its own outputs.
                    unsafe { value.store(self.target.pointer(place)) };
                },
            );
        }
    }
}

/// One vector of outputs for each of `count` numbers; outputs are `plane` apart.
#[inline(always)]
fn turn<V: Vector>(source: &[f32], plane: usize, count: usize, target: &mut [f32]) {
    assert!(source.len() >= (V::LANES - 1) * plane + count);
    assert!(target.len() >= count * V::LANES);
    let transposition = ToPositions {
        source: source.as_ptr(),
        plane,
        channels: V::LANES,
        count,
        target: target.as_mut_ptr(),
        width: V::LANES,
        stride: V::LANES,
    };
    // SAFETY: the source and the target are as long as the sizes say, as asserted.
    unsafe { transposition.transpose::<V>() };
}
