//! What is drawn for one image in one epoch.

use std::ops::Range;

use backend::random::Random;

/// What values are drawn for. Each has indices of its own, so that to ask for one more step never
/// changes what another draws.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Affine = 0,
    Crop = 1,
    Flip = 2,
    Colour = 3,
    Cutout = 4,
    Mix = 5,
}

/// The random values of one image in one epoch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draws {
    random: Random,
    sample: u64,
}

impl Draws {
    /// The values of image number `sample`.
    pub(super) fn new(random: Random, sample: usize) -> Self {
        Self { random, sample: sample as u64 }
    }

    /// Uniform within a range.
    pub(super) fn uniform(&self, step: Step, number: u64, range: Range<f64>) -> f64 {
        let unit = self.random.uniform_f64(self.index(step, number));
        range.start + (range.end - range.start) * unit
    }

    /// Uniform between `-most` and `most`.
    pub(super) fn around_0(&self, step: Step, number: u64, most: f64) -> f64 {
        self.uniform(step, number, -most..most)
    }

    /// Uniform between `1 - most`, but at least 0, and `1 + most`.
    pub(super) fn around_1(&self, step: Step, number: u64, most: f64) -> f64 {
        self.uniform(step, number, (1.0 - most).max(0.0)..1.0 + most)
    }

    /// True with a probability.
    pub(super) fn chance(&self, step: Step, number: u64, probability: f64) -> bool {
        self.uniform(step, number, 0.0..1.0) < probability
    }

    /// Uniform within `0..n`.
    pub(super) fn below(&self, step: Step, number: u64, n: usize) -> usize {
        self.random.below(self.index(step, number), n as u64) as usize
    }

    /// From the symmetric beta distribution, as the share that one of two gamma variates has of
    /// their sum. Takes all numbers from `number` on.
    pub(super) fn beta(&self, step: Step, number: u64, alpha: f64) -> f64 {
        // By their logarithms: for a small `alpha` both are too small for a number of 64 bits.
        let [a, b] = [0, 64].map(|offset| self.ln_gamma(step, number + offset, alpha));
        1.0 / (1.0 + (b - a).exp())
    }

    /// The logarithm of a gamma variate (Marsaglia and Tsang, "A simple method for generating
    /// gamma variables", 2000), from at most 64 numbers.
    fn ln_gamma(&self, step: Step, number: u64, alpha: f64) -> f64 {
        // The method takes a parameter of at least 1; a power of a uniform variate lowers it.
        let lowered = (1.0 - self.uniform(step, number, 0.0..1.0)).ln() / alpha;
        let d = alpha + 1.0 - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        // At least 95 of 100 candidates are accepted, so 30 in a row are never refused.
        let accepted = (0..30).find_map(|candidate| {
            let normal = self.random.normal(self.index(step, number + 1 + 2 * candidate));
            let (x, v) = (f64::from(normal), (1.0 + c * f64::from(normal)).powi(3));
            let u = 1.0 - self.uniform(step, number + 2 + 2 * candidate, 0.0..1.0);
            (v > 0.0 && u.ln() < 0.5 * x * x + d - d * v + d * v.ln()).then(|| (d * v).ln())
        });
        lowered + accepted.unwrap_or_else(|| d.ln())
    }

    fn index(&self, step: Step, number: u64) -> u64 {
        self.sample << 16 | (step as u64) << 8 | number
    }
}

/// The draws of many images, for tests of what is made of them.
#[cfg(test)]
pub(super) fn many() -> Vec<Draws> {
    let random = Random::new(5, backend::random::Purpose::Augmentation, 1);
    (0..4000).map(|sample| Draws::new(random, sample)).collect()
}

/// Checks that values lie within bounds and come near to them, and that their mean and variance are
/// those expected, to five standard errors.
#[cfg(test)]
pub(super) fn check_moments(values: &[f64], [least, greatest]: [f64; 2], mean: f64, variance: f64) {
    let (low, high) = values
        .iter()
        .fold((f64::MAX, f64::MIN), |(low, high), &value| (low.min(value), high.max(value)));
    let near = 0.1 * (greatest - least);
    assert!((least..least + near).contains(&low), "{low} for {least}");
    assert!(high <= greatest && high > greatest - near, "{high} for {greatest}");
    let count = values.len() as f64;
    let found = values.iter().sum::<f64>() / count;
    assert!((found - mean).abs() <= 5.0 * (variance / count).sqrt(), "mean {found} for {mean}");
    let squares: Vec<f64> = values.iter().map(|value| (value - mean).powi(2)).collect();
    let found = squares.iter().sum::<f64>() / count;
    let spread = squares.iter().map(|square| (square - variance).powi(2)).sum::<f64>() / count;
    let error = 5.0 * (spread / count).sqrt();
    assert!((found - variance).abs() <= error, "variance {found} for {variance}");
}

#[cfg(test)]
mod tests {
    use backend::random::Purpose;

    use super::*;

    fn draws(sample: usize) -> Draws {
        Draws::new(Random::new(1, Purpose::Augmentation, 2), sample)
    }

    #[test]
    fn values_keep_their_bounds_and_differ() {
        for sample in 0..1000 {
            let draws = draws(sample);
            assert!((-2.0..5.0).contains(&draws.uniform(Step::Crop, 0, -2.0..5.0)));
            assert!(draws.below(Step::Crop, 1, 3) < 3);
            assert!(draws.around_1(Step::Colour, 0, 3.0) >= 0.0);
            assert!(draws.chance(Step::Flip, 0, 1.0) && !draws.chance(Step::Flip, 0, 0.0));
        }
        let value = |sample, step, number| draws(sample).around_0(step, number, 1.0);
        let base = value(3, Step::Flip, 1);
        assert_eq!(base, value(3, Step::Flip, 1));
        assert!(base != value(4, Step::Flip, 1) && base != value(3, Step::Mix, 1));
        assert_ne!(base, value(3, Step::Flip, 2));
    }

    /// Mean 1/2 and variance 1 / (4 (2 alpha + 1)), to five standard errors.
    #[test]
    fn the_beta_distribution_has_its_moments() {
        let n = 20_000;
        for alpha in [0.001, 0.2, 1.0, 8.0] {
            let values = (0..n).map(|sample| draws(sample).beta(Step::Mix, 0, alpha));
            let values: Vec<f64> = values.collect();
            assert!(values.iter().all(|value| (0.0..=1.0).contains(value)));
            let mean = |f: &dyn Fn(f64) -> f64| {
                values.iter().map(|&value| f(value)).sum::<f64>() / n as f64
            };
            let variance = 0.25 / (2.0 * alpha + 1.0);
            let error = (variance / n as f64).sqrt();
            assert!((mean(&|value| value) - 0.5).abs() < 5.0 * error, "{alpha}");
            let found = mean(&|value| (value - 0.5).powi(2));
            // The fourth power of a distance of at most 1/2 bounds this error.
            let error = (variance * 0.25 / n as f64).sqrt();
            assert!((found - variance).abs() < 5.0 * error, "{alpha}: {found} for {variance}");
        }
    }
}
