//! The gradient of the weight of any convolution.
//!
//! `dW[c, tap][o] = sum over positions of input[c][position + tap] * gradient[position][o]`
//!
//! A tile's rows are pairs of an input channel and a tap, and its steps are positions, so sums stay
//! in registers for a whole chunk of positions. The gradient is transposed once for each chunk,
//! and an input with padding is copied with a border of zeros. Positions are divided into a fixed
//! number of parts, each summed by one task and all added up in order at the end, so the result
//! does not depend on the number of threads.

use std::ops::Range;

use super::{
    super::{
        lanes::odd_stride,
        parallel,
        parts::{cut, part},
        recycled,
        simd::{Kernel, Level, Vector},
        transpose::{ToDensePlanes, ToPositions},
    },
    correlation::{TASKS, width},
    direct::forward_taps,
    geometry::Geometry,
    pooled::Source,
    tile::{Products, Put, VECTORS, most_rows, offset, tile},
    window::Window,
};

/// Positions that are summed in registers before the sums are stored: their gradients, of one
/// block of channels, fit into half of a first-level cache.
const CHUNK: usize = 192;
/// Numbers of input that a chunk may have.
const STRIP: usize = 40_000;

pub(super) fn weight_gradient(
    level: Level,
    geometry: &Geometry,
    input: &[f32],
    gradient: Source<'_>,
    output: &mut [f32],
) {
    let Geometry { batch, inputs, .. } = *geometry;
    assert_eq!(input.len(), batch * inputs * geometry.input_plane(), "the input of all images");
    Plan::new(level, geometry).run(input, gradient, output);
}

/// How the work is cut into tasks.
struct Plan<'a> {
    level: Level,
    geometry: &'a Geometry,
    /// Channels of a block of outputs, and how many blocks.
    width: usize,
    blocks: usize,
    /// Rows of output of a chunk, and chunks of an image.
    rows: usize,
    strips: usize,
    /// Images of a chunk, more than one where an image is small.
    images: usize,
    /// Parts of all chunks that are summed apart.
    parts: usize,
    chunks: usize,
    copied: bool,
    /// Numbers from one row, channel and image of the chunk's input to the next.
    pitch: [usize; 3],
    /// Rows of a tile: where each channel and tap reads, from the first tap.
    pairs: Vec<u32>,
    /// Steps: where each position of a chunk reads.
    positions: Vec<u32>,
}

impl<'a> Plan<'a> {
    fn new(level: Level, geometry: &'a Geometry) -> Self {
        let Geometry { batch, inputs, outputs, input, output, kernel, stride, padding } = *geometry;
        let width = width(level, outputs);
        let blocks = outputs.div_ceil(width);
        let columns = (output[1] - 1) * stride[1] + kernel[1];
        let copied =
            padding != [0, 0] || (geometry.input_plane().is_multiple_of(256) && inputs > 1);

        let fitting = STRIP / (inputs * columns * stride[0]);
        let most = (CHUNK / output[1]).min(fitting).clamp(1, output[0]);
        let rows = output[0].div_ceil(output[0].div_ceil(most));
        let strips = output[0].div_ceil(rows);
        let images = if strips == 1 {
            let fitting = STRIP / (inputs * geometry.input_plane());
            (CHUNK / geometry.output_plane()).min(fitting).clamp(1, batch.div_ceil(4).max(1))
        } else {
            1
        };
        let chunks = batch.div_ceil(images) * strips;
        let parts = TASKS.div_ceil(blocks).clamp(1, chunks.max(1));

        let pitch = if copied {
            let rows = (rows - 1) * stride[0] + kernel[0];
            let plane = odd_stride(rows * columns);
            [columns, plane, inputs * plane]
        } else {
            let plane = geometry.input_plane();
            [input[1], plane, inputs * plane]
        };
        let taps = forward_taps(geometry);
        let first = taps[0].offset;
        let pairs = (0..inputs)
            .flat_map(|channel| taps.iter().map(move |tap| (channel, tap.offset)))
            .map(|(channel, [y, x])| {
                let (y, x) = ((y - first[0]) as usize, (x - first[1]) as usize);
                offset(channel * pitch[1] + y * pitch[0] + x)
            })
            .collect();
        let positions = (0..images)
            .flat_map(|image| (0..rows).map(move |row| (image, row)))
            .flat_map(|(image, row)| (0..output[1]).map(move |column| (image, row, column)))
            .map(|(image, row, column)| {
                offset(image * pitch[2] + row * stride[0] * pitch[0] + column * stride[1])
            })
            .collect();
        Self {
            level,
            geometry,
            width,
            blocks,
            rows,
            strips,
            images,
            parts,
            chunks,
            copied,
            pitch,
            pairs,
            positions,
        }
    }

