//! The backend that records gradients: each operation on it notes how it is differentiated.

use burn::backend::autodiff::{Autodiff, checkpoint::strategy::CheckpointStrategy};
use burn::tensor::{
    backend::AutodiffBackend as BurnAutodiffBackend,
    ops::{FloatTensor, IntTensor},
};

use crate::{
    Backend, BatchNorm2d, BatchNorm2dOutput, DropoutMask, Lstm, LstmOutput, PlaneMap, batch_norm2d,
    binary_cross_entropy, conv2d, conv2d_relu_max_pool, cross_entropy, dropout, embedding,
    embedding_mean,
    functional::{Conv2dOptions, PoolOptions},
    global_average_pool, gradient_divided, linear, lstm, max_pool2d, product, subsample,
};

/// A [`Backend`] that records gradients, on top of one that computes.
pub trait AutodiffBackend: Backend + BurnAutodiffBackend<InnerBackend: Backend> {}

impl<B: Backend, C: CheckpointStrategy> Backend for Autodiff<B, C> {
    const CHANNELS_LAST: bool = B::CHANNELS_LAST;
    const IS_SYNCHRONOUS: bool = B::IS_SYNCHRONOUS;

    fn memory_in_use(device: &Self::Device) -> Option<u64> {
        B::memory_in_use(device)
    }

    fn gradient_divided(values: FloatTensor<Self>, divisor: usize) -> FloatTensor<Self> {
        gradient_divided::recorded::<B, C>(values, divisor)
    }

    fn product(left: FloatTensor<Self>, right: FloatTensor<Self>) -> FloatTensor<Self> {
        product::recorded::<B, C>(left, right)
    }

    fn fused_batch_norm2d(layer: BatchNorm2d<Self>) -> BatchNorm2dOutput<Self> {
        batch_norm2d::recorded(layer)
    }

    fn fused_lstm(layer: Lstm<Self>) -> LstmOutput<Self> {
        lstm::recorded(layer)
    }

    fn fused_linear(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        rectified: bool,
    ) -> FloatTensor<Self> {
        linear::recorded::<B, C>(input, weight, bias, rectified)
    }

    fn fused_embedding(table: FloatTensor<Self>, indices: IntTensor<Self>) -> FloatTensor<Self> {
        embedding::recorded::<B, C>(table, indices)
    }

    fn fused_embedding_mean(
        table: FloatTensor<Self>,
        indices: IntTensor<Self>,
    ) -> FloatTensor<Self> {
        embedding_mean::recorded::<B, C>(table, indices)
    }

    fn fused_cross_entropy(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        cross_entropy::recorded::<B, C>(logits, targets)
    }

    fn fused_binary_cross_entropy(
        logits: FloatTensor<Self>,
        targets: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        binary_cross_entropy::recorded::<B, C>(logits, targets)
    }

    fn fused_conv2d(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: Option<FloatTensor<Self>>,
        options: &Conv2dOptions,
        rectified: bool,
    ) -> FloatTensor<Self> {
        conv2d::recorded::<B, C>(input, weight, bias, options, rectified)
    }

    fn fused_conv2d_relu_max_pool(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        options: &Conv2dOptions,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        conv2d_relu_max_pool::recorded::<B, C>(input, weight, bias, options)
    }

    fn fused_max_pool2d(
        input: FloatTensor<Self>,
        options: &PoolOptions,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        max_pool2d::recorded::<B, C>(input, options)
    }

    fn fused_subsample(
        maps: FloatTensor<Self>,
        stride: usize,
        channels: usize,
    ) -> FloatTensor<Self> {
        subsample::recorded::<B, C>(maps, stride, channels)
    }

    fn fused_global_average_pool(input: FloatTensor<Self>) -> FloatTensor<Self> {
        global_average_pool::recorded::<B, C>(input)
    }

    fn fused_dropout(values: FloatTensor<Self>, mask: &DropoutMask) -> FloatTensor<Self> {
        dropout::recorded::<B, C>(values, mask)
    }

    fn fused_moving_averages(
        pairs: Vec<[FloatTensor<Self>; 2]>,
        share: f64,
        factor: f64,
    ) -> Vec<FloatTensor<Self>> {
        let pairs = pairs.into_iter().map(|pair| pair.map(Self::inner)).collect();
        let averages = B::fused_moving_averages(pairs, share, factor);
        averages.into_iter().map(Self::from_inner).collect()
    }

    fn fused_normalized(
        images: FloatTensor<Self>,
        factors_and_summands: [FloatTensor<Self>; 2],
    ) -> FloatTensor<Self> {
        let factors_and_summands = factors_and_summands.map(Self::inner);
        Self::from_inner(B::fused_normalized(Self::inner(images), factors_and_summands))
    }

    fn fused_pixels(
        packed: IntTensor<Self>,
        indices: Option<IntTensor<Self>>,
        shape: [usize; 3],
    ) -> FloatTensor<Self> {
        Self::from_inner(B::fused_pixels(packed, indices, shape))
    }

    fn fused_affine(images: FloatTensor<Self>, maps: &[PlaneMap]) -> FloatTensor<Self> {
        Self::from_inner(B::fused_affine(Self::inner(images), maps))
    }
}

impl<B: Backend, C: CheckpointStrategy> AutodiffBackend for Autodiff<B, C> {}
