//! A picture of samples before and after augmentation, as `recipes data inspect` draws it.

use std::sync::Arc;

use backend::{Selected, device};
use burn::tensor::{Tensor, TensorData};
use data::{
    Batching, DataError, ImageBatch, ImageLoader, ImagePreprocessing, ImageSource, Residency,
    Resize, Subset,
    augment::{AugmentOptions, Augmentation},
    measure_images, picture, silent,
};

use crate::Failure;

/// A PNG file with a row for each class: its first sample, then what becomes of it in the first
/// epochs of a run of seed 0.
///
/// They are normalised by the statistics of all images, since augmentation works on such values, and for
/// the picture this is undone.
pub(super) fn sheet(
    images: Arc<dyn ImageSource>,
    options: &AugmentOptions,
    columns: usize,
) -> Result<Vec<u8>, Failure> {
    let (device, _) = device::open()?;
    let preprocessing = measure_images(&*images, Resize::default(), &mut silent)?;
    let augmentation = Augmentation::<Selected>::new(options, &preprocessing, 0, &device);
    let shape = images.shape();

    let classes = images.classes().len();
    let first_of = |class| images.labels().iter().position(|&label| label as usize == class);
    let samples: Vec<usize> = (0..classes).filter_map(first_of).collect();
    let first: Arc<dyn ImageSource> = Arc::new(Subset::new(images, samples.clone()));
    let batching = Batching::evaluation(samples.len().max(1));
    let loader = ImageLoader::new(Arc::clone(&first), batching, Residency::Host, 0, &device)?;

    let mut rows = vec![Vec::new(); samples.len()];
    for batch in loader.batches(0, 0) {
        // Augmentation is drawn by the places in the training split.
        let batch = ImageBatch { samples: samples.clone(), ..batch? };
        for (index, row) in rows.iter_mut().enumerate() {
            row.push(read(&*first, index)?);
        }
        for epoch in 0..columns.saturating_sub(1) {
            let augmented = augmentation.apply(batch.clone(), epoch);
            let pixels = bytes(augmented.images, &preprocessing);
            for (row, pixels) in rows.iter_mut().zip(pixels.chunks_exact(shape.bytes())) {
                row.push(pixels.to_vec());
            }
        }
    }
    Ok(picture(shape, &rows, columns))
}

fn read(source: &dyn ImageSource, index: usize) -> Result<Vec<u8>, DataError> {
    let mut pixels = vec![0; source.shape().bytes()];
    source.read(index, &mut pixels)?;
    Ok(pixels)
}

/// The pixels of normalised images.
fn bytes(images: Tensor<Selected, 4>, preprocessing: &ImagePreprocessing) -> Vec<u8> {
    let device = images.device();
    let channels = preprocessing.channels;
    let each = |values: &[f64]| {
        let data = TensorData::new(values.to_vec(), [1, channels, 1, 1]);
        Tensor::<Selected, 4>::from_data(data, &device)
    };
    let images = images * each(&preprocessing.deviation) + each(&preprocessing.mean);
    let levels: Vec<f32> = (images * 255.0).round().into_data().iter().collect();
    levels.into_iter().map(|level| level as u8).collect() // saturates
}
