//! The operations and their gradients against PyTorch's, `golden/operations/generate.py`.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use backend::{
    Arithmetic, Selected,
    device::Device,
    functional::{self, Conv2dOptions, LstmState, LstmWeights, Normalization, PoolOptions},
    overrides, set_arithmetic,
};
use burn::{
    backend::Autodiff,
    tensor::{Int, Tensor, TensorData, Tolerance},
};
use serde::Deserialize;

type B = Autodiff<Selected>;

#[derive(Deserialize)]
struct Golden {
    batch_norm2d: Vec<BatchNorm2d>,
    lstm: Vec<Tensors>,
    linear: Vec<Linear>,
    embedding: Tensors,
    embedding_mean: Tensors,
    cross_entropy: Tensors,
    max_pool2d: Vec<MaxPool2d>,
    conv2d: Vec<Conv2d>,
}

#[derive(Deserialize)]
struct BatchNorm2d {
    stored: bool,
    residual: bool,
    rectified: bool,
    tensors: Tensors,
}

#[derive(Deserialize)]
struct Linear {
    rectified: bool,
    tensors: Tensors,
}

#[derive(Deserialize)]
struct MaxPool2d {
    kernel: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
    tensors: Tensors,
}

#[derive(Deserialize)]
struct Conv2d {
    stride: [usize; 2],
    padding: [usize; 2],
    rectified: bool,
    pooled: bool,
    tensors: Tensors,
}

#[derive(Deserialize)]
struct Numbers {
    shape: Vec<usize>,
    values: Vec<f64>,
}

#[derive(Deserialize)]
struct Tensors(HashMap<String, Numbers>);

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/operations/fixture.json")).unwrap()
}

impl Tensors {
    fn constant<const D: usize>(&self, name: &str) -> Tensor<B, D> {
        let Numbers { shape, values } = &self.0[name];
        let values: Vec<f32> = values.iter().map(|value| *value as f32).collect();
        Tensor::from_data(TensorData::new(values, shape.clone()), &Device::default())
    }

    fn parent<const D: usize>(&self, name: &str) -> Tensor<B, D> {
        self.constant(name).require_grad()
    }

    fn indices<const D: usize>(&self, name: &str) -> Tensor<B, D, Int> {
        let Numbers { shape, values } = &self.0[name];
        let values: Vec<i64> = values.iter().map(|value| *value as i64).collect();
        Tensor::from_data(TensorData::new(values, shape.clone()), &Device::default())
    }

    fn assert<const D: usize>(&self, name: &str, ours: Tensor<B, D>) {
        let relative = of_products(2e-5);
        self.assert_within(name, ours, |expected| relative * expected.abs().max(1.0));
    }

    /// Fails unless the largest difference is `relative` of the largest value at most.
    fn assert_to_largest<const D: usize>(&self, name: &str, ours: Tensor<B, D>, relative: f64) {
        let values = self.0[name].values.iter();
        let largest = values.fold(1e-3_f64, |largest, value| largest.max(value.abs()));
        self.assert_within(name, ours, |_| relative * largest);
    }

    /// - `allowed`: how far a value may be off, by the expected one
    fn assert_within<const D: usize>(
        &self,
        name: &str,
        ours: Tensor<B, D>,
        allowed: impl Fn(f64) -> f64,
    ) {
        let Numbers { shape, values } = &self.0[name];
        assert_eq!(ours.dims().as_slice(), shape.as_slice(), "the shape of {name}");
        let ours = ours.into_data().to_vec::<f32>().unwrap();
        for (index, (ours, &expected)) in ours.into_iter().zip(values).enumerate() {
            let error = (f64::from(ours) - expected).abs();
            let allowed = allowed(expected);
            assert!(error <= allowed, "{name}, element {index}: {ours} instead of {expected}");
        }
    }

    /// The output times its gradient, summed, which is part of the loss.
    fn weighted<const D: usize>(&self, name: &str, output: Tensor<B, D>) -> Tensor<B, 1> {
        self.assert(name, output.clone());
        (output * self.constant(&format!("of_{name}"))).sum()
    }
}

/// How far what products are part of may be off: CUDA's tensor cores round what they multiply to 11
/// bits.
fn of_products(relative: f64) -> f64 {
    if backend::NAME == "cuda" { 5e-3 } else { relative }
}

/// Checks the gradients of parents, each with its name.
macro_rules! assert_gradients {
    ($tensors:expr, $loss:expr, $($name:literal: $parent:expr),* $(,)?) => {
        let gradients = $loss.backward();
        $(
            let ours = Tensor::from_inner($parent.grad(&gradients).unwrap());
            $tensors.assert(concat!("gradient_", $name), ours);
        )*
    };
}

/// Runs `work`, in which the CPU backend must take no default body.
fn with_overrides(work: impl FnOnce()) {
    let before = overrides::counts();
    work();
    if backend::NAME == "cpu" {
        assert_eq!(overrides::counts().composed, before.composed);
        assert!(overrides::counts().taken > before.taken);
    }
}

