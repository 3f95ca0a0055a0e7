//! An affine map of each image, sampled bilinearly, with black outside of the image.
//!
//! Overrides: Flex (`flex/affine.rs`), CUDA and WGPU (`cube/affine.rs`).

use burn::tensor::{Int, Tensor, TensorData, TensorMetadata, ops::FloatTensor};

use crate::{
    Backend,
    overrides::note_composed,
    primitive::{primitive, tensor},
};

/// Where in an image the pixels of a result come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlaneMap {
    /// From a position in the result to one in the image, both in pixels from the centre:
    /// `[[xx, xy, x], [yx, yy, y]]`.
    pub matrix: [[f64; 3]; 2],
    /// The first and the last column, then the first and the last row, which may lie outside of the image:
    /// positions are clamped to them. `None`: all positions are taken as they are.
    pub window: Option<[[isize; 2]; 2]>,
}

/// A coordinate in an image, in pixels from the first one: `by[0] * x + by[1] * y + by[2]` of a position
/// `x` and `y` from the middle of the result, but within `bounds`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coordinate {
    pub(crate) by: [f32; 3],
    pub(crate) bounds: [f32; 2],
}

impl PlaneMap {
    /// The column and the row in an image of a width and a height.
    pub(crate) fn coordinates(&self, size: [usize; 2]) -> [Coordinate; 2] {
        [0, 1].map(|axis| {
            let [by_x, by_y, shift] = self.matrix[axis];
            let by = [by_x, by_y, shift + middle(size[axis])].map(|value| value as f32);
            let bounds = self.window.map(|window| window[axis].map(|line| line as f32));
            Coordinate { by, bounds: bounds.unwrap_or([f32::MIN, f32::MAX]) }
        })
    }
}

/// How many numbers a coordinate has.
#[cfg(feature = "cube")]
pub(crate) const NUMBERS: usize = 5;

/// What `by` is and the bounds, of the columns and the rows of each image of a width and a height.
#[cfg(feature = "cube")]
pub(crate) fn numbers(maps: &[PlaneMap], size: [usize; 2]) -> TensorData {
    let coordinates = maps.iter().flat_map(|map| map.coordinates(size));
    let numbers: Vec<f32> =
        coordinates.flat_map(|one| one.by.into_iter().chain(one.bounds)).collect();
    let count = numbers.len();
    TensorData::new(numbers, [count])
}

/// The middle of a side, in pixels from the first one.
fn middle(side: usize) -> f64 {
    0.5 * side as f64 - 0.5
}

/// See [`Backend::fused_affine`].
pub(crate) fn composed<B: Backend>(images: FloatTensor<B>, maps: &[PlaneMap]) -> FloatTensor<B> {
    note_composed();
    if images.shape().num_elements() == 0 {
        return images;
    }
    let images = tensor::<B, 4>(images);
    let [batch, channels, height, width] = images.dims();
    let (size, places, device) = ([width, height], height * width, images.device());
    let coordinates: Vec<_> = maps.iter().map(|map| map.coordinates(size)).collect();
    let [columns, rows] = [0, 1].map(|axis| {
        let coordinates: Vec<_> = coordinates.iter().map(|both| both[axis]).collect();
        neighbours::<B>(&coordinates, size, size[axis], &device)
    });
    let images = images.reshape([batch, channels, places]);
    let mut sum = images.zeros_like();
    for (row, of_row) in &rows {
        for (column, of_column) in &columns {
            let place = (row.clone() * width as i64 + column.clone()).reshape([batch, 1, places]);
            let weight = (of_row.clone() * of_column.clone()).reshape([batch, 1, places]);
            sum = sum + images.clone().gather(2, place.repeat_dim(1, channels)) * weight;
        }
    }
    primitive(sum.reshape([batch, channels, height, width]))
}

/// The two pixels beside a coordinate of every position, with their weights, `[images, height, width]` each;
/// one outside of the image's `side` has the weight 0.
fn neighbours<B: Backend>(
    coordinates: &[Coordinate],
    [width, height]: [usize; 2],
    side: usize,
    device: &B::Device,
) -> [(Tensor<B, 3, Int>, Tensor<B, 3>); 2] {
    let from_middle =
        |side: usize| Tensor::<B, 1, Int>::arange(0..side as i64, device).float() - middle(side);
    let x = from_middle(width).reshape([1, 1, width]);
    let y = from_middle(height).reshape([1, height, 1]);
    let each = |value: &dyn Fn(&Coordinate) -> f32| {
        let values: Vec<f32> = coordinates.iter().map(value).collect();
        let shape = [values.len(), 1, 1];
        Tensor::<B, 3>::from_data(TensorData::new(values, shape), device)
    };
    let [by_x, by_y, shift] = [0, 1, 2].map(|number| each(&|one| one.by[number]));
    let [first, last] = [0, 1].map(|number| each(&|one| one.bounds[number]));
    // Sums rather than a matrix product, whose operands tensor cores would round.
    let position = (x * by_x + y * by_y + shift).max_pair(first).min_pair(last);
    let pixel = position.clone().floor();
    let share = position - pixel.clone();
    [(pixel.clone(), 1.0 - share.clone()), (pixel + 1.0, share)].map(|(pixel, weight)| {
        let nearest = pixel.clone().clamp(0.0, (side - 1) as f64);
        let outside = nearest.clone().not_equal(pixel);
        (nearest.int(), weight.mask_fill(outside, 0.0))
    })
}
