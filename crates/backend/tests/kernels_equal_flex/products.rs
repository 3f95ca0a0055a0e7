//! Products of matrices, whose kernels autotune chooses.

use backend::{
    Backend, LinearSaved, Selected, functional::product, primitive::tensor, products_by_each,
};
use burn::{
    backend::{Autodiff, Flex},
    tensor::{
        DType, Tensor,
        backend::Backend as _,
        ops::{FloatTensor, FloatTensorOps},
    },
};

use crate::{
    assert_close, by_kernels, device, in_either_arithmetic, normal, numbers, of_products,
    primitive, skip,
};

/// Rows, inner, columns: small products, which are by one kernel; then some where the inner ones fill an
/// odd number of the stages that kernels multiply at a time, an even number, and part of one, large enough
/// for autotune to try all kernels; then one of few results, which tensor cores make in parts; then
/// vectors.
const SHAPES: [[usize; 3]; 10] = [
    [30, 70, 12],
    [64, 256, 1],
    [1, 256, 64],
    [20, 16, 1000],
    [512, 32, 40],
    [16, 800, 24],
    [30, 520, 20],
    [24, 1280, 40],
    [2100, 128, 1],
    [1, 1024, 512],
];

/// The matrix as it is, or as the transposed view of one.
fn matrix<B: Backend>([rows, columns]: [usize; 2], stream: u64, transposed: bool) -> Tensor<B, 2> {
    match transposed {
        false => normal([rows, columns], stream),
        true => normal([columns, rows], stream).transpose(),
    }
}

/// Of elements so small that sums of all sizes are about 1.
fn operands<B: Backend>(
    [rows, inner, columns]: [usize; 3],
    transposed: [bool; 2],
    dtype: DType,
) -> [FloatTensor<B>; 2] {
    let scaled = |matrix: Tensor<B, 2>| primitive((matrix / (inner as f64).powf(0.25)).cast(dtype));
    [matrix([rows, inner], 1, transposed[0]), matrix([inner, columns], 2, transposed[1])]
        .map(scaled)
}

fn products(dtype: DType, transposed: [bool; 2], relative: f32) {
    for shape in SHAPES {
        let [left, right] = operands::<Selected>(shape, transposed, dtype);
        let ours = Selected::float_cast(Selected::product(left, right), DType::F32.into());
        // Of the same rounded operands.
        let wide = |values| Flex::float_cast(values, DType::F32.into());
        let [left, right] = operands::<Flex>(shape, transposed, dtype).map(wide);
        let what = format!("{dtype:?} {shape:?}, transposed {transposed:?}");
        assert_close(&what, ours, Flex::float_matmul(left, right), relative);
    }
}

#[test]
fn products_of_matrices() {
    in_either_arithmetic(|_, relative| products(DType::F32, [false, false], relative));
}

#[test]
fn products_of_a_transposed_matrix() {
    in_either_arithmetic(|_, relative| products(DType::F32, [true, false], relative));
}

#[test]
fn products_by_a_transposed_matrix() {
    in_either_arithmetic(|_, relative| products(DType::F32, [false, true], relative));
}

/// Of the shapes those whose gradients are by views that fill an odd number of stages.
#[test]
fn gradients_of_products() {
    fn gradients<B: Backend>(shape: [usize; 3]) -> [FloatTensor<B>; 2] {
        let parents = operands::<B>(shape, [false; 2], DType::F32)
            .map(|values| Tensor::<Autodiff<B>, 2>::from_inner(tensor(values)).require_grad());
        let [left, right] = parents.clone();
        let [rows, _, columns] = shape;
        let weights = normal::<B, 2>([rows, columns], 3) / (columns as f64).sqrt();
        let found = (product(left, right) * Tensor::from_inner(weights)).sum().backward();
        parents.map(|parent| primitive(parent.grad(&found).unwrap()))
    }
    in_either_arithmetic(|_, relative| {
        for shape in [[16, 32, 1000], [64, 64, 520]] {
            let (ours, reference) = (gradients::<Selected>(shape), gradients::<Flex>(shape));
            for (ours, reference) in ours.into_iter().zip(reference) {
                assert_close(&format!("{shape:?}"), ours, reference, relative);
            }
        }
    });
}

