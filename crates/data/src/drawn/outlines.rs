//! The outlines of the shapes.

use std::f32::consts::TAU;

use super::{
    CLASSES,
    geometry::{Point, arc, polygon},
};

/// A shape's name and its closed outlines, upright, of any size; what an odd number of them
/// surround is inside.
type Shape = (&'static str, fn() -> Vec<Vec<Point>>);

/// The shapes, by name.
pub(super) const SHAPES: [Shape; CLASSES] = [
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

fn arrow() -> Vec<Vec<Point>> {
    corners(&[(-4, -1), (0, -1), (0, -3), (4, 0), (0, 3), (0, 1), (-4, 1)])
}

fn bolt() -> Vec<Vec<Point>> {
    corners(&[(1, -10), (-6, 2), (0, 2), (-3, 11), (7, -3), (1, -3), (5, -10)])
}

fn circle() -> Vec<Vec<Point>> {
    vec![polygon(32).collect()]
}

/// What is left of a disc where a smaller one, to its right, covers it.
fn crescent() -> Vec<Vec<Point>> {
    // The discs meet in the two tips, which their centres see under twice these angles.
    let outer_half = 0.87;
    let centre = Point::new(0.5, 0.0);
    let tip = Point::at_angle(outer_half) - centre;
    let inner_half = tip.y.atan2(tip.x);

    let outside = arc(outer_half..TAU - outer_half, 24);
    let inside = arc(TAU - inner_half..inner_half, 20);
    vec![outside.chain(inside.map(|point| centre + point * tip.length())).collect()]
}

fn cross() -> Vec<Vec<Point>> {
    corners(&[
        (-1, -3),
        (1, -3),
        (1, -1),
        (3, -1),
        (3, 1),
        (1, 1),
        (1, 3),
        (-1, 3),
        (-1, 1),
        (-3, 1),
        (-3, -1),
        (-1, -1),
    ])
}

/// The well-known curve x = 16 sin^3 t, y = 13 cos t - 5 cos 2t - 2 cos 3t - cos 4t (y upwards).
fn heart() -> Vec<Vec<Point>> {
    let point = |t: f32| {
        let y = 13.0 * t.cos() - 5.0 * (2.0 * t).cos() - 2.0 * (3.0 * t).cos() - (4.0 * t).cos();
        Point::new(16.0 * t.sin().powi(3), -y)
    };
    vec![(0..32).map(|step| point(TAU * step as f32 / 32.0)).collect()]
}

fn ring() -> Vec<Vec<Point>> {
    vec![polygon(32).collect(), polygon(32).map(|point| point * 0.55).collect()]
}

fn square() -> Vec<Vec<Point>> {
    corners(&[(-1, -1), (1, -1), (1, 1), (-1, 1)])
}

/// Of five points, their tips on a circle and the corners between them on a smaller one.
fn star() -> Vec<Vec<Point>> {
    let radii = [1.0, 0.42].into_iter().cycle();
    vec![polygon(10).zip(radii).map(|(point, radius)| point * radius).collect()]
}

fn triangle() -> Vec<Vec<Point>> {
    vec![polygon(3).collect()]
}

fn corners(places: &[(i8, i8)]) -> Vec<Vec<Point>> {
    vec![places.iter().map(|&(x, y)| Point::new(x.into(), y.into())).collect()]
}
