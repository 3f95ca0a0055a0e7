//! Layers over the fused operations of `backend`.
//!
//! They differ from Burn's own in three ways: they call [`backend::functional`], which uses each backend's
//! kernels; what a pass needs besides its input is an argument ([`Pass`](crate::Pass)); and their parameters
//! have PyTorch's names. Operations without parameters, such as pooling, are functions there; ReLU is a part
//! of the layer before it, as in [`Linear::forward_relu`].

mod batch_norm;
mod conv2d;
mod dropout;
mod embedding;
mod linear;
mod lstm;
pub(crate) mod sequence;

pub use self::{
    batch_norm::{BATCH_NORM_EPSILON, BatchNorm2d},
    conv2d::{Conv2d, Conv2dConfig},
    dropout::Dropout,
    embedding::Embedding,
    linear::Linear,
    lstm::Lstm,
};
