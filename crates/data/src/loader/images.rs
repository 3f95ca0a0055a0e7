//! Batches of images, from a source on the host or from a copy on the device.

use std::{fmt, sync::Arc};

use backend::{Backend, Packing, Part, device};
use burn::tensor::{Int, Tensor, TensorData};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    Batching,
    pipeline::{Pipeline, ReadBatch, read_contained},
    pixels::Pixels,
};
use crate::{
    DataError, ImageShape, ImageSource,
    images::{allocate, check_not_empty},
    labels::check_labels,
};

/// Splits of at most this many bytes lie on the device, unless the user says otherwise. CIFAR-10
/// takes 154 million.
const MOST_RESIDENT_BYTES: usize = 1 << 30;

/// Where the images of a split lie while it is trained on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Residency {
    /// On the device, uploaded once; a batch is gathered there.
    Device,
    /// On the host, where workers read batches ahead.
    Host,
    /// On the device up to 1 GiB, if a tensor may be that large there, else on the host.
    #[default]
    Auto,
}

impl Residency {
    /// Whether a split of so many images, of so many bytes each, lies on the opened device.
    pub fn is_on_device(self, images: usize, bytes: usize) -> bool {
        match self {
            Self::Device => true,
            Self::Host => false,
            Self::Auto => {
                // Some devices keep them in words.
                let bytes = images.saturating_mul(bytes.next_multiple_of(4));
                bytes <= MOST_RESIDENT_BYTES && device::takes_tensor_of(bytes)
            }
        }
    }
}

/// The images of a split, and their batches.
///
/// ```
/// use std::sync::Arc;
///
/// use backend::{Selected, device::Device};
/// use data::{Batching, ImageLoader, Order, Residency, drawn};
///
/// let source = Arc::new(drawn::digits(0..100, 7)?);
/// let batching = Batching::new(Order::Shuffled, 1, 32);
/// let device = Device::default();
/// let loader = ImageLoader::<Selected>::new(source, batching, Residency::Auto, 2, &device)?;
/// for batch in loader.batches(0, 0) {
///     assert_eq!(batch?.images.dims()[1..], [1, 28, 28]);
/// }
/// # Ok::<(), data::DataError>(())
/// ```
pub struct ImageLoader<B: Backend> {
    images: Images<B>,
    shape: ImageShape,
    labels: Vec<i32>,
    batching: Batching,
    device: B::Device,
}

enum Images<B: Backend> {
    OnDevice(Pixels<B>),
    OnHost(Pipeline, Packing),
}

/// A part of an update, on the device.
#[derive(Clone, Debug)]
pub struct ImageBatch<B: Backend> {
    /// Pixels between 0 and 1, not normalised: `[batch, channels, height, width]`
    pub images: Tensor<B, 4>,
    /// `[batch]`
    pub labels: Tensor<B, 1, Int>,
    /// The index of each image in the split.
    pub samples: Vec<usize>,
    /// Its share of the update.
    pub part: Part,
}

impl<B: Backend> fmt::Debug for ImageLoader<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = f.debug_struct("ImageLoader");
        parts.field("samples", &self.samples()).field("batching", &self.batching);
        parts.finish_non_exhaustive()
    }
}

impl<B: Backend> ImageLoader<B> {
    /// Prepares a split: uploads it, or starts `workers` threads that read it; with none of them
    /// the training thread does.
    ///
    /// # Errors
    ///
    /// Where there are no images or no pixels in them; where a label is out of range, or a size of
    /// `batching` 0; where the split is to lie on the device, and an image cannot be read or memory
    /// does not suffice; where no thread can be started.
    pub fn new(
        source: Arc<dyn ImageSource>,
        batching: Batching,
        residency: Residency,
        workers: usize,
        device: &B::Device,
    ) -> Result<Self, DataError> {
        batching.check()?;
        check_not_empty(&*source)?;
        let shape = source.shape();
        check_labels(source.labels(), source.classes().len())?;
        let labels: Vec<i32> = source.labels().iter().map(|&label| label as i32).collect();
        let packing = Packing::of::<B>(device);
        let images = if residency.is_on_device(labels.len(), shape.bytes()) {
            let pixels = read_all(&*source, labels.len())?;
            Images::OnDevice(Pixels::upload(pixels, shape, packing, device))
        } else {
            Images::OnHost(Pipeline::new(source, workers)?, packing)
        };
        Ok(Self { images, shape, labels, batching, device: device.clone() })
    }

