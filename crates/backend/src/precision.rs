//! In which arithmetic training computes its products.
//!
//! With [`Precision::Bf16`] convolutions, dense layers and LSTM layers take their inputs and weights
//! rounded to bf16, whose range is f32's, and so do their backward passes. What they return is f32
//! again, and so is all else: weights, statistics, losses, sums of gradients and updates. This is
//! what mixed precision is (Micikevicius et al., 2018); there is no loss scaling, which only f16
//! needs. Backends that record no gradients are not affected: a model is measured as it will be used.

use std::sync::atomic::{AtomicBool, Ordering};

use burn::tensor::{DType, Tensor, ops::FloatTensor};
use serde::{Deserialize, Serialize};

use crate::{
    Backend,
    primitive::{primitive, tensor},
};

/// The arithmetic of products; see [`set_precision`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 24 bits of precision.
    #[default]
    F32,
    /// 8 bits of precision with f32's range, which tensor cores multiply at several times the speed.
    Bf16,
}

impl Precision {
    /// Whether a device can train with it.
    pub fn is_supported<B: Backend>(self, device: &B::Device) -> bool {
        match self {
            Self::F32 => true,
            Self::Bf16 => B::supports_dtype(device, DType::BF16),
        }
    }
}

static BF16: AtomicBool = AtomicBool::new(false);

/// Chooses how this process trains from now on; [`Precision::F32`] at first.
pub fn set_precision(precision: Precision) {
    BF16.store(precision == Precision::Bf16, Ordering::Relaxed);
}

/// How this process trains.
pub fn precision() -> Precision {
    if BF16.load(Ordering::Relaxed) { Precision::Bf16 } else { Precision::F32 }
}

/// What a product is computed from.
pub(crate) fn operand<B: Backend, const D: usize>(values: Tensor<B, D>) -> FloatTensor<B> {
    let lowered = precision() == Precision::Bf16
        && values.dtype() == DType::F32
        && B::ad_enabled(&values.device());
    primitive(if lowered { values.cast(DType::BF16) } else { values })
}

/// What a product returns, as all other operations take it.
pub(crate) fn result<B: Backend, const D: usize>(product: FloatTensor<B>) -> Tensor<B, D> {
    let product = tensor::<B, D>(product);
    if product.dtype() == DType::BF16 { product.cast(DType::F32) } else { product }
}