#[test]
fn batch_norm2d() {
    with_overrides(|| {
        for case in golden().batch_norm2d {
            let tensors = &case.tensors;
            let (input, scale, shift) =
                (tensors.parent::<4>("input"), tensors.parent("scale"), tensors.parent("shift"));
            let residual = case.residual.then(|| tensors.parent::<4>("residual"));
            let by = match case.stored {
                true => Normalization::Stored {
                    mean: tensors.constant("mean"),
                    variance: tensors.constant("variance"),
                },
                false => Normalization::Batch,
            };
            let (output, statistics) = functional::batch_norm2d(
                input.clone(),
                [scale.clone(), shift.clone()],
                by,
                1e-3,
                residual.clone(),
                case.rectified,
            );
            assert_eq!(statistics.is_some(), !case.stored);
            if let Some(statistics) = statistics {
                tensors.assert("mean", statistics.mean);
                tensors.assert("variance", statistics.variance * statistics.unbiased);
            }
            let loss = tensors.weighted("output", output);
            let gradients = loss.backward();
            let gradient =
                |parent: &Tensor<B, 4>| Tensor::from_inner(parent.grad(&gradients).unwrap());
            tensors.assert("gradient_input", gradient(&input));
            if let Some(residual) = residual {
                tensors.assert("gradient_residual", gradient(&residual));
            }
            let gradient =
                |parent: &Tensor<B, 1>| Tensor::from_inner(parent.grad(&gradients).unwrap());
            tensors.assert("gradient_scale", gradient(&scale));
            tensors.assert("gradient_shift", gradient(&shift));
        }
    });
}

#[test]
fn lstm() {
    with_overrides(|| {
        for tensors in golden().lstm {
            let input = tensors.parent::<3>("input");
            let weights = LstmWeights::<B> {
                input: tensors.parent("input_weight"),
                hidden: tensors.parent("hidden_weight"),
                bias: tensors.parent("bias"),
            };
            let state = tensors.0.contains_key("first_cell").then(|| LstmState::<B> {
                cell: tensors.parent("first_cell"),
                hidden: tensors.parent("first_hidden"),
            });
            let (outputs, last) = functional::lstm(input.clone(), state.clone(), &weights);
            let loss = tensors.weighted("outputs", outputs)
                + tensors.weighted("cell", last.cell)
                + tensors.weighted("hidden", last.hidden);
            assert_gradients!(
                tensors,
                loss,
                "input": input,
                "input_weight": weights.input,
                "hidden_weight": weights.hidden,
                "bias": weights.bias,
            );
            // A second graph, from a loss of the last state alone.
            let Some(first) = state else { continue };
            let (_, last) = functional::lstm(input.clone(), Some(first.clone()), &weights);
            let (outputs, again) = functional::lstm(input.clone(), Some(first.clone()), &weights);
            let loss = tensors.weighted("outputs", outputs)
                + tensors.weighted("cell", last.cell)
                + tensors.weighted("hidden", again.hidden);
            assert_gradients!(
                tensors,
                loss,
                "first_cell": first.cell,
                "first_hidden": first.hidden,
                "input": input,
                "bias": weights.bias,
            );
        }
    });
}

#[test]
fn linear() {
    with_overrides(|| {
        for Linear { rectified, tensors } in golden().linear {
            let (input, weight) = (tensors.parent::<2>("input"), tensors.parent::<2>("weight"));
            let bias = tensors.parent::<1>("bias");
            let output = functional::linear(input.clone(), weight.clone(), bias.clone(), rectified);
            let loss = tensors.weighted("output", output);
            assert_gradients!(tensors, loss, "input": input, "weight": weight, "bias": bias);
        }
    });
}

#[test]
fn embedding() {
    with_overrides(|| {
        let tensors = golden().embedding;
        let table = tensors.parent::<2>("table");
        let output = functional::embedding(table.clone(), tensors.indices("indices"));
        let loss = tensors.weighted("output", output);
        assert_gradients!(tensors, loss, "table": table);
    });
}

#[test]
fn embedding_mean() {
    with_overrides(|| {
        let tensors = golden().embedding_mean;
        let table = tensors.parent::<2>("table");
        let output = functional::embedding_mean(table.clone(), tensors.indices("indices"));
        let loss = tensors.weighted("output", output);
        assert_gradients!(tensors, loss, "table": table);
    });
}

#[test]
fn cross_entropy() {
    with_overrides(|| {
        let tensors = golden().cross_entropy;
        let logits = tensors.parent::<2>("logits");
        let losses = functional::cross_entropy(logits.clone(), tensors.indices("targets"));
        let loss = tensors.weighted("losses", losses);
        assert_gradients!(tensors, loss, "logits": logits);
    });
}

/// `torch.nn.functional.binary_cross_entropy_with_logits(.., reduction="none")`, PyTorch 2.15.
#[test]
fn binary_cross_entropy_at_the_extremes_too() {
    let device = Device::default();
    let logits = Tensor::<Selected, 1>::from_floats([-200.0, -1.0, 0.5, 2.0, 200.0], &device);
    let targets = Tensor::from_floats([1.0, 0.0, 1.0, 0.0, 1.0], &device);
    let expected = [200.0, 0.313_261_7, 0.474_076_9, 2.126_928, 0.0];
    functional::binary_cross_entropy(logits, targets)
        .into_data()
        .assert_approx_eq::<f32>(&TensorData::from(expected), Tolerance::rel_abs(1e-6, 1e-7));
}

