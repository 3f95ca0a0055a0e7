//! Convolutions by Burn's kernels, of which only a few are tried on tensor cores. The gradient of the weight
//! has a kernel of its own; exact arithmetic takes Burn's direct kernels.
//!
//! Those for tensor cores round f32 to TF32 on CUDA, which exact arithmetic
//! ([`Arithmetic::Exact`](crate::Arithmetic::Exact)) does not allow. For 16-bit numbers only those that
//! sum in f32 are used.

mod sixteen_bits;
mod tensor_cores;
mod weight_gradient;
pub mod winograd;

use burn::tensor::{
    DType, Shape, Slice, TensorMetadata,
    ops::{ConvTransposeOptions, FloatTensor},
};
use burn_cubecl::{
    CubeRuntime,
    kernel::conv::{
        ConvStrategy, ConvTranspose2dStrategy, conv_data_backward, conv_forward, conv_transpose2d,
    },
    tensor::CubeTensor,
};

pub use self::tensor_cores::by_accelerator;
use super::{
    layout::places,
    product::{self, is_exact},
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
    if has_16_bits(&input) {
        return sixteen_bits::forward::<R, B>(input, weight, bias, options);
    }
    if !is_exact(&input) && tensor_cores::takes(&input) {
        return tensor_cores::forward(input, weight, bias, options);
    }
    let options = burn_options(options);
    if is_exact(&input) || !burn_is_right(&input, &weight) {
        return conv_forward(input, weight, bias, options, ConvStrategy::Direct).expect(RUNS);
    }
    B::conv2d(input, weight, bias, options)
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
        return input_gradient_with_gaps::<R, B>(gradient, weight, size, options);
    }
    if is_exact(&gradient) {
        return input_gradient(gradient, weight, size, options);
    }
    let on_tensor_cores = tensor_cores::takes(&gradient);
    let beyond = reads_beyond(of_weight);
    let goes_forward = match options.stride {
        // Those that are tried on tensor cores multiply one stage after another.
        [1, 1] => beyond && !on_tensor_cores || padding_is_missed(of_weight, options),
        _ => on_tensor_cores,
    };
    if goes_forward && can_go_forward(of_weight, options) {
        return input_gradient_by_forward::<R, B>(gradient, weight, size, options);
    }
    if on_tensor_cores && options.stride == [1, 1] {
        return tensor_cores::input_gradient(gradient, weight, size, options);
    }
    if beyond {
        return input_gradient(gradient, weight, size, options);
    }
    if has_16_bits(&gradient) {
        return sixteen_bits::input_gradient::<R, B>(gradient, weight, size, options);
    }
    let (size, options) = (Shape::from(size), burn_options(options));
    conv_data_backward(gradient, weight, size, options, ConvStrategy::Autotune).expect(RUNS)
}

/// The sum of each channel, `[channels]`.
fn channel_sums<B: Backend>(maps: FloatTensor<B>) -> FloatTensor<B> {
    let [batch, channels, height, width] = maps.shape().dims();
    let rows = [batch * height * width, channels];
    B::column_sums(B::float_reshape(places::<B>(maps), rows.into()))
}

fn has_16_bits<R: CubeRuntime>(values: &CubeTensor<R>) -> bool {
    matches!(values.dtype(), DType::BF16 | DType::F16)
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
        let reached = reach(returned[axis], stride[axis], kernel[axis]);
        size[2 + axis] + 2 * padding[axis] - reached
    });
    let options = ConvTransposeOptions::new(stride, padding, left, [1, 1], 1);
    sixteen_bits::in_f32([gradient, weight], |[gradient, weight]| {
        conv_transpose2d(gradient, weight, None, options, ConvTranspose2dStrategy::Direct)
            .expect(RUNS)
    })
}

/// Rows or columns from the begin of the first window to the end of the last.
///
/// - `count`: of the kernel
fn reach(windows: usize, step: usize, count: usize) -> usize {
    (windows - 1) * step + count
}

/// Whether there are rows or columns between the windows of a kernel of the shape `size`.
fn leaves_gaps([_, _, rows, columns]: [usize; 4], options: &Conv2dOptions) -> bool {
    rows < options.stride[0] || columns < options.stride[1]
}

/// As [`input_gradient`], of a kernel that leaves gaps between its windows. In those Burn's direct
/// transposed convolution loses its place, so the kernel is widened with zeros until there are none.
fn input_gradient_with_gaps<R, B>(
    gradient: CubeTensor<R>,
    weight: CubeTensor<R>,
    size: [usize; 4],
    options: &Conv2dOptions,
) -> CubeTensor<R>
where
    R: CubeRuntime,
    B: Backend<FloatTensorPrimitive = CubeTensor<R>>,
{
    let Conv2dOptions { stride, padding } = *options;
    let of_weight: [usize; 4] = weight.shape().dims();
    let [_, _, height, width] = gradient.shape().dims();
    let (mut wide, mut reached) = (of_weight, size);
    for (axis, returned) in [height, width].into_iter().enumerate() {
        let count = stride[axis].max(of_weight[2 + axis]);
        let end = reach(returned, stride[axis], count);
        wide[2 + axis] = count;
        reached[2 + axis] = end.saturating_sub(2 * padding[axis]).max(size[2 + axis]);
    }
    let all = |shape: [usize; 4]| shape.map(|count| Slice::from(0..count));
    let zeros = B::float_zeros(wide.into(), &B::float_device(&weight), weight.dtype().into());
    let weight = B::float_slice_assign(zeros, &all(of_weight), weight);
    B::float_slice(input_gradient(gradient, weight, reached, options), &all(size))
}

/// Whether the gradient of the input is a convolution of the outputs' gradient.
fn can_go_forward([_, _, rows, columns]: [usize; 4], options: &Conv2dOptions) -> bool {
    options.padding[0] < rows && options.padding[1] < columns
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
/// over the border counts.
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
    let of_each_place = Conv2dOptions { stride: [1, 1], ..*options };
    let gradient = match options.stride {
        [1, 1] => gradient,
        stride => {
            let [_, _, height, width] = size;
            let places = of_each_place.output_size([height, width], [rows, columns]);
            spread::<B>(gradient, places, stride)
        }
    };
    let [above, left] = options.padding;
    let padding = [rows - 1 - above, columns - 1 - left];
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
