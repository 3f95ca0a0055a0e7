//! From the bytes of a file to the pixels of its image, within limits.

use std::{
    fs::{self, File},
    io::{self, Cursor, Read},
    path::Path,
};

use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, metadata::Orientation};

use super::{BadImage, jpeg, resize};
use crate::{ImageShape, Resize, contained::contain, files::LARGEST_RATIO};

/// The most bytes that a file, or the pixels in it, may have: the limit of the `image` crate, and
/// the 179 million colour pixels from which on Pillow refuses a "decompression bomb".
const MAX_BYTES: u64 = 512 << 20;

/// The bytes of pixels that a file of any size may have, 4096x4096 in colour among them: a drawing
/// of one colour is tiny.
const EXPANSION_FROM: u64 = 64 << 20;

/// Reads a file and writes its pixels, `[channels, height, width]`.
pub(super) fn read_pixels(
    path: &Path,
    shape: ImageShape,
    how: Resize,
    pixels: &mut [u8],
) -> Result<(), BadImage> {
    decode_pixels(&read_file(path)?, shape, how, pixels)
}

/// Writes the pixels of a file that is in memory, `[channels, height, width]`.
pub(super) fn decode_pixels(
    bytes: &[u8],
    shape: ImageShape,
    how: Resize,
    pixels: &mut [u8],
) -> Result<(), BadImage> {
    if ![1, 3].contains(&shape.channels) {
        return Err(BadImage::Channels { channels: shape.channels });
    }
    match bytes.len() as u64 {
        0 => Err(BadImage::Empty),
        bytes if bytes > MAX_BYTES => Err(BadImage::TooLong { bytes }),
        // Decoders and resizers may panic on hostile input, which must cost that image only. What they
        // leave half done is dropped here, except the pixels, which nobody reads after an error.
        _ => contain(|| resize::write_pixels(decode(bytes)?, shape, how, pixels))
            .unwrap_or(Err(BadImage::Panic)),
    }
}

/// Opens a file that should be an image, to read no more of it than an image may have.
pub(super) fn open_file(path: &Path) -> Result<impl Read, BadImage> {
    // Checked before it is opened: opening a pipe would wait for its other end.
    let metadata = fs::metadata(path).map_err(BadImage::Read)?;
    if !metadata.is_file() {
        return Err(BadImage::Read(io::Error::other("it is not a file")));
    }
    match metadata.len() {
        bytes if bytes > MAX_BYTES => Err(BadImage::TooLong { bytes }),
        _ => Ok(File::open(path).map_err(BadImage::Read)?.take(MAX_BYTES)),
    }
}

/// The bytes of a file that should be an image.
pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, BadImage> {
    let mut bytes = Vec::new();
    open_file(path)?.read_to_end(&mut bytes).map_err(BadImage::Read)?;
    Ok(bytes)
}

/// The height and width that the header of an image declares.
pub(super) fn size_of(bytes: &[u8]) -> Result<[u64; 2], BadImage> {
    let read = || match image::guess_format(bytes) {
        Ok(ImageFormat::Jpeg) => jpeg::dimensions(bytes),
        Ok(format @ (ImageFormat::Png | ImageFormat::Bmp | ImageFormat::WebP)) => {
            ImageReader::with_format(Cursor::new(bytes), format).into_dimensions().map_err(refused)
        }
        _ => Err(decode(bytes).err().unwrap_or(BadImage::NotAnImage)),
    };
    let (width, height) = contain(read).unwrap_or(Err(BadImage::Panic))?;
    Ok([height.into(), width.into()])
}

fn decode(bytes: &[u8]) -> Result<DynamicImage, BadImage> {
    match image::guess_format(bytes) {
        Ok(ImageFormat::Jpeg) => jpeg::decode(bytes),
        Ok(ImageFormat::WebP) if !is_whole_webp(bytes) => Err(BadImage::Truncated),
        Ok(format @ (ImageFormat::Png | ImageFormat::Bmp | ImageFormat::WebP)) => {
            decode_with_image(bytes, format)
        }
        Ok(other) => match other.extensions_str().first() {
            Some(format) => Err(BadImage::Format { format }),
            None => Err(BadImage::NotAnImage),
        },
        // Phones write HEIC, which `image` does not know.
        Err(_) => match bytes.get(4..12) {
            Some(b"ftypheic" | b"ftypheix" | b"ftypmif1" | b"ftypmsf1" | b"ftyphevc") => {
                Err(BadImage::Format { format: "heic" })
            }
            _ => Err(BadImage::NotAnImage),
        },
    }
}

