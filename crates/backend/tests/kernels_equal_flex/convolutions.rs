//! Convolutions, and what is done with their maps at once.

use backend::{
    Arithmetic, Backend, Conv2dParents, Conv2dSaved, NAME, Selected, convolution_gradients_by_each,
    convolutions_by_each, functional::Conv2dOptions, winograd,
};
use burn::{
    backend::Flex,
    tensor::{
        DType, Tensor, TensorMetadata,
        backend::Backend as _,
        ops::{FloatTensor, FloatTensorOps as _},
    },
};

use crate::{
    assert_close, by_kernels, device, in_either_arithmetic, normal, numbers, of_products,
    primitive, skip,
};

const ALL: Conv2dParents<bool> = Conv2dParents { input: true, weight: true, bias: true };

/// Input, weight and bias. In fast arithmetic weights are so small that sums on tensor cores are about 1,
/// since each product is rounded there.
fn operands<B: Backend>(
    input: [usize; 4],
    weight: [usize; 4],
    arithmetic: Arithmetic,
) -> [FloatTensor<B>; 3] {
    let scale = if arithmetic == Arithmetic::Fast { 8.0 } else { 1.0 };
    [
        primitive(normal::<B, 4>(input, 1)),
        B::laid_out(primitive(normal::<B, 4>(weight, 2) / scale)),
        primitive(normal::<B, 1>([weight[0]], 3)),
    ]
}

/// That of an output of the shape `shape`, as small.
fn gradient<B: Backend>(shape: [usize; 4], arithmetic: Arithmetic) -> FloatTensor<B> {
    let scale = if arithmetic == Arithmetic::Fast { 4.0 } else { 1.0 };
    primitive(normal::<B, 4>(shape, 4) / scale)
}

/// The output, and the gradients of input, weight and bias.
fn convolved<B: Backend>(
    input: [usize; 4],
    weight: [usize; 4],
    options: &Conv2dOptions,
    rectified: bool,
    arithmetic: Arithmetic,
) -> [FloatTensor<B>; 4] {
    let [input, weight, bias] = operands::<B>(input, weight, arithmetic);
    let output = B::fused_conv2d(input.clone(), weight.clone(), Some(bias), options, rectified);
    let gradient = gradient::<B>(output.shape().dims(), arithmetic);
    let kept = rectified.then(|| output.clone());
    let saved = Conv2dSaved { input, weight, output: kept, options: *options, wanted: ALL };
    let found = B::fused_conv2d_backward(saved, gradient);
    [Some(output), found.input, found.weight, found.bias].map(Option::unwrap)
}

#[test]
fn convolution_in_either_arithmetic() {
    let with = |stride, padding, rectified| {
        let (stride, padding) = ([stride, stride + 1], [padding, padding / 2]);
        (Conv2dOptions { stride, padding }, rectified)
    };
    let square = |padding| (Conv2dOptions { padding: [padding; 2], ..Default::default() }, false);
    let mut cases = vec![
        // As tensor cores take them, over the border and within it.
        ([2, 8, 10, 9], [16, 8, 3, 3], square(1)),
        ([2, 8, 10, 9], [16, 8, 3, 3], square(0)),
        // As many outputs as tensor cores compute at once, of one channel and of several.
        ([2, 1, 9, 8], [32, 1, 3, 3], square(1)),
        ([2, 10, 9, 8], [32, 10, 3, 3], with(1, 1, false)),
        ([1, 12, 5, 6], [96, 12, 3, 3], square(1)),
        // Tiles that fit ResNet's layers, several parts of them.
        ([3, 16, 12, 11], [16, 16, 3, 3], square(1)),
        // The three channels of pictures.
        ([2, 3, 9, 8], [16, 3, 3, 3], square(1)),
        // One result; then few outputs and many places, in parts of which the last is smaller.
        ([1, 1, 3, 5], [1, 1, 3, 5], with(1, 0, false)),
        ([3, 3, 31, 29], [5, 3, 3, 3], with(1, 1, true)),
        // Outputs and columns that fill no tile, and those that fill some.
        ([2, 17, 9, 12], [33, 17, 2, 3], with(2, 1, false)),
        ([2, 16, 8, 8], [64, 16, 4, 4], with(1, 3, true)),
        // The kernels of a shortcut and of a first layer.
        ([3, 8, 8, 8], [16, 8, 1, 1], with(2, 0, false)),
        // Padding that whole windows lie in, with gaps between them and without, as tensor cores take them.
        ([2, 5, 6, 9], [4, 5, 1, 2], with(2, 3, true)),
        ([2, 8, 5, 6], [8, 8, 2, 2], square(3)),
        ([1, 3, 16, 15], [8, 3, 7, 7], with(2, 3, true)),
    ];
    if NAME == "cuda" {
        // So many channels that Winograd's algorithm is tried.
        cases.push(([1, 128, 6, 5], [128, 128, 3, 3], square(1)));
    }
    in_either_arithmetic(|arithmetic, relative| {
        for (input, weight, (options, rectified)) in &cases {
            let ours = convolved::<Selected>(*input, *weight, options, *rectified, arithmetic);
            let reference = convolved::<Flex>(*input, *weight, options, *rectified, arithmetic);
            let parts = ["output", "input", "weight", "bias"];
            for (part, (ours, reference)) in parts.into_iter().zip(ours.into_iter().zip(reference))
            {
                let what = format!(
                    "{part}, {arithmetic:?}, {input:?}, {weight:?}, {options:?}, {rectified}"
                );
                assert_close(&what, ours, reference, relative);
            }
        }
    });
}

