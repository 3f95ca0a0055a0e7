//! From an image of any size and colours to one of the source's shape.
//!
//! The filter is Pillow's `BILINEAR`: a triangle, widened where the image shrinks so that no pixel
//! is passed over. Weights are rounded as in Pillow, so results agree to one level of 256.

use fast_image_resize::{
    CropBox, FilterType, PixelTrait, ResizeAlg, ResizeOptions, Resizer,
    images::TypedImage,
    pixels::{U8, U8x3},
};
use image::DynamicImage;

use super::BadImage;
use crate::{ImageShape, Resize};

/// Writes the pixels of an image, `[channels, height, width]`.
///
/// Channels come first, then the size: alpha is dropped, as by Pillow's `convert("RGB")`, and 16
/// bits are rounded to 8.
pub(crate) fn write_pixels(
    image: DynamicImage,
    shape: ImageShape,
    how: Resize,
    pixels: &mut [u8],
) -> Result<(), BadImage> {
    let source_size = (image.width(), image.height());
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Bilinear));
    let options = match how {
        Resize::Stretch => options,
        Resize::Crop => {
            let CropBox { left, top, width, height } = centre(source_size, shape);
            options.crop(left, top, width, height)
        }
        Resize::Pad => return write_padded(image, shape, pixels),
    };
    if shape.channels == 1 {
        return resize::<U8>(&mut grey(image), source_size, shape, &options, pixels);
    }
    let mut interleaved = vec![0; shape.bytes()];
    let mut source = image.into_rgb8();
    resize::<U8x3>(&mut source, source_size, shape, &options, &mut interleaved)?;
    for (channel, plane) in pixels.chunks_exact_mut(shape.height * shape.width).enumerate() {
        for (value, pixel) in plane.iter_mut().zip(interleaved.chunks_exact(shape.channels)) {
            *value = pixel[channel];
        }
    }
    Ok(())
}

/// Writes the whole image into the middle, black around it.
fn write_padded(image: DynamicImage, shape: ImageShape, pixels: &mut [u8]) -> Result<(), BadImage> {
    let [height, width] = within([image.height(), image.width()], shape);
    let inner = ImageShape { height, width, ..shape };
    let mut inner_pixels = vec![0; inner.bytes()];
    write_pixels(image, inner, Resize::Stretch, &mut inner_pixels)?;

    pixels.fill(0);
    let (top, left) = ((shape.height - height) / 2, (shape.width - width) / 2);
    let planes = pixels.chunks_exact_mut(shape.height * shape.width);
    for (plane, inner_plane) in planes.zip(inner_pixels.chunks_exact(height * width)) {
        let rows = plane.chunks_exact_mut(shape.width).skip(top);
        for (row, inner_row) in rows.zip(inner_plane.chunks_exact(width)) {
            row[left..left + width].copy_from_slice(inner_row);
        }
    }
    Ok(())
}

/// The height and width of an image once it fits in `shape`: its own, or less in proportion.
fn within([height, width]: [u32; 2], shape: ImageShape) -> [usize; 2] {
    let (height, width) = (height.max(1) as usize, width.max(1) as usize);
    if height <= shape.height && width <= shape.width {
        [height, width]
    } else if width * shape.height <= height * shape.width {
        [shape.height, (width * shape.height / height).max(1)]
    } else {
        [(height * shape.width / width).max(1), shape.width]
    }
}

/// With the kind of pixel as a type: chosen at run time, all of the crate's kinds would be compiled.
///
/// `source` is only read. It is mutable for the sake of [`TypedImage`], in which the crate keeps what it
/// resizes in between: from a `TypedImageRef` all its loops would be compiled twice.
fn resize<P: PixelTrait>(
    source: &mut [u8],
    (width, height): (u32, u32),
    shape: ImageShape,
    options: &ResizeOptions,
    pixels: &mut [u8],
) -> Result<(), BadImage> {
    let source = TypedImage::<P>::from_buffer(width, height, source).map_err(BadImage::decode)?;
    let (width, height) = (shape.width as u32, shape.height as u32); // at most 4096
    let mut resized =
        TypedImage::<P>::from_buffer(width, height, pixels).map_err(BadImage::decode)?;
    Resizer::new().resize_typed(&source, &mut resized, options).map_err(BadImage::decode)
}

