//! Winograd's F(4x4, 3x3) for kernels of 3x3 and stride 1 (Lavin and Gray, 2016).
//!
//! Tiles of 6x6 inputs and the kernels are transformed, multiplied element by element and summed
//! over the channels, which is 36 matrix products of tiles by channels, and transformed back to
//! tiles of 4x4 outputs: 36 multiplications instead of 144. The input gradient is the same
//! with the kernels rotated, and the weight gradient is the adjoint, with the same saving.
//!
//! Transforms work on vectors of channels; rows of a map are transposed into a small buffer on the
//! way in and out. A task takes as many rows of tiles as mostly stay in the cache.

mod forward;
mod kernels;
mod tiles;
mod transform;
mod weight_gradient;

pub(super) use self::{forward::correlate, kernels::Kernels, weight_gradient::weight_gradient};
use super::geometry::Geometry;

/// Numbers of a transformed tile.
const MATRICES: usize = 36;
/// Side of a tile of outputs.
const TILE: usize = 4;

/// The maps that go into one convolution of 3x3 and stride 1, and those that come out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Maps {
    pub(super) batch: usize,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    pub(super) input: [usize; 2],
    pub(super) output: [usize; 2],
    pub(super) padding: [usize; 2],
}

impl Maps {
    /// The forward pass, if this algorithm pays for it.
    pub(super) fn forward(geometry: &Geometry) -> Option<Self> {
        let Geometry { batch, inputs, outputs, input, output, padding, .. } = *geometry;
        let fits = geometry.kernel == [3, 3] && geometry.stride == [1, 1];
        let maps = Self { batch, inputs, outputs, input, output, padding };
        (fits && maps.pays()).then_some(maps)
    }

    /// The input gradient, if this algorithm pays for it.
    pub(super) fn input_gradient(geometry: &Geometry) -> Option<Self> {
        // Of the algorithm's conditions only those on the sizes of the output change.
        let forward = Self::forward(&Geometry { output: [TILE, TILE], ..*geometry })?;
        let [height, width] = forward.padding;
        let maps = Self {
            inputs: forward.outputs,
            outputs: forward.inputs,
            input: geometry.output,
            output: geometry.input,
            padding: [2_usize.checked_sub(height)?, 2_usize.checked_sub(width)?],
            ..forward
        };
        maps.pays().then_some(maps)
    }

    /// Whole vectors of channels at any level, and outputs that fill their tiles well enough.
    fn pays(&self) -> bool {
        let tiled = self.tiles(0) * self.tiles(1) * TILE * TILE;
        let filled = self.output[0] * self.output[1];
        self.inputs.is_multiple_of(16)
            && self.outputs.is_multiple_of(16)
            && self.inputs > 0
            && 100 * filled >= 55 * tiled
    }

    /// Tiles along an axis.
    fn tiles(&self, axis: usize) -> usize {
        self.output[axis].div_ceil(TILE)
    }

    /// Rows of tiles of all images.
    fn tile_rows(&self) -> usize {
        self.batch * self.tiles(0)
    }

    /// Columns of input under a row of tiles.
    fn columns(&self) -> usize {
        self.tiles(1) * TILE + 2
    }
}
