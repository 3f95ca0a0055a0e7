//! Convolutions of 16-bit numbers with sums in f32.
//!
//! Burn's kernels for tensor cores do so. Its others, which its autotune may choose, add up in the
//! type of the operands, where a sum of a few hundred terms has lost its last digits: bf16 has two. So
//! what tensor cores do not take is computed from widened operands.

use burn::tensor::{DType, Shape};
use burn_cubecl::{
    CubeRuntime,
    kernel::{
        cast,
        conv::{ConvStrategy, conv_data_backward, conv_forward},
    },
    ops::{permute_nchw_to_nhwc, permute_nhwc_to_nchw},
    tensor::CubeTensor,
};

use crate::{Backend, conv2d::burn_options, functional::Conv2dOptions};

/// Convolution without ReLU.
pub(super) fn forward<R, B>(
    input: CubeTensor<R>,
    weight: CubeTensor<R>,
    bias: Option<CubeTensor<R>>,
    options: &Conv2dOptions,
) -> CubeTensor<R>
where
    R: CubeRuntime,
    B: Backend<FloatTensorPrimitive = CubeTensor<R>>,
{
    let maps = conv_forward(
        input.clone(),
        weight.clone(),
        bias.clone(),
        burn_options(options),
        ConvStrategy::ImplicitGemm,
    );
    maps.unwrap_or_else(|_| {
        in_f32([input, weight], |[input, weight]| {
            let bias = bias.map(|bias| cast(bias, DType::F32));
            super::forward::<R, B>(input, weight, bias, options)
        })
    })
}

/// The gradient of an input of the shape `size`.
pub(super) fn input_gradient<R, B>(
    gradient: CubeTensor<R>,
    weight: CubeTensor<R>,
    size: [usize; 4],
    options: &Conv2dOptions,
) -> CubeTensor<R>
where
    R: CubeRuntime,
    B: Backend<FloatTensorPrimitive = CubeTensor<R>>,
{
    if options.stride == [1, 1] {
        let (gradient, weight) = (gradient.clone(), weight.clone());
        let (size, options) = (Shape::from(size), burn_options(options));
        let strategy = ConvStrategy::ImplicitGemm;
        if let Ok(of_input) = conv_data_backward(gradient, weight, size, options, strategy) {
            return of_input;
        }
    }
    in_f32([gradient, weight], |[gradient, weight]| {
        super::gradient_of_input::<R, B>(gradient, weight, size, options)
    })
}

/// Does `work` on f32, and rounds its result to the type of the operands.
pub(super) fn in_f32<R: CubeRuntime, const N: usize>(
    operands: [CubeTensor<R>; N],
    work: impl FnOnce([CubeTensor<R>; N]) -> CubeTensor<R>,
) -> CubeTensor<R> {
    let dtype = operands[0].dtype;
    cast_maps(work(operands.map(|maps| cast_maps(maps, DType::F32))), dtype)
}

/// Casts maps or a weight, and leaves their channels last in memory.
fn cast_maps<R: CubeRuntime>(maps: CubeTensor<R>, dtype: DType) -> CubeTensor<R> {
    permute_nhwc_to_nchw(cast(permute_nchw_to_nhwc(maps), dtype))
}
