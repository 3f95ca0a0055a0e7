//! Images on the host: what a source of them can do, and parts of one.

use std::{fmt, sync::Arc};

use rayon::prelude::*;
use store::sha256_hex;

use crate::{
    DataError, Fractions, ImageShape, Parts, Shared,
    count::counted,
    hold_out,
    labels::{check_labels, relabelled},
    shared,
};

/// Labelled images of one shape, as u8 `[channels, height, width]`.
pub trait ImageSource: Send + Sync {
    /// The shape of every image.
    fn shape(&self) -> ImageShape;

    /// The names of the classes.
    fn classes(&self) -> &[String];

    /// A label for each image, below the number of classes. Its length is the number of images.
    fn labels(&self) -> &[u32];

    /// Writes an image's pixels.
    ///
    /// # Errors
    ///
    /// Where the image cannot be read or decoded; names the file.
    ///
    /// # Panics
    ///
    /// If `index` is not below the number of images, or `pixels` is not [`ImageShape::bytes`] long.
    fn read(&self, index: usize, pixels: &mut [u8]) -> Result<(), DataError>;

    /// What identifies an image to a person, such as the path of its file.
    ///
    /// # Panics
    ///
    /// If `index` is not below the number of images.
    fn name(&self, _index: usize) -> Option<String> {
        None
    }

    /// A hash of the images and their labels, whatever shape they are brought to: of the contents of
    /// files, otherwise of pixels.
    ///
    /// # Errors
    ///
    /// Where an image cannot be read or decoded.
    fn fingerprint(&self) -> Result<String, DataError> {
        let pixels = |index: usize| {
            let mut pixels = vec![0; self.shape().bytes()];
            self.read(index, &mut pixels)?;
            Ok(sha256_hex(&pixels))
        };
        let images = (0..self.labels().len()).into_par_iter().map(pixels);
        let images: Vec<String> = images.collect::<Result<_, DataError>>()?;
        let (shape, classes, labels) = (self.shape(), self.classes(), self.labels());
        let text = format!("{shape:?}\n{classes:?}\n{labels:?}\n{}", images.concat());
        Ok(sha256_hex(text.as_bytes()))
    }
}

/// Images that lie in memory. Made by a source, or by [`ImagesInMemory::new`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ImagesInMemory {
    /// The shape of every image.
    pub shape: ImageShape,
    /// The pixels, `[images, channels, height, width]`.
    pub pixels: Vec<u8>,
    /// A label for each image.
    pub labels: Vec<u32>,
    /// The names of the classes.
    pub classes: Vec<String>,
}

impl ImagesInMemory {
    /// Your own images.
    ///
    /// - `pixels`: `[images, channels, height, width]`
    /// - `labels`: one for each image, the index of its class
    /// - `classes`: their names
    ///
    /// # Errors
    ///
    /// If the pixels are not one image for each label, or a label has no class.
    pub fn new(
        shape: ImageShape,
        pixels: Vec<u8>,
        labels: Vec<u32>,
        classes: Vec<String>,
    ) -> Result<Self, DataError> {
        let (found, images, bytes) = (pixels.len(), labels.len(), shape.bytes());
        if images.checked_mul(bytes) != Some(found) {
            return Err(DataError::PixelCount { found, images, bytes });
        }
        check_labels(&labels, classes.len())?;
        Ok(Self { shape, pixels, labels, classes })
    }
}

impl ImageSource for ImagesInMemory {
    fn shape(&self) -> ImageShape {
        self.shape
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn labels(&self) -> &[u32] {
        &self.labels
    }

    fn read(&self, index: usize, pixels: &mut [u8]) -> Result<(), DataError> {
        let bytes = self.shape.bytes();
        pixels.copy_from_slice(&self.pixels[index * bytes..][..bytes]);
        Ok(())
    }
}

/// Refuses a source of no image, or of images without a pixel.
pub(crate) fn check_not_empty(source: &dyn ImageSource) -> Result<(), DataError> {
    let shape = source.shape();
    match (source.labels().is_empty(), shape.bytes()) {
        (true, _) => Err(DataError::NoImages),
        (_, 0) => Err(DataError::NoPixels(shape)),
        _ => Ok(()),
    }
}

/// Zeroed pixels of images of so many bytes.
pub(crate) fn allocate(images: usize, bytes: usize) -> Result<Vec<u8>, DataError> {
    let mut pixels = Vec::new();
    let length = images.checked_mul(bytes);
    match length.map(|length| (length, pixels.try_reserve_exact(length))) {
        Some((length, Ok(()))) => {
            pixels.resize(length, 0);
            Ok(pixels)
        }
        _ => Err(DataError::ImagesOutOfMemory { images, bytes }),
    }
}

/// The images to train on and those that come with them.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageSplits {
    /// The training split.
    pub train: ImagesInMemory,
    /// The split that is only reported: images of the same shape and classes.
    pub test: Option<ImagesInMemory>,
}

