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
mod conv2d;
mod conv2d_relu_max_pool;
pub mod functional;
mod max_pool2d;
mod operations;
pub mod overrides;
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
    conv2d::{Conv2dGradients, Conv2dParents, Convolution, convolution, set_convolution},
    operations::{AutodiffBackend, Backend},
    part::Part,
    selected::{NAME, Selected},
    sgd::SgdStep,
};
