//! VGG networks (Simonyan and Zisserman, 2014) in parts: features to keep, and a head to train.
//!
//! A pretrained [`Vgg`] is split into a front, which stays frozen on the backend without gradients,
//! and a tail, which may be tuned; a [`Head`] is put on top. Names are torchvision's, in each part
//! as in the whole: `features.0.weight`, `classifier.0.weight`. The initial weights of the features
//! are drawn from He's distribution, as in torchvision, those of a head from Keras's.
//!
//! ```
//! use backend::{Selected, device::Device};
//! use burn::tensor::Tensor;
//! use models::{HeadConfig, Pass, VggClassifier, VggConfig};
//!
//! let config = VggConfig::small();
//! let (front, tail) = config.init::<Selected>(0, &Device::default()).split(2);
//! let head = HeadConfig { inputs: config.features(), hidden: vec![256], outputs: 5, dropout: 0.0 };
//! let trained = VggClassifier::new(tail, head.init(0, &Device::default()));
//!
//! let mut pass = Pass::evaluation();
//! let frozen = front.forward(Tensor::zeros([2, 3, 32, 32], &Device::default()), &mut pass);
//! assert_eq!(trained.forward(frozen, &mut pass).dims(), [2, 5]);
//! ```

mod classifier;
mod config;
mod features;
mod head;

pub use self::{
    classifier::{VggClassifier, VggClassifierConfig},
    config::VggConfig,
    features::Vgg,
    head::{Head, HeadConfig},
};
