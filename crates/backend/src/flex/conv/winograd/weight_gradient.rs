//! The gradient of the weight: the adjoint of the forward pass.
//!
//! `dU[i] = V[i]' (A dy A')[i]` for each of the 36 matrices, summed over all tiles, and
//! `dW = G' dU G`. With few channels a fixed number of parts of the tiles is summed apart, one
//! task each; with many, all threads transform one chunk of tiles after the other and divide its
//! products among themselves, so that there are no partial sums.

use std::ops::Range;

use super::{
    super::{
        super::{
            lanes::odd_stride,
            parallel::{self, Shared},
            recycled,
            simd::{Kernel, Level, Vector},
        },
        correlation::{TASKS, width},
        pack::{ToPlanes, ToPositions, strides},
        pooled::Source,
        tile::{Add, Products, VECTORS, cut, most_rows, tile},
    },
    MATRICES, Maps, TILE, transform,
};

/// Bytes of sums up to which each part has its own.
const PART_BYTES: usize = 700 << 10;
/// Bytes of all parts together.
const PARTS_BYTES: usize = 4 << 20;
/// Bytes of a chunk of transformed tiles that one task works on.
const CHUNK_BYTES: usize = 512 << 10;
/// Bytes of a chunk that all threads work on; it stays in the last cache.
const SHARED_CHUNK_BYTES: usize = 6 << 20;

pub(in crate::flex::conv) fn weight_gradient(
    level: Level,
    maps: &Maps,
    input: &[f32],
    gradient: Source<'_>,
    output: &mut [f32],
) {
    let sum_bytes = MATRICES * maps.inputs * maps.outputs * size_of::<f32>();
    let (parts, chunk_bytes, least) = if sum_bytes <= PART_BYTES {
        ((PARTS_BYTES / sum_bytes).clamp(2, TASKS), CHUNK_BYTES, 16)
    } else {
        (1, SHARED_CHUNK_BYTES.max(sum_bytes), 48)
    };
    let parts = parts.min(maps.tile_rows()).max(1);
    let tile_bytes = MATRICES * (maps.inputs + maps.outputs) * size_of::<f32>();
    let rows = (chunk_bytes / tile_bytes)
        .max(least)
        .div_ceil(maps.tiles(1))
        .min(maps.tile_rows().div_ceil(parts))
        .max(1);
    let tiles = rows * maps.tiles(1);
    // Products walk down the tiles, and the 36 matrices are written side by side.
    let (input_stride, gradient_stride) = (odd_stride(maps.inputs), odd_stride(maps.outputs));
    let job = Job {
        level,
        maps,
        input: Source::Maps(input),
        gradient,
        input_matrix: odd_stride(tiles * input_stride),
        input_stride,
        gradient_matrix: odd_stride(tiles * gradient_stride),
        gradient_stride,
        rows,
        channels: strides(maps.inputs, 1),
        tiles: strides(tiles, input_stride),
    };
    let part_size = MATRICES * job.sum_matrix();
    let mut sums = recycled::floats([parts * part_size]);
    if sum_bytes <= PART_BYTES {
        job.sum_in_parts(parts, sums.storage_mut());
    } else {
        job.sum_together(sums.storage_mut());
    }

    let sums = sums.storage::<f32>();
    let output = Shared::new(output);
    parallel::run(maps.outputs / level.lanes(), |task, scratch| {
        let [turned] = scratch.slices([maps.inputs * 9 * level.lanes()]);
        let first = task * level.lanes();
        let size = maps.inputs * 9;
        // SAFETY: each task has the weights of its own outputs.
        let target = unsafe { output.slice(first * size, level.lanes() * size) };
        level.run(Finish { job: &job, sums, first, turned, target });
    });
}

/// What all tasks share.
struct Job<'a> {
    level: Level,
    maps: &'a Maps,
    input: Source<'a>,
    gradient: Source<'a>,
    /// Numbers from one matrix of transformed tiles to the next, and from one tile to the next.
    input_matrix: usize,
    input_stride: usize,
    gradient_matrix: usize,
    gradient_stride: usize,
    /// Rows of tiles of a chunk.
    rows: usize,
    /// Where each channel and each tile is in a matrix of transformed inputs.
    channels: Vec<u32>,
    tiles: Vec<u32>,
}

