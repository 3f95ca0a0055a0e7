//! What the user says about a folder of images.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ImageFolderError;
use crate::{ImageShape, Resize};

/// The longest side that images are delivered with, in pixels: four times what networks take, and
/// small enough that a slip of a digit does not cost gigabytes.
const MAX_SIDE: usize = 4096;

/// What the user says about a folder of images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFolderOptions {
    /// The folder of the class folders, or of `train/`, `val/` and `test/` above them.
    pub path: PathBuf,
    /// The height and the width that each image is brought to, in pixels.
    pub size: [usize; 2],
    /// 1 for grey, 3 for colour.
    pub channels: usize,
    /// How an image is brought to the size.
    pub resize: Resize,
    /// What becomes of an image that cannot be decoded, and of a class folder without images.
    pub on_bad_image: OnBadImage,
    /// A directory to keep decoded images in. It may be deleted at any time.
    pub cache: Option<PathBuf>,
}

impl ImageFolderOptions {
    /// Colour images of a height and a width, without a cache; a bad image is an error.
    pub fn new(path: impl Into<PathBuf>, size: [usize; 2]) -> Self {
        Self {
            path: path.into(),
            size,
            channels: 3,
            resize: Resize::default(),
            on_bad_image: OnBadImage::default(),
            cache: None,
        }
    }

    /// The shape of the images, checked.
    pub(super) fn shape(&self) -> Result<ImageShape, ImageFolderError> {
        let [height, width] = self.size;
        if !(1..=MAX_SIDE).contains(&height) || !(1..=MAX_SIDE).contains(&width) {
            return Err(ImageFolderError::Size { height, width, longest: MAX_SIDE });
        }
        match self.channels {
            1 | 3 => Ok(ImageShape { channels: self.channels, height, width }),
            channels => Err(ImageFolderError::Channels { channels }),
        }
    }
}

/// What becomes of an image that cannot be decoded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnBadImage {
    /// It is an error; of several bad images the first in the order of the listing.
    #[default]
    Error,
    /// It is left out and told of; images are counted.
    Skip,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_cannot_be_made_are_refused() {
        let shape = ImageFolderOptions::new("a", [64, 48]).shape().unwrap();
        assert_eq!(shape, ImageShape { channels: 3, height: 64, width: 48 });
        let check = |size, channels, expected: &str| {
            let options = ImageFolderOptions { channels, ..ImageFolderOptions::new("a", size) };
            assert_eq!(options.shape().unwrap_err().to_string(), expected);
        };
        check([0, 8], 3, "images of 0 rows and 8 columns cannot be made");
        check(
            [8, usize::MAX],
            3,
            &format!("images of 8 rows and {} columns cannot be made", usize::MAX),
        );
        check([8, 8], 4, "images of 4 channels cannot be made");
    }
}
