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
        PlaneMap { matrix: [row(d, -b), row(-c, a)], window: None }
    }
}

/// Applies a map to each image.
///
/// - `images`: `[batch, channels, height, width]`
/// - `maps`: one per image
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
    let map = |draws: &Draws| drawn(options, draws, [height, width]);
    affine(images, &draws.iter().map(map).collect::<Vec<_>>())
}

/// The map of an image of this height and width.
fn drawn(options: &AugmentOptions, draws: &Draws, [height, width]: [usize; 2]) -> AffineMap {
    let &AugmentOptions { rotate, translate, scale, shear, .. } = options;
    let pixels =
        |number, side: usize| draws.around_0(Step::Affine, number, translate * side as f64).round();
    AffineMap {
        angle: draws.around_0(Step::Affine, 0, rotate),
        translation: [pixels(1, width), pixels(2, height)],
        scale: draws.uniform(Step::Affine, 3, scale[0]..scale[1]),
        shear: [draws.around_0(Step::Affine, 4, shear), 0.0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::augment::draws::{check_moments, many};

    fn maps(options: &AugmentOptions) -> Vec<AffineMap> {
        many().iter().map(|draws| drawn(options, draws, [9, 7])).collect()
    }

    #[test]
    fn maps_have_the_bounds_and_moments_of_what_is_asked_for() {
        let (rotate, scale, shear) = (20.0, [0.7, 1.2], 10.0);
        let options = AugmentOptions { rotate, scale, shear, translate: 0.3, ..Default::default() };
        let maps = maps(&options);
        let values = |value: fn(&AffineMap) -> f64| maps.iter().map(value).collect::<Vec<_>>();
        let uniform = |range: f64| range * range / 12.0;
        check_moments(&values(|map| map.angle), [-rotate, rotate], 0.0, uniform(40.0));
        check_moments(&values(|map| map.scale), scale, 0.95, uniform(0.5));
        check_moments(&values(|map| map.shear[0]), [-shear, shear], 0.0, uniform(20.0));
        // Of 2.1 columns and 2.7 rows either way the nearest whole ones: the last are rarer.
        let x = values(|map| map.translation[0]);
        check_moments(&x, [-2.0, 2.0], 0.0, (2.0 * 1.0 + 1.2 * 4.0) / 4.2);
        let y = values(|map| map.translation[1]);
        check_moments(&y, [-3.0, 3.0], 0.0, (2.0 * 5.0 + 0.4 * 9.0) / 5.4);
        assert!(x.iter().chain(&y).all(|pixels| pixels.fract() == 0.0));
        assert!(maps.iter().all(|map| map.shear[1] == 0.0));
        // No two of them go together.
        let products: Vec<f64> =
            maps.iter().map(|map| map.angle / rotate * map.shear[0] / shear).collect();
        check_moments(&products, [-1.0, 1.0], 0.0, 1.0 / 9.0);
        let products: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x * y).collect();
        check_moments(&products, [-6.0, 6.0], 0.0, 6.8 / 4.2 * 13.6 / 5.4);
    }

    #[test]
    fn what_is_not_asked_for_is_not_drawn() {
        let still = AffineMap { angle: 0.0, translation: [0.0; 2], scale: 1.0, shear: [0.0; 2] };
        let check = |options: AugmentOptions, rest: fn(AffineMap) -> AffineMap| {
            assert!(maps(&options).into_iter().all(|map| rest(map) == still), "{options:?}");
        };
        let none = AugmentOptions::default;
        check(none(), |map| map);
        check(AugmentOptions { rotate: 20.0, ..none() }, |map| AffineMap { angle: 0.0, ..map });
        check(AugmentOptions { scale: [0.5, 0.9], ..none() }, |map| AffineMap {
            scale: 1.0,
            ..map
        });
        check(AugmentOptions { shear: 9.0, ..none() }, |map| AffineMap { shear: [0.0; 2], ..map });
        check(AugmentOptions { translate: 0.5, ..none() }, |map| AffineMap {
            translation: [0.0; 2],
            ..map
        });
    }
}
