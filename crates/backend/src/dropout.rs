//! Counter-based dropout, forward and backward; the mask is recomputed where needed, never stored.
//!
//! Overrides: Flex (`flex/dropout.rs`), CUDA and WGPU (`cube/dropout.rs`).

use burn::backend::autodiff::{Autodiff, checkpoint::strategy::CheckpointStrategy};
use burn::tensor::{Shape, Tensor, TensorData, TensorMetadata, ops::FloatTensor};

use crate::{
    Backend,
    overrides::note_composed,
    primitive::{flat, shaped},
    random::Random,
    tape,
};

/// The bits of a draw; eight draws come from one block of random words.
pub(crate) const DRAW_BITS: u32 = 16;
pub(crate) const DRAWS: u32 = 1 << DRAW_BITS;
pub(crate) const DRAWS_OF_BLOCK: usize = 8;

/// Which elements of a batch are dropped: a function of the random values, the sample, and the
/// element's place in it.
#[derive(Clone, Copy, Debug)]
pub struct DropoutMask {
    pub(crate) random: Random,
    pub(crate) first_sample: usize,
    /// Elements whose draw is below this are dropped.
    pub(crate) dropped: u32,
}

impl DropoutMask {
    /// - `probability`: rounded to a multiple of 2^-16
    /// - `first_sample`: the number of the batch's first sample
    ///
    /// # Panics
    ///
    /// Where the probability is not within 0 and 1.
    #[track_caller]
    pub fn new(probability: f64, random: Random, first_sample: usize) -> Self {
        let is_one = (0.0..=1.0).contains(&probability);
        assert!(is_one, "dropout: the probability {probability} must be within 0 and 1");
        let dropped = (probability * f64::from(DRAWS)).round() as u32;
        Self { random, first_sample, dropped }
    }

    /// Whether nothing is dropped.
    pub fn is_empty(&self) -> bool {
        self.dropped == 0
    }

    /// The factor of kept elements, which preserves the mean.
    pub(crate) fn kept(&self) -> f32 {
        match DRAWS.checked_sub(self.dropped) {
            Some(kept @ 1..) => DRAWS as f32 / kept as f32,
            _ => 0.0,
        }
    }

    /// The factor of each element of a batch of this shape.
    fn factors(&self, shape: &Shape) -> Vec<f32> {
        let elements = elements_of_sample(shape);
        let blocks = elements.div_ceil(DRAWS_OF_BLOCK);
        let mut factors = Vec::with_capacity(shape.num_elements() + DRAWS_OF_BLOCK);
        for sample in 0..shape[0] {
            let first_block = (self.first_sample + sample) as u64 * blocks as u64;
            for block in 0..blocks as u64 {
                let words = self.random.words(first_block + block);
                let draws = words.into_iter().flat_map(|word| [word % DRAWS, word >> DRAW_BITS]);
                let factor = |draw| if draw < self.dropped { 0.0 } else { self.kept() };
                factors.extend(draws.map(factor));
            }
            factors.truncate((sample + 1) * elements);
        }
        factors
    }
}

pub(crate) fn elements_of_sample(shape: &Shape) -> usize {
    shape.iter().skip(1).product()
}

pub(crate) fn composed<B: Backend>(values: FloatTensor<B>, mask: &DropoutMask) -> FloatTensor<B> {
    note_composed();
    let (shape, device) = (values.shape(), B::float_device(&values));
    let factors = TensorData::new(mask.factors(&shape), [shape.num_elements()]);
    let factors = Tensor::<B, 1>::from_data(factors, (&device, values.dtype()));
    shaped(flat::<B>(values) * factors, &shape)
}

pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    values: FloatTensor<Autodiff<B, C>>,
    mask: &DropoutMask,
) -> FloatTensor<Autodiff<B, C>> {
    let recording = tape::begin::<B, C, _, 1>([&values], |mask, gradient| {
        [Some(B::fused_dropout(gradient, &mask))]
    });
    tape::finish(recording, *mask, B::fused_dropout(values.primitive, mask))
}