#[test]
fn products_in_bf16() {
    if !Selected::supports_dtype(&device(), DType::BF16) {
        skip("bf16");
        return;
    }
    products(DType::BF16, [false, false], 2e-2);
}

/// By each kernel that autotune may choose: sizes that fill tiles and some that do not, an even number of
/// stages, an odd one, and part of one; several matrices. And whether one that copies by the tensor memory
/// accelerator is among them.
#[test]
fn products_by_each_kernel() {
    let (of_f32, of_bf16) = ((DType::F32, of_products(1e-4)), (DType::BF16, 2e-2));
    let cases = [
        (of_f32, [1, 1, 300, 384], [1, 1, 384, 320], true),
        (of_f32, [1, 1, 130, 264], [1, 1, 264, 72], false),
        (of_f32, [1, 1, 264, 512], [1, 1, 512, 260], true),
        (of_f32, [1, 3, 264, 392], [1, 3, 392, 264], false),
        // Of more rows the planes of some kernels take two tiles each.
        (of_f32, [1, 1, 1100, 128], [1, 1, 128, 40], false),
        (of_f32, [1, 1, 1100, 320], [1, 1, 320, 260], true),
        (of_bf16, [1, 1, 300, 384], [1, 1, 384, 320], true),
        (of_bf16, [1, 3, 130, 264], [1, 3, 264, 72], false),
    ];
    for ((dtype, relative), left, right, accelerated) in cases {
        fn operands<B: Backend>(shapes: [[usize; 4]; 2], dtype: DType) -> [FloatTensor<B>; 2] {
            let [left, right] = shapes;
            let tensors = [normal::<B, 4>(left, 1), normal::<B, 4>(right, 2) / 20.0];
            tensors.map(|tensor| B::float_cast(primitive(tensor), dtype.into()))
        }
        let [ours, others] = operands::<Selected>([left, right], dtype);
        let found = products_by_each(ours, others);
        if found.is_empty() {
            skip("tensor cores");
            return;
        }
        let has_accelerated = found.iter().any(|(kernel, _)| kernel.contains("tma"));
        assert_eq!(has_accelerated, accelerated, "{left:?} by {right:?}");
        let rounded = operands::<Flex>([left, right], dtype);
        let [ours, others] = rounded.map(|values| Flex::float_cast(values, DType::F32.into()));
        let reference = Flex::float_matmul(ours, others);
        for (kernel, product) in found {
            let what = format!("{kernel}, {dtype:?}, {left:?} by {right:?}");
            match product {
                Ok(product) => {
                    let product = Selected::float_cast(product, DType::F32.into());
                    assert_close(&what, product, reference.clone(), relative);
                }
                Err(_) if kernel.contains("tma") => skip("tensor memory accelerator"),
                Err(error) => panic!("{what}: {error}"),
            }
        }
    }
}

/// Input, weight and bias; none of the sums is close to zero, where rounding would decide what ReLU does.
fn layer<B: Backend>([rows, inputs, outputs]: [usize; 3]) -> [FloatTensor<B>; 3] {
    let [input, weight] = operands::<B>([rows, inputs, outputs], [false, false], DType::F32);
    [input, weight, primitive(normal::<B, 1>([outputs], 3).sign() * 40.0)]
}

