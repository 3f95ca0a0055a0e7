//! Images of bytes as numbers, their channels last, as convolutions read them, and scaled by channel.

use burn::tensor::DType;
use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    ops::permute_nhwc_to_nchw,
    tensor::CubeTensor,
};

use super::buffers::{elementwise, empty, empty_of};
use crate::pixels::Packing;

/// A unit for each number: the images of `indices`, or all.
#[cube(launch)]
fn unpack<P: Int, I: Int>(
    packed: &Array<P>,
    indices: &Array<I>,
    images: &mut Array<f32>,
    channels: usize,
    image: usize, // bytes
    #[comptime] gathers: bool,
    #[comptime] in_words: bool,
    #[define(P)] _pixel: StorageType,
    #[define(I)] _index: StorageType,
) {
    let i = ABSOLUTE_POS;
    if i < images.len() {
        let places = image / channels;
        let place = i / channels % places;
        let mut number = i / image;
        if gathers {
            number = usize::cast_from(indices[number]);
        }
        let byte = i % channels * places + place;
        let value = if in_words {
            let word = u32::cast_from(packed[number * image.div_ceil(4) + byte / 4]);
            (word >> (8 * (byte % 4) as u32)) & 0xff
        } else {
            u32::cast_from(packed[number * image + byte])
        };
        images[i] = f32::cast_from(value) / 255.0;
    }
}

pub(super) fn images<R: CubeRuntime>(
    packed: CubeTensor<R>,
    indices: Option<CubeTensor<R>>,
    [channels, height, width]: [usize; 3],
) -> CubeTensor<R> {
    let gathers = indices.is_some();
    let indices = indices.unwrap_or_else(|| packed.clone());
    let [packed, indices] = [packed, indices].map(into_contiguous);
    // Which are as many as the packed images if none are chosen.
    let shape = [indices.meta.shape()[0], height, width, channels];
    let images = empty_of(DType::F32, &packed, shape);
    let (count, cube) = elementwise(&images.client, shape.iter().product());
    let in_words = Packing::of_values(packed.dtype) == Packing::Words;
    let [of_packed, of_indices] = [packed.dtype, indices.dtype].map(Into::into);
    unpack::launch::<R>(
        &images.client,
        count,
        cube,
        packed.into_array_arg(),
        indices.into_array_arg(),
        images.clone().into_array_arg(),
        channels,
        channels * height * width,
        gathers,
        in_words,
        of_packed,
        of_indices,
    );
    permute_nhwc_to_nchw(images)
}

/// A unit for each number, of which the channels lie last.
#[cube(launch)]
fn scale(
    images: &Array<f32>,
    factors: &Array<f32>,
    summands: &Array<f32>,
    normalized: &mut Array<f32>,
) {
    let i = ABSOLUTE_POS;
    if i < normalized.len() {
        let channel = i % factors.len();
        normalized[i] = images[i] * factors[channel] + summands[channel];
    }
}

/// Takes images `[.., channels]`, and the factor and the summand of each channel.
pub(super) fn normalized<R: CubeRuntime>(inputs: [CubeTensor<R>; 3]) -> CubeTensor<R> {
    let [images, factors, summands] = inputs.map(into_contiguous);
    let normalized = empty(&images, images.meta.shape().clone());
    let (count, cube) = elementwise(&normalized.client, normalized.meta.num_elements());
    scale::launch::<R>(
        &normalized.client,
        count,
        cube,
        images.into_array_arg(),
        factors.into_array_arg(),
        summands.into_array_arg(),
        normalized.clone().into_array_arg(),
    );
    normalized
}
