//! Affine maps, one image per task.
//!
//! The source of each position in the result is computed once for all channels: the offsets of four
//! neighbours, and their weights, which are zero outside of the image.

use burn::backend::Flex;
use burn_flex::FlexTensor;

use super::{
    all_f32, contiguous, dimensions, elements, parallel, recycled,
    simd::{Kernel, Level, Vector},
};
use crate::{
    affine::{self, Coordinate, PlaneMap},
    overrides::note_taken,
};

pub(super) fn forward(images: FlexTensor, maps: &[PlaneMap]) -> FlexTensor {
    let [batch, channels, height, width] = dimensions(&images);
    if !all_f32([&images]) || batch != maps.len() || height * width == 0 {
        return affine::composed::<Flex>(images, maps);
    }
    note_taken();
    let images = contiguous(images);
    let mut output = recycled::floats([batch, channels, height, width]);
    let plane = height * width;
    let (source, level, size) = (elements(&images), Level::best(), [width, height]);
    parallel::chunks(output.storage_mut::<f32>(), channels * plane, |image, target, _| {
        let source = &source[image * channels * plane..][..channels * plane];
        level.run(MapImage { coordinates: maps[image].coordinates(size), size, source, target });
    });
    output
}

/// Positions whose samples are computed at a time.
const SPAN: usize = 256;

/// Maps all channels of an image. A kernel for the sake of the level's instructions: without them
/// rounding down is a call.
struct MapImage<'a> {
    coordinates: [Coordinate; 2],
    /// Width and height.
    size: [usize; 2],
    source: &'a [f32],
    target: &'a mut [f32],
}

impl Kernel for MapImage<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { coordinates, size, source, target } = self;
        let plane = size[0] * size[1];
        let mut samples = [Sample::default(); SPAN];
        for start in (0..plane).step_by(SPAN) {
            let samples = &mut samples[..SPAN.min(plane - start)];
            let [mut x, mut y] = [start % size[0], start / size[0]];
            for sample in samples.iter_mut() {
                *sample = Sample::at(&coordinates, [x, y], size);
                x += 1;
                if x == size[0] {
                    (x, y) = (0, y + 1);
                }
            }
            let planes = source.chunks_exact(plane).zip(target.chunks_exact_mut(plane));
            for (source, target) in planes {
                for (value, sample) in target[start..].iter_mut().zip(&*samples) {
                    *value = sample.of(source);
                }
            }
        }
    }
}

/// Four neighbours in a plane, and the weight of each.
#[derive(Clone, Copy, Default)]
struct Sample {
    offsets: [u32; 4],
    weights: [f32; 4],
}

impl Sample {
    /// The sample for position `[x, y]` of a result of size `[width, height]`.
    #[inline(always)]
    fn at(coordinates: &[Coordinate; 2], place: [usize; 2], size: [usize; 2]) -> Self {
        let from_middle = |axis: usize| place[axis] as f32 - (0.5 * size[axis] as f32 - 0.5);
        let from = [0, 1].map(from_middle);
        let [x, y] = [0, 1].map(|axis| {
            let Coordinate { by: [by_x, by_y, shift], bounds: [first, last] } = coordinates[axis];
            let position = by_x * from[0] + by_y * from[1] + shift;
            neighbours(position.max(first).min(last), size[axis])
        });
        let corners = [(0, 0), (0, 1), (1, 0), (1, 1)];
        Self {
            offsets: corners.map(|(row, column)| y[row].0 * size[0] as u32 + x[column].0),
            weights: corners.map(|(row, column)| y[row].1 * x[column].1),
        }
    }

    #[inline(always)]
    fn of(&self, plane: &[f32]) -> f32 {
        let values = self.offsets.map(|offset| plane[offset as usize]);
        let [a, b, c, d] = self.weights;
        (a * values[0] + b * values[1]) + (c * values[2] + d * values[3])
    }
}

/// The two pixels beside a position along an axis, with their weights; one outside of the image is
/// replaced by the first, with weight 0.
#[inline(always)]
fn neighbours(position: f32, side: usize) -> [(u32, f32); 2] {
    let last = side as f32 - 1.0;
    let first = position.floor();
    let share = position - first;
    [(first, 1.0 - share), (first + 1.0, share)].map(|(pixel, weight)| {
        let inside = (0.0..=last).contains(&pixel);
        if inside { (pixel as u32, weight) } else { (0, 0.0) }
    })
}

#[cfg(test)]
mod tests {
    use burn::tensor::Shape;

    use super::*;
    use crate::flex::testing::{assert_close, normal, on_1_2_and_3_threads, values};

    fn maps(count: usize) -> Vec<PlaneMap> {
        let numbers = values(normal([count, 6], 9));
        let number = |index: usize| f64::from(numbers[index]);
        let map = |at: usize| {
            let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(|index| number(6 * at + index));
            let matrix = [[1.0 + 0.3 * a, 0.3 * b, 3.0 * c], [0.3 * d, 1.0 + 0.3 * e, 3.0 * f]];
            // Beyond the first two columns nothing else is seen, in every other image.
            let window = (at.is_multiple_of(2)).then_some([[0, 1], [-100, 100]]);
            PlaneMap { matrix, window }
        };
        (0..count).map(map).collect()
    }

    #[test]
    fn the_override_equals_the_default_body() {
        for shape in [[3, 3, 32, 32], [1, 1, 28, 28], [2, 5, 7, 13], [4, 1, 1, 1], [1, 2, 1, 40]] {
            let (images, maps) = (normal(shape, 1), maps(shape[0]));
            let ours = forward(images.clone(), &maps);
            let reference = affine::composed::<Flex>(images, &maps);
            assert_close(&format!("{shape:?}"), ours, reference, 1e-5);
        }
    }

    #[test]
    fn nothing_moves_by_the_identity_and_everything_leaves_by_a_large_shift() {
        let images = normal([2, 3, 9, 6], 1);
        let shifted =
            |shift: f64| PlaneMap { matrix: [[1.0, 0.0, shift], [0.0, 1.0, 0.0]], window: None };
        let same = forward(images.clone(), &[shifted(0.0); 2]);
        assert_eq!(values(same), values(images.clone()));
        let away = forward(images, &[shifted(100.0); 2]);
        assert_eq!(away.layout().shape(), &Shape::new([2, 3, 9, 6]));
        assert!(values(away).iter().all(|value| *value == 0.0));
    }

    #[test]
    fn of_nothing_there_is_nothing() {
        for shape in [[0, 3, 4, 4], [1, 3, 0, 4], [1, 0, 4, 4]] {
            let images = normal(shape, 1);
            assert_eq!(forward(images, &maps(shape[0])).layout().shape(), &Shape::new(shape));
        }
    }

    #[test]
    fn any_number_of_threads_computes_the_same() {
        let (images, maps) = (normal([5, 3, 20, 20], 1), maps(5));
        let [one, two, three] = on_1_2_and_3_threads(|| values(forward(images.clone(), &maps)));
        assert!(one == two && one == three);
    }
}
