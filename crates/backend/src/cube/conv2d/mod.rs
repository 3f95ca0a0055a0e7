//! Convolutions by Burn's kernels, of which only a few are tried on tensor cores. The gradient of the weight
//! has a kernel of its own; exact arithmetic takes Burn's direct kernels.
//!
//! Those for tensor cores round f32 to TF32 on CUDA, which exact arithmetic
//! ([`Arithmetic::Exact`](crate::Arithmetic::Exact)) does not allow. Of 16-bit numbers they sum in f32. Burn's
//! others add up in the type of the operands, where a sum of a few hundred terms has lost its last digits
//! (bf16 has two), so that operands are widened for them.

mod tensor_cores;
mod weight_gradient;
pub mod winograd;

use burn::tensor::{
    DType, Shape, Slice, TensorMetadata,
    ops::{ConvTransposeOptions, FloatTensor},
};
use burn_cubecl::{
    CubeRuntime,
    kernel::{
        cast,
        conv::{
            ConvStrategy, ConvTranspose2dStrategy, conv_data_backward, conv_forward,
            conv_transpose2d,
        },
    },
    ops::{permute_nchw_to_nhwc, permute_nhwc_to_nchw},
    tensor::CubeTensor,
};

pub use self::tensor_cores::{
    by_each as convolutions_by_each, gradients_by_each as convolution_gradients_by_each,
};
use super::{
    layout::places,
    product::{self, has_tensor_cores, is_exact},
};
use crate::{
    Backend, Conv2dGradients, Conv2dParents, Conv2dSaved, conv2d::burn_options,
    functional::Conv2dOptions,
};

/// What holds for the kernels that are taken.
const RUNS: &str = "a kernel without tensor cores takes every shape";

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
    if !is_exact(&input) && has_tensor_cores(&input) {
        return tensor_cores::forward(input, weight, bias, options);
    }
    if is_exact(&input) || !burn_is_right(&input, &weight) {
        return forward_directly(input, weight, bias, options);
    }
    let bias = bias.map(widened);
    in_f32([input, weight], |[input, weight]| B::conv2d(input, weight, bias, burn_options(options)))
}

/// As [`forward`], with no operand rounded.
fn forward_directly<R: CubeRuntime>(
    input: CubeTensor<R>,
    weight: CubeTensor<R>,
    bias: Option<CubeTensor<R>>,
    options: &Conv2dOptions,
) -> CubeTensor<R> {
    let (bias, options) = (bias.map(widened), burn_options(options));
    in_f32([input, weight], |[input, weight]| {
        conv_forward(input, weight, bias, options, ConvStrategy::Direct).expect(RUNS)
    })
}

/// Whether Burn's kernels are right, also where it makes a product of matrices of it.
fn burn_is_right<R: CubeRuntime>(input: &CubeTensor<R>, weight: &CubeTensor<R>) -> bool {
    let [outputs, channels, rows, columns] = weight.meta.shape().dims();
    let [batch, _, height, width] = input.meta.shape().dims();
    let is_product = [rows, columns] == [1, 1];
    !is_product || product::burn_is_right(input, [batch * height * width, channels, outputs])
}

/// The gradients that are wanted, from that of what the convolution returned before ReLU.
pub(super) fn gradients<R, B>(saved: Conv2dSaved<B>, gradient: CubeTensor<R>) -> Conv2dGradients<B>
where
    R: CubeRuntime,
    B: Backend<FloatTensorPrimitive = CubeTensor<R>>,
{
    let Conv2dSaved { input, weight, options, wanted, .. } = saved;
    let (of_weight, options): ([usize; 4], _) = (weight.shape().dims(), &options);
    Conv2dParents {
        input: wanted.input.then(|| {
            let (weight, size) = (weight.clone(), input.shape().dims());
            gradient_of_input::<R, B>(gradient.clone(), weight, size, options)
        }),
        weight: wanted.weight.then(|| {
            if weight_gradient::takes(&input, &gradient, of_weight) {
                return weight_gradient::launch(input, gradient.clone(), of_weight, options);
            }
            B::conv2d_weight_backward(input, weight, gradient.clone(), burn_options(options))
        }),
        bias: wanted.bias.then(|| channel_sums::<B>(gradient)),
    }
}

