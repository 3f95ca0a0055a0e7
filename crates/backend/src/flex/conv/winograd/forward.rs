//! The forward pass and, with the kernels rotated, the input gradient.

use std::ops::Range;

use super::{
    super::{
        super::{
            parallel,
            parts::cut,
            recycled,
            simd::{Kernel, Level, Vector},
            transpose::ToPlanes,
        },
        correlation::{Epilogue, TASKS, width},
        pooled::{PoolRows, Source, Target},
        tile::{Products, Put, VECTORS, most_rows, strides, tile},
    },
    MATRICES, Maps, TILE,
    kernels::{Kernels, TransformKernels},
    tiles::Matrices,
    transform,
};

/// Bytes of transformed inputs and outputs of one task, so that they stay in a second-level cache.
/// A task has whole rows of tiles, though, and one of a wide map may be more.
const TASK_BYTES: usize = 640 << 10;
/// The fewest tiles of a task, so that the kernels are read from the cache often enough.
const TILES: usize = 24;
/// Bytes of transformed kernels up to which each task reads all of them.
const KERNEL_BYTES: usize = 16 << 20;
/// Bytes of transformed inputs that all threads read; they stay in the last cache, and leave room
/// for what each thread has of its own.
const SHARED_BYTES: usize = 12 << 20;

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
    let Maps { batch, inputs, outputs, output: [height, width], .. } = *maps;
    if let Target::Maps(output) = output {
        assert_eq!(output.len(), batch * outputs * height * width, "room for all maps");
    }
    let by_blocks = MATRICES * inputs * outputs * size_of::<f32>() > KERNEL_BYTES;
    let rows = if by_blocks {
        let tile_bytes = MATRICES * inputs * size_of::<f32>();
        let most = (SHARED_BYTES / tile_bytes / maps.tiles(1)).max(1);
        maps.tile_rows().div_ceil(maps.tile_rows().div_ceil(most).max(1))
    } else {
        let tile_bytes = MATRICES * (inputs + outputs) * size_of::<f32>();
        let fitting = (TASK_BYTES / tile_bytes).max(TILES).div_ceil(maps.tiles(1));
        fitting.min(maps.tile_rows().div_ceil(TASKS))
    }
    .max(1);
    let job = Job {
        level,
        maps,
        input,
        weight,
        kernels,
        epilogue,
        output,
        rows,
        tiles: strides(rows * maps.tiles(1), inputs),
        channels: strides(inputs, 1),
    };
    if by_blocks { job.run_by_blocks() } else { job.run_by_rows() }
}

/// What all tasks share.
struct Job<'a> {
    level: Level,
    maps: &'a Maps,
    input: Source<'a>,
    weight: &'a [f32],
    kernels: Kernels,
    epilogue: Epilogue<'a>,
    output: Target<'a>,
    /// Rows of tiles that are worked on together.
    rows: usize,
    /// Where each tile and each channel is in a matrix of transformed inputs.
    tiles: Vec<u32>,
    channels: Vec<u32>,
}

