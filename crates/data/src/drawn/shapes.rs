//! Coloured shapes with texture, on backgrounds with clutter.

use std::{
    f32::consts::{PI, TAU},
    ops::Range,
};

use super::{
    CLASSES, Kind, byte,
    canvas::Canvas,
    draws::Draws,
    geometry::{Linear, Point, arc, polygon},
    paint::{Colour, Paint, Pattern, any_colour, contrasting_colour, mix},
};
use crate::{ImageShape, ImagesInMemory};

/// The side of the images.
const SIDE: usize = 32;

/// A shape's name, and its closed outlines within about the unit circle.
type Shape = (&'static str, fn() -> Vec<Vec<Point>>);

const SHAPES: [Shape; CLASSES] = [
    ("arrow", arrow),
    ("bolt", bolt),
    ("circle", circle),
    ("crescent", crescent),
    ("cross", cross),
    ("heart", heart),
    ("ring", ring),
    ("square", square),
    ("star", star),
    ("triangle", triangle),
];

/// Draws coloured shapes, 32 by 32 pixels, whose class shows in their outline alone: place, size,
/// rotation, colours, texture and clutter are random.
///
/// The samples are those of a seed with the numbers `samples`; sample number i is of the class
/// i % 10.
///
/// # Panics
///
/// If the images do not fit in memory.
pub fn shapes(samples: Range<usize>, seed: u64) -> ImagesInMemory {
    let shape = ImageShape { channels: 3, height: SIDE, width: SIDE };
    let classes = SHAPES.map(|(name, _)| name);
    Kind { name: "shapes", shape, classes, draw }.draw(samples, seed)
}

fn draw(class: usize, draws: &mut Draws, pixels: &mut [u8]) {
    let mut picture = Picture::new(background(draws));
    for _ in 0..2 + draws.below(4) {
        clutter(&mut picture, draws);
    }
    let (_, outlines) = SHAPES[class];
    shape(&mut picture, outlines(), draws);
    picture.develop(draws, pixels);
}

/// Two near colours that change smoothly over the picture.
fn background(draws: &mut Draws) -> Paint {
    let first = any_colour(draws);
    let second = mix(first, any_colour(draws), draws.uniform(0.2..0.7));
    Paint { colours: [first, second], pattern: Pattern::clouds(SIDE as f32, draws) }
}

/// Adds a small blob or a thin line, anywhere.
fn clutter(picture: &mut Picture, draws: &mut Draws) {
    let colour = mix(picture.background[0], any_colour(draws), draws.uniform(0.3..0.9));
    let paint = Paint { colours: [colour; 2], pattern: Pattern::Plain };
    let place = |draws: &mut Draws| [(); 2].map(|()| draws.uniform(0.0..SIDE as f32));
    let [x, y] = place(draws);
    let centre = Point::new(x, y);
    let mut canvas = Canvas::new(SIDE);
    if draws.chance(0.7) {
        let corners = 5 + draws.below(4);
        let blob = polygon(corners).map(|corner| centre + corner * draws.uniform(1.2..3.5));
        canvas.fill(&[blob.collect()]);
    } else {
        let [x, y] = place(draws);
        let radius = draws.uniform(0.3..0.7);
        canvas.stroke(&[centre, Point::new(x, y)], [radius; 2]);
    }
    picture.paint(&canvas, 1.2, draws.uniform(0.6..1.0), &paint);
}

/// Adds the shape, sometimes with its shadow.
fn shape(picture: &mut Picture, mut outlines: Vec<Vec<Point>>, draws: &mut Draws) {
    pose(&mut outlines, draws);
    if draws.chance(0.5) {
        let shift = Point::at_angle(draws.uniform(0.0..TAU)) * draws.uniform(1.0..2.0);
        let mut canvas = Canvas::new(SIDE);
        let shifted = |outline: &Vec<Point>| outline.iter().map(|&point| point + shift).collect();
        canvas.fill(&outlines.iter().map(shifted).collect::<Vec<_>>());
        let black = Paint { colours: [[0.0; 3]; 2], pattern: Pattern::Plain };
        picture.paint(&canvas, 3.0, draws.uniform(0.2..0.5), &black);
    }
    let first = contrasting_colour(&picture.background, draws);
    let second = mix(first, contrasting_colour(&picture.background, draws), draws.uniform(0.5..1.0));
    let paint = Paint { colours: [first, second], pattern: Pattern::texture(draws) };
    let mut canvas = Canvas::new(SIDE);
    canvas.fill(&outlines);
    picture.paint(&canvas, draws.uniform(1.0..1.8), 1.0, &paint);
}

/// Gives a shape its rotation, distortion, size and place; it stays inside the picture.
fn pose(outlines: &mut [Vec<Point>], draws: &mut Draws) {
    let radius = draws.uniform(8.5..13.5);
    let stretch = draws.normal(0.08).clamp(-0.2, 0.2);
    let scale = Point::new(radius * stretch.exp(), radius * (-stretch).exp());
    // Slanted before it is turned, a shape is distorted in any direction.
    let map = Linear::new(scale, draws.uniform(-0.15..0.15), draws.uniform(0.0..TAU));
    let middle = 0.5 * SIDE as f32;
    let shift = middle - 1.0 - radius;
    let [x, y] = [(); 2].map(|()| middle + draws.uniform(-shift..shift));
    for point in outlines.iter_mut().flatten() {
        *point = Point::new(x, y) + map.apply(*point);
    }
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
        let light = Point::at_angle(draws.uniform(0.0..TAU)) * (draws.uniform(0.0..0.4) / SIDE as f32);
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

fn outline(points: &[(f32, f32)]) -> Vec<Vec<Point>> {
    vec![points.iter().map(|&(x, y)| Point::new(x, y)).collect()]
}

fn arrow() -> Vec<Vec<Point>> {
    outline(&[
        (-1.0, -0.25), (0.0, -0.25), (0.0, -0.75), (1.0, 0.0), (0.0, 0.75), (0.0, 0.25),
        (-1.0, 0.25),
    ])
}

fn bolt() -> Vec<Vec<Point>> {
    outline(&[
        (0.1, -1.05), (-0.6, 0.15), (-0.05, 0.15), (-0.35, 1.05), (0.6, -0.3), (0.08, -0.3),
        (0.5, -1.05),
    ])
}

fn circle() -> Vec<Vec<Point>> {
    vec![polygon(32).map(|point| point * 0.9).collect()]
}

/// The part of a disc that another one, to its right, leaves.
fn crescent() -> Vec<Vec<Point>> {
    let (half, other) = (0.87, Point::new(0.5, 0.0)); // of the gap seen from the first centre
    let tip = Point::at_angle(half) - other;
    let half_inside = tip.y.atan2(tip.x);
    let outside = arc(half..TAU - half, 24);
    let inside = arc(TAU - half_inside..half_inside, 20).map(|point| other + point * tip.length());
    vec![outside.chain(inside).collect()]
}

fn cross() -> Vec<Vec<Point>> {
    let (long, short) = (1.0, 0.3);
    outline(&[
        (-short, -long), (short, -long), (short, -short), (long, -short), (long, short),
        (short, short), (short, long), (-short, long), (-short, short), (-long, short),
        (-long, -short), (-short, -short),
    ])
}

/// The curve x = 16 sin^3 t, y = 13 cos t - 5 cos 2t - 2 cos 3t - cos 4t.
fn heart() -> Vec<Vec<Point>> {
    let point = |t: f32| {
        let y = 13.0 * t.cos() - 5.0 * (2.0 * t).cos() - 2.0 * (3.0 * t).cos() - (4.0 * t).cos();
        Point::new(16.0 * t.sin().powi(3), -y - 2.5) * (1.0 / 16.0)
    };
    vec![(0..32).map(|step| point(PI * step as f32 / 16.0)).collect()]
}

fn ring() -> Vec<Vec<Point>> {
    vec![
        polygon(32).map(|point| point * 0.95).collect(),
        polygon(32).map(|point| point * 0.5).collect(),
    ]
}

fn square() -> Vec<Vec<Point>> {
    vec![polygon(4).map(|point| point * 1.1).collect()]
}

fn star() -> Vec<Vec<Point>> {
    let points = polygon(10).enumerate();
    vec![points.map(|(i, point)| point * if i % 2 == 0 { 1.1 } else { 0.45 }).collect()]
}

fn triangle() -> Vec<Vec<Point>> {
    vec![polygon(3).map(|point| point * 1.1).collect()]
}