/// The part of an image that [`Resize::Crop`] keeps.
///
/// torchvision resizes all of it and then cuts. To resize just this part gives the same pixels, as
/// the filter may look beyond it, and never takes memory for what is cut: a line of 65535x1 would
/// first become 14 million pixels wide.
fn centre((width, height): (u32, u32), shape: ImageShape) -> CropBox {
    let (width, height) = (u64::from(width), u64::from(height));
    let (target_width, target_height) = (shape.width as u64, shape.height as u64);
    let (resized_width, resized_height) = if width * target_height <= height * target_width {
        (target_width, height * target_width / width)
    } else {
        (width * target_height / height, target_height)
    };
    let (left, width) = kept(width, resized_width, target_width);
    let (top, height) = kept(height, resized_height, target_height);
    CropBox { left, top, width, height }
}

/// Where the kept part of a side begins, and its length, in pixels of the source.
fn kept(side: u64, resized: u64, target: u64) -> (f64, f64) {
    let scale = side as f64 / resized as f64;
    let begin = half_to_even(resized - target) as f64 * scale;
    (begin, (target as f64 * scale).min(side as f64 - begin))
}

/// Half of a length, rounded as Python's `round`, which torchvision uses for the crop.
fn half_to_even(length: u64) -> u64 {
    let half = length / 2;
    half + (length % 2) * (half % 2)
}

/// The brightness of each pixel, by the weights of Pillow's `convert("L")` (ITU-R 601).
fn grey(image: DynamicImage) -> Vec<u8> {
    if !image.color().has_color() {
        return image.into_luma8().into_raw();
    }
    let brightness = |&[red, green, blue]: &[u8; 3]| {
        let [red, green, blue] = [red, green, blue].map(u32::from);
        ((red * 19595 + green * 38470 + blue * 7471 + (1 << 15)) >> 16) as u8
    };
    image.into_rgb8().as_raw().as_chunks().0.iter().map(brightness).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_as_in_python() {
        let halves: Vec<u64> = (0..8).map(half_to_even).collect();
        assert_eq!(halves, [0, 0, 1, 2, 2, 2, 3, 4]);
    }

    #[test]
    fn the_centre_keeps_proportions_and_stays_inside() {
        let check = |size, (height, width), expected: [f64; 4]| {
            let CropBox { left, top, width, height } =
                centre(size, ImageShape { channels: 3, height, width });
            assert_eq!([left, top, width, height], expected);
        };
        check((100, 100), (50, 50), [0.0, 0.0, 100.0, 100.0]);
        check((200, 100), (100, 100), [50.0, 0.0, 100.0, 100.0]);
        check((100, 200), (100, 100), [0.0, 50.0, 100.0, 100.0]);
        check((100, 100), (50, 100), [0.0, 25.0, 100.0, 50.0]);
    }

    #[test]
    fn a_padded_image_keeps_its_proportions_and_stands_in_the_middle() {
        let shape = ImageShape { channels: 1, height: 20, width: 40 };
        for (size, expected) in [
            ([10, 10], [10, 10]),
            ([100, 50], [20, 10]),
            ([100, 150], [20, 30]),
            ([50, 100], [20, 40]),
            ([100, 300], [13, 40]),
            ([1, 900], [1, 40]),
        ] {
            assert_eq!(within(size, shape), expected, "{size:?}");
        }
        let white = image::GrayImage::from_pixel(2, 1, image::Luma([255]));
        let shape = ImageShape { channels: 1, height: 3, width: 5 };
        let mut pixels = vec![7; 15];
        write_pixels(white.into(), shape, Resize::Pad, &mut pixels).unwrap();
        let expected = [[0; 5], [0, 255, 255, 0, 0], [0; 5]];
        assert_eq!(pixels.as_chunks().0, expected);
    }

    #[test]
    fn every_size_can_be_resized_to_every_shape() {
        for (width, height) in [(1, 1), (1, 700), (700, 1), (3, 2), (64, 64), (97, 31)] {
            for (rows, columns) in [(1, 1), (7, 5), (64, 64), (2, 90)] {
                for (channels, how) in [(1, Resize::Crop), (3, Resize::Crop), (3, Resize::Stretch)]
                {
                    let shape = ImageShape { channels, height: rows, width: columns };
                    let image = image::RgbImage::from_pixel(width, height, image::Rgb([200; 3]));
                    let mut pixels = vec![0; shape.bytes()];
                    write_pixels(image.into(), shape, how, &mut pixels).unwrap();
                    assert!(
                        pixels.iter().all(|&value| value == 200),
                        "{width}x{height} to {shape:?}"
                    );
                }
            }
        }
    }
}