impl Job<'_> {
    /// All kernels are transformed, and then each task does all for some rows of tiles.
    fn run_by_rows(&self) {
        let Maps { inputs, outputs, .. } = *self.maps;
        let (lanes, width) = (self.level.lanes(), width(self.level, outputs));
        // `[36][outputs / width][inputs][width]`
        let kernel_rows = outputs.div_ceil(width) * inputs;
        let mut kernels = recycled::floats([Matrices::size(kernel_rows, width)]);
        let kernels = Matrices::new(kernels.storage_mut(), kernel_rows, width);
        parallel::run(outputs / lanes, |task, scratch| {
            let [buffer] = scratch.slices([self.kernel_buffer()]);
            let output = task * lanes;
            let target = kernels.pointer(0, output / width * inputs, output % width);
            // SAFETY: the matrices have room for all outputs, and these are one task's alone.
            unsafe { self.transform_kernels(output, buffer, target, kernels.strides()) };
        });
        let tiles = self.tiles.len();
        parallel::run(self.maps.tile_rows().div_ceil(self.rows), |task, scratch| {
            let [input, sums, buffer] = scratch.slices([
                Matrices::size(tiles, inputs),
                Matrices::size(tiles, outputs),
                self.maps.buffer(self.level),
            ]);
            let input = Matrices::new(input, tiles, inputs);
            let sums = Matrices::new(sums, tiles, outputs);
            let rows = self.rows_from(task * self.rows);
            for row in rows.clone() {
                let place = row - rows.start;
                self.level.run(TransformInputs { job: self, row, place, buffer, input });
            }
            let channels = 0..outputs;
            let count = rows.len() * self.maps.tiles(1);
            self.level.run(Multiply { job: self, tiles: count, outputs, kernels, input, sums });
            self.level.run(Write { job: self, rows, channels, buffer, sums });
        });
    }

    /// All threads transform the inputs of some rows of tiles, and then each task does the rest for
    /// one block of outputs. It transforms its own kernels each time anew: that takes a few
    /// percent of the time of their products, and all kernels together would not stay in any
    /// cache.
    fn run_by_blocks(&self) {
        let Maps { inputs, outputs, .. } = *self.maps;
        let width = width(self.level, outputs);
        let tiles = self.tiles.len();
        let mut input = recycled::floats([Matrices::size(tiles, inputs)]);
        let input = Matrices::new(input.storage_mut(), tiles, inputs);
        for first in (0..self.maps.tile_rows()).step_by(self.rows) {
            let rows = self.rows_from(first);
            parallel::run(rows.len(), |place, scratch| {
                let [buffer] = scratch.slices([self.maps.buffer(self.level)]);
                let row = first + place;
                self.level.run(TransformInputs { job: self, row, place, buffer, input });
            });
            parallel::run(outputs.div_ceil(width), |block, scratch| {
                let [kernels, sums, kernel_buffer, buffer] = scratch.slices([
                    Matrices::size(inputs, width),
                    Matrices::size(tiles, width),
                    self.kernel_buffer(),
                    self.maps.buffer(self.level),
                ]);
                let kernels = Matrices::new(kernels, inputs, width);
                let sums = Matrices::new(sums, tiles, width);
                let channels = block * width..outputs.min((block + 1) * width);
                for output in channels.clone().step_by(self.level.lanes()) {
                    let target = kernels.pointer(0, 0, output - channels.start);
                    let strides = kernels.strides();
                    // SAFETY: the matrices are this task's own, with room for its outputs.
                    unsafe { self.transform_kernels(output, kernel_buffer, target, strides) };
                }
                let (rows, outputs) = (rows.clone(), channels.len());
                let count = rows.len() * self.maps.tiles(1);
                self.level.run(Multiply { job: self, tiles: count, outputs, kernels, input, sums });
                self.level.run(Write { job: self, rows, channels, buffer, sums });
            });
        }
    }

    /// The rows of tiles that are worked on together with this first one.
    fn rows_from(&self, first: usize) -> Range<usize> {
        first..(first + self.rows).min(self.maps.tile_rows())
    }

    /// Numbers of the buffer in which kernels are transposed.
    fn kernel_buffer(&self) -> usize {
        self.maps.inputs * 9 * self.level.lanes()
    }

    /// Transforms the kernels of a vector of outputs.
    ///
    /// # Safety
    ///
    /// As for [`TransformKernels::new`].
    unsafe fn transform_kernels(
        &self,
        output: usize,
        buffer: &mut [f32],
        target: *mut f32,
        strides: [usize; 2],
    ) {
        let Self { level, maps, weight, kernels, .. } = *self;
        // SAFETY: the caller's promise.
        level.run(unsafe {
            TransformKernels::new(maps, weight, kernels, output, buffer, target, strides)
        });
    }
}

/// Transforms the inputs of a row of tiles.
struct TransformInputs<'a, 'b> {
    job: &'a Job<'a>,
    row: usize,
    /// Its place among those that are worked on together.
    place: usize,
    buffer: &'b mut [f32],
    /// `[tiles][inputs]`, of which this row is this task's.
    input: Matrices<'b>,
}

impl Kernel for TransformInputs<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { job, row, place, buffer, input } = self;
        let (tiled, first) = (job.maps.tiled_inputs(job.input), place * job.maps.tiles(1));
        // SAFETY: `input` has room for the tiles of all rows, and this one is this task's alone.
        unsafe { tiled.transform::<transform::Input, V>(row, buffer, input, first) };
    }
}

/// The products for some blocks of outputs.
struct Multiply<'a, 'b> {
    job: &'a Job<'a>,
    tiles: usize,
    outputs: usize,
    /// `[outputs / width][inputs][width]`
    kernels: Matrices<'b>,
    /// `[tiles][inputs]`
    input: Matrices<'b>,
    /// `[tiles][outputs]`, or more, which are this task's own.
    sums: Matrices<'b>,
}

