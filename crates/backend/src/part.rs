//! The share of an update that one batch stands for.

/// The share of one update that a batch carries.
///
/// A mean over a batch can be neither accumulated over micro-batches nor divided among devices
/// exactly, so a training step is told the number of samples of the whole update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Samples of the update that come before this batch.
    pub first: usize,
    /// Samples in this batch.
    pub samples: usize,
    /// Samples in the whole update, over all its micro-batches.
    pub of: usize,
    /// Whether this batch completes the update.
    pub last: bool,
}

impl Part {
    /// A batch that is an update by itself.
    pub fn whole(samples: usize) -> Self {
        Self { first: 0, samples, of: samples, last: true }
    }
}