/// Borders within tiles and beyond; five tiles of sixteen an image at a time, and all at once; at last as
/// many channels as it is tried for on tensor cores.
#[test]
fn convolution_by_winograds_algorithm() {
    let mut cases = vec![
        ([3, 5, 7, 8], [6, 5, 3, 3], [1, 1], 5 * 16 * (6 + 5) * 4),
        ([2, 4, 6, 9], [3, 4, 3, 3], [0, 2], usize::MAX),
        ([1, 2, 3, 3], [1, 2, 3, 3], [0, 0], 0),
    ];
    if NAME == "cuda" {
        cases.push(([2, 128, 4, 5], [130, 128, 3, 3], [1, 1], usize::MAX));
    }
    for (input, weight, padding, room) in cases {
        let options = Conv2dOptions { padding, ..Default::default() };
        in_either_arithmetic(|arithmetic, relative| {
            let [output, of_input, ..] =
                convolved::<Flex>(input, weight, &options, false, arithmetic);
            let tensors = || operands::<Selected>(input, weight, arithmetic);
            let what = format!("{arithmetic:?}, {input:?}, {weight:?}, {padding:?}");

            let [input, weight, bias] = tensors();
            let found = winograd::forward(input, weight, Some(bias), padding, room);
            let shape = found.shape().dims();
            assert_close(&format!("output, {what}"), found, output, relative);

            let [_, weight, _] = tensors();
            let gradient = gradient::<Selected>(shape, arithmetic);
            let found = winograd::input_gradient(gradient, weight, padding, room);
            assert_close(&format!("input, {what}"), found, of_input, relative);
        });
    }
}