impl Job<'_> {
    /// Numbers of one matrix of sums, `[inputs][outputs]`.
    fn sum_matrix(&self) -> usize {
        odd_stride(self.maps.inputs * self.maps.outputs)
    }

    /// Each part of the rows of tiles into sums of its own.
    fn sum_in_parts(&self, parts: usize, sums: &mut [f32]) {
        let size = sums.len() / parts;
        let sums = Shared::new(sums);
        parallel::run(parts, |part, scratch| {
            // SAFETY: each task has sums of its own.
            let sums = unsafe { sums.slice(part * size, size) };
            sums.fill(0.0);
            let [input, gradient, buffer] = scratch.slices([
                MATRICES * self.input_matrix,
                MATRICES * self.gradient_matrix,
                self.maps.buffer(self.level),
            ]);
            let start = |part: usize| part * self.maps.tile_rows() / parts;
            for first in (start(part)..start(part + 1)).step_by(self.rows) {
                let rows = first..(first + self.rows).min(start(part + 1));
                let tiles = rows.len() * self.maps.tiles(1);
                let places = [Shared::new(&mut *input), Shared::new(&mut *gradient)];
                self.level.run(Transform { job: self, rows, first, buffer, places });
                for matrix in 0..MATRICES {
                    for block in 0..self.blocks() {
                        self.level.run(Multiply {
                            job: self,
                            matrix,
                            block,
                            tiles,
                            input,
                            gradient,
                            sums: sums[matrix * self.sum_matrix()..].as_mut_ptr(),
                        });
                    }
                }
            }
        });
    }

    /// Chunk after chunk, each divided among the threads.
    fn sum_together(&self, sums: &mut [f32]) {
        sums.fill(0.0);
        let sums = Shared::new(sums);
        let mut input = recycled::floats([MATRICES * self.input_matrix]);
        let mut gradient = recycled::floats([MATRICES * self.gradient_matrix]);
        for first in (0..self.maps.tile_rows()).step_by(self.rows) {
            let end = (first + self.rows).min(self.maps.tile_rows());
            let places = [
                Shared::new(input.storage_mut::<f32>()),
                Shared::new(gradient.storage_mut::<f32>()),
            ];
            parallel::run(end - first, |row, scratch| {
                let [buffer] = scratch.slices([self.maps.buffer(self.level)]);
                let rows = first + row..first + row + 1;
                self.level.run(Transform { job: self, rows, first, buffer, places });
            });
            let tiles = (end - first) * self.maps.tiles(1);
            parallel::run(MATRICES * self.blocks(), |task, _| {
                let (matrix, block) = (task / self.blocks(), task % self.blocks());
                self.level.run(Multiply {
                    job: self,
                    matrix,
                    block,
                    tiles,
                    input: input.storage(),
                    gradient: gradient.storage(),
                    sums: sums.pointer(matrix * self.sum_matrix()),
                });
            });
        }
    }

    fn blocks(&self) -> usize {
        self.maps.outputs.div_ceil(width(self.level, self.maps.outputs))
    }
}

/// Transforms the inputs and gradients of rows of tiles.
struct Transform<'a, 'b> {
    job: &'a Job<'a>,
    rows: Range<usize>,
    /// The first row of the chunk.
    first: usize,
    buffer: &'b mut [f32],
    /// Inputs and gradients of the chunk, of which these rows are this task's.
    places: [Shared<'b, f32>; 2],
}

impl Kernel for Transform<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { job, rows, first, buffer, places: [input, gradient] } = self;
        for row in rows {
            let tile = (row - first) * job.maps.tiles(1);
            let target = input.pointer(tile * job.input_stride);
            let strides = [job.input_matrix, job.input_stride];
            // SAFETY: the chunk has room for its rows, and this one is this task's alone.
            unsafe { job.maps.transform_inputs::<V>(job.input, row, buffer, target, strides) };
            let target = gradient.pointer(tile * job.gradient_stride);
            // SAFETY: as above.
            unsafe { transform_gradients::<V>(job, row, buffer, target) };
        }
    }
}

