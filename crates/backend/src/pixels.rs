//! Images held as bytes on the device, converted to numbers.
//!
//! Overrides: CUDA and WGPU (`cube/pixels.rs`).

use burn::tensor::{
    DType, ElementConversion, Int, Tensor, TensorMetadata,
    ops::{FloatTensor, IntTensor},
};

use crate::{Backend, overrides::note_composed, primitive::primitive};

/// Bytes in a word.
const WORD: usize = 4;

/// How a backend holds the bytes of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// One per integer, if the backend has integers of 8 bits.
    Bytes,
    /// Four per integer of 32 bits, the smallest that WGPU has, the first in the lowest bits. The
    /// last word of an image is padded with zeros.
    Words,
}

impl Packing {
    /// The smallest integers that the device can compute with.
    pub fn of<B: Backend>(device: &B::Device) -> Self {
        if B::supports_dtype(device, DType::U8) { Self::Bytes } else { Self::Words }
    }

    /// The integers that hold so many bytes.
    pub(crate) fn units(self, bytes: usize) -> usize {
        match self {
            Self::Bytes => bytes,
            Self::Words => bytes.div_ceil(WORD),
        }
    }

    pub(crate) fn of_values(dtype: DType) -> Self {
        if dtype == DType::U8 { Self::Bytes } else { Self::Words }
    }
}

/// See [`Backend::fused_pixels`].
pub(crate) fn composed<B: Backend>(
    packed: IntTensor<B>,
    indices: Option<IntTensor<B>>,
    [channels, height, width]: [usize; 3],
) -> FloatTensor<B> {
    note_composed();
    let packing = Packing::of_values(packed.dtype());
    let mut packed = Tensor::<B, 2, Int>::from_primitive(packed);
    if let Some(indices) = indices {
        packed = packed.select(0, Tensor::from_primitive(indices));
    }
    let images = packed.dims()[0];
    let bytes = match packing {
        Packing::Bytes => packed,
        Packing::Words => unpack(packed).narrow(1, 0, channels * height * width),
    };
    primitive(bytes.float().reshape([images, channels, height, width]) / 255.0)
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
