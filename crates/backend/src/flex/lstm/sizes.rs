//! The sizes of an LSTM layer and its memory inside of the kernels.

use std::ops::Range;

use crate::flex::{lanes::odd_stride, parts::part};

/// The hidden units are padded to whole vectors; padded ones have weights of zero, and so stay
/// zero. The rest is laid out for products in which a row is broadcast against blocks of weights:
///
/// - `rows`: `[time + 1, batch, stride]`, each row the hidden units before a step, the input of
///   the step, and a one that the bias is multiplied by
/// - `cells`: `[time + 1, batch, padded]`, before each step and after the last
/// - `gates`: `[time, batch, gate_stride]`, of each row `[blocks, 4, lanes]` are used, after their
///   activations; backward they become the gradients of the sums before them
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) batch: usize,
    pub(super) time: usize,
    pub(super) inputs: usize,
    pub(super) hidden: usize,
    pub(super) lanes: usize,
}

/// Bytes of weights that stay in a core's cache, of one or two megabytes, beside what they meet.
const CACHED_WEIGHTS: usize = 1 << 20;

/// What a task of the forward and backward pass takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Divides {
    /// Some sequences through all steps, so that threads do not wait for each other at each step.
    Sequences,
    /// Some units of all sequences through one step: of weights that no cache holds each is read once a
    /// step, instead of once by each task, and there are tasks for more threads.
    Units,
}

impl Sizes {
    /// Hidden units with their padding.
    pub(super) fn padded(&self) -> usize {
        self.hidden.next_multiple_of(self.lanes)
    }

    /// Vectors of hidden units.
    pub(super) fn blocks(&self) -> usize {
        self.padded() / self.lanes
    }

    /// Gates of all units, padded.
    pub(super) fn gates(&self) -> usize {
        4 * self.padded()
    }

    /// The values of a row.
    pub(super) fn depth(&self) -> usize {
        self.padded() + self.inputs + 1
    }

    /// From one row to the next.
    pub(super) fn stride(&self) -> usize {
        odd_stride(self.depth())
    }

    /// From the gates of a row to those of the next.
    pub(super) fn gate_stride(&self) -> usize {
        odd_stride(self.gates())
    }

    /// Blocks of four vectors that cover hidden units and inputs, where gradients go.
    pub(super) fn backward_blocks(&self) -> usize {
        (self.padded() + self.inputs).div_ceil(4 * self.lanes)
    }

    /// Hidden units and inputs in these blocks.
    pub(super) fn backward_width(&self) -> usize {
        self.backward_blocks() * 4 * self.lanes
    }

    /// How the passes are divided among threads.
    pub(super) fn divides(&self) -> Divides {
        match self.depth() * self.gates() * size_of::<f32>() {
            0..=CACHED_WEIGHTS => Divides::Sequences,
            _ => Divides::Units,
        }
    }

    /// Each task reads all weights at each step, so it should have many sequences; but large machines
    /// need many tasks. Their number is even, as most machines' number of cores is.
    pub(super) fn tasks(&self) -> usize {
        match self.batch {
            0..12 => self.batch.min(1),
            batch => batch.div_ceil(16).next_multiple_of(2).min(64),
        }
    }

    /// The sequences of a task.
    pub(super) fn sequences(&self, task: usize) -> Range<usize> {
        part(self.batch, self.tasks(), task)
    }
}
