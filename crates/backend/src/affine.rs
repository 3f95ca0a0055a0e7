//! An affine map of each image, sampled bilinearly, with black outside.
//!
//! Overrides: Flex (`flex/affine.rs`).

use burn::tensor::{
    Int, Tensor, TensorData,
    ops::{FloatTensor, GridSampleOptions},
};

use crate::{
    Backend,
    overrides::note_composed,
    primitive::{primitive, tensor},
};

/// Maps a position in the result to one in the image, both in pixels from the centre:
/// `[[xx, xy, x], [yx, yy, y]]`.
pub type PlaneMap = [[f64; 3]; 2];

pub(crate) fn composed<B: Backend>(images: FloatTensor<B>, maps: &[PlaneMap]) -> FloatTensor<B> {
    note_composed();
    let images = tensor::<B, 4>(images);
    let [batch, _, height, width] = images.dims();
    let device = images.device();
    // Positions along a side, in pixels from the centre.
    let from_middle = |side: usize| {
        let places = Tensor::<B, 1, Int>::arange(0..side as i64, &device).float();
        places + (0.5 - 0.5 * side as f64)
    };
    let x = from_middle(width).reshape([1, 1, width]);
    let y = from_middle(height).reshape([1, height, 1]);
    // The grid has its borders at -1 and 1. Sums rather than a matrix product, whose operands tensor
    // cores would round.
    let along = |row: usize, side: usize| {
        let half = 0.5 * side as f64;
        let [by_x, by_y, shift] = [0, 1, 2].map(|column| {
            let values = maps.iter().map(|map| (map[row][column] / half) as f32).collect();
            Tensor::<B, 3>::from_data(TensorData::new(values, [batch, 1, 1]), &device)
        });
        (x.clone() * by_x + y.clone() * by_y + shift).unsqueeze_dim::<4>(3)
    };
    let grid = Tensor::cat(vec![along(0, width), along(1, height)], 3);
    primitive(images.grid_sample_2d(grid, GridSampleOptions::default()))
}
