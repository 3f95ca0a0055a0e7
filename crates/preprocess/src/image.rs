//! From the pixels of an image to the input of a network.

use serde::{Deserialize, Serialize};

/// From a byte to the range of 0 to 1.
const SCALE: f64 = 1.0 / 255.0;

/// The shape of an image.
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

/// How an image is brought to the size of the source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resize {
    /// It is scaled, keeping its aspect ratio, until it just covers the size; the overhang on
    /// opposite sides is cut off. For a square size this is torchvision's `Resize(side)`, then
    /// `CenterCrop(side)`.
    #[default]
    Crop,
    /// It is scaled to the size, changing its aspect ratio.
    Stretch,
    /// It is scaled down until it fits, keeping its aspect ratio, and black fills the rest; a
    /// smaller image keeps its size.
    Pad,
}

/// How an image becomes the input of a network: brought to a size, then
/// `(pixel * scale - mean) / deviation` in each channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct ImagePreprocessing {
    /// The height and the width, in pixels.
    pub size: [usize; 2],
    /// 1 for grey, 3 for red, green and blue.
    pub channels: usize,
    /// How an image of another size is brought to it.
    pub resize: Resize,
    scale: f64,
    /// The mean of each channel, of pixels between 0 and 1.
    pub mean: Vec<f64>,
    /// Each channel's standard deviation, of pixels in [0, 1].
    pub deviation: Vec<f64>,
}

/// The mean of each colour of ImageNet's photographs, which networks trained on it expect.
pub const IMAGENET_MEAN: [f64; 3] = [0.485, 0.456, 0.406];
/// The standard deviation of each ImageNet colour.
pub const IMAGENET_DEVIATION: [f64; 3] = [0.229, 0.224, 0.225];

impl ImagePreprocessing {
    /// With given statistics of pixels between 0 and 1.
    ///
    /// # Panics
    ///
    /// Unless each channel has a mean and a deviation above 0.
    pub fn new(shape: ImageShape, resize: Resize, mean: Vec<f64>, deviation: Vec<f64>) -> Self {
        let ImageShape { channels, height, width } = shape;
        let unchecked =
            Unchecked { size: [height, width], channels, resize, scale: SCALE, mean, deviation };
        match unchecked.try_into() {
            Ok(preprocessing) => preprocessing,
            Err(error) => panic!("{error}"),
        }
    }

    /// A preprocessing that leaves pixels between 0 and 1 as they are.
    pub fn identity(shape: ImageShape, resize: Resize) -> Self {
        Self::new(shape, resize, vec![0.0; shape.channels], vec![1.0; shape.channels])
    }

    /// The shape of an image as the network takes it.
    pub fn shape(&self) -> ImageShape {
        let [height, width] = self.size;
        ImageShape { channels: self.channels, height, width }
    }

    /// For each channel, the factor and the summand that bring pixels between 0 and 1 to the
    /// network's input.
    pub fn factors(&self) -> Vec<(f32, f32)> {
        let pairs = self.mean.iter().zip(&self.deviation);
        pairs.map(|(mean, deviation)| (1.0 / deviation, -mean / deviation)).map(to_f32).collect()
    }

    /// The input of a network on the host, as the device computes it.
    ///
    /// - `pixels`: `[images, channels, height, width]`, for any number of images
    /// - returns: the same shape
    ///
    /// # Panics
    ///
    /// If `pixels` are not whole images.
    pub fn normalise(&self, pixels: &[u8]) -> Vec<f32> {
        let shape = self.shape();
        assert!(pixels.len().is_multiple_of(shape.bytes()), "whole images");
        let tables: Vec<[f32; 256]> = self.factors().into_iter().map(Self::table).collect();
        let planes = pixels.chunks_exact(shape.height * shape.width);
        let tables = tables.iter().cycle();
        planes
            .zip(tables)
            .flat_map(|(plane, table)| plane.iter().map(|&pixel| table[usize::from(pixel)]))
            .collect()
    }

