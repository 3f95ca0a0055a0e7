//! Windows cut out of images, enlarged to the image's size as by `torch.nn.functional`'s bilinear
//! `interpolate`, and flipped. Where a window overhangs it is black.

use backend::{Backend, PlaneMap, functional};
use burn::tensor::Tensor;

use super::{
    AugmentOptions,
    draws::{Draws, Step},
};

/// The rows or the columns of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The first one; below 0 it lies outside.
    pub start: isize,
    /// Their number.
    pub length: usize,
    /// Whether the last comes first.
    pub reversed: bool,
}

impl Span {
    /// All of a side.
    pub fn all(length: usize) -> Self {
        Self { start: 0, length, reversed: false }
    }

    /// The last one; beyond the side it lies outside.
    fn last(&self) -> isize {
        self.start + self.length as isize - 1
    }

    /// What a place in the result, in pixels from the middle of a side, is multiplied by and moved by.
    fn line(&self, side: usize) -> [f64; 2] {
        let (start, length, side) = (self.start as f64, self.length as f64, side as f64);
        let factor = length / side;
        [if self.reversed { -factor } else { factor }, start + 0.5 * (length - side)]
    }

    /// The middle of a side, as torchvision's `RandomResizedCrop` rounds it: down.
    fn centre(side: usize, length: usize) -> Self {
        Self { start: ((side - length) / 2) as isize, length, reversed: false }
    }
}

/// Cuts a window out of each image and enlarges it to the image's size.
///
/// - `images`: `[batch, channels, height, width]`
/// - `rows`, `columns`: one per image, at most its side long
/// - returns: `[batch, channels, height, width]`
pub fn crop<B: Backend>(images: Tensor<B, 4>, rows: &[Span], columns: &[Span]) -> Tensor<B, 4> {
    let [_, _, height, width] = images.dims();
    let whole = |spans: &[Span], side| spans.iter().all(|span| *span == Span::all(side));
    if whole(rows, height) && whole(columns, width) {
        return images;
    }
    let maps = columns.iter().zip(rows).map(|(columns, rows)| {
        let [by_x, x] = columns.line(width);
        let [by_y, y] = rows.line(height);
        PlaneMap {
            matrix: [[by_x, 0.0, x], [0.0, by_y, y]],
            window: Some([columns, rows].map(|span| [span.start, span.last()])),
        }
    });
    functional::affine(images, &maps.collect::<Vec<_>>())
}

/// A random crop and flips, as torchvision's `RandomCrop` with padding or `RandomResizedCrop`, then
/// `RandomHorizontalFlip` and `RandomVerticalFlip`.
pub(super) fn augment<B: Backend>(
    images: Tensor<B, 4>,
    options: &AugmentOptions,
    draws: &[Draws],
) -> Tensor<B, 4> {
    let [_, _, height, width] = images.dims();
    let spans = |draws: &Draws| drawn(options, draws, [height, width]);
    let (rows, columns): (Vec<_>, Vec<_>) = draws.iter().map(spans).unzip();
    crop(images, &rows, &columns)
}

/// The rows and columns that are cut out of an image of this height and width.
fn drawn(options: &AugmentOptions, draws: &Draws, [height, width]: [usize; 2]) -> (Span, Span) {
    let [mut rows, mut columns] = match options {
        AugmentOptions { random_resized_crop, .. } if *random_resized_crop > 0.0 => {
            resized_crop(draws, *random_resized_crop, height, width)
        }
        AugmentOptions { crop_padding, .. } => [(0, height), (1, width)].map(|(number, length)| {
            let start = draws.below(Step::Crop, number, 2 * crop_padding + 1);
            let start = start as isize - *crop_padding as isize;
            Span { start, length, reversed: false }
        }),
    };
    columns.reversed = draws.chance(Step::Flip, 0, options.horizontal_flip);
    rows.reversed = draws.chance(Step::Flip, 1, options.vertical_flip);
    (rows, columns)
}

