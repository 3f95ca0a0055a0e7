//! Colours, and the textures in which two of them alternate.

use std::f32::consts::{PI, TAU};

use super::{draws::Draws, geometry::Point};

/// Red, green and blue, from 0 to 1.
pub(super) type Colour = [f32; 3];

/// `from` where `part` is 0, `to` where it is 1.
pub(super) fn mix(from: Colour, to: Colour, part: f32) -> Colour {
    std::array::from_fn(|channel| from[channel] + (to[channel] - from[channel]) * part)
}

/// Any colour.
pub(super) fn any_colour(draws: &mut Draws) -> Colour {
    [(); 3].map(|()| draws.uniform(0.0..1.0))
}

/// A colour that stands out from others: of some candidates, the one furthest from all of them.
pub(super) fn contrasting_colour(others: &[Colour], draws: &mut Draws) -> Colour {
    let nearest = |colour: Colour| {
        others.iter().map(|&other| distance(colour, other)).fold(f32::MAX, f32::min)
    };
    let first = any_colour(draws);
    (1..6)
        .map(|_| any_colour(draws))
        .fold(first, |best, colour| if nearest(colour) > nearest(best) { colour } else { best })
}

/// The distance of two colours.
pub(super) fn distance(a: Colour, b: Colour) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f32>().sqrt()
}

/// What a surface is painted with: two colours, and how they alternate.
pub(super) struct Paint {
    pub(super) colours: [Colour; 2],
    pub(super) pattern: Pattern,
}

impl Paint {
    /// A single colour.
    pub(super) fn plain(colour: Colour) -> Self {
        Self { colours: [colour; 2], pattern: Pattern::Plain }
    }

    pub(super) fn at(&self, point: Point) -> Colour {
        mix(self.colours[0], self.colours[1], self.pattern.at(point))
    }
}

/// How two colours alternate. A wave is a direction and radians per pixel along it.
pub(super) enum Pattern {
    /// Only the first.
    Plain,
    /// From one to the other and back, within half a wave.
    Gradient { wave: Point, phase: f32 },
    /// Parallel stripes.
    Stripes { wave: Point, phase: f32 },
    /// Dots of the second on the first, in a square lattice.
    Dots { wave: Point, phase: f32 },
    /// Smooth noise: a lattice of random values and what lies between them.
    Clouds { values: [[f32; Self::CLOUDS]; Self::CLOUDS], spacing: f32 },
}

impl Pattern {
    /// Values along a side of the lattice of clouds.
    const CLOUDS: usize = 7;

    /// A texture for a small surface.
    pub(super) fn texture(draws: &mut Draws) -> Self {
        let angle = draws.uniform(0.0..PI);
        let period = draws.uniform(4.0..8.0);
        let phase = draws.uniform(0.0..TAU);
        let wave = Point::at_angle(angle) * (TAU / period);
        match draws.below(4) {
            0 => Self::Plain,
            1 => Self::Gradient { wave: Point::at_angle(angle) * (PI / 24.0), phase },
            2 => Self::Stripes { wave, phase },
            _ => Self::Dots { wave, phase },
        }
    }

    /// Smooth noise over an image of this side.
    pub(super) fn clouds(side: f32, draws: &mut Draws) -> Self {
        let values =
            [(); Self::CLOUDS].map(|()| [(); Self::CLOUDS].map(|()| draws.uniform(0.0..1.0)));
        let cells = draws.uniform(1.0..Self::CLOUDS as f32 - 1.0);
        Self::Clouds { values, spacing: side / cells }
    }

    /// The part of the second colour at a point, from 0 to 1.
    fn at(&self, point: Point) -> f32 {
        match *self {
            Self::Plain => 0.0,
            Self::Gradient { wave, phase } => 0.5 + 0.5 * (wave.dot(point) + phase).sin(),
            Self::Stripes { wave, phase } => sharpen((wave.dot(point) + phase).sin()),
            Self::Dots { wave, phase } => {
                let across = Point::new(-wave.y, wave.x);
                let product = (wave.dot(point) + phase).sin() * across.dot(point).sin();
                sharpen(2.0 * product - 0.4)
            }
            Self::Clouds { ref values, spacing } => between(values, point * (1.0 / spacing)),
        }
    }
}

/// The side of 0 that a value is on, as 0 or 1, with a soft step.
fn sharpen(value: f32) -> f32 {
    (0.5 + 1.5 * value).clamp(0.0, 1.0)
}

/// What lies between the values of a lattice, bilinear with smoothed steps.
fn between<const N: usize>(values: &[[f32; N]; N], point: Point) -> f32 {
    let cell = |x: f32| {
        let cell = (x as usize).min(N - 2);
        let part = (x - cell as f32).clamp(0.0, 1.0);
        (cell, part * part * (3.0 - 2.0 * part))
    };
    let ((column, right), (row, down)) = (cell(point.x), cell(point.y));
    let along = |row: usize| {
        let ends = [values[row][column], values[row][column + 1]];
        ends[0] + (ends[1] - ends[0]) * right
    };
    along(row) + (along(row + 1) - along(row)) * down
}

#[cfg(test)]
mod tests {
    use backend::random::{Purpose, Random};

    use super::*;

    fn draws() -> Draws {
        Draws::new(Random::new(2, Purpose::Synthetic, 0), 0)
    }

    #[test]
    fn patterns_stay_between_their_two_colours() {
        let draws = &mut draws();
        for _ in 0..50 {
            for pattern in [Pattern::texture(draws), Pattern::clouds(32.0, draws)] {
                for place in 0..32 * 32 {
                    let point = Point::new((place % 32) as f32, (place / 32) as f32);
                    let part = pattern.at(point);
                    assert!((0.0..=1.0).contains(&part), "{part} at {point:?}");
                }
            }
        }
    }

    #[test]
    fn clouds_are_their_values_and_smooth_between_them() {
        let values = [[0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [0.0, 0.0, 1.0]];
        let check = |x, y, expected: f32| {
            let value = between(&values, Point::new(x, y));
            assert!((value - expected).abs() < 1e-6, "{value} is not {expected}");
        };
        check(0.0, 0.0, 0.0);
        check(1.0, 0.0, 1.0);
        check(2.0, 2.0, 1.0);
        check(0.5, 0.5, 0.5);
        check(0.25, 0.0, 0.15625); // smoothed: 3/16 - 1/32
        check(9.0, 9.0, 1.0); // beyond the lattice, its edge
    }

    #[test]
    fn a_contrasting_colour_stands_out() {
        let draws = &mut draws();
        let grey = [0.5; 3];
        let mean = |colours: Vec<Colour>| {
            colours.iter().map(|&colour| distance(colour, grey)).sum::<f32>() / colours.len() as f32
        };
        let any = mean((0..200).map(|_| any_colour(draws)).collect());
        let contrasting = mean((0..200).map(|_| contrasting_colour(&[grey], draws)).collect());
        assert!(contrasting > 1.2 * any, "{contrasting} {any}");
    }
}
