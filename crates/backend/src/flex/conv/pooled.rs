//! Maps that are pooled, which exist only a few rows at a time: a forward pass pools rows as soon as
//! it has computed them, and a backward pass scatters gradients when it reads them. A full map of the
//! first layers is larger than the caches, and would cost more to write and to read back than to
//! compute.

use std::ops::Range;

use burn_flex::FlexTensor;

use super::super::{
    parallel::Shared,
    pool::{KeptSum, PoolPairs, ScatterPairs},
    simd::{Kernel, Level, Vector},
};
use super::rectify;

/// Where the maps of a convolution go.
#[derive(Clone, Copy)]
pub(super) enum Target<'a> {
    /// `[batch, channels, height, width]`
    Maps(Shared<'a, f32>),
    /// The maxima above zero of windows of 2x2, and their places.
    Pooled(Shared<'a, f32>, Shared<'a, u8>),
}

impl<'a> Target<'a> {
    pub(super) fn maps(maps: &'a mut [f32]) -> Self {
        Self::Maps(Shared::new(maps))
    }
}

/// Pools rows of maps that were just computed.
pub(super) struct PoolRows<'a> {
    rows: &'a [f32],
    planes: Range<usize>,
    first: usize,
    size: [usize; 2],
    output: Shared<'a, f32>,
    places: Shared<'a, u8>,
}

impl<'a> PoolRows<'a> {
    /// - `rows`: `[planes][rows][width]`
    /// - `first`: the first row, an even one
    /// - `size`: height and width of a map
    ///
    /// # Safety
    ///
    /// Until it has run, no other task uses these rows of these planes of the output.
    pub(super) unsafe fn new(
        rows: &'a [f32],
        planes: Range<usize>,
        first: usize,
        size: [usize; 2],
        (output, places): (Shared<'a, f32>, Shared<'a, u8>),
    ) -> Self {
        Self { rows, planes, first, size, output, places }
    }
}

impl Kernel for PoolRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { rows, planes, first, size: [height, width], output, places } = self;
        let [pooled, columns] = [height / 2, width / 2];
        let size = rows.len() / planes.len();
        for (plane, input) in planes.zip(rows.chunks_exact(size)) {
            let start = (plane * pooled + first / 2) * columns;
            let count = size / width / 2 * columns;
            // SAFETY: promised to `new`.
            let (output, places) =
                unsafe { (output.slice(start, count), places.slice(start, count)) };
            PoolPairs { width, input, relu: true, output, places }.run::<V>();
        }
    }
}

/// The gradient of a convolution's output, or any other maps that are read.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    /// `[batch, channels, height, width]`
    Maps(&'a [f32]),
    /// The gradients of maxima, and their places.
    Pooled(&'a [f32], &'a [u8]),
}

impl<'a> Source<'a> {
    /// Some rows of some planes, or none: all from the first one on, and the numbers from one plane
    /// to the next.
    ///
    /// - `buffer`: room for them
    #[inline(always)]
    pub(super) fn rows<'b, V: Vector>(
        self,
        planes: Range<usize>,
        rows: Range<usize>,
        [height, width]: [usize; 2],
        buffer: &'b mut [f32],
    ) -> (&'b [f32], usize)
    where
        'a: 'b,
    {
        if rows.is_empty() {
            return (&[], 0);
        }
        let size = rows.len() * width;
        match self {
            Self::Maps(maps) => {
                let start = (planes.start * height + rows.start) * width;
                let source = &maps[start..][..(planes.len() - 1) * height * width + size];
                (source, height * width)
            }
            Self::Pooled(gradient, places) => {
                let pooled = (height / 2) * (width / 2);
                let buffer = &mut buffer[..planes.len() * size];
                for (plane, output) in planes.zip(buffer.chunks_exact_mut(size)) {
                    let gradient = &gradient[plane * pooled..][..pooled];
                    let places = &places[plane * pooled..][..pooled];
                    let first = rows.start;
                    ScatterPairs { width, gradient, places, first, output }.run::<V>();
                }
                (buffer, size)
            }
        }
    }
}

/// For each channel the sum of the gradients that reach the maps.
///
/// - `gradient`, `places`: of the maxima of `[batch, channels]` planes
pub(super) fn channel_sums(
    level: Level,
    gradient: &[f32],
    places: &[u8],
    [batch, channels]: [usize; 2],
) -> FlexTensor {
    let size = gradient.len() / (batch * channels).max(1);
    rectify::channel_sums([batch, channels], size, |part| {
        level.run(KeptSum { gradient: &gradient[part.clone()], places: &places[part] })
    })
}
