//! Networks as plain Burn modules that return logits, and what belongs to them.
//!
//! ```
//! use backend::{Selected, device};
//! use burn::tensor::Tensor;
//! use models::{MlpConfig, Pass};
//!
//! let (device, _) = device::open()?;
//! let config = MlpConfig { inputs: 20, hidden: vec![10], outputs: 1, ..Default::default() };
//! let model = config.init::<Selected>(0, &device);
//! let logits = model.forward(Tensor::zeros([40, 20], &device), &mut Pass::evaluation());
//! assert_eq!(logits.dims(), [40, 1]);
//! # Ok::<(), device::DeviceError>(())
//! ```
//!
//! A network of your own is built from [`layers`], whose weights an [`Initializer`] draws. Those with
//! dropout or batch normalisation take a [`Pass`], which says whether they train. [`losses`] return a loss
//! for each sample; [`metrics`] are over a whole split.
//!
//! Weights travel by name, in PyTorch's names and layout: [`weights`] takes them from a module and puts
//! them into one, [`import`] reads safetensors and PyTorch's checkpoints. An [`Architecture`] is the
//! serializable description from which any network of this crate is rebuilt.

// What networks are made of.
mod initialization;
pub mod layers;
mod pass;

// Networks.
mod architecture;
mod cnn;
mod layer_table;
mod mlp;
mod resnet;
mod simplenet;
mod text_lstm;
mod text_reader;
mod vgg;

// What is computed from their logits.
pub mod losses;
pub mod metrics;

// Weights in and out.
pub mod import;
mod pth;
pub mod weights;

pub use crate::{
    architecture::{Architecture, ArchitectureError, ImageSizes, Inputs, Network},
    cnn::{Cnn, CnnConfig},
    initialization::{Initialization, Initializer},
    layer_table::{Layer, losses_of_a_sample, training_multiply_adds},
    mlp::{FeatureEmbedding, Mlp, MlpConfig},
    pass::Pass,
    resnet::{ResNet, ResNetConfig, Shortcut},
    simplenet::{SimpleNet, SimpleNetConfig},
    text_lstm::{Positions, TextLstm, TextLstmConfig},
    text_reader::TextReaderConfig,
    vgg::{Head, HeadConfig, Vgg, VggClassifier, VggClassifierConfig, VggConfig},
};
