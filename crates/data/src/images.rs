//! Images on the host: their shape, and what a source of them can do.

use crate::DataError;

/// The shape of every image that a source delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageShape {
    /// 1 for grey, 3 for red, green and blue.
    pub channels: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Columns of pixels.
    pub width: usize,
}

impl ImageShape {
    /// Bytes of one image.
    pub fn bytes(&self) -> usize {
        self.channels * self.height * self.width
    }
}

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
}

/// Images that lie in memory.
#[derive(Clone, Debug, PartialEq)]
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

/// The images to train on and those that come with them.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageSplits {
    /// The training split.
    pub train: ImagesInMemory,
    /// The split that is only reported: images of the same shape and classes.
    pub test: Option<ImagesInMemory>,
}