/// The gradient of an input of the shape `size`, by the fastest of the kernels that are right for it.
fn gradient_of_input<R, B>(
    gradient: CubeTensor<R>,
    weight: CubeTensor<R>,
    size: [usize; 4],
    options: &Conv2dOptions,
) -> CubeTensor<R>
where
    R: CubeRuntime,
    B: Backend<FloatTensorPrimitive = CubeTensor<R>>,
{
    let of_weight = weight.shape().dims();
    if leaves_gaps(of_weight, options) {
        return input_gradient_by_forward::<R, B>(gradient, weight, size, options);
    }
    if is_exact(&gradient) {
        return input_gradient(gradient, weight, size, options);
    }
    let on_tensor_cores = has_tensor_cores(&gradient);
    let beyond = reads_beyond(of_weight);
    let goes_forward = match options.stride {
        // Those that are tried on tensor cores multiply one stage after another.
        [1, 1] => beyond && !on_tensor_cores || padding_is_missed(of_weight, options),
        _ => on_tensor_cores,
    };
    if goes_forward {
        return input_gradient_by_forward::<R, B>(gradient, weight, size, options);
    }
    if on_tensor_cores {
        return tensor_cores::input_gradient(gradient, weight, size, options);
    }
    if beyond {
        return input_gradient(gradient, weight, size, options);
    }
    in_f32([gradient, weight], |[gradient, weight]| {
        let (size, options) = (Shape::from(size), burn_options(options));
        conv_data_backward(gradient, weight, size, options, ConvStrategy::Autotune).expect(RUNS)
    })
}

/// The sum of each channel, `[channels]`.
fn channel_sums<B: Backend>(maps: FloatTensor<B>) -> FloatTensor<B> {
    let [batch, channels, height, width] = maps.shape().dims();
    let rows = [batch * height * width, channels];
    B::column_sums(B::float_reshape(places::<B>(maps), rows.into()))
}

/// Does `work` on f32, and rounds its result to the type of the operands.
fn in_f32<R: CubeRuntime>(
    operands: [CubeTensor<R>; 2],
    work: impl FnOnce([CubeTensor<R>; 2]) -> CubeTensor<R>,
) -> CubeTensor<R> {
    let dtype = operands[0].dtype;
    cast_maps(work(operands.map(|maps| cast_maps(maps, DType::F32))), dtype)
}

/// Casts maps or a weight, and leaves their channels last in memory.
fn cast_maps<R: CubeRuntime>(maps: CubeTensor<R>, dtype: DType) -> CubeTensor<R> {
    permute_nhwc_to_nchw(cast(permute_nchw_to_nhwc(maps), dtype))
}

fn widened<R: CubeRuntime>(bias: CubeTensor<R>) -> CubeTensor<R> {
    cast(bias, DType::F32)
}

/// The gradient of an input of the shape `size`, with no operand rounded.
fn input_gradient<R: CubeRuntime>(
    gradient: CubeTensor<R>,
    weight: CubeTensor<R>,
    size: [usize; 4],
    options: &Conv2dOptions,
) -> CubeTensor<R> {
    let ([_, _, rows, columns], [_, _, height, width]) =
        (weight.shape().dims(), gradient.shape().dims());
    let Conv2dOptions { stride, padding } = *options;
    let (kernel, returned) = ([rows, columns], [height, width]);
    // Rows and columns at the end that no window reached.
    let left = std::array::from_fn(|axis| {
        let reached = (returned[axis] - 1) * stride[axis] + kernel[axis];
        size[2 + axis] + 2 * padding[axis] - reached
    });
    let options = ConvTransposeOptions::new(stride, padding, left, [1, 1], 1);
    in_f32([gradient, weight], |[gradient, weight]| {
        conv_transpose2d(gradient, weight, None, options, ConvTranspose2dStrategy::Direct)
            .expect(RUNS)
    })
}

