//! JPEG, complete or refused.

use image::{DynamicImage, GrayImage, RgbImage, metadata::Orientation};
use zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions};
use zune_jpeg::JpegDecoder;

use super::{BadImage, decode::check_dimensions};

/// Decodes a JPEG, and turns it as its EXIF orientation says.
///
/// Left to itself the decoder fills what a truncated file lacks with grey. Its strict mode does
/// not, but it overlooks a cut in the last rows, and it refuses what some cameras write. So the
/// image must have its end; then, where the strict mode refuses, the lenient one decides.
pub(super) fn decode(jpeg: &[u8]) -> Result<DynamicImage, BadImage> {
    if !has_end(jpeg) {
        return Err(BadImage::Truncated);
    }
    decode_with(jpeg, options().set_strict_mode(true))
        .or_else(|_| decode_with(jpeg, options().set_strict_mode(false)))
}

/// The width and height that the header declares.
pub(super) fn dimensions(jpeg: &[u8]) -> Result<(u32, u32), BadImage> {
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(jpeg), options());
    decoder.decode_headers().map_err(BadImage::decode)?;
    let (width, height) = decoder.dimensions().unwrap_or_default();
    Ok((width as u32, height as u32)) // the format has 16 bits for them
}

/// Without a limit of the decoder's own: the area is checked.
fn options() -> DecoderOptions {
    let longest = usize::from(u16::MAX); // of the format
    DecoderOptions::default().set_max_width(longest).set_max_height(longest)
}

fn decode_with(jpeg: &[u8], options: DecoderOptions) -> Result<DynamicImage, BadImage> {
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(jpeg), options);
    decoder.decode_headers().map_err(BadImage::decode)?;

    // Every other colour space, those of print included, becomes red, green and blue.
    let grey = decoder.input_colorspace() == Some(ColorSpace::Luma);
    let colours = if grey { ColorSpace::Luma } else { ColorSpace::RGB };
    decoder.set_options(options.jpeg_set_out_colorspace(colours));
    let (width, height) = decoder.dimensions().unwrap_or_default();
    let (width, height) = (width as u32, height as u32); // the format has 16 bits for them
    check_dimensions(width, height, colours.num_components() as u64, jpeg.len())?;

    let pixels = decoder.decode().map_err(BadImage::decode)?;
    let image = if grey {
        GrayImage::from_raw(width, height, pixels).map(DynamicImage::from)
    } else {
        RgbImage::from_raw(width, height, pixels).map(DynamicImage::from)
    };
    let mut image = image.ok_or_else(|| BadImage::decode("pixels are missing"))?;
    if let Some(orientation) = decoder.exif().and_then(|exif| Orientation::from_exif_chunk(exif)) {
        image.apply_orientation(orientation);
    }
    Ok(image)
}

/// Whether the end marker of the image itself is there.
///
/// The last two bytes do not tell, since cameras append data of their own; neither does any end
/// marker, since the header may hold a thumbnail with one. So the segments are walked.
fn has_end(jpeg: &[u8]) -> bool {
    let mut rest = jpeg;
    while let Some(at) = rest.iter().position(|&byte| byte == 0xff) {
        rest = &rest[at + 1..];
        match *rest {
            [0xd9, ..] => return true,
            // A fill byte, a 0xff of the scan itself, a restart, a start: no length follows.
            [0xff | 0x00 | 0x01 | 0xd0..=0xd8, ..] => {}
            [_, high, low, ..] => {
                let length = usize::from(u16::from_be_bytes([high, low]));
                rest = rest.get(1 + length..).unwrap_or_default();
            }
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_that_of_the_image() {
        let check = |jpeg: &[u8], expected| assert_eq!(has_end(jpeg), expected, "{jpeg:x?}");
        check(b"\xff\xd8\xff\xd9", true);
        check(b"\xff\xd8\xff\xd9 a camera's own data", true);
        check(b"\xff\xd8\xff\xda\x00\x02 scan \xff\x00 \xff\xd0 \xff\xff\xd9", true);
        check(b"\xff\xd8\xff\xe1\x00\x06\xff\xd8\xff\xd9", false); // in a thumbnail
        check(b"\xff\xd8\xff\xe1\x00\x06\xff\xd8\xff\xd9\xff\xd9", true);
        check(b"\xff\xd8\xff\xda\x00\x02 scan \xff\x00\xd9", false); // no marker: 0xff, then 0xd9
        check(b"\xff\xd8\xff\xe1\xff\xff\xff\xd9", false);
        check(b"\xff\xd8\xff\xe1\x00\x00\xff\xd9", true);
        for short in [&b""[..], b"\xff", b"\xff\xd8", b"\xff\xd8\xff", b"\xff\xd8\xff\xe1\x00"] {
            check(short, false);
        }
    }
}