/// By each kernel that autotune may choose: channels that fill tiles and some that do not, an odd number of
/// stages, borders on each side, steps, and more places than a tile has. A bias of 16 bits only those take that
/// are not by `Mma`.
#[test]
fn convolution_by_each_kernel_for_tensor_cores() {
    let with = |stride, padding| Conv2dOptions { stride, padding };
    let (of_f32, of_bf16) = ((DType::F32, of_products(1e-4)), (DType::BF16, 2e-2));
    let cases = [
        (of_f32, true, [2, 32, 7, 9], [24, 32, 3, 3], with([1, 1], [1, 1])),
        (of_f32, true, [1, 36, 6, 5], [9, 36, 3, 2], with([2, 1], [0, 2])),
        (of_f32, true, [3, 64, 5, 4], [70, 64, 1, 1], with([1, 2], [0, 0])),
        (of_f32, true, [2, 40, 17, 13], [16, 40, 3, 3], with([1, 1], [2, 0])),
        // Of more places the planes of some kernels take two tiles each.
        (of_f32, true, [2, 32, 28, 28], [40, 32, 3, 3], with([1, 1], [1, 1])),
        (of_bf16, false, [2, 40, 7, 9], [24, 40, 3, 3], with([2, 1], [1, 1])),
        (of_bf16, true, [2, 40, 7, 9], [24, 40, 3, 3], with([1, 1], [1, 1])),
    ];
    for ((dtype, relative), has_bias, input, weight, options) in cases {
        let cast = |values| Selected::float_cast(values, dtype.into());
        let check = |what: &str, found, reference| {
            let what = format!("{what}, {dtype:?}, {input:?}, {weight:?}, {options:?}, {has_bias}");
            assert_close(
                &what,
                Selected::float_cast(found, DType::F32.into()),
                reference,
                relative,
            );
        };
        let tensors = operands::<Flex>(input, weight, Arithmetic::Fast);
        let [of_input, of_weight, bias] = tensors.map(|values| rounded::<Flex>(values, dtype));
        let bias = has_bias.then_some(bias);
        let output = Flex::fused_conv2d(of_input.clone(), of_weight.clone(), bias, &options, false);

        let [ours, kernel, bias] = operands::<Selected>(input, weight, Arithmetic::Fast).map(cast);
        let bias = has_bias.then_some(bias);
        let found = convolutions_by_each(ours, kernel.clone(), bias, &options);
        if found.is_empty() {
            skip("tensor cores");
            return;
        }
        assert_eq!(found.len(), 5, "with those of the tensor memory accelerator");
        for (name, found) in found {
            match found {
                Ok(found) => check(&name, found, output.clone()),
                Err(_) if name.ends_with("_mma") && has_bias && dtype == DType::BF16 => {}
                Err(error) => panic!("{name}, {input:?}, {weight:?}: {error}"),
            }
        }
        if options.stride != [1, 1] {
            continue;
        }
        let of_output = gradient::<Flex>(output.shape().dims(), Arithmetic::Fast);
        let of_output = rounded::<Flex>(of_output, dtype);
        let wanted = Conv2dParents { input: true, weight: false, bias: false };
        let saved =
            Conv2dSaved { input: of_input, weight: of_weight, output: None, options, wanted };
        let reference = Flex::fused_conv2d_backward(saved, of_output).input.unwrap();
        let of_output = cast(gradient::<Selected>(output.shape().dims(), Arithmetic::Fast));
        for (name, found) in convolution_gradients_by_each(of_output, kernel, input, &options) {
            let what = format!("gradient by {name}");
            check(
                &what,
                found.unwrap_or_else(|error| panic!("{what}: {error}")),
                reference.clone(),
            );
        }
    }
}

/// The output, and the gradients of input, weight and bias.
fn pooled<B: Backend>(shape: [usize; 4], outputs: usize) -> [FloatTensor<B>; 4] {
    let options = Conv2dOptions { padding: [1, 0], ..Default::default() };
    let input = primitive(normal::<B, 4>(shape, 1));
    let weight = B::laid_out(primitive(normal::<B, 4>([outputs, shape[1], 2, 3], 2)));
    let bias = primitive(normal::<B, 1>([outputs], 3));
    let (output, winners) =
        B::fused_conv2d_relu_max_pool(input.clone(), weight.clone(), bias, &options);
    let gradient = primitive(normal::<B, 4>(output.shape().dims(), 4));
    let rectified = Some(output.clone());
    let saved = Conv2dSaved { input, weight, output: rectified, options, wanted: ALL };
    let found = B::fused_conv2d_relu_max_pool_backward(saved, winners, gradient);
    [Some(output), found.input, found.weight, found.bias].map(Option::unwrap)
}

#[test]
fn convolution_relu_and_pooling() {
    let cases = [([1, 1, 3, 5], 1), ([3, 2, 7, 10], 5), ([2, 9, 33, 20], 17)];
    for (shape, outputs) in cases {
        let ours = by_kernels(|| pooled::<Selected>(shape, outputs));
        let reference = pooled::<Flex>(shape, outputs);
        let names = ["output", "input", "weight", "bias"];
        for (name, (ours, reference)) in names.into_iter().zip(ours.into_iter().zip(reference)) {
            assert_close(name, ours, reference, of_products(1e-4));
        }
    }
}

/// Numbers of f32, rounded to `dtype`.
fn rounded<B: Backend>(values: FloatTensor<B>, dtype: DType) -> FloatTensor<B> {
    B::float_cast(B::float_cast(values, dtype.into()), DType::F32.into())
}

