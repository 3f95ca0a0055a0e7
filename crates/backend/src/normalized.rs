//! Images whose channels are multiplied by a factor and added to, each by its own.
//!
//! Overrides: CUDA and WGPU (`cube/mod.rs`).

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
    // A value for each plane, one after the other, is what CPU backends broadcast at the speed of
    // memory; one for each channel is not.
    let planes = |values| {
        let each = tensor::<B, 1>(values).reshape([1, channels, 1, 1]);
        each.repeat_dim(0, batch)
    };
    primitive(images * planes(factors) + planes(summands))
}
