//! Sums of squares, from which the norm of all gradients is computed.
//!
//! Overrides: Flex (`flex/square_sums.rs`), CUDA and WGPU (`cube/square_sums.rs`).

use burn::tensor::{Tensor, ops::FloatTensor};

use crate::{
    Backend,
    overrides::note_composed,
    primitive::{flat, primitive},
};

pub(crate) fn composed<B: Backend>(values: Vec<FloatTensor<B>>) -> FloatTensor<B> {
    note_composed();
    let sums = values.into_iter().map(|values| flat::<B>(values).square().sum_dim(0)).collect();
    primitive(Tensor::<B, 1>::cat(sums, 0))
}
