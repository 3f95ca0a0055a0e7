//! From maps to the matrices of their transformed tiles.

use super::{
    super::{
        super::{
            lanes::odd_stride,
            parallel::Shared,
            simd::{Kernel, Level, Vector},
            transpose::ToPositions,
        },
        pooled::Source,
    },
    MATRICES, Maps, TILE,
    transform::{self, Transform},
};

/// One matrix for each number of a transformed tile.
#[derive(Clone, Copy)]
pub(super) struct Matrices<'a> {
    numbers: Shared<'a, f32>,
    /// Numbers from one matrix to the next, and from one row to the next.
    matrix: usize,
    pub(super) row: usize,
}

impl<'a> Matrices<'a> {
    /// Numbers from one matrix to the next: they are written side by side.
    pub(super) fn distance(rows: usize, columns: usize) -> usize {
        odd_stride(rows * columns)
    }

    /// Numbers of all matrices.
    pub(super) fn size(rows: usize, columns: usize) -> usize {
        MATRICES * Self::distance(rows, columns)
    }

    pub(super) fn new(numbers: &'a mut [f32], rows: usize, columns: usize) -> Self {
        let (numbers, matrix) = (Shared::new(numbers), Self::distance(rows, columns));
        Self { numbers, matrix, row: columns }
    }

    pub(super) fn pointer(&self, matrix: usize, row: usize, column: usize) -> *mut f32 {
        self.numbers.pointer(matrix * self.matrix + row * self.row + column)
    }

    pub(super) fn strides(&self) -> [usize; 2] {
        [self.matrix, self.row]
    }
}

/// Maps that are cut into tiles of `N` by `N` numbers, [`TILE`] apart.
pub(super) struct Tiled<'a, const N: usize> {
    maps: &'a Maps,
    source: Source<'a>,
    channels: usize,
    size: [usize; 2],
    padding: [usize; 2],
}

impl Maps {
    /// The inputs, which tiles have in common at their edges.
    pub(super) fn tiled_inputs<'a>(&'a self, source: Source<'a>) -> Tiled<'a, { TILE + 2 }> {
        let Self { inputs: channels, input: size, padding, .. } = *self;
        Tiled { maps: self, source, channels, size, padding }
    }

    /// The outputs, or rather their gradients.
    pub(super) fn tiled_outputs<'a>(&'a self, source: Source<'a>) -> Tiled<'a, TILE> {
        let Self { outputs: channels, output: size, .. } = *self;
        Tiled { maps: self, source, channels, size, padding: [0, 0] }
    }

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
}

impl<const N: usize> Tiled<'_, N> {
    /// Transforms a row of tiles.
    ///
    /// - `buffer`: room for [`Maps::buffer`] numbers
    /// - `target`: `[36][tile][channel]`, where the row begins at `first_tile`
    ///
    /// # Safety
    ///
    /// The target has room for the tiles of the row, which no other task uses.
    #[inline(always)]
    pub(super) unsafe fn transform<T: Transform<N, 6>, V: Vector>(
        &self,
        tile_row: usize,
        buffer: &mut [f32],
        target: Matrices<'_>,
        first_tile: usize,
    ) {
        let Self { source, channels, size: [height, width], padding: [top, left], .. } = *self;
        let [matrix, stride] = target.strides();
        let target = target.pointer(0, first_tile, 0);
        let (image, first) = self.maps.place(tile_row);
        let across = self.maps.tiles(1);
        let columns = across * TILE + N - TILE;
        let (buffer, room) = buffer.split_at_mut(N * columns * V::LANES);
        // The rows that are inside of the image: none where there are only rows of padding.
        let inside = |row: usize| row.saturating_sub(top).min(height);
        let rows = inside(first)..inside(first + N);
        // What is outside of the image stays zero for all channels.
        buffer.fill(0.0);
        for channel in (0..channels).step_by(V::LANES) {
            let first_plane = image * channels + channel;
            let planes = first_plane..first_plane + V::LANES;
            let (source, plane) = source.rows::<V>(planes, rows.clone(), [height, width], room);
            for y in rows.clone() {
                let row = y + top - first;
                ToPositions {
                    source: &source[(y - rows.start) * width..],
                    plane,
                    channels: V::LANES,
                    count: width.min(columns - left),
                    target: &mut buffer[(row * columns + left) * V::LANES..],
                    width: V::LANES,
                    stride: V::LANES,
                }
                .run::<V>();
            }
            for tile in 0..across {
                let target = target.wrapping_add(tile * stride + channel);
                transform::both_axes::<T, V, N, 6>(
                    #[inline(always)]
                    |row, column| {
                        let place = (row * columns + tile * TILE + column) * V::LANES;
                        // SAFETY: `N` columns from each tile's first are in the buffer.
                        unsafe { V::load(buffer.as_ptr().wrapping_add(place)) }
                    },
                    #[inline(always)]
                    // SAFETY: the caller promises room for this tile.
                    |row, column, value| unsafe {
                        value.store(target.wrapping_add((row * 6 + column) * matrix));
                    },
                );
            }
        }
    }
}
