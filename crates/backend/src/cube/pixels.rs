//! Images of bytes as numbers, their channels last, as convolutions read them.

use burn::tensor::{DType, TensorMetadata};
use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    ops::permute_nhwc_to_nchw,
    tensor::CubeTensor,
};

use super::{
    buffers::{elementwise, empty_of},
    registered::{Described, Lazy, register},
};
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
    packed: Lazy<R>,
    indices: Option<Lazy<R>>,
    [channels, height, width]: [usize; 3],
) -> Lazy<R> {
    let count = indices.as_ref().map_or(packed.shape()[0], |indices| indices.shape()[0]);
    let outputs = [Described::new([count, channels, height, width], DType::F32)];
    let gathers = indices.is_some();
    let indices = indices.unwrap_or_else(|| packed.clone());
    let launch = move |inputs| [launch(inputs, [count, height, width, channels], gathers)];
    let [images] = register("pixels", [packed, indices], outputs, launch);
    images
}

/// Takes packed images and, if it gathers, their indices; the shape has the channels last.
fn launch<R: CubeRuntime>(
    inputs: [CubeTensor<R>; 2],
    shape: [usize; 4],
    gathers: bool,
) -> CubeTensor<R> {
    let [packed, indices] = inputs.map(into_contiguous);
    let [_, height, width, channels] = shape;
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
