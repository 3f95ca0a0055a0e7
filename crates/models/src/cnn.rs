//! The convolutional network of Keras's tutorial on handwritten digits.

use backend::Backend;
use burn::{module::Module, tensor::Tensor};
use serde::{Deserialize, Serialize};

use crate::{
    ArchitectureError, Initialization, Initializer,
    layers::{Conv2d, Conv2dConfig, Linear},
};

/// The sizes of a [`Cnn`]; by default the tutorial's, with 93,322 parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CnnConfig {
    /// Channels of an image.
    pub channels: usize,
    /// Height and width of an image.
    pub size: usize,
    /// Classes to tell apart.
    pub classes: usize,
}

/// Three convolutions of 3x3 with ReLU, the first two with pooling, and two dense layers.
#[derive(Module, Debug)]
pub struct Cnn<B: Backend> {
    conv1: Conv2d<B>,
    conv2: Conv2d<B>,
    conv3: Conv2d<B>,
    dense1: Linear<B>,
    dense2: Linear<B>,
}

impl Default for CnnConfig {
    fn default() -> Self {
        Self { channels: 1, size: 28, classes: 10 }
    }
}

impl CnnConfig {
    /// Height and width of the smallest image that all layers can process.
    pub const SMALLEST: usize = 18;

    /// # Errors
    ///
    /// Where a size is 0, or the images are too small.
    pub fn check(&self) -> Result<(), ArchitectureError> {
        ArchitectureError::unless_positive([self.channels, self.classes])?;
        ArchitectureError::unless_large("cnn", self.size, Self::SMALLEST)
    }

    /// The network with its initial weights, from Keras's distributions; [`check`](Self::check) says
    /// whether it can read an image.
    pub fn init<B: Backend>(&self, seed: u64, device: &B::Device) -> Cnn<B> {
        self.build(&Initializer::seeded(seed, device))
    }

    /// The network with the weights of `initializer`.
    pub fn build<B: Backend>(&self, initializer: &Initializer<B>) -> Cnn<B> {
        let conv = |name, inputs, outputs| {
            Conv2dConfig::square(3, inputs, outputs)
                .build(&initializer.at(name), Initialization::Keras)
        };
        let dense = |name, inputs, outputs| {
            Linear::new(&initializer.at(name), Initialization::Keras, inputs, outputs)
        };
        let pooled = |size: usize| size.saturating_sub(2) / 2;
        let side = pooled(pooled(self.size)).saturating_sub(2);
        let inputs = side.saturating_mul(side).saturating_mul(64);
        Cnn {
            conv1: conv("conv1", self.channels, 32),
            conv2: conv("conv2", 32, 64),
            conv3: conv("conv3", 64, 64),
            dense1: dense("dense1", inputs, 64),
            dense2: dense("dense2", 64, self.classes),
        }
    }
}

impl<B: Backend> Cnn<B> {
    /// - `images`: `[batch, channels, height, width]`
    /// - returns logits: `[batch, classes]`
    pub fn forward(&self, images: Tensor<B, 4>) -> Tensor<B, 2> {
        let maps = self.conv1.forward_relu_max_pool(images); // [batch, 32, 13, 13]
        let maps = self.conv2.forward_relu_max_pool(maps); // [batch, 64, 5, 5]
        let maps = self.conv3.forward_relu(maps); // [batch, 64, 3, 3]
        self.dense2.forward(self.dense1.forward_relu(maps.flatten(1, 3)))
    }
}
