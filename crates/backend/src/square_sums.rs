//! Sums of squares, from which the norm of all gradients is computed.
//!
//! Overrides: Flex (`flex/square_sums.rs`), CUDA and WGPU (`cube/square_sums.rs`).

use burn::tensor::{Tensor, ops::FloatTensor};

use crate::{Backend, operations::flat, overrides::note_composed};

pub(crate) fn composed<B: Backend>(values: Vec<FloatTensor<B>>) -> FloatTensor<B> {
    note_composed();
    let sums = values.into_iter().map(|values| flat::<B>(values).square().sum_dim(0)).collect();
    Tensor::cat(sums, 0).into_primitive().tensor()
}
