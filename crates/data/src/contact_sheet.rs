//! A picture of many samples, so that a person can look.

use std::io::Cursor;

use image::{ImageFormat, Rgb, RgbImage};

use crate::{DataError, ImageShape, ImageSource};

/// Pixels between two images.
const GAP: usize = 2;
/// Images smaller than this, in pixels, are enlarged by a whole factor.
const LEAST_SIDE: usize = 64;

/// A PNG file with a row of images for each class, the first `columns` of each.
///
/// # Errors
///
/// Where an image cannot be read.
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
/// If an image is not [`ImageShape::bytes`] long.
pub fn picture(shape: ImageShape, rows: &[Vec<Vec<u8>>], columns: usize) -> Vec<u8> {
    let zoom = LEAST_SIDE.div_ceil(shape.height.min(shape.width).max(1));
    let (cell_height, cell_width) = (shape.height * zoom + GAP, shape.width * zoom + GAP);
    let (width, height) = (columns * cell_width + GAP, rows.len() * cell_height + GAP);
    let mut sheet = RgbImage::from_pixel(width as u32, height as u32, Rgb([96; 3]));
    for (row, images) in rows.iter().enumerate() {
        for (column, pixels) in images.iter().take(columns).enumerate() {
            let corner = (column * cell_width + GAP, row * cell_height + GAP);
            draw(&mut sheet, pixels, shape, corner, zoom);
        }
    }
    let mut png = Cursor::new(Vec::new());
    sheet.write_to(&mut png, ImageFormat::Png).expect("memory takes what is written to it");
    png.into_inner()
}

/// Draws an image with its upper left at `corner`, each pixel a square of side `zoom`.
fn draw(
    sheet: &mut RgbImage,
    pixels: &[u8],
    ImageShape { channels, height, width }: ImageShape,
    (left, top): (usize, usize),
    zoom: usize,
) {
    for y in 0..height * zoom {
        for x in 0..width * zoom {
            let place = y / zoom * width + x / zoom;
            // Grey has one channel, which all three show.
            let colour =
                |channel: usize| pixels[channel.min(channels - 1) * height * width + place];
            let pixel = Rgb([colour(0), colour(1), colour(2)]);
            sheet.put_pixel((left + x) as u32, (top + y) as u32, pixel);
        }
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
}
