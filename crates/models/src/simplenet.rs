//! A small convolutional network: LeNet (LeCun et al., 1998) with kernels of 3x3.

use backend::Backend;
use burn::{module::Module, tensor::Tensor};
use serde::{Deserialize, Serialize};

use crate::{
    ArchitectureError, Initialization, Initializer,
    layers::{Conv2d, Conv2dConfig, Linear},
};

/// The sizes of a [`SimpleNet`]; by default LeNet's, for grey images of 32x32.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimpleNetConfig {
    /// Channels of an image.
    pub channels: usize,
    /// Height and width of an image.
    pub size: usize,
    /// Classes to tell apart.
    pub classes: usize,
}

/// Two convolutions of 3x3 with ReLU and pooling, and three dense layers.
#[derive(Module, Debug)]
pub struct SimpleNet<B: Backend> {
    conv1: Conv2d<B>,
    conv2: Conv2d<B>,
    fc1: Linear<B>,
    fc2: Linear<B>,
    fc3: Linear<B>,
}

impl Default for SimpleNetConfig {
    fn default() -> Self {
        Self { channels: 1, size: 32, classes: 10 }
    }
}

impl SimpleNetConfig {
    /// Height and width of the smallest image that all layers can process.
    pub const SMALLEST: usize = 10;

    /// # Errors
    ///
    /// Where a size is 0, or the images are too small.
    pub fn check(&self) -> Result<(), ArchitectureError> {
        ArchitectureError::unless_positive([self.channels, self.classes])?;
        ArchitectureError::unless_large("simplenet", self.size, Self::SMALLEST)
    }

    /// The network with its initial weights, from PyTorch's distributions; [`check`](Self::check) says
    /// whether it can read an image.
    pub fn init<B: Backend>(&self, seed: u64, device: &B::Device) -> SimpleNet<B> {
        self.build(&Initializer::seeded(seed, device))
    }

    /// The network with the weights of `initializer`.
    pub fn build<B: Backend>(&self, initializer: &Initializer<B>) -> SimpleNet<B> {
        let conv = |name, inputs, outputs| {
            Conv2dConfig::square(3, inputs, outputs)
                .build(&initializer.at(name), Initialization::Pytorch)
        };
        let dense = |name, inputs, outputs| {
            Linear::new(&initializer.at(name), Initialization::Pytorch, inputs, outputs)
        };
        let pooled = |size: usize| size.saturating_sub(2) / 2;
        let side = pooled(pooled(self.size));
        let inputs = side.saturating_mul(side).saturating_mul(16);
        SimpleNet {
            conv1: conv("conv1", self.channels, 6),
            conv2: conv("conv2", 6, 16),
            fc1: dense("fc1", inputs, 120),
            fc2: dense("fc2", 120, 84),
            fc3: dense("fc3", 84, self.classes),
        }
    }
}

impl<B: Backend> SimpleNet<B> {
    /// - `images`: `[batch, channels, height, width]`
    /// - returns logits: `[batch, classes]`
    pub fn forward(&self, images: Tensor<B, 4>) -> Tensor<B, 2> {
        let maps = self.conv1.forward_relu_max_pool(images); // [batch, 6, 15, 15]
        let maps = self.conv2.forward_relu_max_pool(maps); // [batch, 16, 6, 6]
        let hidden = self.fc2.forward_relu(self.fc1.forward_relu(maps.flatten(1, 3)));
        self.fc3.forward(hidden)
    }
}
