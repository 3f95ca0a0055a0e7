//! The precision of what training multiplies.

use std::{
    fmt,
    sync::atomic::{AtomicU8, Ordering},
};

use burn::tensor::{DType, Tensor, TensorMetadata, ops::FloatTensor};
use serde::{Deserialize, Serialize};

use crate::{
    Backend,
    primitive::{primitive, tensor},
};

/// The precision of what training multiplies; see [`set_precision`].
///
/// With [`Bf16`](Self::Bf16) and [`F16`](Self::F16) convolutions, dense layers and LSTM layers round
/// their inputs and weights, and so do their backward passes. Their results are f32 again, and so is
/// all else: weights, statistics, losses, sums of gradients and updates. This is mixed precision
/// (Micikevicius et al., 2018). Backends that record no gradients are not affected: a model is measured
/// as it will be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 24 bits of precision, but 11 where CUDA's tensor cores multiply; see [`Arithmetic`](crate::Arithmetic).
    #[default]
    F32,
    /// 8 bits of precision with f32's range, which tensor cores multiply at several times the speed.
    Bf16,
    /// 11 bits of precision, for numbers between 6e-8 and 65504: for GPUs that have it but no bf16. The
    /// range is so narrow that losses have to be scaled, by `TrainerConfig::loss_scaling`.
    F16,
}

impl Precision {
    /// Whether a device can train with it.
    pub fn is_supported<B: Backend>(self, device: &B::Device) -> bool {
        self.lowered().is_none_or(|dtype| B::supports_dtype(device, dtype))
    }

    /// The type that operands are rounded to.
    fn lowered(self) -> Option<DType> {
        match self {
            Self::F32 => None,
            Self::Bf16 => Some(DType::BF16),
            Self::F16 => Some(DType::F16),
        }
    }
}

impl fmt::Display for Precision {
    /// Its name in settings.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
        })
    }
}

static CHOSEN: AtomicU8 = AtomicU8::new(Precision::F32 as u8);

/// Chooses how this process trains from now on, with every trainer; [`Precision::F32`] at first.
///
/// It does not check [`Precision::is_supported`], without which products fail. With
/// [`Precision::F16`] the trainer has to scale losses, by `TrainerConfig::loss_scaling`.
pub fn set_precision(precision: Precision) {
    CHOSEN.store(precision as u8, Ordering::Relaxed);
}

/// The current precision.
pub fn precision() -> Precision {
    let chosen = CHOSEN.load(Ordering::Relaxed);
    let mut others = [Precision::Bf16, Precision::F16].into_iter();
    others.find(|&other| other as u8 == chosen).unwrap_or_default()
}

/// What a product is computed from.
pub(crate) fn operand<B: Backend, const D: usize>(values: Tensor<B, D>) -> FloatTensor<B> {
    let trains = values.dtype() == DType::F32 && B::ad_enabled(&values.device());
    match precision().lowered().filter(|_| trains) {
        Some(dtype) => cast::<B>(primitive(values), dtype),
        None => primitive(values),
    }
}

/// What a product returns, as all other operations take it.
pub(crate) fn result<B: Backend, const D: usize>(product: FloatTensor<B>) -> Tensor<B, D> {
    let product = tensor::<B, D>(product);
    let lowered = [DType::BF16, DType::F16].contains(&product.dtype());
    if lowered { tensor(cast::<B>(primitive(product), DType::F32)) } else { product }
}

/// Casts values. Maps and weights of convolutions get their channels last in memory, as convolutions
/// read them; Burn would put the channels before the rows.
fn cast<B: Backend>(values: FloatTensor<B>, dtype: DType) -> FloatTensor<B> {
    if values.rank() != 4 {
        return B::float_cast(values, dtype.into());
    }
    let cast = B::float_cast(B::float_permute(values, &[0, 2, 3, 1]), dtype.into());
    B::float_permute(cast, &[0, 3, 1, 2])
}
