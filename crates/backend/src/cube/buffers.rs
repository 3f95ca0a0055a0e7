//! Tensors as kernels take them: numbers one after another.

use burn::tensor::{DType, Shape, TensorMetadata};
use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, calculate_cube_count_elemwise, client::ComputeClient, prelude::*},
    kernel::into_contiguous,
    tensor::CubeTensor,
};

use super::lanes::UNITS;

/// About as many cubes as a large device runs at a time.
pub(super) const AT_ONCE: usize = 1024;

/// Cubes beside each other, above or behind each other that any device takes at a start.
pub(super) const MOST_CUBES: usize = 65_535;

/// Room for a result of the type of `like`.
pub(super) fn empty<R: CubeRuntime>(
    like: &CubeTensor<R>,
    shape: impl Into<Shape>,
) -> CubeTensor<R> {
    empty_of(like.dtype, like, shape)
}

/// Room for a result of another type, beside `like`.
pub(super) fn empty_of<R: CubeRuntime>(
    dtype: DType,
    like: &CubeTensor<R>,
    shape: impl Into<Shape>,
) -> CubeTensor<R> {
    let shape = shape.into();
    let handle = like.client.empty(shape.num_elements() * dtype.size());
    CubeTensor::new_contiguous(like.client.clone(), like.device.clone(), shape, handle, dtype)
}

/// The tensor, or a copy where another one holds the same memory.
pub(super) fn writable<R: CubeRuntime>(tensor: CubeTensor<R>) -> CubeTensor<R> {
    let tensor = into_contiguous(tensor);
    if tensor.can_mut() {
        return tensor;
    }
    let copy = empty(&tensor, tensor.shape());
    let (client, dtype) = (tensor.client.clone(), tensor.dtype);
    cubecl::std::tensor::copy_into(&client, tensor.binding(), copy.clone().binding(), dtype.into());
    copy
}

/// How many items of `each` buffers, beside `others`, a kernel takes; its code grows with them.
pub(super) fn at_a_time<R: CubeRuntime>(
    client: &ComputeClient<R>,
    each: usize,
    others: usize,
) -> usize {
    const MOST: usize = 32;
    (most_arrays(client).saturating_sub(others) / each).clamp(1, MOST)
}

/// Whether a kernel may take so many arrays on this device.
pub(super) fn binds<R: CubeRuntime>(client: &ComputeClient<R>, arrays: usize) -> bool {
    arrays <= most_arrays(client)
}

fn most_arrays<R: CubeRuntime>(client: &ComputeClient<R>) -> usize {
    // CubeCL binds the lengths of arrays as one buffer more.
    (client.properties().hardware.max_bindings as usize).saturating_sub(1)
}

/// A row of cubes of [`UNITS`] for each tensor, given its elements: the row `CUBE_POS_Y` goes through its
/// tensor, each unit from `ABSOLUTE_POS_X` on in steps of [`row_of_units`].
pub(super) fn rows(elements: impl ExactSizeIterator<Item = usize>) -> (CubeCount, CubeDim) {
    let tensors = elements.len();
    let cubes = elements.max().unwrap_or(0).div_ceil(UNITS).clamp(1, AT_ONCE);
    (CubeCount::Static(cubes as u32, tensors as u32, 1), CubeDim::new_1d(UNITS as u32))
}

/// How many units a row of cubes has.
#[cube]
pub(super) fn row_of_units() -> usize {
    CUBE_COUNT_X as usize * CUBE_DIM_X as usize
}

/// A unit for each of `elements`, by `ABSOLUTE_POS`.
pub(super) fn elementwise<R: CubeRuntime>(
    client: &ComputeClient<R>,
    elements: usize,
) -> (CubeCount, CubeDim) {
    let cube = CubeDim::new(client, elements);
    (calculate_cube_count_elemwise(client, elements, cube), cube)
}

/// So many cubes of [`UNITS`], by `CUBE_POS`, and perhaps some more.
pub(super) fn cubes<R: CubeRuntime>(
    client: &ComputeClient<R>,
    count: usize,
) -> (CubeCount, CubeDim) {
    let cube = CubeDim::new_1d(UNITS as u32);
    (calculate_cube_count_elemwise(client, count * UNITS, cube), cube)
}