/// A convolution without bias and ReLU, its gradients of input and weight, and the pooled output with
/// bias and ReLU, all computed in `dtype` from operands of the type `of`, and returned in f32.
fn convolved_in<B: Backend>(
    dtype: DType,
    of: DType,
    input: [usize; 4],
    weight: [usize; 4],
    options: Conv2dOptions,
) -> [FloatTensor<B>; 4] {
    let cast = |values| B::float_cast(rounded::<B>(values, of), dtype.into());
    let bias = cast(primitive(normal::<B, 1>([weight[0]], 3)));
    let input = cast(primitive(normal::<B, 4>(input, 1)));
    let weight = B::laid_out(cast(primitive(normal::<B, 4>(weight, 2))));
    let output = B::fused_conv2d(input.clone(), weight.clone(), None, &options, false);
    // So small that no sum is much larger than one.
    let gradient = normal::<B, 4>(output.shape().dims(), 4) * 0.02;
    let (pooled, _) = B::fused_conv2d_relu_max_pool(input.clone(), weight.clone(), bias, &options);
    let wanted = Conv2dParents { bias: false, ..ALL };
    let saved = Conv2dSaved { input, weight, output: None, options, wanted };
    let found = B::fused_conv2d_backward(saved, cast(primitive(gradient)));
    assert_eq!(pooled.dtype(), dtype);
    [Some(output), found.input, found.weight, Some(pooled)]
        .map(|values| B::float_cast(values.unwrap(), DType::F32.into()))
}

/// In the arithmetic that `training.precision` may ask for, where the device has it.
#[test]
fn convolution_in_fewer_bits() {
    // The places of the first weight's gradient are summed in parts. The second has as many outputs as tensor
    // cores compute at once, and the third, a layer of ResNet-20, moves by two places. Of the last Burn would
    // make a product of matrices.
    let options = Conv2dOptions::default();
    let by_two = Conv2dOptions { stride: [2, 2], padding: [1, 1] };
    let cases = [
        ([3, 3, 31, 29], [5, 3, 3, 3], options),
        ([2, 8, 6, 6], [32, 8, 3, 3], options),
        ([2, 16, 9, 8], [32, 16, 3, 3], by_two),
        ([2, 32, 16, 16], [40, 32, 1, 1], options),
    ];
    // Of both types the same kernels are made.
    for (dtype, cases) in [(DType::F16, &cases[..1]), (DType::BF16, &cases)] {
        if !Selected::supports_dtype(&device(), dtype) {
            skip(dtype.name());
            continue;
        }
        for &(input, weight, options) in cases {
            let ours =
                by_kernels(|| convolved_in::<Selected>(dtype, dtype, input, weight, options));
            let reference = convolved_in::<Flex>(DType::F32, dtype, input, weight, options);
            let names = ["output", "input", "weight", "pooled"];
            for (name, (ours, reference)) in names.into_iter().zip(ours.into_iter().zip(reference))
            {
                // Of results of up to eight, rounded twice; sums made in 16 bits would be off by more.
                let relative = if dtype == DType::F16 { 5e-3 } else { 2e-2 };
                assert_close(&format!("{name} in {dtype:?}"), ours, reference, relative);
            }
        }
    }
}

/// The gradient of the input of a convolution with ReLU and pooling, in f32.
fn through_pooling(dtype: DType) -> Vec<f32> {
    let cast = |values| Selected::float_cast(values, dtype.into());
    let options = Conv2dOptions::default();
    // Ones and whole numbers, of which no type rounds one, nor a sum.
    let device = device();
    let input = Tensor::<Selected, 1>::from_floats([1.0, 5.0, 3.0, 2.0, -4.0, 6.0], &device);
    let input = cast(primitive(input.reshape([1, 1, 2, 3])));
    let weight = cast(primitive(Tensor::<Selected, 4>::ones([2, 1, 1, 1], &device)));
    let bias = cast(primitive(Tensor::<Selected, 1>::from_floats([1.0, -5.0], &device)));
    let (output, winners) =
        Selected::fused_conv2d_relu_max_pool(input.clone(), weight.clone(), bias, &options);
    let gradient = Tensor::<Selected, 1>::from_floats([2.0, 3.0], &device).reshape([1, 2, 1, 1]);
    let wanted = Conv2dParents { input: true, weight: false, bias: false };
    let saved = Conv2dSaved { input, weight, output: Some(output), options, wanted };
    let gradient = cast(primitive(gradient));
    let found = Selected::fused_conv2d_relu_max_pool_backward(saved, winners, gradient);
    numbers::<Selected>(Selected::float_cast(found.input.unwrap(), DType::F32.into()))
}

#[test]
fn the_gradient_goes_to_the_winner_in_any_type() {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        if !Selected::supports_dtype(&device(), dtype) {
            skip(dtype.name());
            continue;
        }
        // The second map's largest value is zero, through which nothing goes.
        assert_eq!(through_pooling(dtype), [0.0, 2.0, 0.0, 0.0, 0.0, 0.0], "{dtype:?}");
    }
}