impl Kernel for Multiply<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { job, tiles, outputs, kernels, input, sums } = self;
        let width = kernels.row;
        for matrix in 0..MATRICES {
            for channel in (0..outputs).step_by(width) {
                let vectors = if outputs - channel <= V::LANES { 1 } else { VECTORS };
                for rows in cut(0..tiles, most_rows(V::LANES, vectors)) {
                    let target = sums.pointer(matrix, rows.start, channel);
                    let products = Products {
                        source: input.pointer(matrix, 0, 0),
                        rows: &job.tiles[rows],
                        table: &job.channels,
                        weights: kernels.pointer(matrix, channel / width * job.maps.inputs, 0),
                        weight_step: width,
                        outer: 1,
                        outer_source: 0,
                        outer_weight: 0,
                    };
                    let put = Put::<false> { sums: target, stride: sums.row };
                    // SAFETY: the tables lead to tiles and channels of this matrix, which were
                    // transformed, as the kernels of these outputs were; the sums have room for
                    // all tiles and outputs, and are this task's alone.
                    unsafe { tile::<V>(vectors, &products, &put) };
                }
            }
        }
    }
}

/// Transforms rows of tiles back and stores them.
struct Write<'a, 'b> {
    job: &'a Job<'a>,
    /// All rows that were worked on together.
    rows: Range<usize>,
    /// The channels of output that the sums are of.
    channels: Range<usize>,
    buffer: &'b mut [f32],
    /// `[tiles][channels]`, or more.
    sums: Matrices<'b>,
}

impl Kernel for Write<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { job, rows, channels, buffer, sums } = self;
        for row in rows.clone() {
            for channel in channels.clone().step_by(V::LANES) {
                let tile = (row - rows.start) * job.maps.tiles(1);
                let source = sums.pointer(0, tile, channel - channels.start);
                // SAFETY: the sums of these tiles and channels were computed, and these rows of
                // output are this task's alone.
                unsafe { write::<V>(job, row, channel, source, sums.strides(), buffer) };
            }
        }
    }
}

/// Transforms a row of tiles of one vector of channels back and stores it.
///
/// - `sums`: those of the first tile, whose matrices and tiles are `matrix` and `stride` numbers apart
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
    [matrix, stride]: [usize; 2],
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
        let sums = sums.wrapping_add(tile * stride);
        transform::both_axes::<transform::Output, V, _, _>(
            #[inline(always)]
            // SAFETY: the caller promises the sums of all tiles.
            |row, column| unsafe { V::load(sums.wrapping_add((row * 6 + column) * matrix)) },
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
        let (channels, size) = (plane..plane + V::LANES, [height, width]);
        // SAFETY: these rows of output are ours, by the caller's promise.
        let pool = unsafe { PoolRows::new(planes, channels, first, size, (output, places)) };
        pool.run::<V>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::testing;

    /// The two ways of the forward pass against each other.
    #[test]
    fn blocks_of_outputs_give_the_bits_of_rows_of_tiles() {
        let (size, padding) = ([9, 14], [1, 1]);
        let maps = Maps { batch: 3, inputs: 32, outputs: 48, input: size, output: size, padding };
        let values = |stream, count| testing::values(testing::normal([count], stream));
        let (input, weight) = (values(1, 3 * 32 * 9 * 14), values(2, 48 * 32 * 9));
        for level in Level::all() {
            for kernels in [Kernels::Forward, Kernels::Rotated] {
                let find = |rows: usize, run: fn(&Job<'_>)| {
                    let mut output = vec![f32::NAN; 3 * 48 * 9 * 14];
                    run(&Job {
                        level,
                        maps: &maps,
                        input: Source::Maps(&input),
                        weight: &weight,
                        kernels,
                        epilogue: Epilogue { bias: Some(&values(3, 48)), relu: true },
                        output: Target::maps(&mut output),
                        rows,
                        tiles: strides(rows * maps.tiles(1), maps.inputs),
                        channels: strides(maps.inputs, 1),
                    });
                    output
                };
                let expected = find(2, |job| job.run_by_rows());
                for rows in [1, 4, 9] {
                    let ours = find(rows, |job| job.run_by_blocks());
                    assert!(ours == expected, "{rows} rows at {level:?}, {kernels:?}");
                }
            }
        }
    }
}
