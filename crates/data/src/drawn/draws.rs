//! The random values of one sample.

use std::ops::Range;

use backend::random::Random;

/// Indices reserved for each sample, many more than any takes.
const INDICES: u64 = 1 << 16;

/// The random values of one sample, in the order in which its drawing asks for them.
pub(super) struct Draws {
    random: Random,
    index: u64,
}

impl Draws {
    /// The values of sample number `sample`.
    pub(super) fn new(random: Random, sample: usize) -> Self {
        Self { random, index: sample as u64 * INDICES }
    }

    /// Uniform within a range.
    pub(super) fn uniform(&mut self, range: Range<f32>) -> f32 {
        let index = self.next();
        range.start + (range.end - range.start) * self.random.uniform(index)
    }

    /// Normal with mean 0.
    pub(super) fn normal(&mut self, deviation: f32) -> f32 {
        let index = self.next();
        deviation * self.random.normal(index)
    }

    /// True with a probability.
    pub(super) fn chance(&mut self, probability: f32) -> bool {
        self.uniform(0.0..1.0) < probability
    }

    /// Uniform within `0..n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        let index = self.next();
        self.random.below(index, n as u64) as usize
    }

    /// Adds noise to values: triangular, with mean 0 and at most `amplitude`.
    pub(super) fn add_noise(&mut self, values: &mut [f32], amplitude: f32) {
        for four in values.chunks_mut(4) {
            let index = self.next();
            for (value, word) in four.iter_mut().zip(self.random.words(index)) {
                let [a, b] = [word >> 16, word & 0xffff].map(|half| half as f32 / 65_535.0);
                *value += amplitude * (a + b - 1.0);
            }
        }
    }

    fn next(&mut self) -> u64 {
        let index = self.index;
        self.index += 1;
        index
    }
}

#[cfg(test)]
mod tests {
    use backend::random::Purpose;

    use super::*;

    fn draws(sample: usize) -> Draws {
        Draws::new(Random::new(1, Purpose::Synthetic, 2), sample)
    }

    #[test]
    fn values_keep_their_bounds() {
        let draws = &mut draws(3);
        for _ in 0..1000 {
            assert!((-2.0..5.0).contains(&draws.uniform(-2.0..5.0)));
            assert!(draws.below(3) < 3);
            assert!(draws.chance(1.0) && !draws.chance(0.0));
        }
    }

    #[test]
    fn noise_has_mean_0_and_differs_from_value_to_value() {
        let mut values = [0.0; 10_001];
        draws(0).add_noise(&mut values, 0.5);
        assert!(values.iter().all(|value| value.abs() <= 0.5));
        // Five standard errors; the standard deviation is the amplitude / sqrt(6).
        assert!((values.iter().sum::<f32>() / values.len() as f32).abs() < 0.011);
        let square = values.iter().map(|value| value * value).sum::<f32>() / values.len() as f32;
        assert!((square - 0.25 / 6.0).abs() < 0.003, "{square}");
        assert_ne!(values[9_999], values[10_000]);
    }

    #[test]
    fn samples_have_values_of_their_own() {
        assert_eq!(draws(5).normal(1.0), draws(5).normal(1.0));
        assert_ne!(draws(5).normal(1.0), draws(6).normal(1.0));
    }
}
