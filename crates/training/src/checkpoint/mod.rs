//! Checkpoints: the whole state of a run, in directories that are whole or absent.
//!
//! ```text
//! checkpoints/
//!   step-100/                 a checkpoint, after update number 100
//!     model.safetensors       the weights, by path in the module
//!     optimizer.safetensors   what the optimizer keeps for each of them
//!     average.safetensors     their average, with `training.ema`
//!     best.safetensors        those of the best epoch, where it is to be kept
//!     carried.safetensors     what a recurrent network carries to the next update
//!     state.json              position, schedule, early stopping, sums, best metric, what may not
//!                             change on the way, the lengths of the run's logs
//!     manifest.json           format, the model's signature, size and SHA-256 of each file above
//!   step-100.previous/        another state after the same update, until step-100 has verified
//!   step-150.partial/         being written or removed; never read
//! ```
//!
//! **Writing.** The divergence flag is read from the device: a state that is not finite is never
//! written. The run's logs are synced, and their lengths noted. The files are written into
//! `step-<N>.partial` and synced one by one, the manifest last; the directory is synced and renamed
//! to `step-<N>`; `checkpoints` is synced. Power may fail between any two of these: what is called
//! `step-<N>` is whole.
//!
//! **Keeping.** The new directory is read back and verified. Only then are older ones removed, down
//! to the `keep` newest and each `keep_every_epochs`-th epoch's. Removing begins with a renaming
//! to `.partial`, so nothing half removed is ever taken for a checkpoint.
//!
//! **Resuming.** Of all checkpoints the newest that verifies is taken; a damaged one, with a file
//! that is missing or not what was written, is named in a warning, and where all are damaged the run
//! is left as it is. One that the system does not let be read, or that another version wrote, may be
//! whole: it is an error. The state is restored from the checkpoint, bit for bit, and the run's logs
//! are cut back to the lengths noted in it. So the run goes on as if it had never made a step beyond.
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

/// The table `[checkpoint]`: when checkpoints are written, and how long they stay. One is always
/// written at the end of a run, and where a run is interrupted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointConfig {
    /// Updates from one checkpoint to the next.
    #[serde(default, with = "crate::or_empty")]
    pub every_steps: Option<u64>,
    /// Epochs from one checkpoint to the next.
    #[serde(default, with = "crate::or_empty")]
    pub every_epochs: Option<usize>,
    /// How many of the newest ones are kept. With two, there is one to go back to where the last
    /// is damaged. At least one is kept.
    pub keep: usize,
    /// Keeps those after every so many epochs for good, besides.
    #[serde(default, with = "crate::or_empty")]
    pub keep_every_epochs: Option<usize>,
}
