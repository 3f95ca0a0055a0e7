//! Training in bf16 and f16: products are rounded as they should be, and nothing else is.

#![allow(clippy::unwrap_used)]

use backend::{
    Backend, Precision, Selected,
    device::Device,
    functional::{
        Conv2dOptions, LstmState, LstmWeights, conv2d, conv2d_relu_max_pool, linear, lstm,
    },
    precision,
    random::{Purpose, Random},
    set_precision,
};
use burn::{
    backend::Autodiff,
    tensor::{DType, Tensor, TensorData},
};

type Recorded = Autodiff<Selected>;

fn random<B: Backend, const D: usize>(stream: u64, shape: [usize; D]) -> Tensor<B, D> {
    let random = Random::new(5, Purpose::Synthetic, stream);
    let count = shape.iter().product::<usize>() as u64;
    let values: Vec<f32> = (0..count).map(|index| random.normal(index)).collect();
    Tensor::from_data(TensorData::new(values, shape), &Default::default())
}

/// From a weight, flattened, to the layer's result, flattened.
type Layer<B> = fn(Tensor<B, 1>) -> Tensor<B, 1>;

/// Layers by name, with the shape of the weight.
fn layers<B: Backend>() -> Vec<(&'static str, Vec<usize>, Layer<B>)> {
    vec![
        ("conv2d", vec![4, 3, 3, 3], |weight| {
            let options = Conv2dOptions::default();
            let bias = Some(random(1, [4]));
            conv2d(random(0, [2, 3, 9, 8]), weight.reshape([4, 3, 3, 3]), bias, &options, true)
                .flatten(0, 3)
        }),
        ("conv2d_relu_max_pool", vec![4, 3, 3, 3], |weight| {
            let (weight, options) = (weight.reshape([4, 3, 3, 3]), Conv2dOptions::default());
            conv2d_relu_max_pool(random(0, [2, 3, 9, 8]), weight, random(1, [4]), &options)
                .flatten(0, 3)
        }),
        ("linear", vec![30, 7], |weight| {
            linear(random(0, [5, 30]), weight.reshape([30, 7]), random(1, [7]), false).flatten(0, 1)
        }),
        ("lstm", vec![24, 5], |weight| {
            let weights = LstmWeights {
                input: weight.reshape([24, 5]) * 0.3,
                hidden: random::<B, 2>(1, [24, 6]) * 0.3,
                bias: random(2, [24]),
            };
            let state = LstmState { cell: random(3, [2, 6]), hidden: random(4, [2, 6]) };
            let (outputs, state) = lstm(random(0, [2, 7, 5]), Some(state), &weights);
            Tensor::cat(vec![outputs.flatten(0, 2), state.cell.flatten(0, 1)], 0)
        }),
    ]
}

/// What a layer returns, and the gradient of its weight under a random gradient of the result.
fn run(layer: Layer<Recorded>, shape: &[usize]) -> [Vec<f32>; 2] {
    let weight = random::<Recorded, 1>(9, [shape.iter().product()]).require_grad();
    let output = layer(weight.clone());
    assert_eq!(output.dtype(), DType::F32);
    let count = output.dims();
    let gradients = (output.clone() * random(10, count)).sum().backward();
    let gradient = weight.grad(&gradients).unwrap();
    assert_eq!(gradient.dtype(), DType::F32);
    [output.into_data(), gradient.into_data()].map(|data| data.to_vec().unwrap())
}

/// The largest difference over the largest value.
fn error(found: &[f32], expected: &[f32]) -> f32 {
    assert!(found.iter().all(|value| value.is_finite()), "{found:?}");
    let largest = expected.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    let difference = |(a, b): (&f32, &f32)| (a - b).abs();
    found.iter().zip(expected).map(difference).fold(0.0, f32::max) / largest
}

/// One test, since the precision holds for the whole process.
#[test]
fn products_are_rounded_while_training_and_only_then() {
    let device = Device::default();
    assert_eq!(precision(), Precision::F32);
    // bf16 keeps 8 bits: 2^-9 for each rounding, of which a few add up; f16 keeps 11.
    for (chosen, errors) in [(Precision::Bf16, 1e-4..2e-2), (Precision::F16, 1e-5..2.5e-3)] {
        if !chosen.is_supported::<Selected>(&device) {
            assert!(
                ["ndarray", "wgpu"].contains(&backend::NAME),
                "{} has no {chosen}",
                backend::NAME
            );
            continue;
        }
        let measured = layers::<Selected>();
        for ((name, shape, layer), (.., plain)) in layers::<Recorded>().into_iter().zip(measured) {
            let weight = || random::<Selected, 1>(9, [shape.iter().product()]);
            let full = run(layer, &shape);
            let before = plain(weight()).into_data();

            set_precision(chosen);
            assert_eq!(precision(), chosen);
            let rounded = run(layer, &shape);
            let after = plain(weight()).into_data();
            set_precision(Precision::F32);

            for (rounded, full) in rounded.iter().zip(&full) {
                let error = error(rounded, full);
                assert!(errors.contains(&error), "{name} in {chosen}: {error}");
            }
            assert_eq!(before, after, "{name} without gradients");
        }
    }
}