/// Whether there are rows or columns between the windows of a kernel of the shape `size`, in which Burn's
/// direct transposed convolution loses its place.
fn leaves_gaps([_, _, rows, columns]: [usize; 4], options: &Conv2dOptions) -> bool {
    rows < options.stride[0] || columns < options.stride[1]
}

/// Whether Burn's tensor-core kernels for the gradient of the input read places that are not there: they
/// look for the border only where the convolution pads, but every window over the border needs it.
fn padding_is_missed([_, _, rows, columns]: [usize; 4], options: &Conv2dOptions) -> bool {
    [rows, columns] != [1, 1] && options.padding == [0, 0]
}

/// Whether Burn's kernels for the gradient of the input may multiply beyond matrices that have a column
/// for each output: the one kernel that does so where the matrices lie as they do there takes 32 columns
/// at a time ([`product`](super::product)).
fn reads_beyond([outputs, ..]: [usize; 4]) -> bool {
    outputs.trailing_zeros() == 5
}

/// The gradient of an input of the shape `size`: the convolution of the outputs' gradient, with zeros
/// where the kernel skipped places, with the kernel rotated by 180 degrees, padded so that every window
/// over the border counts, and cut by what the convolution padded beyond all windows over the input.
fn input_gradient_by_forward<R, B>(
    gradient: CubeTensor<R>,
    weight: CubeTensor<R>,
    size: [usize; 4],
    options: &Conv2dOptions,
) -> CubeTensor<R>
where
    R: CubeRuntime,
    B: Backend<FloatTensorPrimitive = CubeTensor<R>>,
{
    let [_, _, rows, columns] = weight.shape().dims();
    let border = [rows - 1, columns - 1];
    let of_each_place = Conv2dOptions { stride: [1, 1], ..*options };
    let gradient = match options.stride {
        [1, 1] => gradient,
        stride => {
            let [_, _, height, width] = size;
            let places = of_each_place.output_size([height, width], [rows, columns]);
            spread::<B>(gradient, places, stride)
        }
    };
    let [above, left] =
        std::array::from_fn(|axis| options.padding[axis].saturating_sub(border[axis]));
    let gradient = if above + left == 0 { gradient } else { cut::<B>(gradient, [above, left]) };
    let padding = std::array::from_fn(|axis| border[axis].saturating_sub(options.padding[axis]));
    let rotated = B::float_swap_dims(B::float_flip(weight, &[2, 3]), 0, 1);
    let options = Conv2dOptions { padding, ..of_each_place };
    forward::<R, B>(gradient, B::laid_out(rotated), None, &options)
}

/// Maps of so many `places`, `[height, width]`, with the values of `maps` each `stride` from the next.
fn spread<B: Backend>(
    maps: FloatTensor<B>,
    [height, width]: [usize; 2],
    stride: [usize; 2],
) -> FloatTensor<B> {
    let (device, dtype) = (B::float_device(&maps), maps.dtype().into());
    let maps = B::float_permute(maps, &[0, 2, 3, 1]);
    let [batch, rows, columns, channels] = maps.shape().dims();
    let along = |count: usize, step: usize| {
        Slice::with_step(0, Some(((count - 1) * step + 1) as isize), step as isize)
    };
    let zeros = B::float_zeros([batch, height, width, channels].into(), &device, dtype);
    let slices = [Slice::full(), along(rows, stride[0]), along(columns, stride[1]), Slice::full()];
    B::float_permute(B::float_slice_assign(zeros, &slices, maps), &[0, 3, 1, 2])
}

/// Maps without so many rows above and below, and columns left and right.
fn cut<B: Backend>(maps: FloatTensor<B>, [above, left]: [usize; 2]) -> FloatTensor<B> {
    let [_, _, height, width] = maps.shape().dims();
    let within = |border: usize, count: usize| Slice::from(border..count - border);
    let slices = [Slice::full(), Slice::full(), within(above, height), within(left, width)];
    B::float_slice(maps, &slices)
}