/// Whether a WebP is as long as it says. Its decoder does not ask, and makes up what is missing at
/// the end; libwebp refuses a file for this.
fn is_whole_webp(webp: &[u8]) -> bool {
    match webp.first_chunk() {
        Some(&[_, _, _, _, a, b, c, d]) => {
            let declared = u32::from_le_bytes([a, b, c, d]) as usize;
            declared <= webp.len() - 8
        }
        None => false,
    }
}

fn decode_with_image(bytes: &[u8], format: ImageFormat) -> Result<DynamicImage, BadImage> {
    let reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut decoder = reader.into_decoder().map_err(refused)?;
    let (width, height) = decoder.dimensions();
    let pixel_bytes = u64::from(decoder.color_type().bytes_per_pixel());
    check_dimensions(width, height, pixel_bytes, bytes.len())?;

    let orientation = match format {
        ImageFormat::Png => decoder.orientation().ok(),
        ImageFormat::WebP => webp_exif(bytes).and_then(Orientation::from_exif_chunk),
        _ => None,
    };
    let mut image = DynamicImage::from_decoder(decoder).map_err(refused)?;
    if let Some(orientation) = orientation {
        image.apply_orientation(orientation);
    }
    Ok(image)
}

/// The EXIF chunk of a WebP.
///
/// Its decoder would take as much memory as that chunk says it has.
fn webp_exif(webp: &[u8]) -> Option<&[u8]> {
    let mut rest = webp.get(12..)?; // `RIFF`, the length, `WEBP`
    while let Some((&[a, b, c, d], content)) =
        rest.get(4..).and_then(|after_name| after_name.split_first_chunk())
    {
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let chunk = content.get(..length)?;
        if rest.starts_with(b"EXIF") {
            // Some programs write what begins the chunk in a JPEG.
            return Some(chunk.strip_prefix(b"Exif\0\0").unwrap_or(chunk));
        }
        rest = content.get(length.checked_next_multiple_of(2)?..)?;
    }
    None
}

fn refused(error: image::ImageError) -> BadImage {
    match error {
        image::ImageError::IoError(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            BadImage::Truncated
        }
        error => BadImage::decode(error),
    }
}

/// Refuses what a header declares before memory is taken for it.
pub(super) fn check_dimensions(
    width: u32,
    height: u32,
    pixel_bytes: u64,
    file_bytes: usize,
) -> Result<(), BadImage> {
    let (width, height) = (u64::from(width), u64::from(height));
    if width == 0 || height == 0 {
        return Err(BadImage::NoPixels { width, height });
    }
    let expanded = (file_bytes as u64).saturating_mul(LARGEST_RATIO);
    let allowed = expanded.clamp(EXPANSION_FROM, MAX_BYTES);
    match (width * height).checked_mul(pixel_bytes) {
        Some(bytes) if bytes <= allowed => Ok(()),
        _ => Err(BadImage::TooLarge { width, height, bytes: file_bytes }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_may_declare_what_its_file_can_hold() {
        let allowed =
            |width, height, file_bytes| check_dimensions(width, height, 3, file_bytes).is_ok();
        assert!(allowed(1, 1, 60));
        assert!(allowed(4096, 4096, 60), "one colour");
        assert!(!allowed(12_000, 12_000, 60));
        assert!(allowed(12_000, 12_000, 30_000_000), "a large photograph");
        assert!(!allowed(20_000, 20_000, 30_000_000), "beyond all limits");
        assert!(!allowed(u32::MAX, u32::MAX, usize::MAX));
        assert!(!allowed(0, 5, 60) && !allowed(5, 0, 60));
    }

    #[test]
    fn an_image_is_grey_or_in_colour() {
        let image = image::GrayImage::from_pixel(2, 2, image::Luma([200]));
        let mut png = Cursor::new(Vec::new());
        image.write_to(&mut png, ImageFormat::Png).unwrap();
        let decoded = |channels| {
            let shape = ImageShape { channels, height: 1, width: 1 };
            let mut pixels = vec![0; shape.bytes()];
            decode_pixels(png.get_ref(), shape, Resize::Stretch, &mut pixels).map(|()| pixels)
        };
        assert_eq!(decoded(3).unwrap(), [200; 3]);
        for channels in [0, 2, 4] {
            let error = decoded(channels).unwrap_err();
            assert!(matches!(error, BadImage::Channels { .. }), "{error}");
        }
    }
}
