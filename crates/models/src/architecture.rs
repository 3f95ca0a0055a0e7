//! The description of a network, saved with its weights.

use std::collections::BTreeMap;

use backend::Backend;
use burn::{
    module::Module,
    tensor::{Int, Tensor},
};
use serde::{Deserialize, Serialize};
use store::StoredTensor;

use crate::{
    Cnn, CnnConfig, Initializer, Mlp, MlpConfig, Pass, ResNet, ResNetConfig, SimpleNet,
    SimpleNetConfig, TextLstm, TextLstmConfig, VggClassifier, VggClassifierConfig,
    weights::{self, WeightsError},
};

/// A network's description, enough to rebuild it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "network")]
pub enum Architecture {
    /// A multi-layer perceptron.
    Mlp(MlpConfig),
    /// The convolutional network of Keras's tutorial.
    Cnn(CnnConfig),
    /// LeNet with kernels of 3x3.
    #[serde(rename = "simplenet")]
    SimpleNet(SimpleNetConfig),
    /// A residual network for small images.
    #[serde(rename = "resnet")]
    ResNet(ResNetConfig),
    /// A text generator.
    #[serde(rename = "lstm")]
    TextLstm(TextLstmConfig),
    /// A VGG network with its head.
    Vgg(VggClassifierConfig),
}

/// Any network, with its weights.
#[derive(Module, Debug)]
pub enum Network<B: Backend> {
    /// A multi-layer perceptron.
    Mlp(Mlp<B>),
    /// The convolutional network of Keras's tutorial.
    Cnn(Cnn<B>),
    /// LeNet with kernels of 3x3.
    SimpleNet(SimpleNet<B>),
    /// A residual network for small images.
    ResNet(ResNet<B>),
    /// A text generator.
    TextLstm(TextLstm<B>),
    /// A VGG network with its head.
    Vgg(VggClassifier<B>),
}

/// What a network of images reads, and how many classes it tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageSizes {
    /// Channels of an image.
    pub channels: usize,
    /// Height and width of an image; none where it reads images of any size.
    pub side: Option<usize>,
    /// Classes to tell apart.
    pub classes: usize,
}

/// What a network reads.
#[derive(Clone, Debug)]
pub enum Inputs<B: Backend> {
    /// Features of a table's rows: `[batch, features]`.
    Rows(Tensor<B, 2>),
    /// `[batch, channels, height, width]`
    Images(Tensor<B, 4>),
    /// `[batch, time]`
    Tokens(Tensor<B, 2, Int>),
}

impl Architecture {
    /// Checks that the sizes fit together, and that dropout is a probability.
    ///
    /// # Errors
    ///
    /// If the sizes contradict each other or one is 0 ([`load`](Self::load) would accept such weights,
    /// but no input would fit), or if dropout is not a probability.
    pub fn check(&self) -> Result<(), ArchitectureError> {
        match self {
            Self::Mlp(config) => config.check(),
            Self::Cnn(config) => config.check(),
            Self::SimpleNet(config) => config.check(),
            Self::ResNet(config) => config.check(),
            Self::TextLstm(config) => config.check(),
            Self::Vgg(config) => config.check(),
        }
    }

    /// The network with the weights of `initializer`.
    pub fn build<B: Backend>(&self, initializer: &Initializer<B>) -> Network<B> {
        match self {
            Self::Mlp(config) => Network::Mlp(config.build(initializer)),
            Self::Cnn(config) => Network::Cnn(config.build(initializer)),
            Self::SimpleNet(config) => Network::SimpleNet(config.build(initializer)),
            Self::ResNet(config) => Network::ResNet(config.build(initializer)),
            Self::TextLstm(config) => Network::TextLstm(config.build(initializer)),
            Self::Vgg(config) => Network::Vgg(config.build(initializer)),
        }
    }

    /// The images that the network reads; none where it reads something else.
    pub fn images(&self) -> Option<ImageSizes> {
        let (channels, side, classes) = match self {
            Self::Cnn(config) => (config.channels, Some(config.size), config.classes),
            Self::SimpleNet(config) => (config.channels, Some(config.size), config.classes),
            Self::ResNet(config) => (config.channels, None, config.classes),
            Self::Vgg(VggClassifierConfig { features, head }) => {
                (features.channels, Some(features.size), head.outputs)
            }
            Self::Mlp(_) | Self::TextLstm(_) => return None,
        };
        Some(ImageSizes { channels, side, classes })
    }

