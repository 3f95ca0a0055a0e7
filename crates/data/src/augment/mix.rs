//! Parts of images blotted out, and images mixed: cutout, mixup and cutmix.
//!
//! - Cutout: DeVries and Taylor, "Improved regularization of convolutional neural networks with
//!   cutout", 2017. The square becomes 0 in the normalised image, its mean.
//! - Mixup: Zhang et al., "mixup: beyond empirical risk minimization", 2018.
//! - Cutmix: Yun et al., "CutMix: regularization strategy to train strong classifiers with
//!   localizable features", 2019.
//!
//! How much is mixed is drawn for each image by itself; its partner depends on the batch, as in
//! torchvision: it is the image before, or for the first image the last.

use std::ops::Range;

use backend::Backend;
use burn::tensor::{Int, Tensor, TensorData};

use super::{
    AugmentOptions,
    draws::{Draws, Step},
    each_image,
};

/// The number that draws from a beta distribution begin at, after those of a rectangle.
const BETA: u64 = 4;

/// How images were mixed.
#[derive(Clone, Debug)]
pub struct Mixed<B: Backend> {
    /// The label of the other image: `[batch]`
    pub labels: Tensor<B, 1, Int>,
    /// How much of an image is its own, between 0 and 1: `[batch]`
    pub share: Tensor<B, 1>,
}

/// A rectangle of pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rectangle {
    /// From the top.
    pub rows: Range<usize>,
    /// From the left.
    pub columns: Range<usize>,
}

/// Blots out a rectangle of each image.
///
/// - `images`: `[batch, channels, height, width]`
pub fn cutout<B: Backend>(images: Tensor<B, 4>, rectangles: &[Rectangle]) -> Tensor<B, 4> {
    let kept = inside(rectangles, &images).neg() + 1.0;
    images * kept
}

/// Mixes each image with the one before it.
///
/// - `images`: `[batch, channels, height, width]`
/// - `other`: how much of each pixel is the other image's, between 0 and 1: the same shape, or
///   `[batch, 1, 1, 1]`
pub fn replace<B: Backend>(images: Tensor<B, 4>, other: Tensor<B, 4>) -> Tensor<B, 4> {
    (one_before(images.clone()) - images.clone()) * other + images
}

/// 1 within the rectangle of each image, else 0: `[batch, channels, height, width]`, the shape of
/// `images`.
pub fn inside<B: Backend>(rectangles: &[Rectangle], images: &Tensor<B, 4>) -> Tensor<B, 4> {
    let [batch, channels, height, width] = images.dims();
    let device = images.device();
    let side = |length: usize, of: &dyn Fn(&Rectangle) -> Range<usize>| -> Vec<f32> {
        let line = |rectangle| {
            let range = of(rectangle);
            (0..length).map(move |place| f32::from(range.contains(&place)))
        };
        rectangles.iter().flat_map(line).collect()
    };
    let rows = side(height, &|rectangle| rectangle.rows.clone());
    let rows = Tensor::<B, 3>::from_data(TensorData::new(rows, [batch, height, 1]), &device);
    let columns = side(width, &|rectangle| rectangle.columns.clone());
    let columns = Tensor::from_data(TensorData::new(columns, [batch, 1, width]), &device);
    (rows * columns).unsqueeze_dim::<4>(1).repeat_dim(1, channels)
}

/// The image, or the label, before each, and before the first one the last.
fn one_before<B: Backend, const D: usize, K>(batch: Tensor<B, D, K>) -> Tensor<B, D, K>
where
    K: burn::tensor::BasicOps<B>,
{
    let count = batch.dims()[0];
    let last = batch.clone().narrow(0, count - 1, 1);
    if count == 1 { last } else { Tensor::cat(vec![last, batch.narrow(0, 0, count - 1)], 0) }
}

pub(super) fn augment_by_cutout<B: Backend>(
    images: Tensor<B, 4>,
    options: &AugmentOptions,
    draws: &[Draws],
) -> Tensor<B, 4> {
    let side = options.cutout;
    if side == 0 {
        return images;
    }
    let [_, _, height, width] = images.dims();
    // The middle lies anywhere in the image, so the square may overhang.
    let range = |draws: &Draws, number, length| {
        let middle = draws.below(Step::Cutout, number, length);
        middle.saturating_sub(side / 2)..(middle + side - side / 2).min(length)
    };
    let rectangle = |draws: &Draws| Rectangle {
        rows: range(draws, 0, height),
        columns: range(draws, 1, width),
    };
    cutout(images, &draws.iter().map(rectangle).collect::<Vec<_>>())
}

