//! What a dense layer does beside its products: bias and ReLU by one kernel, and ReLU's gradient.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    tensor::CubeTensor,
};

use super::buffers::{elementwise, empty};

/// ReLU that keeps NaN, recognised by its bits, since some drivers compute as if there were none.
#[cube]
pub(super) fn relu(value: f32) -> f32 {
    select(value < 0.0f32 && !value.is_nan(), 0.0f32, value)
}

/// Adds the bias to each row; what is negative then becomes zero if `rectified`, and NaN stays.
#[cube(launch)]
fn add_bias<E: Float>(
    sums: &Array<E>,
    bias: &Array<E>,
    output: &mut Array<E>,
    #[comptime] rectified: bool,
    #[define(E)] _element: StorageType,
) {
    let i = ABSOLUTE_POS;
    if i < output.len() {
        let mut value = f32::cast_from(sums[i]) + f32::cast_from(bias[i % bias.len()]);
        if comptime!(rectified) {
            value = relu(value);
        }
        output[i] = E::cast_from(value);
    }
}

/// Nothing where ReLU left nothing, else the gradient.
#[cube(launch)]
fn mask_gradient<E: Float>(
    output: &Array<E>,
    gradient: &Array<E>,
    of_sums: &mut Array<E>,
    #[define(E)] _element: StorageType,
) {
    let i = ABSOLUTE_POS;
    if i < of_sums.len() {
        let mut value = gradient[i];
        if f32::cast_from(output[i]) <= 0.0f32 {
            value = E::from_int(0);
        }
        of_sums[i] = value;
    }
}

/// Adds a bias, with ReLU after it if `rectified`.
///
/// - `sums`: `[.., columns]`, `bias`: `[columns]`
pub(super) fn with_bias<R: CubeRuntime>(
    sums: CubeTensor<R>,
    bias: CubeTensor<R>,
    rectified: bool,
) -> CubeTensor<R> {
    let [sums, bias] = [sums, bias].map(into_contiguous);
    let output = empty(&sums, sums.meta.shape().clone());
    let (count, cube) = elementwise(&output.client, output.meta.num_elements());
    add_bias::launch::<R>(
        &output.client,
        count,
        cube,
        sums.into_array_arg(),
        bias.into_array_arg(),
        output.clone().into_array_arg(),
        rectified,
        output.dtype.into(),
    );
    output
}

/// The gradient of what ReLU was applied to, from its output and that one's gradient.
pub(super) fn before_relu<R: CubeRuntime>(
    output: CubeTensor<R>,
    gradient: CubeTensor<R>,
) -> CubeTensor<R> {
    let [output, gradient] = [output, gradient].map(into_contiguous);
    let of_sums = empty(&gradient, gradient.meta.shape().clone());
    let (count, cube) = elementwise(&of_sums.client, of_sums.meta.num_elements());
    mask_gradient::launch::<R>(
        &of_sums.client,
        count,
        cube,
        output.into_array_arg(),
        gradient.into_array_arg(),
        of_sums.clone().into_array_arg(),
        of_sums.dtype.into(),
    );
    of_sums
}
