//! Every so many rows and columns of maps, among maps of zeros, the channels last: a unit for each
//! value of the result.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*, std::FastDivmod},
    kernel::into_contiguous,
    ops::{permute_nchw_to_nhwc, permute_nhwc_to_nchw},
    tensor::CubeTensor,
};

use super::{
    buffers::{elementwise, empty},
    extent::{Extent, ExtentLaunch},
};
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
}

#[cube(launch)]
fn choose<E: Float>(
    large: &Array<E>,
    small: &mut Array<E>,
    sizes: Sizes,
    result: &Extent,
    stride: usize,
    #[define(E)] _element: StorageType,
) {
    let i = ABSOLUTE_POS;
    if i < small.len() {
        let Sizes { height, width, few, many: _, first } = sizes;
        let of = result.position(i);
        let mut value = E::from_int(0);
        if of.channel >= first && of.channel < first + few {
            let line = of.image * height + of.row * stride;
            value = large[(line * width + of.column * stride) * few + of.channel - first];
        }
        small[i] = value;
    }
}

/// - `rows`, `columns`: of the small maps
#[cube(launch)]
fn put_back<E: Float>(
    small: &Array<E>,
    large: &mut Array<E>,
    sizes: Sizes,
    result: &Extent,
    stride: FastDivmod<usize>,
    rows: usize,
    columns: usize,
    #[define(E)] _element: StorageType,
) {
    let i = ABSOLUTE_POS;
    if i < large.len() {
        let of = result.position(i);
        let (row, below) = stride.div_mod(of.row);
        let (column, beyond) = stride.div_mod(of.column);
        let mut value = E::from_int(0);
        // Both remainders are zero where a place was chosen.
        if below + beyond == 0 {
            let place = (of.image * rows + row) * columns + column;
            value = small[place * sizes.many + sizes.first + of.channel];
        }
        large[i] = value;
    }
}

fn sizes<R: CubeRuntime>([few, height, width]: [usize; 3], many: usize) -> SizesLaunch<R> {
    SizesLaunch::new(height, width, few, many, middle(few, many).start)
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
        sizes([inputs, height, width], channels),
        ExtentLaunch::new(rows, columns, channels),
        stride,
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
    let [_, rows, columns, channels] = gradient.meta.shape().dims();
    let of_maps = empty(&gradient, [batch, height, width, inputs]);
    let (count, cube) = elementwise(&gradient.client, of_maps.meta.num_elements());
    put_back::launch::<R>(
        &of_maps.client,
        count,
        cube,
        gradient.into_array_arg(),
        of_maps.clone().into_array_arg(),
        sizes([inputs, height, width], channels),
        ExtentLaunch::new(height, width, inputs),
        stride,
        rows,
        columns,
        of_maps.dtype.into(),
    );
    permute_nhwc_to_nchw(of_maps)
}