impl ImageSplits {
    /// The images that are in both splits.
    pub fn shared(&self) -> Option<Shared> {
        shared::find_images(&self.train, self.test.as_ref()?)
    }
}

/// What the user should know where images to measure on are the same as some to train on, by their pixels;
/// none where either has another shape.
pub fn note_on_known_pixels(train: &dyn ImageSource, measured: &dyn ImageSource) -> Option<String> {
    let images = counted(measured.labels().len(), "image");
    shared::find_images(train, measured).map(|shared| shared.note_on_known(&images))
}

/// Some images of a source, in an order of their own.
#[derive(Clone)]
pub struct Subset {
    source: Arc<dyn ImageSource>,
    indices: Vec<usize>,
    labels: Vec<u32>,
}

impl Subset {
    /// The images of these indices, none of which is copied.
    ///
    /// # Panics
    ///
    /// If an index is not below the number of images of the source.
    pub fn new(source: Arc<dyn ImageSource>, indices: Vec<usize>) -> Self {
        let labels = indices.iter().map(|&index| source.labels()[index]).collect();
        Self { source, indices, labels }
    }

    /// Divides a source into one to train on and one to validate on, which has about a `fraction` of
    /// each class; a class keeps at least one image to train on.
    ///
    /// # Errors
    ///
    /// Where no class has two images, or the fraction is not above 0 and below 1.
    pub fn divide(
        source: &Arc<dyn ImageSource>,
        fraction: f64,
        seed: u64,
    ) -> Result<(Self, Self), DataError> {
        let fractions = Fractions { validation: fraction, ..Fractions::default() };
        let Parts { train, validation, .. } = hold_out(source.labels(), fractions, seed)?;
        let held_out = validation.ok_or(DataError::NothingHeldOut)?;
        let part = |indices| Self::new(Arc::clone(source), indices);
        Ok((part(train), part(held_out)))
    }
}

impl fmt::Debug for Subset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subset").field("indices", &self.indices).finish_non_exhaustive()
    }
}

impl ImageSource for Subset {
    fn shape(&self) -> ImageShape {
        self.source.shape()
    }

    fn classes(&self) -> &[String] {
        self.source.classes()
    }

    fn labels(&self) -> &[u32] {
        &self.labels
    }

    fn read(&self, index: usize, pixels: &mut [u8]) -> Result<(), DataError> {
        self.source.read(self.indices[index], pixels)
    }

    fn name(&self, index: usize) -> Option<String> {
        self.source.name(self.indices[index])
    }

    fn fingerprint(&self) -> Result<String, DataError> {
        let source = self.source.fingerprint()?;
        Ok(sha256_hex(format!("{source}\n{:?}", self.indices).as_bytes()))
    }
}

/// Images whose labels are those of a model's classes.
#[derive(Clone)]
pub struct Relabelled {
    source: Arc<dyn ImageSource>,
    classes: Vec<String>,
    labels: Vec<u32>,
}

impl Relabelled {
    /// The images of a source, whose classes are found among the model's by name.
    ///
    /// # Errors
    ///
    /// Where a class of the source is none of the model's.
    pub fn new(source: Arc<dyn ImageSource>, classes: &[String]) -> Result<Self, DataError> {
        let labels = relabelled(source.labels(), source.classes(), classes)?;
        Ok(Self { source, classes: classes.to_vec(), labels })
    }
}

impl fmt::Debug for Relabelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relabelled").field("classes", &self.classes).finish_non_exhaustive()
    }
}

impl ImageSource for Relabelled {
    fn shape(&self) -> ImageShape {
        self.source.shape()
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn labels(&self) -> &[u32] {
        &self.labels
    }

    fn read(&self, index: usize, pixels: &mut [u8]) -> Result<(), DataError> {
        self.source.read(index, pixels)
    }

    fn name(&self, index: usize) -> Option<String> {
        self.source.name(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_that_do_not_hold_together_are_refused() {
        let shape = ImageShape { channels: 1, height: 2, width: 3 };
        let new = |bytes, labels: &[u32]| {
            let classes = vec!["a".to_owned(), "b".to_owned()];
            ImagesInMemory::new(shape, vec![0; bytes], labels.to_vec(), classes)
        };
        assert_eq!(new(12, &[0, 1]).unwrap().labels(), [0, 1]);
        let check = |bytes, labels: &[u32], expected: &str| {
            let error = new(bytes, labels).unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert!(error.help().is_some());
        };
        check(11, &[0, 1], "11 bytes are not 2 images of 6 bytes each");
        check(12, &[0, 2], "sample 1 has label 2, there are 2 classes");
    }
}