/// Mixes each image with the one before it, one way or the other.
pub(super) fn augment<B: Backend>(
    images: Tensor<B, 4>,
    labels: &Tensor<B, 1, Int>,
    options: &AugmentOptions,
    draws: &[Draws],
) -> (Tensor<B, 4>, Option<Mixed<B>>) {
    let AugmentOptions { mixup: blend, cutmix: cut, .. } = *options;
    if blend == 0.0 && cut == 0.0 {
        return (images, None);
    }
    let [_, _, height, width] = images.dims();
    let chance_to_cut = match (blend > 0.0, cut > 0.0) {
        (true, true) => 0.5,
        (_, cut) => f64::from(u8::from(cut)),
    };
    // An image has a rectangle replaced, or is blended everywhere; the one that it does not have
    // contributes nothing.
    let (mut rectangles, mut blended, mut own) = (Vec::new(), Vec::new(), Vec::new());
    for draws in draws {
        let (rectangle, other) = if draws.chance(Step::Mix, 0, chance_to_cut) {
            let fraction = 1.0 - draws.beta(Step::Mix, BETA, cut);
            (random_rectangle(draws, fraction, height, width), 0.0)
        } else {
            let nowhere = Rectangle { rows: 0..0, columns: 0..0 };
            (nowhere, 1.0 - draws.beta(Step::Mix, BETA, blend) as f32)
        };
        let area = rectangle.rows.len() * rectangle.columns.len();
        own.push(1.0 - other - area as f32 / (height * width) as f32);
        rectangles.push(rectangle);
        blended.push(other);
    }
    let device = images.device();
    let other = match (blend > 0.0, cut > 0.0) {
        (_, false) => each_image(blended, &device),
        (false, true) => inside(&rectangles, &images),
        (true, true) => inside(&rectangles, &images) + each_image(blended, &device),
    };
    let images = replace(images, other);
    let share = TensorData::new(own, [draws.len()]);
    let share = Tensor::from_data(share, &labels.device());
    (images, Some(Mixed { labels: one_before(labels.clone()), share }))
}

/// About a fraction of an image, its middle anywhere, cut off at the border as by torchvision.
fn random_rectangle(draws: &Draws, fraction: f64, height: usize, width: usize) -> Rectangle {
    let range = |number, length: usize| {
        let middle = draws.below(Step::Mix, number, length);
        let half = (0.5 * fraction.sqrt() * length as f64) as usize;
        middle.saturating_sub(half)..(middle + half).min(length)
    };
    Rectangle { rows: range(1, height), columns: range(2, width) }
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;
    use crate::augment::draws::{check_moments, many};

    /// Rows and columns anywhere, independent of each other.
    fn check_places(places: &[[f64; 2]], sides: [f64; 2]) {
        let [height, width] = sides.map(|side| ((side - 1.0) / 2.0, (side * side - 1.0) / 12.0));
        for (which, (middle, variance)) in [height, width].into_iter().enumerate() {
            let places: Vec<f64> = places.iter().map(|place| place[which]).collect();
            check_moments(&places, [0.0, 2.0 * middle], middle, variance);
        }
        let product = |[row, column]: &[f64; 2]| (row - height.0) * (column - width.0);
        let products: Vec<f64> = places.iter().map(product).collect();
        let most = height.0 * width.0;
        check_moments(&products, [-most, most], 0.0, height.1 * width.1);
    }

    #[test]
    fn a_rectangle_to_replace_has_its_share_of_each_side_around_any_pixel() {
        let draws = many();
        let middles = draws.iter().map(|draws| {
            let rectangle = random_rectangle(draws, 0.04, 50, 40);
            [(rectangle.rows, 5, 50), (rectangle.columns, 4, 40)].map(|(range, half, side)| {
                let middle = if range.end < side { range.end - half } else { range.start + half };
                assert_eq!(range, middle.saturating_sub(half)..(middle + half).min(side));
                middle as f64
            })
        });
        check_places(&middles.collect::<Vec<_>>(), [50.0, 40.0]);
    }

    #[test]
    fn a_square_to_blot_out_lies_anywhere() {
        let draws = many();
        let images = Tensor::<Selected, 4>::ones([draws.len(), 1, 9, 7], &Device::default());
        let options = AugmentOptions { cutout: 1, ..Default::default() };
        let values: Vec<f32> =
            augment_by_cutout(images, &options, &draws).into_data().iter().collect();
        let places = values.chunks_exact(9 * 7).map(|image| {
            let place = image.iter().position(|&value| value == 0.0).unwrap();
            [(place / 7) as f64, (place % 7) as f64]
        });
        check_places(&places.collect::<Vec<_>>(), [9.0, 7.0]);
    }

    /// With `alpha` 1 the beta distribution is the uniform one.
    #[test]
    fn an_image_is_blended_by_a_share_of_the_beta_distribution() {
        let (draws, device) = (many(), Device::default());
        let images = Tensor::<Selected, 4>::ones([draws.len(), 1, 1, 1], &device);
        let labels = Tensor::zeros([draws.len()], &device);
        let options = AugmentOptions { mixup: 1.0, ..Default::default() };
        let share = augment(images, &labels, &options, &draws).1.unwrap().share;
        let shares: Vec<f64> = share.into_data().iter().collect();
        check_moments(&shares, [0.0, 1.0], 0.5, 1.0 / 12.0);
    }
}
