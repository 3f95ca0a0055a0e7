//! Handwritten digits: skeletons under random maps, by pens of random thickness.

use std::ops::Range;

use super::{
    Kind, byte,
    canvas::Canvas,
    draws::Draws,
    geometry::{Linear, Point, bounds, spline},
    skeletons::{SKELETONS, Stroke},
};
use crate::{ImageShape, ImagesInMemory};

/// The side of the images.
const SIDE: usize = 28;

/// Straight pieces from one place of a skeleton to the next.
const STEPS: usize = 4;

/// Draws handwritten digits as MNIST has them: 28 by 28 pixels, grey, white on black.
///
/// The samples are those of a seed with the numbers `samples`; sample number i shows the digit
/// i % 10. A linear classifier tells nine of ten, a small convolutional network nearly all.
///
/// # Panics
///
/// If the images do not fit in memory.
pub fn digits(samples: Range<usize>, seed: u64) -> ImagesInMemory {
    let shape = ImageShape { channels: 1, height: SIDE, width: SIDE };
    let classes = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    Kind { name: "digits", shape, classes, draw }.draw(samples, seed)
}

fn draw(digit: usize, draws: &mut Draws, pixels: &mut [u8]) {
    let mut strokes = write(digit, draws);
    let radius = draws.uniform(0.75..1.8);
    let softness = draws.uniform(0.9..2.2);
    place(&mut strokes, radius + 0.5 * softness, draws);

    let mut canvas = Canvas::new(SIDE);
    for stroke in &strokes {
        let radii = [(); 2].map(|()| radius * draws.uniform(0.75..1.15)); // the pressure changes
        canvas.stroke(stroke, radii);
    }
    let brightness = draws.uniform(0.8..1.05);
    let mut values: Vec<f32> =
        canvas.coverage(softness).map(|coverage| brightness * coverage).collect();
    let noise = draws.uniform(0.0..0.1);
    draws.add_noise(&mut values, noise);
    for (pixel, value) in pixels.iter_mut().zip(values) {
        *pixel = byte(value);
    }
}

/// Writes a digit in one of the ways that people have, on a pad of any size.
fn write(digit: usize, draws: &mut Draws) -> Vec<Vec<Point>> {
    let ways = SKELETONS[digit];
    let skeleton = ways[draws.below(ways.len())];
    let stretch = Point::new(draws.normal(0.15).exp(), 1.0);
    let map = Linear::new(stretch, 0.1 + draws.normal(0.2), draws.normal(0.1));
    let mut strokes = Vec::new();
    for stroke in skeleton {
        let points: Vec<Point> =
            waver(stroke, draws).into_iter().map(|point| map.apply(point)).collect();
        // Two equal points part a stroke in two smooth lines, which meet in a corner.
        let lines = points.chunk_by(|point, next| point != next);
        strokes.extend(lines.map(|line| spline(line, STEPS)));
    }
    strokes
}

/// The places of a stroke as an unsteady hand meets them; equal neighbours stay equal.
fn waver(stroke: Stroke, draws: &mut Draws) -> Vec<Point> {
    let mut points = Vec::with_capacity(stroke.len());
    for places in stroke.chunk_by(|place, next| place == next) {
        let (x, y) = places[0];
        let point =
            Point::new(f32::from(x) + draws.normal(3.5), f32::from(y) + draws.normal(3.5));
        points.resize(points.len() + places.len(), point);
    }
    points
}

/// Scales a digit to a random size and moves it near the middle of the image, so that a pen of
/// this radius stays inside.
fn place(strokes: &mut [Vec<Point>], radius: f32, draws: &mut Draws) {
    let side = SIDE as f32;
    let (low, high) = bounds(strokes.iter().flatten());
    let extent = high - low;
    let scale = draws.uniform(15.0..20.5) / extent.x.max(extent.y);
    let mut centre = |extent: f32| {
        let slack = 0.5 * (side - extent * scale) - radius;
        let shift = slack.clamp(0.0, 2.5);
        0.5 * side + draws.uniform(-shift..shift)
    };
    let centre = Point::new(centre(extent.x), centre(extent.y));
    let middle = (low + high) * 0.5;
    for point in strokes.iter_mut().flatten() {
        *point = centre + (*point - middle) * scale;
    }
}
