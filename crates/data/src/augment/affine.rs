//! Rotation, translation, scale and shear as one map of the plane, sampled bilinearly.
//!
//! The definition is torchvision's `affine` with `InterpolationMode.BILINEAR`: the map is about
//! the middle of the image, and what comes from outside of it is black.

use backend::{Backend, PlaneMap, functional};
use burn::tensor::Tensor;

use super::{
    AugmentOptions,
    draws::{Draws, Step},
};

/// A map of the plane about the middle of an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AffineMap {
    /// Degrees, clockwise.
    pub angle: f64,
    /// Pixels to the right and down, after the rotation.
    pub translation: [f64; 2],
    /// The factor to enlarge by.
    pub scale: f64,
    /// Degrees, parallel to the rows and to the columns.
    pub shear: [f64; 2],
}

impl AffineMap {
    /// From a place in the result to that in the image.
    fn inverse(&self) -> PlaneMap {
        let angle = self.angle.to_radians();
        let [shear_x, shear_y] = self.shear.map(f64::to_radians);
        // Rotation, scale and shear, as torchvision composes them.
        let a = (angle - shear_y).cos() / shear_y.cos();
        let b = -a * shear_x.tan() - angle.sin();
        let c = (angle - shear_y).sin() / shear_y.cos();
        let d = -c * shear_x.tan() + angle.cos();
        // The determinant of [[a, b], [c, d]] is 1.
        let [x, y] = self.translation;
        let row = |from_x: f64, from_y: f64| {
            let [from_x, from_y] = [from_x / self.scale, from_y / self.scale];
            [from_x, from_y, -from_x * x - from_y * y]
        };
        [row(d, -b), row(-c, a)]
    }
}

/// Applies to each image its own map.
///
/// - `images`: `[batch, channels, height, width]`
/// - `maps`: one an image
/// - returns: the same shape
pub fn affine<B: Backend>(images: Tensor<B, 4>, maps: &[AffineMap]) -> Tensor<B, 4> {
    let maps: Vec<_> = maps.iter().map(AffineMap::inverse).collect();
    functional::affine(images, &maps)
}

/// Maps drawn as by torchvision's `RandomAffine`.
pub(super) fn augment<B: Backend>(
    images: Tensor<B, 4>,
    options: &AugmentOptions,
    draws: &[Draws],
) -> Tensor<B, 4> {
    let &AugmentOptions { rotate, translate, scale, shear, .. } = options;
    if (rotate, translate, scale, shear) == (0.0, 0.0, [1.0, 1.0], 0.0) {
        return images;
    }
    let [_, _, height, width] = images.dims();
    let map = |draws: &Draws| {
        let pixels = |number, side: usize| {
            draws.around_0(Step::Affine, number, translate * side as f64).round()
        };
        AffineMap {
            angle: draws.around_0(Step::Affine, 0, rotate),
            translation: [pixels(1, width), pixels(2, height)],
            scale: draws.uniform(Step::Affine, 3, scale[0]..scale[1]),
            shear: [draws.around_0(Step::Affine, 4, shear), 0.0],
        }
    };
    affine(images, &draws.iter().map(map).collect::<Vec<_>>())
}