    fn run(&self, input: &[f32], gradient: Source<'_>, output: &mut [f32]) {
        let pairs = self.pairs.len();
        // `[blocks][parts][pairs][width]`
        let block_size = pairs * self.width;
        let mut sums = recycled::floats([self.blocks * self.parts * block_size]);
        parallel::chunks(sums.storage_mut::<f32>(), block_size, |task, sums, scratch| {
            sums.fill(0.0);
            let block = task / self.parts;
            let copy = if self.copied { self.images * self.pitch[2] } else { 0 };
            let map = self.rows * self.geometry.output[1] * self.width;
            let [source, transposed, planes] =
                scratch.slices([copy, self.positions.len() * self.width, map]);
            for chunk in part(self.chunks, self.parts, task % self.parts) {
                let chunk = Chunk::new(self, chunk, input, source);
                self.level.run(Accumulate {
                    plan: self,
                    block,
                    chunk,
                    gradient,
                    planes,
                    transposed,
                    sums,
                });
            }
        });

        let sums = sums.storage::<f32>();
        parallel::chunks(output, self.width * pairs, |block, target, scratch| {
            let [total] = scratch.slices([block_size]);
            let mut parts =
                sums[block * self.parts * block_size..].chunks_exact(block_size).take(self.parts);
            total.copy_from_slice(parts.next().expect("a first part"));
            for part in parts {
                total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
            }
            let channels = target.len() / pairs;
            self.level.run(ToDensePlanes { source: total, width: self.width, channels, target });
        });
    }
}

/// Rows of one image, or a few whole images.
struct Chunk {
    images: Range<usize>,
    rows: Range<usize>,
    /// Where the first tap of the first position reads.
    source: *const f32,
}

impl Chunk {
    fn new(plan: &Plan<'_>, chunk: usize, input: &[f32], copy: &mut [f32]) -> Self {
        let Geometry { batch, inputs, input: size, output, kernel, stride, padding, .. } =
            *plan.geometry;
        let first = chunk / plan.strips * plan.images;
        let images = first..(first + plan.images).min(batch);
        let row = chunk % plan.strips * plan.rows;
        let rows = row..(row + plan.rows).min(output[0]);
        let plane = plan.geometry.input_plane();
        // From an image on: without a copy, the tiles read all images of the chunk.
        let from = |image: usize| &input[image * inputs * plane..];
        if !plan.copied {
            let source = from(images.start)[rows.start * stride[0] * size[1]..].as_ptr();
            return Self { images, rows, source };
        }
        let window = Window {
            start: [
                (rows.start * stride[0]) as isize - padding[0] as isize,
                -(padding[1] as isize),
            ],
            size: [(rows.len() - 1) * stride[0] + kernel[0], plan.pitch[0]],
        };
        for (index, copy) in images.clone().zip(copy.chunks_exact_mut(plan.pitch[2])) {
            window.copy(&from(index)[..inputs * plane], size, copy, plan.pitch[1]);
        }
        Self { images, rows, source: copy.as_ptr() }
    }
}

/// Adds one chunk to the sums of one block.
struct Accumulate<'a> {
    plan: &'a Plan<'a>,
    block: usize,
    chunk: Chunk,
    gradient: Source<'a>,
    /// Room for the gradients of an image, `[width][positions]`.
    planes: &'a mut [f32],
    /// `[positions][width]`
    transposed: &'a mut [f32],
    /// `[pairs][width]`
    sums: &'a mut [f32],
}

impl Kernel for Accumulate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { plan, block, chunk, gradient, planes, transposed, sums } = self;
        let Geometry { outputs, output, .. } = *plan.geometry;
        let channel = block * plan.width;
        let channels = (outputs - channel).min(plan.width);
        let count = chunk.rows.len() * output[1];
        let images = chunk.images.len();
        for (image, transposed) in chunk.images.zip(transposed.chunks_exact_mut(count * plan.width))
        {
            let channel = image * outputs + channel;
            let (source, plane) =
                gradient.rows::<V>(channel..channel + channels, chunk.rows.clone(), output, planes);
            let (target, width) = (transposed, plan.width);
            ToPositions { source, plane, channels, count, target, width, stride: width }.run::<V>();
        }
        let vectors = if channels <= V::LANES { 1 } else { VECTORS };
        for rows in cut(0..plan.pairs.len(), most_rows(V::LANES, vectors)) {
            let products = Products {
                source: chunk.source,
                rows: &plan.pairs[rows.clone()],
                table: &plan.positions[..images * count],
                weights: transposed.as_ptr(),
                weight_step: plan.width,
                outer: 1,
                outer_source: 0,
                outer_weight: 0,
            };
            let sums = &mut sums[rows.start * plan.width..][..rows.len() * plan.width];
            let add = Put::<true> { sums: sums.as_mut_ptr(), stride: plan.width };
            // SAFETY: pairs and positions lead to inputs of this chunk or its border, the
            // gradients of all positions were just transposed, and the sums are this task's own.
            unsafe { tile::<V>(vectors, &products, &add) };
        }
    }
}
