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
            parallel,
            parts::{cut, part},
            recycled,
            simd::{Kernel, Level, Vector},
            transpose::ToDensePlanes,
        },
        correlation::{TASKS, width},
        pooled::Source,
        tile::{Products, Put, VECTORS, most_rows, strides, tile},
    },
    MATRICES, Maps,
    tiles::Matrices,
    transform,
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
    // Products walk down the tiles.
    let columns = [maps.inputs, maps.outputs].map(odd_stride);
    let job = Job {
        level,
        maps,
        input: Source::Maps(input),
        gradient,
        columns,
        rows,
        channels: strides(maps.inputs, 1),
        tiles: strides(tiles, columns[0]),
    };
    let mut sums = recycled::floats([parts * Matrices::size(maps.inputs, maps.outputs)]);
    if sum_bytes <= PART_BYTES {
        job.sum_in_parts(parts, sums.storage_mut());
    } else {
        job.sum_together(sums.storage_mut());
    }

    let sums = sums.storage::<f32>();
    let size = maps.inputs * 9 * level.lanes();
    parallel::chunks(output, size, |task, target, scratch| {
        let [transposed] = scratch.slices([size]);
        let first = task * level.lanes();
        level.run(Finish { job: &job, sums, first, transposed, target });
    });
}

/// What all tasks share.
struct Job<'a> {
    level: Level,
    maps: &'a Maps,
    input: Source<'a>,
    gradient: Source<'a>,
    /// Numbers from one transformed tile of inputs and of gradients to the next.
    columns: [usize; 2],
    /// Rows of tiles of a chunk.
    rows: usize,
    /// Where each channel and each tile is in a matrix of transformed inputs.
    channels: Vec<u32>,
    tiles: Vec<u32>,
}

impl Job<'_> {
    /// Numbers of the matrices of a chunk's inputs and gradients.
    fn sizes(&self) -> [usize; 2] {
        self.columns.map(|columns| Matrices::size(self.tiles.len(), columns))
    }

    /// The matrices of a chunk's inputs and gradients, `[tiles][channels]`.
    fn matrices<'a>(&self, [inputs, gradients]: [&'a mut [f32]; 2]) -> [Matrices<'a>; 2] {
        let tiles = self.tiles.len();
        [
            Matrices::new(inputs, tiles, self.columns[0]),
            Matrices::new(gradients, tiles, self.columns[1]),
        ]
    }

    /// The matrices of sums, from zero on.
    fn sums<'a>(&self, sums: &'a mut [f32]) -> Matrices<'a> {
        sums.fill(0.0);
        Matrices::new(sums, self.maps.inputs, self.maps.outputs)
    }

    /// Each part of the rows of tiles into sums of its own.
    fn sum_in_parts(&self, parts: usize, sums: &mut [f32]) {
        let size = sums.len() / parts;
        parallel::chunks(sums, size, |index, sums, scratch| {
            let sums = self.sums(sums);
            let [inputs, gradients] = self.sizes();
            let [inputs, gradients, buffer] =
                scratch.slices([inputs, gradients, self.maps.buffer(self.level)]);
            let chunk = self.matrices([inputs, gradients]);
            let own = part(self.maps.tile_rows(), parts, index);
            for first in own.clone().step_by(self.rows) {
                let rows = first..(first + self.rows).min(own.end);
                let tiles = rows.len() * self.maps.tiles(1);
                self.level.run(Transform { job: self, rows, first, buffer, chunk });
                for matrix in 0..MATRICES {
                    for block in 0..self.blocks() {
                        self.level.run(Multiply { job: self, matrix, block, tiles, chunk, sums });
                    }
                }
            }
        });
    }

    /// Chunk after chunk, each divided among the threads.
    fn sum_together(&self, sums: &mut [f32]) {
        let sums = self.sums(sums);
        let [mut inputs, mut gradients] = self.sizes().map(|size| recycled::floats([size]));
        let chunk = self.matrices([inputs.storage_mut(), gradients.storage_mut()]);
        for first in (0..self.maps.tile_rows()).step_by(self.rows) {
            let end = (first + self.rows).min(self.maps.tile_rows());
            parallel::run(end - first, |row, scratch| {
                let [buffer] = scratch.slices([self.maps.buffer(self.level)]);
                let rows = first + row..first + row + 1;
                self.level.run(Transform { job: self, rows, first, buffer, chunk });
            });
            let tiles = (end - first) * self.maps.tiles(1);
            parallel::run(MATRICES * self.blocks(), |task, _| {
                let (matrix, block) = (task / self.blocks(), task % self.blocks());
                self.level.run(Multiply { job: self, matrix, block, tiles, chunk, sums });
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
    /// Inputs and gradients, of which these rows are this task's.
    chunk: [Matrices<'b>; 2],
}

impl Kernel for Transform<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { job, rows, first, buffer, chunk: [inputs, gradients] } = self;
        let tiled_inputs = job.maps.tiled_inputs(job.input);
        let tiled_gradients = job.maps.tiled_outputs(job.gradient);
        for row in rows {
            let tile = (row - first) * job.maps.tiles(1);
            // SAFETY: the chunk has room for its rows, and this one is this task's alone.
            unsafe {
                tiled_inputs.transform::<transform::Input, V>(row, buffer, inputs, tile);
                tiled_gradients
                    .transform::<transform::OutputAdjoint, V>(row, buffer, gradients, tile);
            }
        }
    }
}

/// Adds a chunk's product of one matrix to its sums, for one block of outputs.
struct Multiply<'a, 'b> {
    job: &'a Job<'a>,
    matrix: usize,
    block: usize,
    tiles: usize,
    /// Inputs and gradients.
    chunk: [Matrices<'b>; 2],
    /// `[inputs][outputs]`, of which this block of this matrix is this task's alone.
    sums: Matrices<'b>,
}

impl Kernel for Multiply<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { job, matrix, block, tiles, chunk: [input, gradient], sums } = self;
        let Maps { inputs, outputs, .. } = *job.maps;
        let channel = block * width(job.level, outputs);
        let vectors = if outputs - channel <= V::LANES { 1 } else { VECTORS };
        for rows in cut(0..inputs, most_rows(V::LANES, vectors)) {
            let target = sums.pointer(matrix, rows.start, channel);
            let products = Products {
                source: input.pointer(matrix, 0, 0),
                rows: &job.channels[rows],
                table: &job.tiles[..tiles],
                weights: gradient.pointer(matrix, 0, channel),
                weight_step: gradient.row,
                outer: 1,
                outer_source: 0,
                outer_weight: 0,
            };
            let add = Put::<true> { sums: target, stride: sums.row };
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
    transposed: &'b mut [f32],
    target: &'b mut [f32],
}

impl Kernel for Finish<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Maps { inputs, outputs, .. } = *self.job.maps;
        let matrix = Matrices::distance(inputs, outputs);
        let transposed = &mut self.transposed[..inputs * 9 * V::LANES];
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
                    unsafe { value.store(transposed.as_mut_ptr().wrapping_add(place)) };
                },
            );
        }
        let (width, channels) = (V::LANES, V::LANES);
        ToDensePlanes { source: transposed, width, channels, target: self.target }.run::<V>();
    }
}
