//! Augmentation and normalisation of images on the device, a batch at a time.
//!
//! What happens to an image is drawn from (seed, epoch, the image's index) alone, so neither the
//! batch that it falls in nor a start in the middle of an epoch changes it. Only the partner in
//! [`mixup` and `cutmix`](mix) depends on the batch. The steps, as torchvision defines them:
//!
//! 1. one [`affine`] map: rotation, translation, scale and shear;
//! 2. a crop, resized or from a padded image, and flips ([`window`]);
//! 3. [`colour`]: brightness, contrast, saturation, hue, grey;
//! 4. normalisation;
//! 5. [`mix`]: cutout, then mixup or cutmix.
//!
//! ```
//! use backend::{Part, Selected, device::Device};
//! use burn::tensor::Tensor;
//! use data::augment::{Augmentation, AugmentOptions};
//! use data::{ImageBatch, ImagePreprocessing, ImageShape, Resize};
//!
//! let device = Device::default();
//! let shape = ImageShape { channels: 3, height: 32, width: 32 };
//! let options = AugmentOptions { crop_padding: 4, horizontal_flip: 0.5, ..Default::default() };
//! let preprocessing = ImagePreprocessing::identity(shape, Resize::Crop);
//! let augmentation = Augmentation::<Selected>::new(&options, &preprocessing, 7, &device);
//!
//! let batch = ImageBatch {
//!     images: Tensor::ones([2, 3, 32, 32], &device),
//!     labels: Tensor::from_ints([0, 1], &device),
//!     samples: vec![40, 17],
//!     part: Part::whole(2),
//! };
//! let augmented = augmentation.apply(batch, 0);
//! assert_eq!(augmented.images.dims(), [2, 3, 32, 32]);
//! ```

// What is asked for, and what is drawn.
mod draws;
mod options;

// What is done.
pub mod affine;
pub mod colour;
pub mod mix;
pub mod window;

use backend::{
    Backend, Part, functional,
    random::{Purpose, Random},
};
use burn::tensor::{Int, Tensor, TensorData};

use self::draws::Draws;
pub use self::{mix::Mixed, options::AugmentOptions};
use crate::{ImageBatch, ImagePreprocessing};

/// What is done to the images of a training split.
#[derive(Clone, Debug)]
pub struct Augmentation<B: Backend> {
    options: AugmentOptions,
    seed: u64,
    normalisation: Normalisation<B>,
}

/// A batch, ready for the network.
#[derive(Clone, Debug)]
pub struct Augmented<B: Backend> {
    /// Normalised: `[batch, channels, height, width]`
    pub images: Tensor<B, 4>,
    /// `[batch]`
    pub labels: Tensor<B, 1, Int>,
    /// What else each image shows, where images are mixed.
    pub mixed: Option<Mixed<B>>,
    /// Its share of the update.
    pub part: Part,
}

impl<B: Backend> Augmented<B> {
    /// What each image shows most of: `[batch]`.
    pub fn main_labels(&self) -> Tensor<B, 1, Int> {
        match &self.mixed {
            None => self.labels.clone(),
            Some(Mixed { labels, share }) => {
                self.labels.clone().mask_where(share.clone().lower_elem(0.5), labels.clone())
            }
        }
    }

    /// The loss of each image; for a mixed one that of both labels, weighted by share.
    ///
    /// - `losses`: from labels, `[batch]`, to losses, `[batch]`
    pub fn losses(&self, losses: impl Fn(Tensor<B, 1, Int>) -> Tensor<B, 1>) -> Tensor<B, 1> {
        let own = losses(self.labels.clone());
        match &self.mixed {
            None => own,
            Some(Mixed { labels, share }) => {
                let others = losses(labels.clone());
                others.clone() + (own - others) * share.clone()
            }
        }
    }
}

impl<B: Backend> Augmentation<B> {
    /// What `options` ask for, drawn from `seed`; normalisation as `preprocessing` says.
    ///
    /// # Panics
    ///
    /// If the options have [mistakes](AugmentOptions::mistakes).
    pub fn new(
        options: &AugmentOptions,
        preprocessing: &ImagePreprocessing,
        seed: u64,
        device: &B::Device,
    ) -> Self {
        if let Some((key, expected)) = options.mistakes().first() {
            panic!("`{key}` must be {expected}");
        }
        let normalisation = Normalisation::new(preprocessing, device);
        Self { options: options.clone(), seed, normalisation }
    }

    /// Augments and normalises a batch.
    ///
    /// # Panics
    ///
    /// If there is not a label and an index for each image.
    pub fn apply(&self, batch: ImageBatch<B>, epoch: usize) -> Augmented<B> {
        let ImageBatch { images, labels, samples, part } = batch;
        assert_eq!(images.dims()[0], samples.len(), "an index for each image");
        assert_eq!(labels.dims()[0], samples.len(), "a label for each image");
        let random = Random::new(self.seed, Purpose::Augmentation, epoch as u64);
        let draws: Vec<Draws> = samples.iter().map(|&sample| Draws::new(random, sample)).collect();

        let images = affine::augment(images, &self.options, &draws);
        let images = window::augment(images, &self.options, &draws);
        let images = colour::augment(images, &self.options, &draws);
        let images = self.normalise(images);
        let images = mix::augment_by_cutout(images, &self.options, &draws);
        let (images, mixed) = mix::augment(images, &labels, &self.options, &draws);
        Augmented { images, labels, mixed, part }
    }

    /// Only normalises, as for a split to measure on: `(images - mean) / deviation`.
    ///
    /// - `images`: pixels between 0 and 1, `[batch, channels, height, width]`
    pub fn normalise(&self, images: Tensor<B, 4>) -> Tensor<B, 4> {
        self.normalisation.apply(images)
    }
}

/// A multiplication and an addition in each channel.
#[derive(Clone, Debug)]
enum Normalisation<B: Backend> {
    Nothing,
    /// Of a single channel: plain numbers.
    One(f32, f32),
    /// Of several: factors and summands, `[channels]` each.
    Each([Tensor<B, 1>; 2]),
}

impl<B: Backend> Normalisation<B> {
    fn new(preprocessing: &ImagePreprocessing, device: &B::Device) -> Self {
        let factors = preprocessing.factors();
        if factors.iter().all(|&factors| factors == (1.0, 0.0)) {
            return Self::Nothing;
        }
        if let [(factor, summand)] = factors[..] {
            return Self::One(factor, summand);
        }
        let (factors, summands): (Vec<f32>, Vec<f32>) = factors.into_iter().unzip();
        Self::Each([factors, summands].map(|values| Tensor::from_floats(&values[..], device)))
    }

    fn apply(&self, images: Tensor<B, 4>) -> Tensor<B, 4> {
        match self {
            Self::Nothing => images,
            Self::One(factor, summand) => images * *factor + *summand,
            Self::Each(both) => functional::normalized(images, both.clone()),
        }
    }
}

/// A value for each image, to be broadcast over its pixels: `[batch, 1, 1, 1]`.
fn each_image<B: Backend>(values: Vec<f32>, device: &B::Device) -> Tensor<B, 4> {
    let batch = values.len();
    Tensor::from_data(TensorData::new(values, [batch, 1, 1, 1]), device)
}