    /// The number of images.
    pub fn samples(&self) -> usize {
        self.labels.len()
    }

    /// Updates in an epoch.
    pub fn steps_per_epoch(&self) -> usize {
        self.batching.steps_per_epoch(self.samples())
    }

    /// The batches of an epoch, from its update number `first_step` on.
    ///
    /// An image that can no longer be read ends them with the error, which names its file.
    pub fn batches(
        &self,
        epoch: usize,
        first_step: usize,
    ) -> Box<dyn Iterator<Item = Result<ImageBatch<B>, DataError>> + '_> {
        let parts = self.batching.samples(self.samples(), epoch, first_step);
        match &self.images {
            Images::OnDevice(pixels) => Box::new(parts.map(move |(samples, part)| {
                let images = pixels.images_of(&samples);
                Ok(self.batch(images, samples, part))
            })),
            Images::OnHost(pipeline, packing) => {
                let upload = move |batch: Result<ReadBatch, DataError>| {
                    let ReadBatch { samples, part, pixels } = batch?;
                    let pixels = Pixels::upload(pixels, self.shape, *packing, &self.device);
                    Ok(self.batch(pixels.images(), samples, part))
                };
                Box::new(pipeline.read(parts).map(upload))
            }
        }
    }

    fn batch(&self, images: Tensor<B, 4>, samples: Vec<usize>, part: Part) -> ImageBatch<B> {
        let labels: Vec<i32> = samples.iter().map(|&sample| self.labels[sample]).collect();
        let labels = TensorData::new(labels, [samples.len()]);
        let labels = Tensor::from_data(labels, &self.device);
        ImageBatch { images, labels, samples, part }
    }
}

fn read_all(source: &dyn ImageSource, images: usize) -> Result<Vec<u8>, DataError> {
    let bytes = source.shape().bytes();
    let mut pixels = allocate(images, bytes)?;
    let all = pixels.par_chunks_exact_mut(bytes).enumerate();
    all.try_for_each(|(image, pixels)| read_contained(source, image, pixels))?;
    Ok(pixels)
}

#[cfg(test)]
mod tests {
    use backend::Selected;

    use super::*;
    use crate::{ImageShape, ImagesInMemory, Order};

    #[test]
    fn images_lie_where_the_user_says_and_few_on_the_device() {
        let shape = ImageShape { channels: 1, height: 2, width: 3 };
        let images = ImagesInMemory::new(shape, vec![0; 6], vec![0], vec!["a".into()]).unwrap();
        let source: Arc<dyn ImageSource> = Arc::new(images);
        for (residency, is_on_device) in
            [(Residency::Auto, true), (Residency::Device, true), (Residency::Host, false)]
        {
            let (source, batching) = (Arc::clone(&source), Batching::new(Order::File, 0, 1));
            let device = device::Device::default();
            let loader =
                ImageLoader::<Selected>::new(source, batching, residency, 0, &device).unwrap();
            assert_eq!(matches!(loader.images, Images::OnDevice(_)), is_on_device);
        }
    }

    #[test]
    fn a_split_lies_on_the_device_by_its_size_unless_the_user_says_otherwise() {
        let auto = |images, bytes| Residency::Auto.is_on_device(images, bytes);
        assert!(auto(1000, 784) && !auto(1 << 11, 1 << 20));
        assert!(auto(1 << 20, 4) && !auto(1 << 29, 1), "a byte may take a word");
        if let Some(most) = device::largest_tensor_bytes() {
            assert!(!auto(1, most as usize + 1));
        }
        assert!(Residency::Device.is_on_device(1 << 11, 1 << 20));
        assert!(!Residency::Host.is_on_device(1, 1));
    }
}
