//! How an epoch is divided into updates, and updates into micro-batches.

use std::ops::Range;

use backend::{Part, Share};

use crate::{DataError, Order, order::EpochOrder};

/// How the samples of a split are divided and ordered.
///
/// It is the same for every kind of sample, and a function of the seed and the epoch: neither the
/// number of workers, nor where the samples lie, nor a start in the middle of an epoch changes the
/// samples of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batching {
    /// The order of the samples.
    pub order: Order,
    /// The seed of the order.
    pub seed: u64,
    /// Samples in an update, at least one; the last update of an epoch may have fewer.
    pub batch_size: usize,
    /// The most samples on the device at a time, at least one. An update of more is divided into as few
    /// parts as that allows, whose sizes differ by at most one.
    pub micro_batch: usize,
    /// The part of each update that this process computes.
    pub share: Share,
}

impl Batching {
    /// Updates of `batch_size` samples, whole.
    pub fn new(order: Order, seed: u64, batch_size: usize) -> Self {
        Self { order, seed, batch_size, micro_batch: batch_size, share: Share::WHOLE }
    }

    /// In the order of the file, to measure a split.
    pub fn evaluation(batch_size: usize) -> Self {
        Self::new(Order::File, 0, batch_size)
    }

    /// The same batches, of which this process computes a share.
    pub fn shared(self, share: Share) -> Self {
        Self { share, ..self }
    }

    /// Checks the sizes, which all loaders do before anything else here is asked.
    ///
    /// # Errors
    ///
    /// [`DataError::NoBatch`] names the one that is 0.
    pub(super) fn check(&self) -> Result<(), DataError> {
        let sizes = [("batch_size", self.batch_size), ("micro_batch", self.micro_batch)];
        match sizes.into_iter().find(|&(_, samples)| samples == 0) {
            Some((size, _)) => Err(DataError::NoBatch { size }),
            None => Ok(()),
        }
    }

    /// Updates in an epoch.
    ///
    /// # Panics
    ///
    /// If `batch_size` is 0.
    pub fn steps_per_epoch(&self, samples: usize) -> usize {
        samples.div_ceil(self.batch_size)
    }

    /// The micro-batches of an epoch, from its update number `first_step` on: the positions of
    /// each in the epoch, and its share of its update. A process without a sample of an update
    /// gets the first one as a stand-in that does not count, since each sum takes all processes.
    pub(super) fn parts(
        self,
        samples: usize,
        first_step: usize,
    ) -> impl Iterator<Item = (Range<usize>, Part)> {
        let Self { batch_size, micro_batch, share, .. } = self;
        (first_step..self.steps_per_epoch(samples)).flat_map(move |step| {
            let update = step * batch_size..samples.min((step + 1) * batch_size);
            let Loaded { range, counts } = loaded(share, update.clone());
            // Alike, since batch normalisation's running statistics move once for each, whatever its size.
            let of = range.len().div_ceil(micro_batch);
            (0..of).map(move |rank| {
                let part = Share { rank, of }.range(range.clone());
                let (first, last) = (part.start - update.start, part.end == range.end);
                let samples = if counts { part.len() } else { 0 };
                (part, Part { first, samples, of: update.len(), last })
            })
        })
    }

    /// The micro-batches of an epoch, from its update number `first_step` on: the indices of the samples
    /// of each, and its share of its update. For a loader of one's own.
    ///
    /// - `samples`: those of the split
    ///
    /// # Panics
    ///
    /// If a size is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use data::{Batching, Order};
    ///
    /// let batching = Batching { micro_batch: 2, ..Batching::new(Order::Shuffled, 7, 4) };
    /// let parts: Vec<_> = batching.samples(10, 0, 1).collect(); // all but the first update
    /// let sizes = parts.iter().map(|(indices, part)| (indices.len(), part.of, part.last));
    /// assert_eq!(sizes.collect::<Vec<_>>(), [(2, 4, false), (2, 4, true), (2, 2, true)]);
    /// ```
    pub fn samples(
        self,
        samples: usize,
        epoch: usize,
        first_step: usize,
    ) -> impl Iterator<Item = (Vec<usize>, Part)> {
        let order = EpochOrder::new(self.order, samples, self.seed, epoch as u64);
        self.parts(samples, first_step)
            .map(move |(positions, part)| (positions.map(|at| order.index(at)).collect(), part))
    }
}

