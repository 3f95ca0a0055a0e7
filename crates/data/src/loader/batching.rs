//! The division of an epoch into updates, and of updates into micro-batches.

use std::ops::Range;

use backend::Part;

use crate::{EpochOrder, Order};

/// How the samples of a split are divided and ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batching {
    /// The order of the samples.
    pub order: Order,
    /// What the order follows from.
    pub seed: u64,
    /// Samples in an update; the last one of an epoch may have fewer.
    pub batch_size: usize,
    /// Samples on the device at a time, at most a whole update.
    pub micro_batch: usize,
}

impl Batching {
    /// In the order of the file, for a split to measure on.
    pub fn evaluation(batch_size: usize) -> Self {
        Self { order: Order::File, seed: 0, batch_size, micro_batch: batch_size }
    }

    /// Updates in an epoch.
    pub fn steps_per_epoch(&self, samples: usize) -> usize {
        samples.div_ceil(self.batch_size)
    }

    /// The micro-batches of an epoch, from its update number `first_step` on: the positions of
    /// each in the epoch, and its share of its update.
    pub(super) fn parts(
        self,
        samples: usize,
        first_step: usize,
    ) -> impl Iterator<Item = (Range<usize>, Part)> {
        let Self { batch_size, micro_batch, .. } = self;
        (first_step..self.steps_per_epoch(samples)).flat_map(move |step| {
            let update = step * batch_size..samples.min((step + 1) * batch_size);
            update.clone().step_by(micro_batch).map(move |start| {
                let end = update.end.min(start + micro_batch);
                let (first, last) = (start - update.start, end == update.end);
                (start..end, Part { first, samples: end - start, of: update.len(), last })
            })
        })
    }

    /// As [`parts`](Self::parts), with the samples that stand at the positions.
    pub(super) fn samples(
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
