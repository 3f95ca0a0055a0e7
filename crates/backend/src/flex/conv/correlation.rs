//! Sums of maps over a set of taps, from planes to planes: the direct algorithm.
//!
//! `output[o][y][x] = sum over c, taps of source[c][y * stride + tap.y][x * stride + tap.x] * w`
//!
//! The forward pass is one such correlation, and the input gradient is one for each phase of the
//! stride. An image is cut into strips of rows whose input stays in the second-level cache. Output
//! channels fill the vectors and positions of the output are the rows of a tile, so inputs are
//! broadcast from where they lie and no tensor changes its layout; tiles are transposed in
//! registers when they are stored. Rows of the kernel that lie outside of the image are left out;
//! columns are not, so a strip with padding at its sides is copied with a border of zeros.

use std::ops::Range;

use burn_flex::FlexTensor;

use super::{
    super::{
        lanes::odd_stride,
        parallel,
        parts::cut,
        recycled,
        simd::{Kernel, Level, Vector, unroll},
        transpose::ToPositions,
    },
    tile::{Finish, Products, VECTORS, most_rows, offset, tile},
    window::Window,
};

/// Numbers of input that a strip may have: a third of a second-level cache of 512 KiB.
const STRIP: usize = 44_000;
/// Tasks to have at least, where there is enough to do: enough to balance a few threads.
pub(super) const TASKS: usize = 16;

/// Where a tap reads, from the output's position in the source on, and which number of a kernel it
/// takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tap {
    pub(super) offset: [isize; 2],
    pub(super) index: usize,
}

/// A correlation of the maps of one image.
pub(super) struct Correlation {
    level: Level,
    channels: usize,
    /// Height and width of the source's maps.
    source: [usize; 2],
    pub(super) outputs: usize,
    /// Height and width of the output's maps.
    pub(super) output: [usize; 2],
    stride: [usize; 2],
    /// In ascending order of their offsets.
    taps: Vec<Tap>,
    /// `[outputs / width][channels][taps][width]`
    weights: FlexTensor,
    /// The most rows of output of a strip.
    pub(super) rows: usize,
    /// Numbers from one row of the source to the next, and from one channel to the next.
    pitch: [usize; 2],
    copied: bool,
    /// Where each position of a strip and each tap read, from the strip's first position and tap.
    position_offsets: Vec<u32>,
    tap_offsets: Vec<u32>,
}

/// The weights, and how far apart the numbers of two outputs and channels are.
#[derive(Clone, Copy)]
pub(super) struct Weights<'a> {
    pub(super) values: &'a [f32],
    pub(super) output_stride: usize,
    pub(super) channel_stride: usize,
    /// Numbers of a kernel.
    pub(super) kernel: usize,
}

/// What follows the sums.
#[derive(Clone, Copy)]
pub(super) struct Epilogue<'a> {
    pub(super) bias: Option<&'a [f32]>,
    pub(super) relu: bool,
}

impl Correlation {
    pub(super) fn new(
        level: Level,
        [channels, outputs]: [usize; 2],
        [source, output]: [[usize; 2]; 2],
        stride: [usize; 2],
        mut taps: Vec<Tap>,
        images: usize,
        weights: Weights<'_>,
    ) -> Self {
        taps.sort_unstable_by_key(|tap| tap.offset);
        let weights = packed(level, [channels, outputs], &taps, weights);
        let mut correlation = Self {
            level,
            channels,
            source,
            outputs,
            output,
            stride,
            taps,
            weights,
            rows: 0,
            pitch: [source[1], source[0] * source[1]],
            copied: false,
            position_offsets: Vec::new(),
            tap_offsets: Vec::new(),
        };
        correlation.cut_into_strips(images);
        correlation
    }

    /// Chooses the height of a strip, and whether strips are copied.
    fn cut_into_strips(&mut self, images: usize) {
        let columns = self.columns();
        let inside = columns.start >= 0 && columns.end <= self.source[1] as isize;
        // Planes a multiple of 1 KiB apart share a few sets of the first-level cache.
        let plane = self.source[0] * self.source[1];
        self.copied = !inside || (plane.is_multiple_of(256) && self.channels > 1);
        let width = if self.copied { columns.len() } else { self.source[1] };

        let fitting = STRIP / (self.channels * width * self.stride[0]).max(1);
        let sharing = (images * self.output[0]).div_ceil(TASKS);
        let most = fitting.min(sharing).clamp(1, self.output[0]);
        self.rows = self.output[0].div_ceil(self.output[0].div_ceil(most));
        if self.copied {
            let rows = (self.rows - 1) * self.stride[0] + self.reach(0).len();
            self.pitch = [width, odd_stride(rows * width)];
        }

        let [row, _] = self.pitch;
        self.position_offsets = (0..self.rows)
            .flat_map(|y| (0..self.output[1]).map(move |x| (y, x)))
            .map(|(y, x)| offset(y * self.stride[0] * row + x * self.stride[1]))
            .collect();
        let first = [self.reach(0).start, self.reach(1).start];
        self.tap_offsets = self
            .taps
            .iter()
            .map(|tap| [tap.offset[0] - first[0], tap.offset[1] - first[1]])
            .map(|[y, x]| offset(y as usize * row + x as usize))
            .collect();
    }