/// The gradient of the same, which at a logit of 0 is a half for either label.
#[test]
fn the_gradient_of_binary_cross_entropy_at_zero_too() {
    let logits = [0.0, 1.0, -1.0, 50.0, -50.0, 100.0, -100.0];
    let sigmoid = [0.5, 0.731_058_6, 0.268_941_43, 1.0, 1.928_749_8e-22, 1.0, 0.0];
    for target in [0.0, 1.0] {
        let logits = Tensor::<B, 1>::from_floats(logits, &Device::default()).require_grad();
        let losses = functional::binary_cross_entropy(logits.clone(), logits.full_like(target));
        let gradient = logits.grad(&losses.sum().backward()).unwrap();
        let expected = TensorData::from(sigmoid.map(|value: f32| value - target));
        gradient.into_data().assert_approx_eq::<f32>(&expected, Tolerance::rel_abs(1e-6, 1e-7));
    }
}

#[test]
fn max_pool2d() {
    with_overrides(|| {
        for MaxPool2d { kernel, stride, padding, tensors } in golden().max_pool2d {
            let input = tensors.parent::<4>("input");
            let options = PoolOptions { kernel, stride, padding };
            let output = functional::max_pool2d(input.clone(), &options);
            tensors.assert_to_largest("output", output.clone(), 1e-6);
            let gradients = (output * tensors.constant::<4>("of_output")).sum().backward();
            let of_input = Tensor::from_inner(input.grad(&gradients).unwrap());
            tensors.assert_to_largest::<4>("gradient_input", of_input, 1e-6);
        }
    });
}

fn convolutions(relative: f64) {
    for Conv2d { stride, padding, rectified, pooled, tensors } in golden().conv2d {
        let (input, weight) = (tensors.parent::<4>("input"), tensors.parent::<4>("weight"));
        let bias = tensors.parent::<1>("bias");
        let options = Conv2dOptions { stride, padding };
        let (x, w, b) = (input.clone(), weight.clone(), bias.clone());
        let output = match pooled {
            true => functional::conv2d_relu_max_pool(x, w, b, &options),
            false => functional::conv2d(x, w, Some(b), &options, rectified),
        };
        tensors.assert_to_largest("output", output.clone(), relative);
        let gradients = (output * tensors.constant::<4>("of_output")).sum().backward();
        for (name, parent) in [("gradient_input", input), ("gradient_weight", weight)] {
            let ours = Tensor::from_inner(parent.grad(&gradients).unwrap());
            tensors.assert_to_largest::<4>(name, ours, relative);
        }
        let ours = Tensor::from_inner(bias.grad(&gradients).unwrap());
        tensors.assert_to_largest::<1>("gradient_bias", ours, relative);
    }
}

#[test]
fn conv2d_in_either_arithmetic() {
    for (arithmetic, relative) in [(Arithmetic::Exact, 1e-5), (Arithmetic::Fast, of_products(1e-4))]
    {
        set_arithmetic(arithmetic);
        with_overrides(|| convolutions(relative));
    }
}

/// Parents that want no gradient get none, and those of the others are the same.
#[test]
fn frozen_parents_get_no_gradient() {
    let tensors = &golden().lstm[0];
    let input = tensors.constant::<3>("input");
    let weights = LstmWeights::<B> {
        input: tensors.constant("input_weight"),
        hidden: tensors.parent("hidden_weight"),
        bias: tensors.constant("bias"),
    };
    let state = LstmState::<B> {
        cell: tensors.constant("first_cell"),
        hidden: tensors.constant("first_hidden"),
    };
    let (outputs, last) = functional::lstm(input.clone(), Some(state), &weights);
    let loss = tensors.weighted("outputs", outputs)
        + tensors.weighted("cell", last.cell)
        + tensors.weighted("hidden", last.hidden);
    let gradients = loss.backward();
    assert!(input.grad(&gradients).is_none());
    assert!(weights.input.grad(&gradients).is_none());
    let ours = Tensor::from_inner(weights.hidden.grad(&gradients).unwrap());
    tensors.assert("gradient_hidden_weight", ours);
}

#[test]
fn a_sequence_without_steps_returns_its_state() {
    let tensors = &golden().lstm[0];
    let weights = LstmWeights::<B> {
        input: tensors.constant("input_weight"),
        hidden: tensors.constant("hidden_weight"),
        bias: tensors.constant("bias"),
    };
    let device = Device::default();
    let (outputs, state) = functional::lstm(Tensor::zeros([3, 0, 5], &device), None, &weights);
    assert_eq!(outputs.dims(), [3, 0, 6]);
    assert_eq!(state.cell.into_data().to_vec::<f32>().unwrap(), [0.0; 18]);
}
