//! The convolutional part of a VGG network, whole or a front and a tail.

use backend::Backend;
use burn::{module::Module, tensor::Tensor};

use crate::{
    Pass,
    layers::sequence::{self, Parameterless, Stage},
};

/// Blocks of convolutions of 3x3, each with ReLU; pooling ends a block.
#[derive(Module, Debug)]
pub struct Vgg<B: Backend> {
    features: Vec<Stage<B>>,
}

impl<B: Backend> Vgg<B> {
    pub(crate) fn from_stages(features: Vec<Stage<B>>) -> Self {
        Self { features }
    }

    pub(crate) fn into_stages(self) -> Vec<Stage<B>> {
        self.features
    }

    /// The first `blocks` blocks, and the others; parameters keep their names.
    pub fn split(self, blocks: usize) -> (Self, Self) {
        let mut front = self.features;
        let pools =
            front.iter().enumerate().filter(|(_, stage)| matches!(stage, Stage::MaxPool(_)));
        let ends: Vec<usize> = pools.map(|(index, _)| index + 1).collect();
        let end = match blocks.checked_sub(1) {
            None => 0,
            Some(last) => ends.get(last).copied().unwrap_or(front.len()),
        };
        let rest = front.split_off(end);
        let before = (0..end).map(|_| Stage::Elsewhere(Parameterless));
        (Self { features: front }, Self { features: before.chain(rest).collect() })
    }

    /// A tail joined to its front, the reverse of [`split`](Self::split).
    pub fn after(self, front: Self) -> Self {
        let own =
            self.features.into_iter().skip_while(|stage| matches!(stage, Stage::Elsewhere(_)));
        Self { features: front.features.into_iter().chain(own).collect() }
    }

    /// - `images`: `[batch, channels, height, width]`; for a tail, its front's output
    /// - returns features: `[batch, channels, height, width]`
    pub fn forward(&self, images: Tensor<B, 4>, pass: &mut Pass<B>) -> Tensor<B, 4> {
        sequence::forward(&self.features, images, pass)
    }
}
