//! Which backend runs, what the device is, the fused operations, and randomness by counter.
//!
//! This is the only crate that knows one Burn backend from another. The rest of the workspace is
//! generic over [`Backend`], and the programs are built for [`Selected`]: the backend that the
//! features choose at compile time, `cuda` before `wgpu` before `ndarray` before `cpu`.
//!
//! ```
//! use backend::random::{Purpose, Random};
//!
//! // The value at (seed, purpose, stream, index) never depends on what was drawn before it.
//! let weights = Random::new(7, Purpose::Initialization, 0);
//! assert_eq!(weights.uniform(1000), weights.uniform(1000));
//! ```

// What runs.
pub mod device;
mod selected;

// What the rest of the workspace is generic over, an operation a file.
mod adam;
pub mod functional;
mod operations;
mod rescale;
mod rms_prop;
mod sgd;
mod square_sum;

// Kernels.
#[cfg(feature = "cpu")]
mod flex;

// What every crate above shares.
mod part;
pub mod random;

pub use crate::{
    adam::AdamStep,
    operations::{AutodiffBackend, Backend},
    part::Part,
    rms_prop::RmsPropStep,
    selected::{NAME, Selected},
    sgd::SgdStep,
};
