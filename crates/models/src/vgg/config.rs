//! The sizes of VGG networks.

use backend::Backend;
use serde::{Deserialize, Serialize};

use crate::{
    ArchitectureError, Initialization, Initializer,
    layers::{
        BatchNorm2d, Conv2dConfig,
        sequence::{Parameterless, Stage},
    },
    vgg::Vgg,
};

/// The sizes of a [`Vgg`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VggConfig {
    /// The channels of each convolution, a list for each block; pooling ends a block.
    pub blocks: Vec<Vec<usize>>,
    /// Whether batch normalisation follows each convolution.
    pub batch_norm: bool,
    /// Channels of an image.
    pub channels: usize,
    /// Height and width of an image.
    pub size: usize,
}

impl VggConfig {
    /// VGG-11, 13, 16 or 19 for ImageNet: images of 3x224x224.
    ///
    /// # Errors
    ///
    /// Where there is no VGG of that depth.
    pub fn imagenet(depth: usize, batch_norm: bool) -> Result<Self, ArchitectureError> {
        let convolutions = match depth {
            11 => [1, 1, 2, 2, 2],
            13 => [2, 2, 2, 2, 2],
            16 => [2, 2, 3, 3, 3],
            19 => [2, 2, 4, 4, 4],
            _ => return Err(ArchitectureError::VggDepth { depth }),
        };
        let channels = [64, 128, 256, 512, 512];
        let blocks = channels.iter().zip(convolutions).map(|(&width, count)| vec![width; count]);
        Ok(Self { blocks: blocks.collect(), batch_norm, channels: 3, size: 224 })
    }

    /// A small one for images of 3x32x32: seven convolutions with batch normalisation.
    pub fn small() -> Self {
        let blocks = vec![vec![32, 32], vec![64, 64], vec![128, 128, 128]];
        Self { blocks, batch_norm: true, channels: 3, size: 32 }
    }

    /// The number of features of an image.
    pub fn features(&self) -> usize {
        let [channels, height, width] = self.shape_after(self.blocks.len());
        channels.saturating_mul(height).saturating_mul(width)
    }

    /// The shape of an image's maps after so many blocks, or after all if there are fewer:
    /// `[channels, height, width]`.
    pub fn shape_after(&self, blocks: usize) -> [usize; 3] {
        let done = &self.blocks[..blocks.min(self.blocks.len())];
        let side = done.iter().fold(self.size, |side, _| side / 2);
        [*done.iter().flatten().last().unwrap_or(&self.channels), side, side]
    }

    /// # Errors
    ///
    /// Where a size is 0, or the images are too small for so many blocks.
    pub fn check(&self) -> Result<(), ArchitectureError> {
        let widths = self.blocks.iter().flatten().copied();
        ArchitectureError::unless_positive(widths.chain([self.channels]))?;
        let smallest = self.blocks.iter().fold(1usize, |side, _| side.saturating_mul(2));
        ArchitectureError::unless_large("vgg", self.size, smallest)
    }

    /// The features with their initial weights, from He's distribution.
    pub fn init<B: Backend>(&self, seed: u64, device: &B::Device) -> Vgg<B> {
        self.build(&Initializer::seeded(seed, device))
    }

    /// The features with the weights of `initializer`.
    pub fn build<B: Backend>(&self, initializer: &Initializer<B>) -> Vgg<B> {
        let initializer = initializer.at("features");
        let mut features: Vec<Stage<B>> = Vec::new();
        let mut inputs = self.channels;
        for block in &self.blocks {
            for &outputs in block {
                let at = |index: usize| initializer.at(&index.to_string());
                let conv =
                    Conv2dConfig { padding: [1; 2], ..Conv2dConfig::square(3, inputs, outputs) };
                features.push(Stage::Conv(conv.build(&at(features.len()), Initialization::He)));
                if self.batch_norm {
                    let norm = BatchNorm2d::new(&at(features.len()), outputs);
                    features.push(Stage::Norm(norm));
                }
                features.push(Stage::Relu(Parameterless));
                inputs = outputs;
            }
            features.push(Stage::MaxPool(Parameterless));
        }
        Vgg::from_stages(features)
    }
}
