//! The convolutional network of Keras's tutorial on handwritten digits.

use backend::Backend;
use burn::{module::Module, tensor::Tensor};
use serde::{Deserialize, Serialize};

use crate::{
    ArchitectureError, Initialization, Initializer, Pass,
    layers::{Conv2d, Conv2dConfig, Dropout, Linear},
};

/// The sizes of a [`Cnn`]; by default the tutorial's, with 93,322 parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CnnConfig {
    /// Channels of an image.
    pub channels: usize,
    /// Height and width of an image.
    pub size: usize,
    /// Classes to tell apart.
    pub classes: usize,
    /// Channels after each convolution.
    #[serde(default = "tutorial::filters")]
    pub filters: [usize; 3],
    /// Units of the hidden dense layer.
    #[serde(default = "tutorial::hidden")]
    pub hidden: usize,
    /// The probability of dropout after the hidden dense layer.
    #[serde(default)]
    pub dropout: f64,
}

/// The sizes of the tutorial's network.
mod tutorial {
    pub(super) fn filters() -> [usize; 3] {
        [32, 64, 64]
    }

    pub(super) fn hidden() -> usize {
        64
    }
}

/// Three convolutions of 3x3 with ReLU, the first two with pooling, and two dense layers with dropout
/// between them.
#[derive(Module, Debug)]
pub struct Cnn<B: Backend> {
    conv1: Conv2d<B>,
    conv2: Conv2d<B>,
    conv3: Conv2d<B>,
    dense1: Linear<B>,
    dense2: Linear<B>,
    dropout: Dropout,
}

impl Default for CnnConfig {
    fn default() -> Self {
        Self {
            channels: 1,
            size: 28,
            classes: 10,
            filters: tutorial::filters(),
            hidden: tutorial::hidden(),
            dropout: 0.0,
        }
    }
}

impl CnnConfig {
    /// Height and width of the smallest image that all layers can process.
    pub const SMALLEST: usize = 18;

    /// # Errors
    ///
    /// If a size is 0, the images are too small, or dropout is not a probability.
    pub fn check(&self) -> Result<(), ArchitectureError> {
        let sizes = [self.channels, self.classes, self.hidden];
        ArchitectureError::unless_positive(sizes.into_iter().chain(self.filters))?;
        ArchitectureError::unless_probability(self.dropout)?;
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
        let [first, second, third] = self.filters;
        let inputs = side.saturating_mul(side).saturating_mul(third);
        Cnn {
            conv1: conv("conv1", self.channels, first),
            conv2: conv("conv2", first, second),
            conv3: conv("conv3", second, third),
            dense1: dense("dense1", inputs, self.hidden),
            dense2: dense("dense2", self.hidden, self.classes),
            dropout: Dropout::new(self.dropout),
        }
    }
}

impl<B: Backend> Cnn<B> {
    /// The sizes beside the steps are the tutorial's.
    ///
    /// - `images`: `[batch, channels, height, width]`
    /// - returns logits: `[batch, classes]`
    pub fn forward(&self, images: Tensor<B, 4>, pass: &mut Pass<B>) -> Tensor<B, 2> {
        let maps = self.conv1.forward_relu_max_pool(images); // [batch, 32, 13, 13]
        let maps = self.conv2.forward_relu_max_pool(maps); // [batch, 64, 5, 5]
        let maps = self.conv3.forward_relu(maps); // [batch, 64, 3, 3]
        let hidden = self.dense1.forward_relu(maps.flatten(1, 3)); // [batch, 64]
        self.dense2.forward(self.dropout.forward(hidden, pass))
    }
}
