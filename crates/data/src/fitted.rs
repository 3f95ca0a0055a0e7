//! Images of a source, brought to another shape when they are read.

use std::{fmt, sync::Arc};

use image::{DynamicImage, GrayImage, RgbImage};

use crate::{DataError, ImageShape, ImageSource, Resize, image_folder::write_pixels};

/// A source whose images are brought to another size or to other channels, as those of a folder
/// are.
pub struct Fitted {
    source: Arc<dyn ImageSource>,
    shape: ImageShape,
    resize: Resize,
}

impl Fitted {
    /// Brings the images of `source` to `shape`.
    ///
    /// # Panics
    ///
    /// If either shape is neither grey nor colour, or has no pixels.
    pub fn new(source: Arc<dyn ImageSource>, shape: ImageShape, resize: Resize) -> Self {
        for shape in [source.shape(), shape] {
            assert!(matches!(shape.channels, 1 | 3) && shape.bytes() > 0, "{shape:?}");
        }
        Self { source, shape, resize }
    }
}

impl fmt::Debug for Fitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = f.debug_struct("Fitted");
        parts.field("shape", &self.shape).field("resize", &self.resize);
        parts.finish_non_exhaustive()
    }
}

impl ImageSource for Fitted {
    fn shape(&self) -> ImageShape {
        self.shape
    }

    fn classes(&self) -> &[String] {
        self.source.classes()
    }

    fn labels(&self) -> &[u32] {
        self.source.labels()
    }

    fn read(&self, index: usize, pixels: &mut [u8]) -> Result<(), DataError> {
        let shape = self.source.shape();
        let mut planes = vec![0; shape.bytes()];
        self.source.read(index, &mut planes)?;
        let image = to_image(planes, shape);
        write_pixels(image, self.shape, self.resize, pixels)
            .expect("pixels in memory were decoded before");
        Ok(())
    }

    fn name(&self, index: usize) -> Option<String> {
        self.source.name(index)
    }

    fn fingerprint(&self) -> Result<String, DataError> {
        self.source.fingerprint()
    }
}

/// An image of one or three channels.
///
/// - `planes`: `[channels, height, width]`
pub(crate) fn to_image(planes: Vec<u8>, shape: ImageShape) -> DynamicImage {
    // In every source a side fits in a u32: IDX files declare theirs so, others are smaller.
    let (width, height) = (shape.width as u32, shape.height as u32);
    let whole = "as many pixels as the shape says";
    if shape.channels == 1 {
        return GrayImage::from_raw(width, height, planes).expect(whole).into();
    }
    let area = shape.height * shape.width;
    let interleaved =
        (0..area).flat_map(|pixel| [0, 1, 2].map(|channel| planes[channel * area + pixel]));
    RgbImage::from_raw(width, height, interleaved.collect()).expect(whole).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ImagesInMemory;

    fn source(channels: usize) -> Arc<dyn ImageSource> {
        let shape = ImageShape { channels, height: 2, width: 2 };
        let pixels = (0..2 * shape.bytes() as u8).map(|value| value * 10).collect();
        let classes = vec!["one".to_owned(), "two".to_owned()];
        Arc::new(ImagesInMemory { shape, pixels, labels: vec![0, 1], classes })
    }

    fn read(source: Arc<dyn ImageSource>, shape: ImageShape, resize: Resize) -> Vec<u8> {
        let fitted = Fitted::new(source, shape, resize);
        let mut pixels = vec![255; shape.bytes()];
        fitted.read(1, &mut pixels).unwrap();
        pixels
    }

    #[test]
    fn grey_becomes_colour_and_back() {
        let colour = ImageShape { channels: 3, height: 2, width: 2 };
        let plane = [40, 50, 60, 70];
        assert_eq!(read(source(1), colour, Resize::Crop), [plane; 3].concat());
        let grey = ImageShape { channels: 1, ..colour };
        // 0.299 red + 0.587 green + 0.114 blue of (120, 160, 200) and so on.
        assert_eq!(read(source(3), grey, Resize::Crop), [153, 163, 173, 183]);
    }

    #[test]
    fn a_smaller_image_is_padded_all_around() {
        let larger = ImageShape { channels: 1, height: 4, width: 6 };
        #[rustfmt::skip]
        let expected = [
            0, 0, 0, 0, 0, 0,
            0, 0, 40, 50, 0, 0,
            0, 0, 60, 70, 0, 0,
            0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(read(source(1), larger, Resize::Pad), expected);
    }

    #[test]
    #[should_panic(expected = "channels: 2")]
    fn a_shape_that_no_image_has_is_refused_at_once() {
        let shape = ImageShape { channels: 2, height: 2, width: 2 };
        Fitted::new(source(1), shape, Resize::Crop);
    }
}
