//! The pixels of images on the device, in the smallest type that its backend can compute with.

use backend::{Backend, Packing, functional};
use burn::tensor::{DType, Int, Tensor, TensorData};

use crate::ImageShape;

/// Bytes in a word.
const WORD: usize = 4;

/// The pixels of images on the device: `[images, channels * height * width]`, or a quarter as many
/// words.
#[derive(Clone, Debug)]
pub struct Pixels<B: Backend> {
    packed: Tensor<B, 2, Int>,
    shape: ImageShape,
}

impl<B: Backend> Pixels<B> {
    /// Uploads images, which are whole.
    ///
    /// # Panics
    ///
    /// Without images, or pixels in them.
    pub fn upload(bytes: Vec<u8>, shape: ImageShape, packing: Packing, device: &B::Device) -> Self {
        let image = shape.bytes();
        assert!(image > 0 && !bytes.is_empty(), "there are no images of {shape:?} to upload");
        let images = bytes.len() / image;
        let packed = match packing {
            Packing::Bytes => {
                let data = TensorData::new(bytes, [images * image]);
                Tensor::<B, 1, Int>::from_data(data, (device, DType::U8))
            }
            Packing::Words => {
                let words = pack(&bytes, image);
                let data = TensorData::new(words, [images * image.div_ceil(WORD)]);
                Tensor::<B, 1, Int>::from_data(data, (device, DType::I32))
            }
        };
        // A matrix would be uploaded with gaps between its rows on some backends.
        let width = packed.dims()[0] / images;
        Self { packed: packed.reshape([images, width]), shape }
    }

    /// The images of these indices as numbers between 0 and 1: `[indices, channels, height, width]`.
    pub(super) fn images_of(&self, indices: &[usize]) -> Tensor<B, 4> {
        let count = indices.len();
        let indices: Vec<i32> = indices.iter().map(|&index| index as i32).collect();
        let indices = TensorData::new(indices, [count]);
        let indices = Tensor::from_data(indices, &self.packed.device());
        functional::pixels(self.packed.clone(), Some(indices), self.size())
    }

    /// All images as numbers between 0 and 1: `[images, channels, height, width]`.
    pub fn images(self) -> Tensor<B, 4> {
        let size = self.size();
        functional::pixels(self.packed, None, size)
    }

    fn size(&self) -> [usize; 3] {
        let ImageShape { channels, height, width } = self.shape;
        [channels, height, width]
    }
}

/// The words of images of so many bytes, each of which begins with a word of its own.
fn pack(bytes: &[u8], image: usize) -> Vec<i32> {
    let mut words = Vec::with_capacity(bytes.len() / image * image.div_ceil(WORD));
    for image in bytes.chunks_exact(image) {
        let (whole, rest) = image.as_chunks();
        words.extend(whole.iter().copied().map(i32::from_le_bytes));
        if !rest.is_empty() {
            let mut last = [0; WORD];
            last[..rest.len()].copy_from_slice(rest);
            words.push(i32::from_le_bytes(last));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;

    fn check(images: Tensor<Selected, 4>, bytes: &[u8], packing: Packing) {
        let seen: Vec<f32> = images.into_data().iter().collect();
        let expected: Vec<f32> = bytes.iter().map(|&byte| f32::from(byte) / 255.0).collect();
        assert_eq!(seen, expected, "{packing:?}");
    }

    #[test]
    fn words_are_as_many_as_there_is_room_for() {
        for (image, words) in [(8, 6), (7, 6), (1, 3)] {
            let packed = pack(&vec![9; 3 * image], image);
            assert_eq!((packed.len(), packed.capacity()), (words, words), "{image} bytes");
        }
    }

    #[test]
    fn either_packing_gives_every_byte_back() {
        // 3 x 5 x 7 bytes leave one over after whole words.
        let shape = ImageShape { channels: 3, height: 5, width: 7 };
        let bytes: Vec<u8> = (0..5 * shape.bytes()).map(|i| (i * 37 + i / 256) as u8).collect();
        for packing in [Packing::Words, Packing::of::<Selected>(&Device::default())] {
            let all = Pixels::<Selected>::upload(bytes.clone(), shape, packing, &Device::default());
            let images = all.images_of(&[4, 0, 4]);
            assert_eq!(images.dims(), [3, 3, 5, 7]);
            let image = |index: usize| &bytes[index * shape.bytes()..][..shape.bytes()];
            check(images, &[image(4), image(0), image(4)].concat(), packing);
            check(all.images(), &bytes, packing);
        }
    }
}