/// Transforms the gradients of a row of tiles.
///
/// # Safety
///
/// The target has room for the tiles of the row.
#[inline(always)]
unsafe fn transform_gradients<V: Vector>(
    job: &Job<'_>,
    tile_row: usize,
    buffer: &mut [f32],
    target: *mut f32,
) {
    let Maps { outputs, output: [height, width], .. } = *job.maps;
    let across = job.maps.tiles(1);
    let (image, first) = job.maps.place(tile_row);
    let (buffer, planes) = buffer.split_at_mut(TILE * across * TILE * V::LANES);
    let rows = first..height.min(first + TILE);
    // What is outside of the output stays zero for all channels.
    buffer.fill(0.0);
    for channel in (0..outputs).step_by(V::LANES) {
        let first_plane = image * outputs + channel;
        let channels = first_plane..first_plane + V::LANES;
        let (source, plane) =
            job.gradient.rows::<V>(channels, rows.clone(), [height, width], planes);
        for row in 0..rows.len() {
            let transposition = ToPositions {
                source: source.wrapping_add(row * width),
                plane,
                channels: V::LANES,
                count: width,
                target: buffer[row * across * TILE * V::LANES..].as_mut_ptr(),
                width: V::LANES,
                stride: V::LANES,
            };
            // SAFETY: the source has a row of each of these channels, and a row of the buffer at
            // least as many positions.
            unsafe { transposition.transpose::<V>() };
        }
        for tile in 0..across {
            let target = target.wrapping_add(tile * job.gradient_stride + channel);
            transform::both_axes::<transform::OutputAdjoint, V, _, _>(
                #[inline(always)]
                |row, column| {
                    let place = ((row * across + tile) * TILE + column) * V::LANES;
                    // SAFETY: the buffer has four rows of four columns for each tile.
                    unsafe { V::load(buffer.as_ptr().wrapping_add(place)) }
                },
                // SAFETY: the caller promises room for this tile.
                #[inline(always)]
                |row, column, value| unsafe {
                    value.store(target.wrapping_add((row * 6 + column) * job.gradient_matrix));
                },
            );
        }
    }
}

/// Adds a chunk's product of one matrix to its sums, for one block of outputs.
struct Multiply<'a> {
    job: &'a Job<'a>,
    matrix: usize,
    block: usize,
    tiles: usize,
    input: &'a [f32],
    gradient: &'a [f32],
    /// `[inputs][outputs]` of this matrix, of which the block is this task's alone.
    sums: *mut f32,
}

impl Kernel for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { job, matrix, block, tiles, input, gradient, sums } = self;
        let Maps { inputs, outputs, .. } = *job.maps;
        let channel = block * width(job.level, outputs);
        let vectors = if outputs - channel <= V::LANES { 1 } else { VECTORS };
        for (start, count) in cut(inputs, most_rows(V::LANES, vectors)) {
            let products = Products {
                source: input[matrix * job.input_matrix..].as_ptr(),
                rows: &job.channels[start..start + count],
                table: &job.tiles[..tiles],
                weights: gradient[matrix * job.gradient_matrix + channel..].as_ptr(),
                weight_step: job.gradient_stride,
                outer: 1,
                outer_source: 0,
                outer_weight: 0,
            };
            let add = Add { sums: sums.wrapping_add(start * outputs + channel), stride: outputs };
            // SAFETY: the tables lead to channels and tiles of the chunk, which were transformed,
            // and the block's sums are this task's alone.
            unsafe { tile::<V>(vectors, &products, &add) };
        }
    }
}

/// Adds up the parts and transforms them back, for one vector of outputs.
struct Finish<'a, 'b> {
    job: &'a Job<'a>,
    /// `[parts][36][inputs][outputs]`
    sums: &'a [f32],
    first: usize,
    turned: &'b mut [f32],
    target: &'b mut [f32],
}

impl Kernel for Finish<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Maps { inputs, outputs, .. } = *self.job.maps;
        let matrix = self.job.sum_matrix();
        let turned = &mut self.turned[..inputs * 9 * V::LANES];
        assert!(self.target.len() >= V::LANES * inputs * 9);
        for input in 0..inputs {
            transform::both_axes::<transform::KernelAdjoint, V, _, _>(
                #[inline(always)]
                |row, column| {
                    let place = (row * 6 + column) * matrix + input * outputs + self.first;
                    let mut sum = V::zero();
                    for part in self.sums.chunks_exact(MATRICES * matrix) {
                        // SAFETY: whole vectors of outputs from `first` are in each part.
                        sum = sum.add(unsafe { V::load(part[place..].as_ptr()) });
                    }
                    sum
                },
                #[inline(always)]
                |row, column, value| {
                    let place = (input * 9 + row * 3 + column) * V::LANES;
                    // SAFETY: nine vectors for each input.
                    unsafe { value.store(turned.as_mut_ptr().wrapping_add(place)) };
                },
            );
        }
        let transposition = ToPlanes {
            source: turned.as_ptr(),
            stride: V::LANES,
            channels: V::LANES,
            count: inputs * 9,
            target: self.target.as_mut_ptr(),
            plane: inputs * 9,
        };
        // SAFETY: `turned` is filled, and the target has the kernels of these outputs.
        unsafe { transposition.transpose::<V>() };
    }
}