    /// The name of the layer whose outputs are the logits: that of its parameters up to the last dot.
    pub fn last_layer(&self) -> String {
        match self {
            Self::Mlp(config) => format!("layers.{}", config.hidden.len()),
            Self::Cnn(_) => "dense2".to_owned(),
            Self::SimpleNet(_) => "fc3".to_owned(),
            Self::ResNet(_) => "fc".to_owned(),
            Self::TextLstm(_) => "dense".to_owned(),
            // ReLU and dropout are numbered too.
            Self::Vgg(config) => format!("classifier.{}", 3 * config.head.hidden.len()),
        }
    }

    /// The network with weights from a file.
    ///
    /// Memory is allocated for what is in the file, whatever the sizes of the network.
    ///
    /// # Errors
    ///
    /// As [`weights::load`].
    pub fn load<B: Backend>(
        &self,
        tensors: BTreeMap<String, StoredTensor>,
        device: &B::Device,
    ) -> Result<Network<B>, WeightsError> {
        let layers = match self {
            Self::ResNet(config) => config.depth,
            Self::TextLstm(config) => config.layers,
            // Their layers are listed one by one.
            Self::Mlp(_) | Self::Cnn(_) | Self::SimpleNet(_) | Self::Vgg(_) => 0,
        };
        weights::check_number(layers, &tensors)?;
        weights::load(self.build(&Initializer::blank(device)), tensors)
    }
}

impl<B: Backend> Network<B> {
    /// The logits, `[batch, outputs]`; of tokens a row for each predicted position. `None` where the
    /// network reads something else.
    pub fn forward(&self, inputs: Inputs<B>, pass: &mut Pass<B>) -> Option<Tensor<B, 2>> {
        Some(match (self, inputs) {
            (Self::Mlp(network), Inputs::Rows(features)) => network.forward(features, pass),
            (Self::Cnn(network), Inputs::Images(images)) => network.forward(images, pass),
            (Self::SimpleNet(network), Inputs::Images(images)) => network.forward(images),
            (Self::ResNet(network), Inputs::Images(images)) => network.forward(images, pass),
            (Self::TextLstm(network), Inputs::Tokens(tokens)) => {
                network.forward(tokens, None, pass).0.flatten(0, 1)
            }
            (Self::Vgg(network), Inputs::Images(images)) => network.forward(images, pass),
            (
                Self::Mlp(_)
                | Self::Cnn(_)
                | Self::SimpleNet(_)
                | Self::ResNet(_)
                | Self::TextLstm(_)
                | Self::Vgg(_),
                _,
            ) => return None,
        })
    }
}

/// An invalid description of a network.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ArchitectureError {
    /// Dropout is, say, a percentage rather than a probability.
    #[error("the probability of dropout is {probability}, and must be from 0 to 1")]
    Dropout { probability: f64 },
    /// An image would be reduced to nothing.
    #[error("images of {size}x{size} are too small for the network `{network}`")]
    SmallImages {
        network: &'static str,
        size: usize,
        /// The least it may be.
        smallest: usize,
    },
    /// A residual network has three groups of equally many blocks of two layers.
    #[error("there is no residual network of depth {depth} for small images")]
    ResidualDepth { depth: usize },
    /// The sizes contradict each other.
    #[error("the sizes of the network do not fit together: {reason}")]
    Sizes { reason: String },
    /// Only four depths were published.
    #[error("there is no VGG network of depth {depth}")]
    VggDepth { depth: usize },
}

impl ArchitectureError {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Dropout { .. } => {
                "give the share to drop: 0.25 for a quarter, 0 for none".to_owned()
            }
            Self::SmallImages { smallest, .. } => {
                format!("use images of at least {smallest}x{smallest}")
            }
            Self::ResidualDepth { .. } => "use a depth of 6 n + 2: 20, 32, 44 or 56".to_owned(),
            Self::Sizes { .. } => {
                "choose sizes so that each layer's outputs match the next layer's inputs".to_owned()
            }
            Self::VggDepth { .. } => "use 11, 13, 16 or 19".to_owned(),
        }
    }

    pub(crate) fn unless_large(
        network: &'static str,
        size: usize,
        smallest: usize,
    ) -> Result<(), Self> {
        if size >= smallest { Ok(()) } else { Err(Self::SmallImages { network, size, smallest }) }
    }

    pub(crate) fn unless_positive(sizes: impl IntoIterator<Item = usize>) -> Result<(), Self> {
        match sizes.into_iter().any(|size| size == 0) {
            true => Err(Self::Sizes { reason: "one of them is 0".to_owned() }),
            false => Ok(()),
        }
    }

    pub(crate) fn unless_probability(dropout: f64) -> Result<(), Self> {
        let is_one = (0.0..=1.0).contains(&dropout);
        if is_one { Ok(()) } else { Err(Self::Dropout { probability: dropout }) }
    }
}