/// The rows and columns of a window of a random area and proportion, as torchvision draws them:
/// ten tries to lie within the image, then the middle.
fn resized_crop(draws: &Draws, least: f64, height: usize, width: usize) -> [Span; 2] {
    const TRIES: u64 = 10;
    const PROPORTIONS: [f64; 2] = [3.0 / 4.0, 4.0 / 3.0];
    let area = (height * width) as f64;
    let [narrow, wide] = PROPORTIONS;
    let found = (0..TRIES).find_map(|number| {
        let area = area * draws.uniform(Step::Crop, 4 * number, least..1.0);
        let proportion = draws.uniform(Step::Crop, 4 * number + 1, narrow.ln()..wide.ln()).exp();
        let [rows, columns] =
            [area / proportion, area * proportion].map(|square| square.sqrt().round() as usize);
        let fits = (1..=height).contains(&rows) && (1..=width).contains(&columns);
        fits.then_some((number, rows, columns))
    });
    let Some((number, rows, columns)) = found else {
        let proportion = (width as f64 / height as f64).clamp(narrow, wide);
        let rows = height.min((width as f64 / proportion).round() as usize);
        let columns = width.min((height as f64 * proportion).round() as usize);
        return [Span::centre(height, rows), Span::centre(width, columns)];
    };
    [(height, rows, 2), (width, columns, 3)].map(|(side, length, which)| {
        let start = draws.below(Step::Crop, 4 * number + which, side - length + 1);
        Span { start: start as isize, length, reversed: false }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::augment::draws::{check_moments, many};

    fn spans(options: &AugmentOptions) -> (Vec<Span>, Vec<Span>) {
        many().iter().map(|draws| drawn(options, draws, [9, 7])).unzip()
    }

    fn values(spans: &[Span], value: impl Fn(&Span) -> f64) -> Vec<f64> {
        spans.iter().map(value).collect()
    }

    #[test]
    fn a_middle_lies_where_torchvision_rounds_it_to() {
        let start = |side, length| Span::centre(side, length).start;
        assert_eq!([start(9, 4), start(7, 4), start(9, 5), start(7, 7)], [2, 1, 2, 0]);
    }

    #[test]
    fn padded_crops_start_anywhere_within_the_padding() {
        let (rows, columns) = spans(&AugmentOptions { crop_padding: 3, ..Default::default() });
        for (spans, side) in [(&rows, 9), (&columns, 7)] {
            assert!(spans.iter().all(|span| span.length == side && !span.reversed));
            check_moments(&values(spans, |span| span.start as f64), [-3.0, 3.0], 0.0, 4.0);
        }
        let products = rows.iter().zip(&columns).map(|(a, b)| (a.start * b.start) as f64);
        check_moments(&products.collect::<Vec<_>>(), [-9.0, 9.0], 0.0, 16.0);
    }

    #[test]
    fn flips_are_as_frequent_as_asked_for() {
        let flips =
            AugmentOptions { horizontal_flip: 0.25, vertical_flip: 0.6, ..Default::default() };
        let (rows, columns) = spans(&flips);
        for (spans, side, share) in [(&rows, 9, 0.6), (&columns, 7, 0.25)] {
            assert!(spans.iter().all(|span| Span { reversed: false, ..*span } == Span::all(side)));
            let reversed = values(spans, |span| f64::from(u8::from(span.reversed)));
            check_moments(&reversed, [0.0, 1.0], share, share * (1.0 - share));
        }
        // Neither goes with the other.
        let both = rows.iter().zip(&columns).map(|(row, column)| row.reversed && column.reversed);
        let both: Vec<f64> = both.map(|both| f64::from(u8::from(both))).collect();
        check_moments(&both, [0.0, 1.0], 0.15, 0.15 * 0.85);
    }

    /// Against the means over all areas and proportions of which a window lies in the image.
    #[test]
    fn resized_crops_have_their_areas_and_lie_anywhere() {
        let least = 0.3;
        let options = AugmentOptions { random_resized_crop: least, ..Default::default() };
        let (rows, columns) = spans(&options);
        let areas = 63.0 * least..63.0;
        let steps = 500;
        let (mut fitting, mut sums) = (0.0, [[0.0; 2]; 2]);
        for step in 0..steps * steps {
            let [u, v] = [step / steps, step % steps].map(|i| (i as f64 + 0.5) / steps as f64);
            let area = areas.start + u * (areas.end - areas.start);
            let proportion = 0.75f64.powf(1.0 - 2.0 * v);
            let height = (area / proportion).sqrt().round();
            let width = (area * proportion).sqrt().round();
            if height <= 9.0 && width <= 7.0 {
                fitting += 1.0;
                for (sums, length) in sums.iter_mut().zip([height, width]) {
                    sums[0] += length;
                    sums[1] += length * length;
                }
            }
        }
        for ((spans, side), [sum, squares]) in [(&rows, 9.0), (&columns, 7.0)].iter().zip(sums) {
            let (mean, square) = (sum / fitting, squares / fitting);
            let lengths = values(spans, |span| span.length as f64);
            check_moments(&lengths, [4.0, *side], mean, square - mean * mean);
            // Each place that a window may have is as likely as the others.
            let places = |span: &Span| side - span.length as f64 + 1.0;
            let deviations = values(spans, |span| span.start as f64 - (places(span) - 1.0) / 2.0);
            let most = (side - 4.0) / 2.0;
            let variance = values(spans, |span| (places(span).powi(2) - 1.0) / 12.0);
            let variance = variance.iter().sum::<f64>() / variance.len() as f64;
            check_moments(&deviations, [-most, most], 0.0, variance);
            assert!(spans.iter().all(|span| span.start >= 0 && !span.reversed));
        }
        let area = |(rows, columns): (&Span, &Span)| rows.length * columns.length;
        assert!(rows.iter().zip(&columns).map(area).all(|area| (15..=63).contains(&area)));
    }
}
