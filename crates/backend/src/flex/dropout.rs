//! Dropout in one pass, in place where nobody else holds the values.

use burn::backend::Flex;
use burn_flex::FlexTensor;

use super::{
    all_f32, contiguous, elements, output_from,
    parallel::{self, Shared},
    simd::{Kernel, Level, Vector},
};
use crate::{
    dropout::{self, DRAW_BITS, DRAWS, DRAWS_OF_BLOCK, DropoutMask, elements_of_sample},
    overrides::note_taken,
    random::Random,
};

/// Blocks of random words that are made at a time, and of what is left.
const MANY: usize = 16;
const FEW: usize = 4;
/// Elements of one task.
const TASK: usize = 1 << 14;

pub(super) fn apply(values: FlexTensor, mask: &DropoutMask) -> FlexTensor {
    let shape = values.layout().shape().clone();
    if !all_f32([&values]) || shape.num_elements() == 0 {
        return dropout::composed::<Flex>(values, mask);
    }
    note_taken();
    let of_sample = elements_of_sample(&shape);
    let (level, spans) = (Level::best(), of_sample.div_ceil(TASK));
    let (mut output, source) = output_from(contiguous(values));
    let target = Shared::new(output.storage_mut::<f32>());
    parallel::ranges(shape[0] * spans, (TASK / of_sample).max(1), |of_task, _| {
        for span in of_task {
            let (sample, first) = (span / spans, span % spans * TASK);
            let (start, count) = (sample * of_sample + first, TASK.min(of_sample - first));
            // SAFETY: each span of each sample is of one task.
            let target = unsafe { target.slice(start, count) };
            if let Some(source) = &source {
                target.copy_from_slice(&elements(source)[start..][..count]);
            }
            let blocks = of_sample.div_ceil(DRAWS_OF_BLOCK) as u64;
            let first_block = (mask.first_sample + sample) as u64 * blocks;
            level.run(DropElements {
                random: mask.random,
                block: first_block + (first / DRAWS_OF_BLOCK) as u64,
                dropped: mask.dropped,
                kept: mask.kept(),
                values: target,
            });
        }
    });
    output
}

/// Drops elements in place, the first by the first draw of `block`. A kernel for the sake of the
/// level's instructions, which make the words of many blocks at once.
struct DropElements<'a> {
    random: Random,
    block: u64,
    dropped: u32,
    kept: f32,
    values: &'a mut [f32],
}

impl Kernel for DropElements<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let by_many = MANY * DRAWS_OF_BLOCK;
        let (many, rest) = self.values.split_at_mut(self.values.len() / by_many * by_many);
        let behind = self.block + (many.len() / DRAWS_OF_BLOCK) as u64;
        DropElements { values: many, ..self }.by_blocks::<MANY>();
        DropElements { values: rest, block: behind, ..self }.by_blocks::<FEW>();
    }
}

impl DropElements<'_> {
    /// Makes the words of so many blocks at a time.
    #[inline(always)]
    fn by_blocks<const BLOCKS: usize>(self) {
        let Self { random, mut block, dropped, kept, values } = self;
        let mut factors = [0.0; MANY * DRAWS_OF_BLOCK];
        for values in values.chunks_mut(BLOCKS * DRAWS_OF_BLOCK) {
            let words = random.words_of_blocks::<BLOCKS>(block);
            block += BLOCKS as u64;
            for (word, words) in words.iter().enumerate() {
                for (of_block, word_of_block) in words.iter().enumerate() {
                    let at = of_block * DRAWS_OF_BLOCK + 2 * word;
                    let draws = [word_of_block % DRAWS, word_of_block >> DRAW_BITS];
                    for (factor, draw) in factors[at..at + 2].iter_mut().zip(draws) {
                        *factor = if draw < dropped { 0.0 } else { kept };
                    }
                }
            }
            for (value, factor) in values.iter_mut().zip(&factors) {
                *value *= factor;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        flex::testing::{normal, on_1_2_and_3_threads, values},
        random::Purpose,
    };

    fn mask(probability: f64, first_sample: usize) -> DropoutMask {
        DropoutMask::new(probability, Random::new(1, Purpose::Dropout, 2), first_sample)
    }

    #[test]
    fn the_override_equals_the_default_body() {
        for shape in [[1, 1], [3, 7], [5, 8], [2, 1000], [3, TASK + 9]] {
            for probability in [0.1, 0.5, 1.0] {
                for mask in [mask(probability, 0), mask(probability, 100_000)] {
                    let input = normal(shape, 1);
                    let reference = dropout::composed::<Flex>(input.clone(), &mask);
                    let shared = apply(input.clone(), &mask);
                    assert!(values(shared) == values(reference.clone()), "{shape:?} {mask:?}");
                    let own = apply(input, &mask);
                    assert!(values(own) == values(reference), "in place: {shape:?} {mask:?}");
                }
            }
        }
    }

    #[test]
    fn any_number_of_threads_drops_the_same() {
        let dropped = || values(apply(normal([4, 20_000], 1), &mask(0.5, 3)));
        let [one, two, three] = on_1_2_and_3_threads(dropped);
        assert!(one == two && one == three);
    }
}
