//! Coloured shapes with texture, on backgrounds with clutter.

use std::{f32::consts::TAU, ops::Range};

use super::{
    Kind, Placing, byte,
    canvas::Canvas,
    draws::Draws,
    geometry::{Linear, Point, polygon},
    outlines::SHAPES,
    paint::{Colour, Paint, Pattern, any_colour, contrasting_colour, mix},
};
use crate::{DataError, ImageShape, ImagesInMemory, silent};

/// The side of the images.
const SIDE: usize = 32;

/// Shapes are turned by at most this angle, about 40 degrees, since things in pictures have an
/// upper side and pretrained features know them that way up.
const TURN: f32 = 0.7;

/// Draws coloured shapes, 32 by 32 pixels, whose class shows in their outline alone: place, size,
/// rotation, colours, texture and clutter are random.
///
/// The samples are those of a seed with the numbers `samples`; sample number i is of the class
/// i % 10.
///
/// # Errors
///
/// If the images do not fit in memory.
pub fn shapes(samples: Range<usize>, seed: u64) -> Result<ImagesInMemory, DataError> {
    kind().draw(samples, seed, &mut silent)
}

pub(super) fn kind() -> Kind {
    let shape = ImageShape { channels: 3, height: SIDE, width: SIDE };
    let classes = SHAPES.map(|(name, _)| name);
    Kind { name: "shapes", shape, classes, draw }
}

fn draw(class: usize, draws: &mut Draws, pixels: &mut [u8]) {
    let mut picture = Picture::new(background(draws));
    for _ in 0..2 + draws.below(5) {
        add_clutter(&mut picture, draws);
    }
    let (_, outlines) = SHAPES[class];
    let mut outlines = outlines();
    pose(&mut outlines, draws);
    if draws.chance(0.5) {
        add_shadow(&mut picture, &outlines, draws);
    }
    add_shape(&mut picture, &outlines, draws);
    picture.develop(draws, pixels);
}

/// Two near colours that change smoothly over the picture.
fn background(draws: &mut Draws) -> Paint {
    let first = any_colour(draws);
    let second = mix(first, any_colour(draws), draws.uniform(0.2..0.7));
    Paint { colours: [first, second], pattern: Pattern::clouds(SIDE as f32, draws) }
}

/// Adds a small blob or a thin line, anywhere.
fn add_clutter(picture: &mut Picture, draws: &mut Draws) {
    let mut canvas = Canvas::new(SIDE);
    if draws.chance(0.7) {
        let centre = anywhere(draws);
        let corners = 5 + draws.below(4);
        let blob = polygon(corners).map(|corner| centre + corner * draws.uniform(1.2..3.5));
        canvas.fill(&[blob.collect()]);
    } else {
        let radius = draws.uniform(0.3..0.7);
        canvas.stroke(&[anywhere(draws), anywhere(draws)], [radius; 2]);
    }
    let colour = mix(picture.background[0], any_colour(draws), draws.uniform(0.3..0.9));
    picture.paint(&canvas, 1.2, draws.uniform(0.6..1.0), &Paint::plain(colour));
}

fn anywhere(draws: &mut Draws) -> Point {
    let mut coordinate = || draws.uniform(0.0..SIDE as f32);
    Point::new(coordinate(), coordinate())
}

fn add_shadow(picture: &mut Picture, outlines: &[Vec<Point>], draws: &mut Draws) {
    let shift = Point::at_angle(draws.uniform(0.0..TAU)) * draws.uniform(1.0..2.0);
    let shifted = |outline: &Vec<Point>| outline.iter().map(|&point| point + shift).collect();
    let mut canvas = Canvas::new(SIDE);
    canvas.fill(&outlines.iter().map(shifted).collect::<Vec<_>>());
    picture.paint(&canvas, 3.0, draws.uniform(0.2..0.5), &Paint::plain([0.0; 3]));
}

fn add_shape(picture: &mut Picture, outlines: &[Vec<Point>], draws: &mut Draws) {
    let first = contrasting_colour(&picture.background, draws);
    let other = contrasting_colour(&picture.background, draws);
    let second = mix(first, other, draws.uniform(0.5..1.0));
    let paint = Paint { colours: [first, second], pattern: Pattern::texture(draws) };
    let mut canvas = Canvas::new(SIDE);
    canvas.fill(outlines);
    picture.paint(&canvas, draws.uniform(1.0..1.8), 1.0, &paint);
}

