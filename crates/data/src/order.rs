//! The order of an epoch: which sample stands where, computed from the seed and never stored.

use backend::random::{Purpose, Random};
use serde::{Deserialize, Serialize};

/// Rounds of the Feistel network. Four make a good permutation of large domains; small ones, with
/// halves of a bit or two, take more.
const ROUNDS: usize = 12;

/// How the samples of an epoch are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The order of the file, in every epoch.
    File,
    /// A new permutation in every epoch.
    #[default]
    Shuffled,
}

/// The order of the samples of one epoch, a function of (seed, epoch, position).
///
/// The permutation is a Feistel network over the next power of two; a value outside the samples is
/// sent through it again until it falls inside ("cycle walking", at most twice on average). It
/// takes no memory, so any number of workers can start anywhere in an epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EpochOrder {
    samples: usize,
    shuffle: Option<Feistel>,
}

impl EpochOrder {
    /// The order of `samples` samples in an epoch.
    pub(crate) fn new(order: Order, samples: usize, seed: u64, epoch: u64) -> Self {
        let shuffle = match order {
            // A single sample has one order, and no bits to permute.
            Order::Shuffled if samples > 1 => Some(Feistel::new(samples as u64, seed, epoch)),
            Order::Shuffled | Order::File => None,
        };
        Self { samples, shuffle }
    }

    /// The sample at `position`.
    ///
    /// # Panics
    ///
    /// If `position` is not below the number of samples.
    pub(crate) fn index(&self, position: usize) -> usize {
        assert!(position < self.samples, "position {position} of {} samples", self.samples);
        let Some(feistel) = &self.shuffle else { return position };
        let mut index = position as u64;
        loop {
            index = feistel.permute(index);
            if index < self.samples as u64 {
                return index as usize;
            }
        }
    }
}

/// A permutation of the numbers of `left + right` bits.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Feistel {
    left: u32,
    right: u32,
    keys: [u64; ROUNDS],
}

impl Feistel {
    /// Over the least power of two that is at least `samples`, which is at least 2.
    fn new(samples: u64, seed: u64, epoch: u64) -> Self {
        let bits = u64::BITS - (samples - 1).leading_zeros();
        let random = Random::new(seed, Purpose::Order, epoch);
        let keys = std::array::from_fn(|round| random.bits(round as u64));
        Self { left: bits / 2, right: bits - bits / 2, keys }
    }

    /// In turn, each part is changed by a hash of the other, which is invertible.
    fn permute(&self, value: u64) -> u64 {
        let (left_mask, right_mask) = ((1 << self.left) - 1, (1 << self.right) - 1);
        let (mut left, mut right) = (value >> self.right, value & right_mask);
        for keys in self.keys.chunks_exact(2) {
            left ^= mix(right ^ keys[0]) & left_mask;
            right ^= mix(left ^ keys[1]) & right_mask;
        }
        left << self.right | right
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014): every bit depends on every other.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shuffled(samples: usize, seed: u64, epoch: u64) -> Vec<usize> {
        let order = EpochOrder::new(Order::Shuffled, samples, seed, epoch);
        (0..samples).map(|position| order.index(position)).collect()
    }

    #[test]
    fn file_order_is_the_file_s() {
        let order = EpochOrder::new(Order::File, 5, 1, 2);
        assert!((0..5).all(|position| order.index(position) == position));
    }

    #[test]
    fn every_small_size_is_permuted() {
        for samples in 0..=300 {
            let mut order = shuffled(samples, 1, 2);
            order.sort_unstable();
            assert_eq!(order, (0..samples).collect::<Vec<_>>());
        }
    }

    #[test]
    fn seed_and_epoch_change_the_order() {
        let order = shuffled(100, 1, 1);
        assert_eq!(order, shuffled(100, 1, 1));
        assert_ne!(order, shuffled(100, 1, 2));
        assert_ne!(order, shuffled(100, 2, 1));
    }

    /// Over many epochs each sample comes equally often at each position, and each neighbour
    /// equally often after each sample: chi-square within six deviations.
    #[test]
    fn orders_are_well_mixed() {
        for samples in [2, 3, 5, 8, 13, 64] {
            let epochs = 4000 * samples as u64;
            let mut places = vec![0u32; samples * samples];
            let mut neighbours = vec![0u32; samples * samples];
            for epoch in 0..epochs {
                let order = shuffled(samples, 5, epoch);
                for (position, &sample) in order.iter().enumerate() {
                    places[position * samples + sample] += 1;
                    neighbours[order[(position + 1) % samples] * samples + sample] += 1;
                }
            }
            check_even("places", &places, epochs as f64 / samples as f64);
            neighbours.retain(|&count| count > 0); // a sample is never its own neighbour
            assert_eq!(neighbours.len(), samples * (samples - 1));
            check_even("neighbours", &neighbours, epochs as f64 / (samples - 1) as f64);
        }
    }

    fn check_even(what: &str, counts: &[u32], expected: f64) {
        let chi_square: f64 =
            counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
        let cells = counts.len() as f64;
        let limit = cells + 6.0 * (2.0 * cells).sqrt();
        assert!(chi_square < limit, "{what} of {cells} cells: {chi_square} above {limit}");
    }

    /// No trace of the file's order is left: positions and samples do not correlate.
    #[test]
    fn large_orders_do_not_correlate_with_the_file() {
        let samples = 60_000;
        let middle = (samples - 1) as f64 / 2.0;
        let covariance: f64 = shuffled(samples, 3, 0)
            .iter()
            .enumerate()
            .map(|(position, &sample)| (position as f64 - middle) * (sample as f64 - middle))
            .sum();
        let variance = (samples as f64).powi(3) / 12.0;
        assert!((covariance / variance).abs() < 5.0 / (samples as f64).sqrt());
    }

    proptest! {
        #[test]
        fn an_order_is_a_permutation(samples in 1usize..5000, seed: u64, epoch: u64) {
            let mut order = shuffled(samples, seed, epoch);
            order.sort_unstable();
            prop_assert_eq!(order, (0..samples).collect::<Vec<_>>());
        }

        #[test]
        fn a_huge_order_stays_inside(samples in 1usize.., position: usize, seed: u64) {
            let position = position % samples;
            prop_assert!(EpochOrder::new(Order::Shuffled, samples, seed, 0).index(position) < samples);
        }
    }
}