    /// The input for each value of a pixel.
    fn table((factor, summand): (f32, f32)) -> [f32; 256] {
        std::array::from_fn(|pixel| (pixel as f64 * SCALE) as f32 * factor + summand)
    }
}

fn to_f32((factor, summand): (f64, f64)) -> (f32, f32) {
    (factor as f32, summand as f32)
}

/// As it is in a model's file, which anyone may have written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    size: [usize; 2],
    channels: usize,
    resize: Resize,
    scale: f64,
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl TryFrom<Unchecked> for ImagePreprocessing {
    type Error = String;

    fn try_from(unchecked: Unchecked) -> Result<Self, String> {
        let Unchecked { size, channels, resize, scale, mean, deviation } = unchecked;
        if size.contains(&0) || channels == 0 {
            return Err(format!("an image of size {size:?} and {channels} channels has no pixel"));
        }
        if mean.len() != channels || deviation.len() != channels {
            let (means, deviations) = (mean.len(), deviation.len());
            return Err(format!(
                "{means} means and {deviations} deviations do not fit {channels} channels"
            ));
        }
        let finite = [scale].iter().chain(&mean).chain(&deviation).all(|value| value.is_finite());
        if !finite || deviation.iter().any(|&deviation| deviation <= 0.0) {
            return Err("means are finite numbers, deviations above 0".to_owned());
        }
        // Means and deviations are those of pixels between 0 and 1.
        if (scale / SCALE - 1.0).abs() > 1e-6 {
            return Err(format!("pixels are scaled by {scale}, but only 1/255 is supported"));
        }
        Ok(Self { size, channels, resize, scale, mean, deviation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: ImageShape = ImageShape { channels: 3, height: 1, width: 2 };

    #[test]
    fn channels_are_normalised_each_by_its_own_statistics() {
        let (mean, deviation) = (vec![0.0, 0.5, 1.0], vec![1.0, 0.5, 0.25]);
        let preprocessing = ImagePreprocessing::new(SHAPE, Resize::Crop, mean, deviation);
        let image = [0, 255, 0, 255, 0, 255];
        assert_eq!(preprocessing.normalise(&image), [0.0, 1.0, -1.0, 1.0, -4.0, 0.0]);
        let two = [image, image].concat();
        assert_eq!(preprocessing.normalise(&two)[6..], preprocessing.normalise(&image));
    }

    #[test]
    fn a_pixel_scaled_is_a_pixel_divided() {
        let expected: Vec<f32> = (0..=255).map(|pixel| f32::from(pixel as u8) / 255.0).collect();
        assert_eq!(ImagePreprocessing::table((1.0, 0.0)).to_vec(), expected);
    }

    #[test]
    fn the_file_says_all_that_another_program_needs() {
        let preprocessing = ImagePreprocessing::new(
            ImageShape { channels: 1, height: 28, width: 20 },
            Resize::Stretch,
            vec![0.1],
            vec![0.3],
        );
        let json = serde_json::to_string(&preprocessing).unwrap();
        let expected = r#"{"size":[28,20],"channels":1,"resize":"stretch","scale":0.00392156862745098,"mean":[0.1],"deviation":[0.3]}"#;
        assert_eq!(json, expected);
        let read = serde_json::from_str::<ImagePreprocessing>(&json).unwrap();
        assert_eq!(read, preprocessing);
    }

    #[test]
    fn what_cannot_be_computed_with_is_refused() {
        let check = |channels: usize, mean: &str, deviation: &str, expected: &str| {
            let json = format!(
                r#"{{"size":[8,8],"channels":{channels},"resize":"crop","scale":0.1,"mean":{mean},"deviation":{deviation}}}"#
            );
            let error = serde_json::from_str::<ImagePreprocessing>(&json).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check(3, "[0, 0]", "[1, 1, 1]", "2 means and 3 deviations do not fit 3 channels");
        check(1, "[0]", "[0]", "means are finite numbers, deviations above 0");
        check(1, "[0]", "[1]", "pixels are scaled by 0.1, but only 1/255 is supported");
        check(0, "[]", "[]", "an image of size [8, 8] and 0 channels has no pixel");
    }
}
