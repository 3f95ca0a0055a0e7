//! Checkpoints: the whole state of a run, in directories that are whole or absent.
//!
//! ```text
//! checkpoints/
//!   .lock                     held while a trainer has the directory
//!   step-100/                 a checkpoint, after update number 100
//!     model.safetensors       the weights, by path in the module; like the others it is marked as of a
//!                             checkpoint, since names and layout are not those of a file of weights
//!     optimizer.safetensors   what the optimizer keeps for each of them
//!     average.safetensors     their average, with `training.ema`
//!     best.safetensors        those of the best epoch, if it is kept
//!     carried.safetensors     what a recurrent network carries to the next update
//!     state.json              position, schedule, early stopping, sums, best metric, settings that
//!                             must not change, the lengths of the run's logs
//!     manifest.json           format, the model's signature, size and SHA-256 of each file above
//!   step-100.previous/        another state after the same update, until step-100 is verified
//!   step-150.partial/         being written or removed; never read
//! ```
//!
//! **Writing.** The divergence flag is read from the device: a state that has seen a loss or a gradient
//! that is not finite is never written. The run's logs are synced, and their lengths noted. The files
//! are written into `step-<N>.partial` and synced one by one, the manifest last; the directory is synced
//! and renamed to `step-<N>`; `checkpoints` is synced. If power fails between any two of these, every
//! `step-<N>` is still whole.
//!
//! **Keeping.** The new directory is read back and verified: this detects faulty writes, though not later
//! corruption on the disk. Only then are older ones removed, except the `keep` newest undamaged ones and each
//! `keep_every_epochs`-th epoch's. A directory is renamed to `.partial` before it is removed, so a
//! half-removed one is never taken for a checkpoint. One that the system refuses to remove is named in a
//! warning, and stays.
//!
//! **Resuming.** The newest checkpoint that verifies is taken; a damaged one, with a file that is
//! missing or not what was written, is named in a warning, and if all are damaged the run is left as
//! it is. One that the system refuses to read, or that another version wrote, may be whole: it is an
//! error. The state is restored from the checkpoint, bit for bit, and the run's logs are truncated to
//! the lengths noted in it. So the run continues as if it had never gone further.
//!
//! A write that fails ends the run with an error that names the path; what was there before is
//! whole. Every write goes through [`store`], and the tests make each of them fail once.

mod contents;
mod manifest;
mod shelf;

use serde::{Deserialize, Serialize};

pub use self::shelf::newest_step;
pub(crate) use self::{
    contents::{Contents, Tensors},
    shelf::{Newest, Shelf},
};

/// The table `[checkpoint]`: when checkpoints are written, and which are kept; by default after each epoch
/// and every five minutes, keeping the newest two. One is always written when a run ends or is interrupted.
///
/// A checkpoint is a directory `step-N` in the [`CheckpointStore`](crate::CheckpointStore)'s directory, whole
/// or absent even if a write or the power fails. It is read back before an older one is removed. A run
/// resumes from the newest undamaged one, bit for bit as if it had never stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckpointConfig {
    /// Updates from one checkpoint to the next.
    #[serde(with = "crate::or_empty")]
    pub every_steps: Option<u64>,
    /// Epochs from one checkpoint to the next.
    #[serde(with = "crate::or_empty")]
    pub every_epochs: Option<usize>,
    /// Minutes between checkpoints, each written after the first update past that time: what a killed run may
    /// lose.
    #[serde(with = "crate::or_empty")]
    pub every_minutes: Option<f64>,
    /// How many of the newest are kept, at least one. With two there is one to fall back on if the last
    /// is damaged.
    pub keep: usize,
    /// Besides, writes one every this many epochs, which is kept for good.
    #[serde(with = "crate::or_empty")]
    pub keep_every_epochs: Option<usize>,
}

impl Default for CheckpointConfig {
    fn default() -> Self {
        Self {
            every_steps: None,
            every_epochs: Some(1),
            every_minutes: Some(5.0),
            keep: 2,
            keep_every_epochs: None,
        }
    }
}
