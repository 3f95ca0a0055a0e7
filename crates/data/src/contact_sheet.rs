//! A picture of many samples, so that a person can look.

use std::io::Cursor;

use image::{ImageFormat, Rgb, RgbImage, imageops};

use crate::{DataError, ImageShape, ImageSource, fitted::to_image};

/// Pixels between two images.
const GAP: usize = 2;
/// Images smaller than this, in pixels, are enlarged by a whole factor.
const LEAST_SIDE: usize = 64;

/// A PNG file with a row of images for each class, the first `columns` of each.
///
/// # Errors
///
/// Where an image cannot be read.
///
/// # Panics
///
/// If the images are neither grey nor colour.
pub fn contact_sheet(source: &dyn ImageSource, columns: usize) -> Result<Vec<u8>, DataError> {
    let row = |class: usize| {
        let labels = source.labels().iter().enumerate();
        let of_class = labels.filter(|&(_, &label)| label as usize == class).take(columns);
        let read = |(index, _)| {
            let mut pixels = vec![0; source.shape().bytes()];
            source.read(index, &mut pixels).map(|()| pixels)
        };
        of_class.map(read).collect()
    };
    let rows = (0..source.classes().len()).map(row).collect::<Result<Vec<_>, _>>()?;
    Ok(picture(source.shape(), &rows, columns))
}

/// A PNG file with rows of at most `columns` images, each `[channels, height, width]`.
///
/// # Panics
///
/// If the images are neither grey nor colour, or one is not [`ImageShape::bytes`] long.
pub fn picture(shape: ImageShape, rows: &[Vec<Vec<u8>>], columns: usize) -> Vec<u8> {
    let zoom = LEAST_SIDE.div_ceil(shape.height.min(shape.width).max(1));
    let (cell_height, cell_width) = (shape.height * zoom + GAP, shape.width * zoom + GAP);
    let (width, height) = (columns * cell_width + GAP, rows.len() * cell_height + GAP);
    let mut sheet = RgbImage::from_pixel(width as u32, height as u32, Rgb([96; 3]));
    for (row, images) in rows.iter().enumerate() {
        for (column, pixels) in images.iter().take(columns).enumerate() {
            let image = to_image(pixels.clone(), shape).into_rgb8();
            let (width, height) = (image.width() * zoom as u32, image.height() * zoom as u32);
            let enlarged = RgbImage::from_fn(width, height, |x, y| {
                *image.get_pixel(x / zoom as u32, y / zoom as u32)
            });
            let (left, top) = (column * cell_width + GAP, row * cell_height + GAP);
            imageops::replace(&mut sheet, &enlarged, left as i64, top as i64);
        }
    }
    let mut png = Cursor::new(Vec::new());
    sheet.write_to(&mut png, ImageFormat::Png).expect("memory takes what is written to it");
    png.into_inner()
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
}
