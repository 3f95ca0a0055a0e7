//! An affine map of each image, sampled bilinearly, with black outside.
//!
//! Overrides: Flex (`flex/affine.rs`).

use burn::tensor::{Tensor, TensorData, ops::FloatTensor, ops::GridSampleOptions};

use crate::{
    Backend,
    overrides::note_composed,
    primitive::{primitive, tensor},
};

/// From a place in the result to that in the image, both in pixels from the middle:
/// `[[xx, xy, x], [yx, yy, y]]`.
pub type PlaneMap = [[f64; 3]; 2];

pub(crate) fn composed<B: Backend>(images: FloatTensor<B>, maps: &[PlaneMap]) -> FloatTensor<B> {
    note_composed();
    let images = tensor::<B, 4>(images);
    let [batch, _, height, width] = images.dims();
    let device = images.device();
    // A place in the result, in pixels from the middle, and a 1 for the translation.
    let middle = |place: usize, side: usize| place as f32 + 0.5 - 0.5 * side as f32;
    let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let places: Vec<f32> =
        places.flat_map(|(x, y)| [middle(x, width), middle(y, height), 1.0]).collect();
    let places = TensorData::new(places, [1, height * width, 3]);

    // The grid takes -1 and 1 for the borders.
    let half = [0.5 * width as f64, 0.5 * height as f64];
    let matrix = |rows: &PlaneMap| {
        let rows = *rows;
        (0..3).flat_map(move |column| [0, 1].map(|row| (rows[row][column] / half[row]) as f32))
    };
    let matrices: Vec<f32> = maps.iter().flat_map(matrix).collect();
    let matrices = TensorData::new(matrices, [batch, 3, 2]);

    let grid = Tensor::<B, 3>::from_data(places, &device)
        .matmul(Tensor::from_data(matrices, &device)) // [batch, height * width, 2]
        .reshape([batch, height, width, 2]);
    primitive(images.grid_sample_2d(grid, GridSampleOptions::default()))
}