    /// From the first to behind the last offset of the taps along an axis.
    fn reach(&self, axis: usize) -> Range<isize> {
        let offsets = || self.taps.iter().map(|tap| tap.offset[axis]);
        offsets().min().unwrap_or(0)..offsets().max().unwrap_or(0) + 1
    }

    /// The columns of the source that are read.
    fn columns(&self) -> Range<isize> {
        let reach = self.reach(1);
        reach.start..((self.output[1] - 1) * self.stride[1]) as isize + reach.end
    }

    /// The rows of the source that these rows of output read, inside of the image.
    fn source_rows(&self, rows: &Range<usize>) -> Range<usize> {
        let (reach, last) = (self.reach(0), self.source[0] as isize);
        let start = (rows.start * self.stride[0]) as isize + reach.start;
        let end = ((rows.end - 1) * self.stride[0]) as isize + reach.end;
        start.clamp(0, last) as usize..end.clamp(0, last) as usize
    }

    /// The taps that meet the image from this row of output.
    fn taps_of(&self, row: usize) -> Range<usize> {
        let row = (row * self.stride[0]) as isize;
        let inside = |tap: &Tap| (0..self.source[0] as isize).contains(&(row + tap.offset[0]));
        let start = self.taps.iter().position(inside).unwrap_or(self.taps.len());
        start..self.taps.iter().rposition(inside).map_or(start, |last| last + 1)
    }

    /// Numbers of scratch memory that a strip needs.
    pub(super) fn scratch(&self) -> usize {
        if self.copied { self.channels * self.pitch[1] } else { 0 }
    }

    /// Blocks of output channels, which are independent.
    pub(super) fn blocks(&self) -> usize {
        self.outputs.div_ceil(width(self.level, self.outputs))
    }

    /// Computes rows of output of one image for blocks of channels.
    ///
    /// - `image`: `[channels][height][width]` of the source
    /// - `target`: the first channel's first number of these rows
    /// - `target_plane`: numbers from one channel to the next
    ///
    /// # Safety
    ///
    /// The numbers of these rows and channels can be written, and nobody else uses them.
    #[expect(clippy::too_many_arguments, reason = "what, of which, from where, and to where")]
    pub(super) unsafe fn strip(
        &self,
        image: &[f32],
        rows: Range<usize>,
        blocks: Range<usize>,
        epilogue: Epilogue<'_>,
        scratch: &mut [f32],
        target: *mut f32,
        target_plane: usize,
    ) {
        let image = &image[..self.channels * self.source[0] * self.source[1]];
        let columns = self.columns();
        let available = self.source_rows(&rows);
        let (source, first) = if self.copied {
            let window = Window {
                start: [available.start as isize, columns.start],
                size: [available.len(), columns.len()],
            };
            window.copy(image, self.source, &mut scratch[..self.scratch()], self.pitch[1]);
            (scratch.as_ptr(), [available.start as isize, columns.start])
        } else {
            (image.as_ptr(), [0, 0])
        };
        // Where the first tap of the first position reads, or would read above the image.
        let row = (rows.start * self.stride[0]) as isize + self.reach(0).start - first[0];
        let offset = row * self.pitch[0] as isize + columns.start - first[1];
        self.level.run(Strip {
            correlation: self,
            source: source.wrapping_offset(offset),
            rows,
            blocks,
            epilogue,
            target,
            target_plane,
        });
    }
}

/// Channels of a block of weights.
pub(super) fn width(level: Level, outputs: usize) -> usize {
    level.lanes() * if outputs <= level.lanes() { 1 } else { VECTORS }
}

/// One strip, whose source is in place.
struct Strip<'a> {
    correlation: &'a Correlation,
    source: *const f32,
    rows: Range<usize>,
    blocks: Range<usize>,
    epilogue: Epilogue<'a>,
    target: *mut f32,
    target_plane: usize,
}

