//! A canvas on which strokes and outlines are drawn without steps along their edges.
//!
//! Each pixel holds the signed distance from its centre to the drawing, in pixels: negative inside.
//! What is drawn is joined to what was there by taking the lesser distance; how far a pixel is
//! covered follows from its distance at the end.

use super::geometry::{Point, bounds};

/// Distances are kept up to this one. The soft edge of a drawing reaches no further.
const REACH: f32 = 2.0;

/// A square canvas; the centre of the first pixel is at (0.5, 0.5).
pub(super) struct Canvas {
    side: usize,
    distances: Vec<f32>,
}

impl Canvas {
    /// An empty canvas of `side` times `side` pixels.
    pub(super) fn new(side: usize) -> Self {
        Self { side, distances: vec![REACH; side * side] }
    }

    /// Draws a stroke along points, whose radius grows or shrinks from the first to the second.
    pub(super) fn stroke(&mut self, points: &[Point], radii: [f32; 2]) {
        let pieces = points.len().saturating_sub(1) as f32;
        let radius = |i: usize| radii[0] + (radii[1] - radii[0]) * i as f32 / pieces;
        for (i, ends) in points.windows(2).enumerate() {
            let (start, end) = (radius(i), radius(i + 1));
            let distance = |pixel| {
                let (part, square) = to_segment(pixel, [ends[0], ends[1]]);
                square.sqrt() - (start + (end - start) * part)
            };
            self.join(ends, start.max(end), distance);
        }
    }

    /// Fills the inside of closed outlines: the points that an odd number of them surround.
    pub(super) fn fill(&mut self, outlines: &[Vec<Point>]) {
        let distance = |pixel| {
            let (mut inside, mut square) = (false, f32::MAX);
            for edge in outlines.iter().flat_map(|outline| edges(outline)) {
                inside ^= crosses(pixel, edge);
                square = square.min(to_segment(pixel, edge).1);
            }
            if inside { -square.sqrt() } else { square.sqrt() }
        };
        self.join(outlines.iter().flatten(), 0.0, distance);
    }

    /// How far each pixel is covered, from 0 to 1, row by row; edges are `softness` pixels wide.
    pub(super) fn coverage(&self, softness: f32) -> impl Iterator<Item = f32> {
        debug_assert!(0.0 < softness && softness <= 2.0 * REACH, "softness {softness}");
        self.distances.iter().map(move |distance| (0.5 - distance / softness).clamp(0.0, 1.0))
    }

    /// Lowers the distances of the pixels around `points` to those of a drawing that lies within
    /// `radius` of their bounds.
    fn join<'a>(
        &mut self,
        points: impl IntoIterator<Item = &'a Point>,
        radius: f32,
        distance: impl Fn(Point) -> f32,
    ) {
        let (low, high) = bounds(points);
        let margin = radius + REACH;
        // A conversion to usize takes what is below 0 to 0.
        let pixels = |low: f32, high: f32| {
            (low - margin) as usize..((high + margin).ceil() as usize).min(self.side)
        };
        let (rows, columns) = (pixels(low.y, high.y), pixels(low.x, high.x));
        for row in rows {
            for column in columns.clone() {
                let centre = Point::new(column as f32 + 0.5, row as f32 + 0.5);
                let joined = &mut self.distances[row * self.side + column];
                *joined = joined.min(distance(centre));
            }
        }
    }
}

/// The edges of a closed outline.
fn edges(outline: &[Point]) -> impl Iterator<Item = [Point; 2]> {
    let ends = outline.iter().cycle().skip(1);
    outline.iter().zip(ends).map(|(&start, &end)| [start, end])
}

/// The part of the way along a segment at which it is nearest to a point, and the square of that
/// distance.
fn to_segment(point: Point, [start, end]: [Point; 2]) -> (f32, f32) {
    let (way, along) = (point - start, end - start);
    // Of a segment without length, every part is the nearest.
    let part = (way.dot(along) / along.dot(along).max(f32::MIN_POSITIVE)).clamp(0.0, 1.0);
    let rest = way - along * part;
    (part, rest.dot(rest))
}

/// Whether a ray from a point to the right crosses an edge.
fn crosses(point: Point, [start, end]: [Point; 2]) -> bool {
    (start.y > point.y) != (end.y > point.y)
        && point.x < start.x + (end.x - start.x) * (point.y - start.y) / (end.y - start.y)
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    fn points(points: &[(f32, f32)]) -> Vec<Point> {
        points.iter().map(|&(x, y)| Point::new(x, y)).collect()
    }

    /// The covered area, in pixels.
    fn area(draw: impl FnOnce(&mut Canvas)) -> f32 {
        let mut canvas = Canvas::new(32);
        draw(&mut canvas);
        canvas.coverage(1.0).sum()
    }

    #[track_caller]
    fn assert_area(actual: f32, expected: f32) {
        assert!((actual / expected - 1.0).abs() < 0.01, "{actual} is not {expected}");
    }

    #[test]
    fn a_filled_outline_covers_its_area() {
        let square = points(&[(4.0, 6.0), (20.0, 6.0), (20.0, 22.0), (4.0, 22.0)]);
        let hole = points(&[(8.0, 10.0), (16.0, 10.0), (16.0, 18.0), (8.0, 18.0)]);
        let triangle = points(&[(3.3, 4.1), (28.2, 9.7), (11.9, 27.4)]);
        assert_area(area(|canvas| canvas.fill(slice::from_ref(&square))), 256.0);
        assert_area(area(|canvas| canvas.fill(&[square, hole])), 256.0 - 64.0);
        assert_area(area(|canvas| canvas.fill(&[triangle])), 266.0);
    }

    #[test]
    fn a_stroke_covers_its_length_and_its_round_ends() {
        let line = points(&[(6.2, 8.0), (15.1, 12.5), (24.0, 17.0)]);
        let length = (line[2] - line[0]).length();
        let expected = 4.0 * length + std::f32::consts::PI * 4.0;
        assert_area(area(|canvas| canvas.stroke(&line, [2.0, 2.0])), expected);
    }

    #[test]
    fn drawings_are_joined_not_added() {
        let square = points(&[(4.0, 4.0), (12.0, 4.0), (12.0, 12.0), (4.0, 12.0)]);
        let twice = |canvas: &mut Canvas| {
            canvas.fill(slice::from_ref(&square));
            canvas.fill(slice::from_ref(&square));
        };
        assert_area(area(twice), 64.0);
    }

    #[test]
    fn what_lies_outside_is_cut_off() {
        let wide = points(&[(-50.0, -50.0), (16.0, -50.0), (16.0, 90.0), (-50.0, 90.0)]);
        assert_area(area(|canvas| canvas.fill(&[wide])), 512.0);
        let far = points(&[(90.0, -50.0), (99.0, -60.0), (-80.0, -70.0)]);
        assert_eq!(area(|canvas| canvas.fill(slice::from_ref(&far))), 0.0);
        assert_eq!(area(|canvas| canvas.stroke(&far, [1.0, 1.0])), 0.0);
        assert_eq!(area(|canvas| canvas.stroke(&far[..1], [1.0, 1.0])), 0.0);
        assert_eq!(area(|canvas| canvas.fill(&[])), 0.0);
    }
}
