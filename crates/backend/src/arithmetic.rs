//! How exactly this process computes sums of products.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

/// How convolutions and products of f32 matrices are computed; see [`set_arithmetic`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arithmetic {
    /// By the fastest algorithm. For a 3x3 kernel that is often Winograd's (Lavin and Gray, 2016); on the
    /// CPU it does a quarter of the multiplications, with an error of up to 1e-4 of the largest value.
    /// CUDA's tensor cores round what they multiply to TF32, which keeps 11 bits of it.
    #[default]
    Fast,
    /// By plain sums of products in f32, with an error of a few 1e-6 of the largest value.
    Exact,
}

static EXACT: AtomicBool = AtomicBool::new(false);

/// Chooses how this process computes from now on; [`Arithmetic::Fast`] at first.
pub fn set_arithmetic(arithmetic: Arithmetic) {
    EXACT.store(arithmetic == Arithmetic::Exact, Ordering::Relaxed);
}

/// The current arithmetic.
pub fn arithmetic() -> Arithmetic {
    if EXACT.load(Ordering::Relaxed) { Arithmetic::Exact } else { Arithmetic::Fast }
}