/// Gives a shape its distortion, rotation, size and place, within the picture.
fn pose(outlines: &mut [Vec<Point>], draws: &mut Draws) {
    let stretch = Point::new(draws.uniform(0.85..1.0), 1.0);
    let map = Linear::new(stretch, draws.uniform(-0.15..0.15), draws.uniform(-TURN..TURN));
    for point in outlines.iter_mut().flatten() {
        *point = map.apply(*point);
    }
    let size = draws.uniform(16.0..27.0);
    Placing { side: SIDE, size, margin: 1.0, shift: SIDE as f32 }.place(outlines, draws);
}

/// A picture while it is painted.
struct Picture {
    /// The colours of the background.
    background: [Colour; 2],
    pixels: Vec<Colour>,
}

impl Picture {
    fn new(background: Paint) -> Self {
        let pixels = (0..SIDE * SIDE).map(|pixel| background.at(centre(pixel))).collect();
        Self { background: background.colours, pixels }
    }

    /// Paints what a canvas covers.
    fn paint(&mut self, canvas: &Canvas, softness: f32, opacity: f32, paint: &Paint) {
        for (index, coverage) in canvas.coverage(softness).enumerate() {
            if coverage > 0.0 {
                let colour = &mut self.pixels[index];
                *colour = mix(*colour, paint.at(centre(index)), coverage * opacity);
            }
        }
    }

    /// Lights the picture from one side, adds noise and writes it out, a channel at a time.
    fn develop(mut self, draws: &mut Draws, pixels: &mut [u8]) {
        let light =
            Point::at_angle(draws.uniform(0.0..TAU)) * (draws.uniform(0.0..0.4) / SIDE as f32);
        let middle = Point::new(0.5, 0.5) * SIDE as f32;
        for (index, colour) in self.pixels.iter_mut().enumerate() {
            let brightness = 1.0 + light.dot(centre(index) - middle);
            *colour = colour.map(|value| value * brightness);
        }
        let noise = draws.uniform(0.02..0.15);
        draws.add_noise(self.pixels.as_flattened_mut(), noise);
        for (channel, plane) in pixels.chunks_exact_mut(SIDE * SIDE).enumerate() {
            for (pixel, colour) in plane.iter_mut().zip(&self.pixels) {
                *pixel = byte(colour[channel]);
            }
        }
    }
}

/// The centre of the pixel that is number `index` row by row.
fn centre(index: usize) -> Point {
    Point::new((index % SIDE) as f32 + 0.5, (index / SIDE) as f32 + 0.5)
}

#[cfg(test)]
mod tests {
    use backend::random::{Purpose, Random};

    use super::*;
    use crate::drawn::{CLASSES, geometry::bounds, paint::distance};

    const BYTES: usize = 3 * SIDE * SIDE;

    #[test]
    fn every_shape_stays_inside_the_picture() {
        let random = Random::new(1, Purpose::Synthetic, 1);
        for sample in 0..1000 {
            let (name, outlines) = SHAPES[sample % CLASSES];
            let mut outlines = outlines();
            pose(&mut outlines, &mut Draws::new(random, sample));
            let (low, high) = bounds(outlines.iter().flatten());
            let inside = 1.0..SIDE as f32 - 1.0;
            let all = [low.x, low.y, high.x, high.y].iter().all(|place| inside.contains(place));
            assert!(all, "{name} from {low:?} to {high:?}");
        }
    }

    #[test]
    fn colours_say_nothing_about_the_class() {
        let (train, test) = (shapes(0..4000, 1).unwrap(), shapes(4000..6000, 1).unwrap());
        let colours = |images: &ImagesInMemory| -> Vec<Colour> {
            images.pixels.chunks_exact(BYTES).map(mean_colour).collect()
        };
        let mut centroids = [[0.0; 3]; CLASSES];
        for (colour, &label) in colours(&train).iter().zip(&train.labels) {
            let centroid = &mut centroids[label as usize];
            *centroid = std::array::from_fn(|channel| centroid[channel] + colour[channel] / 400.0);
        }
        let right = colours(&test).into_iter().zip(&test.labels).filter(|&(colour, &label)| {
            let distances = centroids.map(|centroid| distance(centroid, colour));
            distances.iter().all(|&distance| distance >= distances[label as usize])
        });
        let accuracy = right.count() as f64 / 2000.0;
        assert!((0.07..0.13).contains(&accuracy), "{accuracy}"); // chance: 0.1, deviation 0.007
    }

    fn mean_colour(pixels: &[u8]) -> Colour {
        let planes = pixels.as_chunks::<{ SIDE * SIDE }>().0;
        let sum =
            |plane: &[u8; SIDE * SIDE]| plane.iter().map(|&pixel| f32::from(pixel)).sum::<f32>();
        std::array::from_fn(|channel| sum(&planes[channel]) / (SIDE * SIDE) as f32)
    }
}