impl Kernel for Strip<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let of = self.correlation;
        let width = width(of.level, of.outputs);
        let [columns, taps] = [of.output[1], of.taps.len()];
        let packed = of.weights.storage::<f32>();
        for block in self.blocks.clone() {
            let channel = block * width;
            let left = of.outputs - channel;
            let vectors = if left <= V::LANES { 1 } else { VECTORS };
            let weights = &packed[channel * of.channels * taps..];
            let target = self.target.wrapping_add(channel * self.target_plane);
            let mut row = self.rows.start;
            while row < self.rows.end {
                // Rows that meet the same taps are one run of positions.
                let taps_here = of.taps_of(row);
                let end = (row + 1..self.rows.end)
                    .find(|row| of.taps_of(*row) != taps_here)
                    .unwrap_or(self.rows.end);
                let from = (row - self.rows.start) * columns;
                let positions = &of.position_offsets[from..(end - self.rows.start) * columns];
                for part in cut(0..positions.len(), most_rows(V::LANES, vectors)) {
                    let products = Products {
                        source: self.source,
                        rows: &positions[part.clone()],
                        table: &of.tap_offsets[taps_here.clone()],
                        weights: weights.as_ptr().wrapping_add(taps_here.start * width),
                        weight_step: width,
                        outer: of.channels,
                        outer_source: of.pitch[1],
                        outer_weight: taps * width,
                    };
                    let store = Store {
                        bias: self.epilogue.bias.map(|bias| &bias[channel..channel + left]),
                        relu: self.epilogue.relu,
                        channels: left,
                        target: target.wrapping_add(from + part.start),
                        plane: self.target_plane,
                    };
                    // SAFETY: the taps are those that meet the image, whose rows are in the
                    // source, and the columns are in it by its border; weights are packed in
                    // whole blocks. The target is this strip's own, by the caller of `strip`.
                    unsafe { tile::<V>(vectors, &products, &store) };
                }
                row = end;
            }
        }
    }
}

/// Adds the bias, applies ReLU, and stores a tile with its channels apart.
struct Store<'a> {
    bias: Option<&'a [f32]>,
    relu: bool,
    channels: usize,
    target: *mut f32,
    plane: usize,
}

impl<V: Vector> Finish<V> for Store<'_> {
    // SAFETY: the caller's duty, as in the trait.
    #[inline(always)]
    unsafe fn finish<const R: usize, const N: usize>(&self, sums: &[[V; N]; R]) {
        let floor = V::splat(if self.relu { 0.0 } else { f32::NEG_INFINITY });
        // Written out for each vector: an index that is not a constant would keep all sums in
        // memory, and store them after every step of the loop before.
        unroll!(VECTOR < N => {
            let channel = VECTOR * V::LANES;
            let channels = self.channels.saturating_sub(channel).min(V::LANES);
            let bias = match self.bias {
                Some(bias) if channels > 0 => {
                    // SAFETY: that many channels are left in the bias.
                    unsafe { V::load_first(bias[channel..].as_ptr(), channels) }
                }
                _ => V::zero(),
            };
            let mut block = V::block(|_| V::zero());
            unroll!(ROW < R => {
                // In this order a NaN stays one.
                block.as_mut()[ROW] = floor.max(sums[ROW][VECTOR].add(bias));
            });
            V::transpose(&mut block);
            let target = self.target.wrapping_add(channel * self.plane);
            unroll!(LANE < V::LANES => {
                if LANE < channels {
                    let target = target.wrapping_add(LANE * self.plane);
                    // SAFETY: the tile's positions of this channel, by the caller's promise.
                    unsafe { block.as_ref()[LANE].store_first(target, R) };
                }
            });
        });
    }
}

/// `[outputs / width][channels][taps][width]`, the taps in their order.
fn packed(
    level: Level,
    [channels, outputs]: [usize; 2],
    taps: &[Tap],
    weights: Weights<'_>,
) -> FlexTensor {
    let width = width(level, outputs);
    let blocks = outputs.div_ceil(width);
    let block_size = channels * taps.len() * width;
    let mut packed = recycled::floats([blocks * block_size]);
    // Kernels side by side whose numbers are taken in order are one long kernel.
    let whole = weights.channel_stride == weights.kernel
        && taps.iter().map(|tap| tap.index).eq(0..weights.kernel);
    parallel::chunks(packed.storage_mut::<f32>(), block_size, |block, target, scratch| {
        let source = &weights.values[block * width * weights.output_stride..];
        let transpose = |source: &[f32], count: usize, target: &mut [f32]| {
            level.run(ToPositions {
                source,
                plane: weights.output_stride,
                channels: (outputs - block * width).min(width),
                count,
                target,
                width,
                stride: width,
            });
        };
        if whole {
            transpose(source, channels * weights.kernel, target);
            return;
        }
        let [kernel] = scratch.slices([weights.kernel * width]);
        for channel in 0..channels {
            let target = &mut target[channel * taps.len() * width..][..taps.len() * width];
            let source = &source[channel * weights.channel_stride..];
            transpose(source, weights.kernel, kernel);
            for (tap, target) in taps.iter().zip(target.chunks_exact_mut(width)) {
                target.copy_from_slice(&kernel[tap.index * width..][..width]);
            }
        }
    });
    packed
}
