//! NumPy's legacy generator, bit for bit: what `numpy.random.seed` starts and `randn` draws from.

use rand_mt::Mt;

/// `numpy.random.RandomState`: a Mersenne Twister, with normal values by the polar method.
///
/// It is a stream with a state, unlike all other randomness here, because the tutorial's data come
/// from NumPy's stream.
#[derive(Debug, Clone)]
pub(crate) struct LegacyRandomState {
    generator: Mt,
    /// The polar method makes two values at a time.
    second_normal: Option<f64>,
}

impl LegacyRandomState {
    /// The stream that `numpy.random.seed(seed)` starts.
    pub(crate) fn new(seed: u32) -> Self {
        Self { generator: Mt::new(seed), second_normal: None }
    }

    /// The next value of `random_sample`: uniform in `[0, 1)`, a multiple of 2^-53.
    pub(crate) fn uniform(&mut self) -> f64 {
        let high = self.generator.next_u32() >> 5; // 27 bits
        let low = self.generator.next_u32() >> 6; // 26 bits
        (f64::from(high) * f64::from(1 << 26) + f64::from(low)) / (1u64 << 53) as f64
    }

    /// The next value of `randn`: standard normal, by Marsaglia's polar method.
    pub(crate) fn normal(&mut self) -> f64 {
        if let Some(normal) = self.second_normal.take() {
            return normal;
        }
        loop {
            let x = 2.0 * self.uniform() - 1.0;
            let y = 2.0 * self.uniform() - 1.0;
            let square = x * x + y * y;
            if square < 1.0 && square != 0.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.second_normal = Some(factor * x);
                return factor * y;
            }
        }
    }

    /// The next value of `randint(0, bound)`: drawn from the fewest bits that hold it, and again if
    /// it is too large.
    ///
    /// # Panics
    ///
    /// If `bound` is 0.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        assert!(bound > 0, "below: the range is empty");
        let largest = bound - 1;
        if largest == 0 {
            return 0; // without a draw
        }
        let mask = u32::MAX >> largest.leading_zeros();
        loop {
            let value = self.generator.next_u32() & mask;
            if value <= largest {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use store::sha256_hex;

    use super::*;

    #[derive(Deserialize)]
    struct Golden {
        cases: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        seed: u32,
        normals: usize,
        integers: usize,
        bound: u32,
        first_normal: f64,
        normals_sha256: String,
        integers_sha256: String,
        next_uniform: f64,
    }

    #[test]
    fn every_bit_is_numpy_s() {
        let golden: Golden =
            serde_json::from_str(include_str!("../../tests/golden/numpy_legacy.json")).unwrap();
        for case in golden.cases {
            let mut random = LegacyRandomState::new(case.seed);
            let normals: Vec<f64> = (0..case.normals).map(|_| random.normal()).collect();
            assert_eq!(normals[0], case.first_normal);
            let bytes: Vec<u8> = normals.iter().flat_map(|x| x.to_le_bytes()).collect();
            assert_eq!(sha256_hex(&bytes), case.normals_sha256);
            let integers: Vec<u32> = (0..case.integers).map(|_| random.below(case.bound)).collect();
            let bytes: Vec<u8> =
                integers.iter().flat_map(|&x| i64::from(x).to_le_bytes()).collect();
            assert_eq!(sha256_hex(&bytes), case.integers_sha256);
            assert_eq!(random.uniform(), case.next_uniform);
        }
    }
}
