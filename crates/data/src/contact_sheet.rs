//! A picture of many samples, so that a person can look.

use std::io::Cursor;

use image::{
    ImageFormat, Rgb, RgbImage,
    imageops::{self, FilterType},
};

use crate::{DataError, ImageShape, ImageSource, fitted::to_image};

/// Pixels between two images.
const GAP: u32 = 2;
/// Images smaller than this, in pixels, are enlarged by a whole factor.
const LEAST_SIDE: usize = 64;
/// Larger ones are made smaller.
const LARGEST_SIDE: usize = 256;
/// Pixels of all images of a sheet, of which they have fewer each where there are many.
const MOST_PIXELS: usize = 1 << 26;

/// A PNG file with a row of images for each class, at most `columns` of each, spread over all of its images.
///
/// # Errors
///
/// Where an image cannot be read.
///
/// # Panics
///
/// If the images are neither grey nor colour, or a label is of no class.
pub fn contact_sheet(source: &dyn ImageSource, columns: usize) -> Result<Vec<u8>, DataError> {
    let mut of_class = vec![Vec::new(); source.classes().len()];
    for (index, &label) in source.labels().iter().enumerate() {
        of_class[label as usize].push(index);
    }
    let mut sheet = Sheet::new(source.shape(), [of_class.len(), columns]);
    for (row, images) in of_class.iter().enumerate() {
        let shown = images.len().min(columns);
        for column in 0..shown {
            let mut pixels = vec![0; source.shape().bytes()];
            source.read(images[column * images.len() / shown], &mut pixels)?;
            sheet.put([row, column], pixels);
        }
    }
    Ok(sheet.png())
}

/// A PNG file with rows of at most `columns` images, each `[channels, height, width]`.
///
/// # Panics
///
/// If the images are neither grey nor colour, or one is not [`ImageShape::bytes`] long.
pub fn picture(shape: ImageShape, rows: &[Vec<Vec<u8>>], columns: usize) -> Vec<u8> {
    let mut sheet = Sheet::new(shape, [rows.len(), columns]);
    for (row, images) in rows.iter().enumerate() {
        for (column, pixels) in images.iter().take(columns).enumerate() {
            sheet.put([row, column], pixels.clone());
        }
    }
    sheet.png()
}

/// Images in rows and columns.
struct Sheet {
    shape: ImageShape,
    /// Height and width of an image on the sheet.
    size: [u32; 2],
    sheet: RgbImage,
}

impl Sheet {
    fn new(shape: ImageShape, [rows, columns]: [usize; 2]) -> Self {
        let [shorter, longer] =
            [shape.height.min(shape.width).max(1), shape.height.max(shape.width).max(1)];
        let room = (MOST_PIXELS / (rows * columns).max(1)).isqrt().clamp(1, LARGEST_SIDE);
        let zoom = LEAST_SIDE.div_ceil(shorter).min(room / longer);
        let size = [shape.height, shape.width].map(|side| match zoom {
            0 => (side * room / longer).max(1) as u32,
            zoom => (side * zoom) as u32,
        });
        let [height, width] = [(rows, size[0]), (columns, size[1])]
            .map(|(count, side)| count as u32 * (side + GAP) + GAP);
        Self { shape, size, sheet: RgbImage::from_pixel(width, height, Rgb([96; 3])) }
    }

    fn put(&mut self, place: [usize; 2], pixels: Vec<u8>) {
        let image = to_image(pixels, self.shape).into_rgb8();
        let [height, width] = self.size;
        let image = match height < image.height() || width < image.width() {
            true => imageops::thumbnail(&image, width, height),
            false => imageops::resize(&image, width, height, FilterType::Nearest),
        };
        let [top, left] = [(place[0], height), (place[1], width)]
            .map(|(place, side)| place as i64 * i64::from(side + GAP) + i64::from(GAP));
        imageops::replace(&mut self.sheet, &image, left, top);
    }

    fn png(self) -> Vec<u8> {
        let mut png = Cursor::new(Vec::new());
        self.sheet
            .write_to(&mut png, ImageFormat::Png)
            .expect("memory takes what is written to it");
        png.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ImagesInMemory;

    #[test]
    fn classes_are_rows_and_pixels_keep_their_colours() {
        let images = ImagesInMemory {
            shape: ImageShape { channels: 3, height: 1, width: 2 },
            pixels: vec![10, 20, 30, 40, 50, 60, 1, 2, 3, 4, 5, 6],
            labels: vec![1, 0],
            classes: vec!["a".into(), "b".into()],
        };
        let png = contact_sheet(&images, 3).unwrap();
        let sheet = image::load_from_memory(&png).unwrap().into_rgb8();
        assert_eq!(sheet.dimensions(), (3 * 130 + 2, 2 * 66 + 2));
        let pixel = |x, y| sheet.get_pixel(x, y).0;
        assert_eq!(pixel(0, 0), [96; 3]);
        assert_eq!((pixel(2, 2), pixel(2 + 127, 2 + 63)), ([1, 3, 5], [2, 4, 6]));
        assert_eq!(pixel(2, 68), [10, 30, 50]);
        assert_eq!(pixel(132, 2), [96; 3], "no second image of this class");
    }
    #[test]
    fn large_and_many_images_are_made_smaller() {
        let size = |height, width, cells| {
            Sheet::new(ImageShape { channels: 3, height, width }, cells).size
        };
        assert_eq!(size(28, 28, [10, 12]), [84, 84]);
        assert_eq!(size(200, 100, [10, 12]), [200, 100]);
        assert_eq!(size(4096, 1024, [10, 12]), [256, 64]);
        assert_eq!(size(224, 224, [1000, 12]), [74, 74]);
        assert_eq!(size(28, 28, [10_000, 12]), [23, 23]);
        let shape = ImageShape { channels: 1, height: 512, width: 512 };
        let png = picture(shape, &[vec![vec![200; 512 * 512]]], 1);
        let sheet = image::load_from_memory(&png).unwrap().into_rgb8();
        assert_eq!(sheet.dimensions(), (260, 260));
        assert_eq!(sheet.get_pixel(130, 130).0, [200; 3]);
    }
}
