//! Every so many rows and columns of maps, among maps of zeros, the channels last: a unit for each
//! value of the result.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    ops::{permute_nchw_to_nhwc, permute_nhwc_to_nchw},
    tensor::CubeTensor,
};

use super::buffers::{elementwise, empty};
use crate::subsample::middle;

/// Large maps with few channels, small ones with many.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
struct Sizes {
    /// Of the large maps.
    height: usize,
    width: usize,
    /// Of the large and of the small maps.
    few: usize,
    many: usize,
    /// Where the few stand among the many.
    first: usize,
    stride: usize,
}

#[cube(launch)]
fn choose<E: Float>(
    large: &Array<E>,
    small: &mut Array<E>,
    sizes: Sizes,
    #[define(E)] _element: StorageType,
) {
    let i = ABSOLUTE_POS;
    if i < small.len() {
        let Sizes { height, width, few, many, first, stride } = sizes;
        let (rows, columns) = (height.div_ceil(stride), width.div_ceil(stride));
        let channel = i % many;
        let column = i / many % columns * stride;
        let row = i / many / columns % rows * stride;
        let image = i / many / columns / rows;
        let mut value = E::from_int(0);
        if channel >= first && channel < first + few {
            value = large[((image * height + row) * width + column) * few + channel - first];
        }
        small[i] = value;
    }
}

#[cube(launch)]
fn put_back<E: Float>(
    small: &Array<E>,
    large: &mut Array<E>,
    sizes: Sizes,
    #[define(E)] _element: StorageType,
) {
    let i = ABSOLUTE_POS;
    if i < large.len() {
        let Sizes { height, width, few, many, first, stride } = sizes;
        let (rows, columns) = (height.div_ceil(stride), width.div_ceil(stride));
        let channel = i % few;
        let column = i / few % width;
        let row = i / few / width % height;
        let image = i / few / width / height;
        let mut value = E::from_int(0);
        // Both remainders are zero where a place was chosen.
        if row % stride + column % stride == 0 {
            let place = (image * rows + row / stride) * columns + column / stride;
            value = small[place * many + first + channel];
        }
        large[i] = value;
    }
}

fn sizes<R: CubeRuntime>(
    [few, height, width]: [usize; 3],
    many: usize,
    stride: usize,
) -> SizesLaunch<R> {
    SizesLaunch::new(height, width, few, many, middle(few, many).start, stride)
}

pub(super) fn forward<R: CubeRuntime>(
    maps: CubeTensor<R>,
    stride: usize,
    channels: usize,
) -> CubeTensor<R> {
    let maps = into_contiguous(permute_nchw_to_nhwc(maps));
    let [batch, height, width, inputs] = maps.meta.shape().dims();
    let [rows, columns] = [height, width].map(|side| side.div_ceil(stride));
    let chosen = empty(&maps, [batch, rows, columns, channels]);
    let (count, cube) = elementwise(&maps.client, chosen.meta.num_elements());
    choose::launch::<R>(
        &chosen.client,
        count,
        cube,
        maps.into_array_arg(),
        chosen.clone().into_array_arg(),
        sizes([inputs, height, width], channels, stride),
        chosen.dtype.into(),
    );
    permute_nhwc_to_nchw(chosen)
}

/// The gradient of the maps, of which the shape is given.
pub(super) fn backward<R: CubeRuntime>(
    gradient: CubeTensor<R>,
    [batch, inputs, height, width]: [usize; 4],
    stride: usize,
) -> CubeTensor<R> {
    let gradient = into_contiguous(permute_nchw_to_nhwc(gradient));
    let channels = gradient.meta.shape()[3];
    let of_maps = empty(&gradient, [batch, height, width, inputs]);
    let (count, cube) = elementwise(&gradient.client, of_maps.meta.num_elements());
    put_back::launch::<R>(
        &of_maps.client,
        count,
        cube,
        gradient.into_array_arg(),
        of_maps.clone().into_array_arg(),
        sizes([inputs, height, width], channels, stride),
        of_maps.dtype.into(),
    );
    permute_nhwc_to_nchw(of_maps)
}
