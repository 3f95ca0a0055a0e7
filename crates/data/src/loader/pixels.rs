//! The pixels of images on the device, in the smallest type that its backend can compute with.

use backend::Backend;
use burn::tensor::{DType, ElementConversion, Int, Tensor, TensorData};

use crate::ImageShape;

/// Bytes in a word.
const WORD: usize = 4;

/// How a backend holds bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    /// One by one, where its integers may be of 8 bits.
    Bytes,
    /// Four in an integer of 32 bits, the first in its lowest bits; WGPU has none smaller. The
    /// last word of an image is filled up with zeros.
    Words,
}

/// The pixels of images on the device: `[images, channels * height * width]`, or a quarter as many
/// words.
#[derive(Clone, Debug)]
pub(super) struct Pixels<B: Backend> {
    packed: Tensor<B, 2, Int>,
    packing: Packing,
    shape: ImageShape,
}

impl Packing {
    pub(super) fn of<B: Backend>(device: &B::Device) -> Self {
        if B::supports_dtype(device, DType::U8) { Self::Bytes } else { Self::Words }
    }
}

impl<B: Backend> Pixels<B> {
    /// Uploads images, which are whole.
    pub(super) fn upload(
        bytes: Vec<u8>,
        shape: ImageShape,
        packing: Packing,
        device: &B::Device,
    ) -> Self {
        let image = shape.bytes();
        let images = bytes.len() / image;
        let packed = match packing {
            Packing::Bytes => {
                let data = TensorData::new(bytes, [images, image]);
                Tensor::from_data(data, (device, DType::U8))
            }
            Packing::Words => {
                let words: Vec<i32> = bytes.chunks_exact(image).flat_map(pack).collect();
                let data = TensorData::new(words, [images, image.div_ceil(WORD)]);
                Tensor::from_data(data, (device, DType::I32))
            }
        };
        Self { packed, packing, shape }
    }

    /// The images of these indices.
    pub(super) fn select(&self, indices: &[usize]) -> Self {
        let count = indices.len();
        let indices: Vec<i32> = indices.iter().map(|&index| index as i32).collect();
        let indices = TensorData::new(indices, [count]);
        let indices = Tensor::<B, 1, Int>::from_data(indices, &self.packed.device());
        Self { packed: self.packed.clone().select(0, indices), ..*self }
    }

    /// The images as numbers between 0 and 1: `[images, channels, height, width]`.
    pub(super) fn images(self) -> Tensor<B, 4> {
        let ImageShape { channels, height, width } = self.shape;
        let images = self.packed.dims()[0];
        let bytes = match self.packing {
            Packing::Bytes => self.packed,
            Packing::Words => unpack(self.packed).narrow(1, 0, self.shape.bytes()),
        };
        bytes.float().reshape([images, channels, height, width]) / 255.0
    }
}

fn pack(image: &[u8]) -> impl Iterator<Item = i32> {
    image.chunks(WORD).map(|bytes| {
        let mut word = [0; WORD];
        word[..bytes.len()].copy_from_slice(bytes);
        i32::from_le_bytes(word)
    })
}

/// - `words`: `[images, words]`
/// - returns: `[images, 4 * words]`
fn unpack<B: Backend>(words: Tensor<B, 2, Int>) -> Tensor<B, 2, Int> {
    let [images, count] = words.dims();
    let byte = |place: usize| {
        let shifted = words.clone().bitwise_right_shift_scalar((8 * place as i32).elem());
        shifted.bitwise_and_scalar(0xff.elem())
    };
    let bytes = (0..WORD).map(byte).collect();
    Tensor::stack::<3>(bytes, 2).reshape([images, WORD * count])
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;

    #[test]
    fn either_packing_gives_every_byte_back() {
        // 3 x 5 x 7 bytes leave one over after whole words.
        let shape = ImageShape { channels: 3, height: 5, width: 7 };
        let bytes: Vec<u8> = (0..5 * shape.bytes()).map(|i| (i * 37 + i / 256) as u8).collect();
        for packing in [Packing::Words, Packing::of::<Selected>(&Device::default())] {
            let all = Pixels::<Selected>::upload(bytes.clone(), shape, packing, &Device::default());
            let images = all.select(&[4, 0, 4]).images();
            assert_eq!(images.dims(), [3, 3, 5, 7]);
            let seen: Vec<f32> = images.into_data().iter().collect();
            let image = |index: usize| &bytes[index * shape.bytes()..][..shape.bytes()];
            let expected = [image(4), image(0), image(4)].concat();
            let expected: Vec<f32> = expected.iter().map(|&byte| f32::from(byte) / 255.0).collect();
            assert_eq!(seen, expected, "{packing:?}");
        }
    }
}
