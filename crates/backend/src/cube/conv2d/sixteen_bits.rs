//! Convolutions of numbers of 16 bits, of which the sums are made in f32.
//!
//! Burn's kernels for tensor cores make them so. Its others, which its autotune may choose, add up in the
//! type of the operands, where a sum of some hundred terms has lost its last digits: bf16 has two. So
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

use super::RUNS;
use crate::{conv2d::burn_options, functional::Conv2dOptions};

/// Convolution without ReLU.
pub(super) fn forward<R: CubeRuntime>(
    input: CubeTensor<R>,
    weight: CubeTensor<R>,
    bias: Option<CubeTensor<R>>,
    options: &Conv2dOptions,
) -> CubeTensor<R> {
    let by = |[input, weight]: [CubeTensor<R>; 2], bias, strategy| {
        conv_forward(input, weight, bias, burn_options(options), strategy)
    };
    let operands = [input.clone(), weight.clone()];
    if let Ok(maps) = by(operands, bias.clone(), ConvStrategy::ImplicitGemm) {
        return maps;
    }
    in_f32([input, weight], |operands| {
        let bias = bias.map(|bias| cast(bias, DType::F32));
        by(operands, bias, ConvStrategy::Autotune).expect(RUNS)
    })
}

/// The gradient of an input of the shape `size`.
pub(super) fn input_gradient<R: CubeRuntime>(
    gradient: CubeTensor<R>,
    weight: CubeTensor<R>,
    size: [usize; 4],
    options: &Conv2dOptions,
) -> CubeTensor<R> {
    let by = |[gradient, weight]: [CubeTensor<R>; 2], strategy| {
        conv_data_backward(gradient, weight, Shape::from(size), burn_options(options), strategy)
    };
    if options.stride == [1, 1] {
        let operands = [gradient.clone(), weight.clone()];
        if let Ok(of_input) = by(operands, ConvStrategy::ImplicitGemm) {
            return of_input;
        }
    }
    in_f32([gradient, weight], |operands| by(operands, ConvStrategy::Autotune).expect(RUNS))
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
