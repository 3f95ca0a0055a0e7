//! Multiplication by a number that lies on the device, such as the factor that clips gradients.
//!
//! Overrides: Flex (`flex/rescale.rs`), CUDA and WGPU (`cube/rescale.rs`).

use burn::tensor::{TensorMetadata, ops::FloatTensor};

use crate::{Backend, overrides::note_composed};

pub(crate) fn composed<B: Backend>(
    values: Vec<FloatTensor<B>>,
    factor: FloatTensor<B>,
) -> Vec<FloatTensor<B>> {
    note_composed();
    let rescaled = |values: FloatTensor<B>| {
        let factor = B::float_reshape(factor.clone(), vec![1; values.rank()].into());
        B::float_mul(values, factor)
    };
    values.into_iter().map(rescaled).collect()
}
