//! The share of an update that one batch stands for, or one process computes.

use std::ops::Range;

/// The share of one update that a batch carries.
///
/// A mean over a batch can be neither accumulated over micro-batches nor divided among devices
/// exactly, so a training step is told the number of samples of the whole update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Samples of the update that come before this batch.
    pub first: usize,
    /// Samples in this batch that count: all of them, or none if the batch only stands in for an
    /// empty share.
    pub samples: usize,
    /// Samples in the whole update, over all its micro-batches and all processes.
    pub of: usize,
    /// Whether this batch completes what this process computes of the update.
    pub last: bool,
}

impl Part {
    /// A batch that is an update by itself.
    pub fn whole(samples: usize) -> Self {
        Self { first: 0, samples, of: samples, last: true }
    }
}

/// The share of every update that one of several processes computes.
///
/// ```
/// use backend::Share;
///
/// let shares = (0..3).map(|rank| Share { rank, of: 3 }.range(0..8));
/// assert_eq!(shares.collect::<Vec<_>>(), [0..3, 3..6, 6..8]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which one, from 0.
    pub rank: usize,
    /// How many there are.
    pub of: usize,
}

impl Share {
    /// The share of a process that computes everything.
    pub const WHOLE: Self = Self { rank: 0, of: 1 };

    /// This share of `all`: shares are consecutive, their lengths differ by at most one, and the
    /// first is never empty if another is not.
    pub fn range(self, all: Range<usize>) -> Range<usize> {
        let at = |rank: usize| all.start + (all.len() * rank).div_ceil(self.of);
        at(self.rank)..at(self.rank + 1)
    }
}

impl Default for Share {
    fn default() -> Self {
        Self::WHOLE
    }
}
