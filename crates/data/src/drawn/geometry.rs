//! Points of the plane, linear maps, and the curves that drawings are made of.
//!
//! x runs to the right and y down, as in an image; curves are lists of points.

use std::{
    f32::consts::TAU,
    ops::{Add, Mul, Range, Sub},
};

/// A point, or the vector to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) x: f32,
    pub(super) y: f32,
}

impl Point {
    pub(super) const fn new(x: f32, y: f32) -> Self {
        Self { x, y }
    }

    /// The point of the unit circle at an angle, which grows clockwise from the right.
    pub(super) fn at_angle(angle: f32) -> Self {
        Self::new(angle.cos(), angle.sin())
    }

    pub(super) fn dot(self, other: Self) -> f32 {
        self.x * other.x + self.y * other.y
    }

    pub(super) fn length(self) -> f32 {
        self.dot(self).sqrt()
    }
}

impl Add for Point {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::new(self.x + other.x, self.y + other.y)
    }
}

impl Sub for Point {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self::new(self.x - other.x, self.y - other.y)
    }
}

impl Mul<f32> for Point {
    type Output = Self;

    fn mul(self, factor: f32) -> Self {
        Self::new(self.x * factor, self.y * factor)
    }
}

/// A linear map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linear {
    /// What (1, 0) and (0, 1) become.
    columns: [Point; 2],
}

impl Linear {
    /// Scales, then slants what is above to the right by `slant` times its height, then rotates
    /// clockwise.
    pub(super) fn new(scale: Point, slant: f32, angle: f32) -> Self {
        let right = Point::at_angle(angle);
        let down = Point::new(-right.y, right.x);
        Self { columns: [right * scale.x, (down - right * slant) * scale.y] }
    }

    pub(super) fn apply(&self, point: Point) -> Point {
        self.columns[0] * point.x + self.columns[1] * point.y
    }
}

/// The smallest box with its sides along the axes that holds all points: its corners with the
/// least and the greatest coordinates.
pub(super) fn bounds<'a>(points: impl IntoIterator<Item = &'a Point>) -> (Point, Point) {
    let nothing = (Point::new(f32::MAX, f32::MAX), Point::new(f32::MIN, f32::MIN));
    points.into_iter().fold(nothing, |(low, high), point| {
        let low = Point::new(low.x.min(point.x), low.y.min(point.y));
        (low, Point::new(high.x.max(point.x), high.y.max(point.y)))
    })
}

/// An arc of the unit circle, both ends included.
pub(super) fn arc(angles: Range<f32>, steps: usize) -> impl Iterator<Item = Point> {
    (0..=steps).map(move |step| {
        let part = step as f32 / steps as f32;
        Point::at_angle(angles.start + (angles.end - angles.start) * part)
    })
}

/// The corners of a regular polygon on the unit circle, the first one on top.
pub(super) fn polygon(corners: usize) -> impl Iterator<Item = Point> {
    (0..corners).map(move |corner| Point::at_angle(TAU * (corner as f32 / corners as f32 - 0.25)))
}

/// A smooth curve through points, in `steps` straight pieces from each to the next.
///
/// The uniform Catmull-Rom spline: the tangent at a point is that from its predecessor to its
/// successor. At the ends, the curve leaves in the direction of its neighbour.
pub(super) fn spline(points: &[Point], steps: usize) -> Vec<Point> {
    let tangent = |i: usize| {
        let (before, after) = (i.saturating_sub(1), (i + 1).min(points.len() - 1));
        (points[after] - points[before]) * (1.0 / (after - before).max(1) as f32)
    };
    let mut curve = Vec::with_capacity(points.len() * steps + 1);
    curve.extend(points.first());
    for (i, ends) in points.windows(2).enumerate() {
        let tangents = [tangent(i), tangent(i + 1)];
        curve.extend((1..=steps).map(|step| {
            let t = step as f32 / steps as f32;
            hermite([ends[0], ends[1]], tangents, t)
        }));
    }
    curve
}

/// The cubic with these ends and tangents, at `t` of its way.
fn hermite(ends: [Point; 2], tangents: [Point; 2], t: f32) -> Point {
    let (square, cube) = (t * t, t * t * t);
    let arrived = 3.0 * square - 2.0 * cube;
    ends[0] * (1.0 - arrived)
        + ends[1] * arrived
        + tangents[0] * (cube - 2.0 * square + t)
        + tangents[1] * (cube - square)
}

#[cfg(test)]
mod tests {
    use std::f32::consts::FRAC_PI_2;

    use super::*;

    #[track_caller]
    fn assert_near(point: Point, x: f32, y: f32) {
        assert!((point - Point::new(x, y)).length() < 1e-6, "{point:?} is not ({x}, {y})");
    }

    #[test]
    fn a_map_scales_slants_and_rotates() {
        let up = Point::new(0.0, -1.0);
        let check = |scale: (f32, f32), slant, angle, x, y| {
            let map = Linear::new(Point::new(scale.0, scale.1), slant, angle);
            assert_near(map.apply(up), x, y);
        };
        check((1.0, 1.0), 0.0, 0.0, 0.0, -1.0);
        check((3.0, 2.0), 0.0, 0.0, 0.0, -2.0);
        check((1.0, 1.0), 0.5, 0.0, 0.5, -1.0);
        check((1.0, 1.0), 0.0, FRAC_PI_2, 1.0, 0.0);
        check((1.0, 2.0), 0.5, FRAC_PI_2, 2.0, 1.0);
    }

    #[test]
    fn a_spline_passes_through_its_points() {
        let points = [(0.0, 0.0), (4.0, 1.0), (5.0, 5.0)].map(|(x, y)| Point::new(x, y));
        let curve = spline(&points, 8);
        assert_eq!(curve.len(), 17);
        for (i, point) in points.iter().enumerate() {
            assert_near(curve[8 * i], point.x, point.y);
        }
    }

    #[test]
    fn a_spline_of_two_points_is_the_line_between_them() {
        let curve = spline(&[Point::new(1.0, 1.0), Point::new(3.0, 5.0)], 2);
        assert_near(curve[1], 2.0, 3.0);
        assert_eq!(curve.len(), 3);
    }

    #[test]
    fn bounds_hold_every_point() {
        let points = [Point::new(1.0, -2.0), Point::new(-3.0, 5.0)];
        assert_eq!(bounds(&points), (Point::new(-3.0, -2.0), Point::new(1.0, 5.0)));
    }
}
