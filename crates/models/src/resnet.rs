//! Residual networks for small images (He et al., "Deep residual learning", 2015, section 4.2).
//!
//! Names are torchvision's: `conv1`, `bn1`, `layer1.0.conv1`, `layer2.0.downsample.0`, `fc`.

use backend::{
    Backend,
    functional::{forked, global_average_pool, subsample},
};
use burn::{module::Module, tensor::Tensor};
use serde::{Deserialize, Serialize};

use crate::{
    ArchitectureError, Initialization, Initializer, Pass,
    layers::{
        BatchNorm2d, Conv2d, Conv2dConfig, Linear,
        sequence::{self, Stage},
    },
};

/// The sizes of a [`ResNet`]; by default ResNet-20 for CIFAR-10, with 269,722 parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResNetConfig {
    /// Layers with weights, `6 n + 2`: the authors' are 20, 32, 44, 56.
    pub depth: usize,
    /// The shortcut past a block that halves its maps.
    pub shortcut: Shortcut,
    /// Channels of an image.
    pub channels: usize,
    /// Classes to tell apart.
    pub classes: usize,
}

/// The shortcut past a block that halves its maps and doubles their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shortcut {
    /// Every second row and column, and maps of zeros: the paper's option A.
    Zeros,
    /// A convolution of 1x1 with batch normalisation: the paper's option B.
    Convolution,
}

/// A convolution, three groups of residual blocks with 16, 32 and 64 maps, and a dense layer.
#[derive(Module, Debug)]
pub struct ResNet<B: Backend> {
    conv1: Conv2d<B>,
    bn1: BatchNorm2d<B>,
    layer1: Vec<Block<B>>,
    layer2: Vec<Block<B>>,
    layer3: Vec<Block<B>>,
    fc: Linear<B>,
}

/// Two convolutions, whose input is added to their output.
#[derive(Module, Debug)]
struct Block<B: Backend> {
    conv1: Conv2d<B>,
    bn1: BatchNorm2d<B>,
    conv2: Conv2d<B>,
    bn2: BatchNorm2d<B>,
    downsample: Vec<Stage<B>>,
    stride: usize,
}

impl Default for ResNetConfig {
    fn default() -> Self {
        Self { depth: 20, shortcut: Shortcut::Zeros, channels: 3, classes: 10 }
    }
}

impl ResNetConfig {
    /// # Errors
    ///
    /// Where a size is 0, or the depth is not one of `6 n + 2`.
    pub fn check(&self) -> Result<(), ArchitectureError> {
        ArchitectureError::unless_positive([self.channels, self.classes])?;
        if self.depth >= 8 && self.depth % 6 == 2 {
            return Ok(());
        }
        Err(ArchitectureError::ResidualDepth { depth: self.depth })
    }

    /// Residual blocks of each of the three groups.
    pub fn blocks(&self) -> usize {
        (self.depth.saturating_sub(2) / 6).max(1)
    }

    /// The network with its initial weights: convolutions from He's distribution, the dense layer from
    /// PyTorch's, as in torchvision. Of a depth that [`check`](Self::check) refuses it has fewer layers.
    pub fn init<B: Backend>(&self, seed: u64, device: &B::Device) -> ResNet<B> {
        self.build(&Initializer::seeded(seed, device))
    }

    /// The network with the weights of `initializer`.
    pub fn build<B: Backend>(&self, initializer: &Initializer<B>) -> ResNet<B> {
        let group = |name: &str, inputs: usize, outputs: usize| {
            let initializer = initializer.at(name);
            let block = |index: usize| {
                let inputs = if index == 0 { inputs } else { outputs };
                self.block(&initializer.at(&index.to_string()), inputs, outputs)
            };
            (0..self.blocks()).map(block).collect()
        };
        ResNet {
            conv1: conv(&initializer.at("conv1"), self.channels, 16, 3, 1),
            bn1: BatchNorm2d::new(&initializer.at("bn1"), 16),
            layer1: group("layer1", 16, 16),
            layer2: group("layer2", 16, 32),
            layer3: group("layer3", 32, 64),
            fc: Linear::new(&initializer.at("fc"), Initialization::Pytorch, 64, self.classes),
        }
    }

    /// A block; where the number of maps changes, it halves their size.
    fn block<B: Backend>(
        &self,
        initializer: &Initializer<B>,
        inputs: usize,
        outputs: usize,
    ) -> Block<B> {
        let stride = if inputs == outputs { 1 } else { 2 };
        let downsample = initializer.at("downsample");
        let downsample = match self.shortcut {
            Shortcut::Convolution if stride > 1 => vec![
                Stage::Conv(conv(&downsample.at("0"), inputs, outputs, 1, stride)),
                Stage::Norm(BatchNorm2d::new(&downsample.at("1"), outputs)),
            ],
            _ => Vec::new(),
        };
        Block {
            conv1: conv(&initializer.at("conv1"), inputs, outputs, 3, stride),
            bn1: BatchNorm2d::new(&initializer.at("bn1"), outputs),
            conv2: conv(&initializer.at("conv2"), outputs, outputs, 3, 1),
            bn2: BatchNorm2d::new(&initializer.at("bn2"), outputs),
            downsample,
            stride,
        }
    }
}

/// A convolution without bias, which the batch normalisation after it would cancel.
fn conv<B: Backend>(
    initializer: &Initializer<B>,
    inputs: usize,
    outputs: usize,
    kernel: usize,
    stride: usize,
) -> Conv2d<B> {
    let config = Conv2dConfig {
        stride: [stride; 2],
        padding: [kernel / 2; 2],
        bias: false,
        ..Conv2dConfig::square(kernel, inputs, outputs)
    };
    config.build(initializer, Initialization::He)
}

impl<B: Backend> ResNet<B> {
    /// - `images`: `[batch, channels, height, width]`
    /// - returns logits: `[batch, classes]`
    pub fn forward(&self, images: Tensor<B, 4>, pass: &mut Pass<B>) -> Tensor<B, 2> {
        let mut maps = self.bn1.forward_relu(self.conv1.forward(images), pass);
        for block in self.layer1.iter().chain(&self.layer2).chain(&self.layer3) {
            maps = block.forward(maps, pass);
        }
        self.fc.forward(global_average_pool(maps))
    }
}

impl<B: Backend> Block<B> {
    fn forward(&self, input: Tensor<B, 4>, pass: &mut Pass<B>) -> Tensor<B, 4> {
        let [input, shortcut] = forked(input);
        let maps = self.bn1.forward_relu(self.conv1.forward(input), pass);
        let maps = self.conv2.forward(maps);
        let shortcut = self.shortcut(shortcut, maps.dims()[1], pass);
        self.bn2.forward_add_relu(maps, shortcut, pass)
    }

    fn shortcut(&self, input: Tensor<B, 4>, outputs: usize, pass: &mut Pass<B>) -> Tensor<B, 4> {
        if self.stride == 1 || !self.downsample.is_empty() {
            return sequence::forward(&self.downsample, input, pass);
        }
        subsample(input, self.stride, outputs)
    }
}
