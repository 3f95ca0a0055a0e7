//! Convolutions, and what is done with their maps at once.

use backend::{
    Backend, Conv2dParents, Convolution, Selected, functional::Conv2dOptions, set_convolution,
};
use burn::{
    backend::Flex,
    tensor::{Tensor, TensorMetadata, ops::FloatTensor},
};

use crate::{assert_close, by_kernels, normal, numbers, of_products, primitive};

const ALL: Conv2dParents<bool> = Conv2dParents { input: true, weight: true, bias: true };

/// The output, and the gradients of input, weight and bias.
fn convolved<B: Backend>(
    input: [usize; 4],
    weight: [usize; 4],
    options: &Conv2dOptions,
) -> [FloatTensor<B>; 4] {
    let bias = primitive(normal::<B, 1>([weight[0]], 3));
    let input = primitive(normal::<B, 4>(input, 1));
    let weight = B::laid_out(primitive(normal::<B, 4>(weight, 2)));
    let output = B::fused_conv2d(input.clone(), weight.clone(), Some(bias), options);
    let gradient = primitive(normal::<B, 4>(output.shape().dims(), 4));
    let rectified = options.relu.then(|| output.clone());
    let found = B::fused_conv2d_backward(input, weight, rectified, gradient, options, ALL);
    [Some(output), found.input, found.weight, found.bias].map(Option::unwrap)
}

#[test]
fn convolution_by_either_algorithm() {
    let with = |stride, padding, dilation, groups, relu| Conv2dOptions {
        stride: [stride, stride + 1],
        padding: [padding, padding / 2],
        dilation: [dilation, 1],
        groups,
        relu,
    };
    let cases = [
        // One result; then few outputs and many places, in parts of which the last is smaller.
        ([1, 1, 3, 5], [1, 1, 3, 5], with(1, 0, 1, 1, false)),
        ([3, 3, 31, 29], [5, 3, 3, 3], with(1, 1, 1, 1, true)),
        // Outputs and columns that fill no tile, and those that fill some.
        ([2, 17, 9, 12], [33, 17, 2, 3], with(2, 1, 2, 1, false)),
        ([2, 16, 8, 8], [64, 16, 4, 4], with(1, 3, 1, 1, true)),
        ([2, 4, 9, 9], [6, 2, 3, 3], with(1, 2, 1, 2, false)),
    ];
    for algorithm in [Convolution::Exact, Convolution::Fast] {
        set_convolution(algorithm);
        let tolerance = match algorithm {
            Convolution::Exact => 1e-4,
            Convolution::Fast => of_products(1e-4),
        };
        for (input, weight, options) in &cases {
            let ours = convolved::<Selected>(*input, *weight, options);
            let reference = convolved::<Flex>(*input, *weight, options);
            let parts = ["output", "input", "weight", "bias"];
            for (part, (ours, reference)) in parts.into_iter().zip(ours.into_iter().zip(reference))
            {
                let what = format!("{part}, {algorithm:?}, {input:?}, {weight:?}, {options:?}");
                assert_close(&what, ours, reference, tolerance);
            }
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
    let both = [output.clone(), gradient];
    let found = B::fused_conv2d_relu_max_pool_backward(input, weight, both, winners, &options, ALL);
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

#[test]
fn what_is_not_a_number_comes_through_relu_and_pooling() {
    let device = Default::default();
    let maps = [f32::NAN, 1.0, 2.0, 3.0, 5.0, f32::NAN, -1.0, -2.0];
    let maps = Tensor::<Selected, 1>::from_floats(maps, &device).reshape([2, 1, 2, 2]);
    let weight = Tensor::<Selected, 4>::ones([1, 1, 1, 1], &device);
    let bias = Tensor::<Selected, 1>::zeros([1], &device);
    let [maps, weight] = [maps, weight].map(primitive);
    let options = Conv2dOptions::default();
    let (pooled, _) = by_kernels(|| {
        Selected::fused_conv2d_relu_max_pool(maps, weight, primitive(bias), &options)
    });
    assert!(numbers::<Selected>(pooled).into_iter().all(f32::is_nan));
}
