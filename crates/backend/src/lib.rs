//! Backend selection, the device, the fused operations, and counter-based randomness.
//!
//! This is the only crate that knows one Burn backend from another. The rest of the workspace is
//! generic over [`Backend`], and the programs are built for [`Selected`]: the backend that the
//! features choose at compile time: `cuda` takes precedence over `wgpu`, then `ndarray`, then `cpu`.
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
mod peaks;
mod selected;

// What the rest of the workspace is generic over, one operation per file.
mod adam;
mod affine;
mod arithmetic;
mod batch_norm2d;
mod batch_statistics;
mod binary_cross_entropy;
mod conv2d;
mod conv2d_relu_max_pool;
mod correct_count;
mod cross_entropy;
mod divergence;
mod dropout;
mod embedding;
mod embedding_mean;
pub mod functional;
mod global_average_pool;
mod gradient_divided;
mod linear;
mod lstm;
mod max_pool2d;
mod moving_averages;
mod normalized;
mod operations;
#[doc(hidden)] // for the tests of this workspace
pub mod overrides;
mod pixels;
mod precision;
#[doc(hidden)] // for the crates of this workspace
pub mod primitive;
mod product;
mod recorded;
mod rescale;
mod rms_prop;
mod sgd;
mod square_sums;
mod subsample;
mod tape;
mod update;

// Kernels.
#[cfg(feature = "cube")]
mod cube;
#[cfg(feature = "cpu")]
mod flex;
#[cfg(any(feature = "cube", test))]
mod strides;

// What every crate above shares.
mod part;
pub mod random;

#[cfg(feature = "cube")]
#[doc(hidden)] // for the tests of this workspace
pub use crate::cube::{
    convolution_gradients_by_each, convolutions_by_each, lstm_backward, lstm_forward,
    products_by_each, winograd,
};
pub use crate::{
    adam::AdamStep,
    affine::PlaneMap,
    arithmetic::{Arithmetic, arithmetic, set_arithmetic},
    batch_norm2d::{
        BatchNorm2d, BatchNorm2dGradients, BatchNorm2dOutput, BatchNorm2dSaved, BatchNorm2dWanted,
        Counts,
    },
    batch_statistics::{SumOverProcesses, set_sum_over_processes},
    conv2d::{Conv2dGradients, Conv2dParents, Conv2dSaved},
    dropout::DropoutMask,
    linear::{LinearGradients, LinearSaved},
    lstm::{
        Lstm, LstmGradients, LstmOutput, LstmOutputGradients, LstmPrimitives, LstmSaved, LstmWanted,
    },
    operations::Backend,
    part::{Part, Share},
    peaks::Peaks,
    pixels::Packing,
    precision::{Precision, precision, set_precision},
    recorded::AutodiffBackend,
    rms_prop::RmsPropStep,
    selected::{NAME, Selected},
    sgd::SgdStep,
    update::{Parameter, UpdateRule, Updated},
};