#[test]
fn dense_layers() {
    for (sizes, rectified) in [[1, 1, 1], [3, 5, 7], [40, 20, 64], [300, 64, 10], [513, 15, 33]]
        .into_iter()
        .flat_map(|sizes| [(sizes, false), (sizes, true)])
    {
        let [rows, _, outputs] = sizes;
        fn saved<B: Backend>(
            [input, weight, _]: [FloatTensor<B>; 3],
            output: Option<FloatTensor<B>>,
        ) -> LinearSaved<B> {
            LinearSaved { input: Some(input), weight: Some(weight), output, bias: true }
        }
        let [input, weight, bias] = layer::<Selected>(sizes);
        let ours = by_kernels(|| Selected::fused_linear(input, weight, bias, rectified));
        let [input, weight, bias] = layer::<Flex>(sizes);
        let reference = Flex::fused_linear(input, weight, bias, rectified);
        let what = format!("{sizes:?}, rectified: {rectified}");
        assert_close(&what, ours.clone(), reference.clone(), of_products(1e-4));

        let gradient = primitive(normal::<Selected, 2>([rows, outputs], 4));
        let saved_ours = saved(layer::<Selected>(sizes), rectified.then_some(ours));
        let ours = by_kernels(|| Selected::fused_linear_backward(saved_ours, gradient));
        let gradient = primitive(normal::<Flex, 2>([rows, outputs], 4));
        let saved_reference = saved(layer::<Flex>(sizes), rectified.then_some(reference));
        let reference = Flex::fused_linear_backward(saved_reference, gradient);
        for (name, ours, reference, relative) in [
            ("input", ours.input, reference.input, of_products(1e-4)),
            ("weight", ours.weight, reference.weight, of_products(1e-4)),
            ("bias", ours.bias, reference.bias, 1e-4),
        ] {
            let (ours, reference) = (ours.unwrap(), reference.unwrap());
            assert_close(&format!("{what}, {name}"), ours, reference, relative);
        }
    }
}

/// Against sums in f64, since the CPU's own are of one number after another. Few rows, and so many that they
/// are summed in two steps; a column, fewer than a cube takes, and more.
#[test]
fn sums_of_columns() {
    for dtype in [DType::F32, DType::BF16] {
        if !Selected::supports_dtype(&device(), dtype) {
            skip(dtype.name());
            continue;
        }
        let relative = if dtype == DType::BF16 { 1e-2 } else { 1e-5 };
        for shape in [[1, 1], [7, 3], [1000, 40], [70_000, 1], [20_000, 33]] {
            let sums =
                Selected::column_sums(primitive(normal::<Selected, 2>(shape, 1).cast(dtype)));
            let sums = numbers::<Selected>(Selected::float_cast(sums, DType::F32.into()));
            let rounded = normal::<Flex, 2>(shape, 1).cast(dtype).cast(DType::F32);
            let values = numbers::<Flex>(primitive(rounded));
            let [_, columns] = shape;
            assert_eq!(sums.len(), columns);
            for (column, sum) in sums.into_iter().enumerate() {
                let values = values.iter().skip(column).step_by(columns);
                let expected: f64 = values.clone().map(|&value| f64::from(value)).sum();
                let scale: f64 = values.map(|&value| f64::from(value.abs())).sum();
                let difference = (f64::from(sum) - expected).abs();
                assert!(
                    difference <= relative * expected.abs() + 1e-7 * scale,
                    "{dtype:?} {shape:?}, column {column}: {sum} instead of {expected}"
                );
            }
        }
    }
}

#[test]
fn relu_of_a_dense_layer_keeps_nan() {
    let one = |value: f32| Tensor::<Selected, 2>::from_floats([[value]], &device());
    for (value, expected) in [(f32::NAN, None), (-2.0, Some(0.0)), (2.0, Some(3.0))] {
        let bias = primitive(Tensor::<Selected, 1>::from_floats([1.0], &device()));
        let (input, weight) = (primitive(one(value)), primitive(one(1.0)));
        let output = by_kernels(|| Selected::fused_linear(input, weight, bias, true));
        let output = numbers::<Selected>(output)[0];
        assert_eq!((!output.is_nan()).then_some(output), expected, "{value}");
    }
}
