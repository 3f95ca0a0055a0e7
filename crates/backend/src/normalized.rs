//! Images whose channels are scaled and shifted, each by its own numbers.
//!
//! Overrides: CUDA and WGPU (`cube/pixels.rs`).

use burn::tensor::ops::FloatTensor;

use crate::{
    Backend,
    primitive::{primitive, tensor},
};

pub(crate) fn composed<B: Backend>(
    images: FloatTensor<B>,
    [factors, summands]: [FloatTensor<B>; 2],
) -> FloatTensor<B> {
    let images = tensor::<B, 4>(images);
    let [batch, channels, _, _] = images.dims();
    // CPU backends broadcast one value per plane at the speed of memory, but not one per channel.
    let planes = |values| {
        let each = tensor::<B, 1>(values).reshape([1, channels, 1, 1]);
        each.repeat_dim(0, batch)
    };
    primitive(images * planes(factors) + planes(summands))
}