/// What a process loads of an update, or of streams.
pub(super) struct Loaded {
    pub(super) range: Range<usize>,
    /// Whether it is this process's own, and not a stand-in.
    pub(super) counts: bool,
}

/// The `share` of `all`, which is not empty.
pub(super) fn loaded(share: Share, all: Range<usize>) -> Loaded {
    let range = share.range(all.clone());
    if range.is_empty() {
        return Loaded { range: all.start..all.start + 1, counts: false };
    }
    Loaded { range, counts: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(batch_size: usize, micro_batch: usize, share: Share) -> Vec<(Range<usize>, Part)> {
        let batching = Batching { micro_batch, ..Batching::evaluation(batch_size) };
        batching.shared(share).parts(10, 0).collect()
    }

    #[test]
    fn a_size_of_no_sample_is_named() {
        let check = |batching: Batching| batching.check().map_err(|error| error.to_string());
        let one = Batching::evaluation(1);
        assert_eq!(check(one), Ok(()));
        let expected = |size| Err(format!("`{size}` is 0, and must be at least 1"));
        assert_eq!(check(Batching::evaluation(0)), expected("batch_size"));
        assert_eq!(check(Batching { micro_batch: 0, ..one }), expected("micro_batch"));
    }

    #[test]
    fn micro_batches_divide_each_update() {
        let part = |first, samples, of, last| Part { first, samples, of, last };
        let expected = [
            (0..2, part(0, 2, 4, false)),
            (2..4, part(2, 2, 4, true)),
            (4..6, part(0, 2, 4, false)),
            (6..8, part(2, 2, 4, true)),
            (8..10, part(0, 2, 2, true)),
        ];
        assert_eq!(parts(4, 3, Share::WHOLE), expected);
    }

    #[test]
    fn the_sizes_of_micro_batches_differ_by_at_most_one() {
        let sizes = |batch_size, micro_batch| {
            let batching = Batching { micro_batch, ..Batching::evaluation(batch_size) };
            Vec::from_iter(batching.parts(batch_size, 0).map(|(range, _)| range.len()))
        };
        assert_eq!(sizes(100, 33), [25; 4]);
        assert_eq!(sizes(10, 4), [4, 3, 3]);
        assert_eq!(sizes(8, 4), [4, 4]);
        assert_eq!(sizes(3, 7), [3]);
    }

    #[test]
    fn shares_make_up_each_update_in_its_order() {
        for (batch_size, micro_batch, of) in
            [(4, 4, 2), (4, 1, 3), (7, 2, 4), (10, 3, 3), (3, 3, 5)]
        {
            let whole = parts(batch_size, batch_size, Share::WHOLE);
            let mut updates = vec![Vec::new(); whole.len()];
            for rank in 0..of {
                let mut step = 0;
                for (range, part) in parts(batch_size, micro_batch, Share { rank, of }) {
                    let (update, whole) = &whole[step];
                    assert_eq!((part.of, part.first), (whole.of, range.start - update.start));
                    assert!(range.len() <= micro_batch && !range.is_empty());
                    if part.samples > 0 {
                        assert_eq!(part.samples, range.len());
                        updates[step].extend(range);
                    }
                    step += usize::from(part.last);
                }
                assert_eq!(step, whole.len(), "rank {rank} of {of} takes part in each update");
            }
            assert_eq!(updates.concat(), (0..10).collect::<Vec<_>>());
        }
    }
}
