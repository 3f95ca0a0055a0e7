//! A VGG network with its head.

use backend::Backend;
use burn::{module::Module, tensor::Tensor};
use serde::{Deserialize, Serialize};

use crate::{
    ArchitectureError, Initializer, Pass,
    layers::{
        Dropout, Linear,
        sequence::{self, Stage},
    },
    vgg::{Head, HeadConfig, Vgg, VggConfig, head::classify},
};

/// The sizes of a [`VggClassifier`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VggClassifierConfig {
    /// The features.
    pub features: VggConfig,
    /// The head.
    pub head: HeadConfig,
}

/// Features, or a tail of them, and a head.
#[derive(Module, Debug)]
pub struct VggClassifier<B: Backend> {
    features: Vec<Stage<B>>,
    classifier: Vec<Option<Linear<B>>>,
    dropout: Dropout,
}

impl VggClassifierConfig {
    /// The network for ImageNet's 1000 classes.
    ///
    /// # Errors
    ///
    /// Where there is no VGG of that depth.
    pub fn imagenet(depth: usize, batch_norm: bool) -> Result<Self, ArchitectureError> {
        let features = VggConfig::imagenet(depth, batch_norm)?;
        let inputs = features.features();
        let head = HeadConfig { inputs, hidden: vec![4096; 2], outputs: 1000, dropout: 0.5 };
        Ok(Self { features, head })
    }

    /// # Errors
    ///
    /// Where one of the two parts is refused, or the head reads other features than there are.
    pub fn check(&self) -> Result<(), ArchitectureError> {
        self.features.check()?;
        self.head.check()?;
        let (features, inputs) = (self.features.features(), self.head.inputs);
        if features == inputs {
            return Ok(());
        }
        let reason =
            format!("the head reads {inputs} values, and an image has {features} features");
        Err(ArchitectureError::Sizes { reason })
    }

    /// The network with its initial weights.
    pub fn init<B: Backend>(&self, seed: u64, device: &B::Device) -> VggClassifier<B> {
        self.build(&Initializer::seeded(seed, device))
    }

    /// The network with the weights of `initializer`.
    pub fn build<B: Backend>(&self, initializer: &Initializer<B>) -> VggClassifier<B> {
        VggClassifier::new(self.features.build(initializer), self.head.build(initializer))
    }
}

impl<B: Backend> VggClassifier<B> {
    /// A head on top of features.
    pub fn new(features: Vgg<B>, head: Head<B>) -> Self {
        let (classifier, dropout) = head.into_parts();
        Self { features: features.into_stages(), classifier, dropout }
    }

    /// The network with the front that computed its features.
    pub fn after(self, front: Vgg<B>) -> Self {
        let features = Vgg::from_stages(self.features).after(front).into_stages();
        Self { features, ..self }
    }

    /// - `images`: `[batch, channels, height, width]`; for a tail, its front's output
    /// - returns logits: `[batch, outputs]`
    pub fn forward(&self, images: Tensor<B, 4>, pass: &mut Pass<B>) -> Tensor<B, 2> {
        let features = sequence::forward(&self.features, images, pass);
        classify(&self.classifier, &self.dropout, features.flatten(1, 3), pass)
    }
}
