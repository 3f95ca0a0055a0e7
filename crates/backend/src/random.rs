//! Counter-based randomness: a value is a function of (seed, purpose, stream, index).
//!
//! The generator has no state, so a start in the middle, another number of workers or another
//! batch size never shifts any other number. It is Philox4x32-10 (Salmon et al., "Parallel random
//! numbers: as easy as 1, 2, 3", 2011).

/// What a value is for; values for different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Initial weights; the stream is a hash of the parameter's path.
    Initialization = 1,
    /// The order of samples; the stream is the epoch.
    Order = 2,
    /// The division into training, validation and test data.
    Split = 3,
    /// Dropout masks; the stream is the step times 2^16, plus the layer's number in the pass.
    Dropout = 4,
    /// Augmentation; the stream is the epoch, the index that of the sample.
    Augmentation = 5,
    /// Synthetic data.
    Synthetic = 6,
    /// Sampling from a model's output.
    Sampling = 7,
}

/// The random values of one seed, purpose and stream, addressed by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random {
    key: [u32; 2],
    stream: [u32; 2],
}

impl Random {
    /// The values of `seed` for `purpose`; only the lowest 56 bits of `stream` count.
    pub fn new(seed: u64, purpose: Purpose, stream: u64) -> Self {
        let stream = (stream & (u64::MAX >> 8)) | ((purpose as u64) << 56);
        Self { key: halves(seed), stream: halves(stream) }
    }

    /// Four independent words of 32 random bits.
    pub fn words(&self, index: u64) -> [u32; 4] {
        self.words_of_blocks::<1>(index).map(|[word]| word)
    }

    /// The words of `N` indices from `first` on: the first of each, the second of each, and so on.
    #[inline(always)] // so that it is compiled for a kernel's instructions
    pub(crate) fn words_of_blocks<const N: usize>(&self, first: u64) -> [[u32; N]; 4] {
        let index: [u64; N] = std::array::from_fn(|block| first.wrapping_add(block as u64));
        let [low, high] = [0, 1].map(|half| index.map(|index| halves(index)[half]));
        philox([low, high, [self.stream[0]; N], [self.stream[1]; N]], self.key)
    }

    /// What determines the values, besides the index.
    #[cfg(feature = "cube")]
    pub(crate) fn key_and_stream(&self) -> [[u32; 2]; 2] {
        [self.key, self.stream]
    }

    /// 64 random bits.
    pub fn bits(&self, index: u64) -> u64 {
        let [low, high, ..] = self.words(index);
        (u64::from(high) << 32) | u64::from(low)
    }

    /// Uniform in `[0, 1)`, a multiple of 2^-24.
    pub fn uniform(&self, index: u64) -> f32 {
        (self.words(index)[0] >> 8) as f32 * (1.0 / (1 << 24) as f32)
    }

    /// Uniform in `[0, 1)`, a multiple of 2^-53.
    pub fn uniform_f64(&self, index: u64) -> f64 {
        unit(self.bits(index))
    }

    /// Standard normal, by the Box-Muller transform.
    pub fn normal(&self, index: u64) -> f32 {
        let [a, b, c, d] = self.words(index);
        let share = 1.0 - unit((u64::from(b) << 32) | u64::from(a)); // in (0, 1], so its logarithm is finite
        let angle = std::f64::consts::TAU * unit((u64::from(d) << 32) | u64::from(c));
        ((-2.0 * share.ln()).sqrt() * angle.cos()) as f32
    }

    /// Uniform in `0..n`, by multiplication; the bias is below `n / 2^64`.
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    pub fn below(&self, index: u64, n: u64) -> u64 {
        assert!(n > 0, "below: the range is empty");
        ((u128::from(self.bits(index)) * u128::from(n)) >> 64) as u64
    }
}

/// A stream number for a name, such as a parameter's path: FNV-1a.
pub fn stream_of(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

#[inline(always)]
fn philox<const N: usize>(mut counter: [[u32; N]; 4], mut key: [u32; 2]) -> [[u32; N]; 4] {
    for _ in 0..10 {
        #[allow(clippy::needless_range_loop, reason = "a lane of four arrays")]
        for lane in 0..N {
            let [low_0, high_0] = halves(0xd251_1f53 * u64::from(counter[0][lane]));
            let [low_1, high_1] = halves(0xcd9e_8d57 * u64::from(counter[2][lane]));
            counter[0][lane] = high_1 ^ counter[1][lane] ^ key[0];
            counter[2][lane] = high_0 ^ counter[3][lane] ^ key[1];
            counter[1][lane] = low_1;
            counter[3][lane] = low_0;
        }
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that Random123 publishes for Philox4x32-10.
    #[test]
    fn philox_gives_the_known_answers() {
        let check = |counter: [u32; 4], key, expected| {
            assert_eq!(philox(counter.map(|word| [word]), key).map(|[word]| word), expected);
        };
        check([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        check([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        check(
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            [0xa409_3822, 0x299f_31d0],
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
        );
    }

    #[test]
    fn many_blocks_at_once_are_those_of_each_index() {
        let random = Random::new(3, Purpose::Dropout, 9);
        let first = u64::from(u32::MAX) - 2;
        let words = random.words_of_blocks::<5>(first);
        for block in 0..5 {
            assert_eq!(words.map(|words| words[block]), random.words(first + block as u64));
        }
    }

    #[test]
    fn seed_purpose_stream_and_index_all_matter() {
        let value = |seed, purpose, stream, index| Random::new(seed, purpose, stream).bits(index);
        let base = value(1, Purpose::Order, 1, 1);
        assert_eq!(base, value(1, Purpose::Order, 1, 1));
        assert_ne!(base, value(1 << 32, Purpose::Order, 1, 1));
        assert_ne!(base, value(1, Purpose::Split, 1, 1));
        assert_ne!(base, value(1, Purpose::Order, 2, 1));
        assert_ne!(base, value(1, Purpose::Order, 1, 1 << 32));
    }

    #[test]
    fn moments_are_those_of_the_laws() {
        let random = Random::new(0, Purpose::Synthetic, 0);
        let n = 100_000;
        let mean = |f: &dyn Fn(u64) -> f64| (0..n).map(f).sum::<f64>() / n as f64;
        // Five standard errors of each mean.
        assert!((mean(&|i| f64::from(random.uniform(i))) - 0.5).abs() < 0.005);
        assert!((mean(&|i| random.uniform_f64(i).powi(2)) - 1.0 / 3.0).abs() < 0.005);
        assert!(mean(&|i| f64::from(random.normal(i))).abs() < 0.016);
        assert!((mean(&|i| f64::from(random.normal(i)).powi(2)) - 1.0).abs() < 0.023);
        assert!((mean(&|i| random.below(i, 7) as f64) - 3.0).abs() < 0.032);
        assert!((0..n).all(|i| random.below(i, 7) < 7));
    }
}
