//! Convolution and pooling through the public operations: gradients by finite differences, threads, and
//! inputs that are empty or not numbers.

#![allow(clippy::unwrap_used)]

use backend::{
    Backend, NAME, Selected,
    functional::{Conv2dOptions, PoolOptions, conv2d, conv2d_relu_max_pool, max_pool2d},
    random::{Purpose, Random},
};
use burn::{
    backend::{Autodiff, autodiff::grads::Gradients},
    tensor::{DType, Tensor, TensorData},
};

type Recording = Autodiff<Selected>;

/// What a convolution is made of.
#[derive(Clone)]
struct Tensors<B: Backend> {
    input: Tensor<B, 4>,
    weight: Tensor<B, 4>,
    bias: Tensor<B, 1>,
}

fn random<B: Backend, const D: usize>(stream: u64, shape: [usize; D]) -> Tensor<B, D> {
    let random = Random::new(3, Purpose::Synthetic, stream);
    let count = shape.iter().product::<usize>() as u64;
    let values: Vec<f32> = (0..count).map(|index| random.normal(index)).collect();
    Tensor::from_data(TensorData::new(values, shape), &Default::default())
}

fn tensors(input: [usize; 4], weight: [usize; 4]) -> Tensors<Recording> {
    Tensors {
        input: random(1, input).require_grad(),
        weight: random(2, weight).require_grad(),
        bias: random(3, [weight[0]]).require_grad(),
    }
}

fn without_gradient<const D: usize>(tensor: &Tensor<Recording, D>) -> Tensor<Recording, D> {
    Tensor::from_inner(tensor.clone().inner())
}

fn double<const D: usize>(tensor: &Tensor<Recording, D>) -> Tensor<Recording, D> {
    Tensor::from_inner(tensor.clone().inner().cast(DType::F64))
}

/// The output of an operation, and the gradients of a weighted sum of it by input, weight, bias.
fn results(
    tensors: &Tensors<Recording>,
    operation: impl Fn(Tensors<Recording>) -> Tensor<Recording, 4>,
) -> [TensorData; 4] {
    let output = operation(tensors.clone());
    let factors = random::<Recording, 4>(4, output.dims());
    let gradients = (output.clone() * factors).sum().backward();
    [
        output.into_data(),
        tensors.input.grad(&gradients).unwrap().into_data(),
        tensors.weight.grad(&gradients).unwrap().into_data(),
        tensors.bias.grad(&gradients).unwrap().into_data(),
    ]
}

#[test]
fn an_empty_batch_gives_an_empty_output_and_no_gradient() {
    if NAME != "cpu" {
        return;
    }
    let tensors = tensors([0, 3, 8, 8], [4, 3, 3, 3]);
    let options = Conv2dOptions::default();
    let output = conv2d(
        tensors.input.clone(),
        tensors.weight.clone(),
        Some(tensors.bias.clone()),
        &options,
        true,
    );
    assert_eq!(output.dims(), [0, 4, 6, 6]);
    let pooled = max_pool2d(output, &PoolOptions::square(2));
    assert_eq!(pooled.dims(), [0, 4, 3, 3]);
    let gradients = pooled.sum().backward();
    let weight = tensors.weight.grad(&gradients).unwrap().into_data();
    assert_eq!(weight.into_vec::<f32>().unwrap(), vec![0.0; 4 * 27]);
}

#[test]
fn gradients_are_those_of_the_tensors_that_ask_for_them() {
    let options = Conv2dOptions::default();
    let all = tensors([2, 16, 6, 6], [16, 16, 3, 3]);
    let run = |tensors: &Tensors<Recording>| {
        let Tensors { input, weight, bias } = tensors.clone();
        conv2d(input, weight, Some(bias), &options, true).sum().backward()
    };
    let expected = run(&all);

    let first_layer = Tensors { input: without_gradient(&all.input), ..all.clone() };
    let gradients = run(&first_layer);
    assert!(first_layer.input.grad(&gradients).is_none());
    assert_eq!(
        first_layer.weight.grad(&gradients).unwrap().into_data(),
        all.weight.grad(&expected).unwrap().into_data()
    );

    let frozen = Tensors {
        weight: without_gradient(&all.weight),
        bias: without_gradient(&all.bias),
        ..all.clone()
    };
    let gradients = run(&frozen);
    assert!(frozen.weight.grad(&gradients).is_none() && frozen.bias.grad(&gradients).is_none());
    assert_eq!(
        frozen.input.grad(&gradients).unwrap().into_data(),
        all.input.grad(&expected).unwrap().into_data()
    );

    let Tensors { input, weight, .. } = all.clone();
    let gradients = conv2d(input, weight, None, &options, true).sum().backward();
    assert_eq!(all.weight.grad(&gradients).unwrap().dims(), [16, 16, 3, 3]);
}

#[test]
fn any_number_of_threads_computes_the_same_bits() {
    if !Selected::IS_SYNCHRONOUS {
        return; // another device's threads compute
    }
    for (input, weight, stride) in [
        ([5, 16, 12, 12], [32, 16, 3, 3], 1),
        ([5, 16, 11, 13], [32, 16, 3, 3], 1),
        ([5, 64, 6, 6], [96, 64, 3, 3], 1),
        ([5, 3, 17, 16], [20, 3, 3, 3], 1),
        ([5, 16, 12, 13], [32, 16, 3, 3], 2),
    ] {
        let options = Conv2dOptions { stride: [stride; 2], padding: [1, 1] };
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let tensors = tensors(input, weight);
                let apart = results(&tensors, |t| {
                    let map = conv2d(t.input, t.weight, Some(t.bias), &options, true);
                    max_pool2d(map, &PoolOptions::square(2))
                });
                let at_once = results(&tensors, |t| {
                    conv2d_relu_max_pool(t.input, t.weight, t.bias, &options)
                });
                [apart, at_once]
            })
        };
        assert_eq!(run(1), run(2));
        assert_eq!(run(1), run(3));
    }
}

/// The tensor with one of its numbers moved.
fn shifted<const D: usize>(
    tensor: &Tensor<Recording, D>,
    index: usize,
    by: f64,
) -> Tensor<Recording, D> {
    let mut values = tensor.to_data().into_vec::<f64>().unwrap();
    values[index] += by;
    let data = TensorData::new(values, tensor.dims());
    Tensor::from_data(data, (&Default::default(), DType::F64))
}

fn gradient_at<const D: usize>(
    leaf: &Tensor<Recording, D>,
    gradients: &Gradients,
    index: usize,
) -> f64 {
    leaf.grad(gradients).unwrap().into_data().into_vec::<f64>().unwrap()[index]
}

/// A derivative of a weighted sum of outputs in f64, whose default bodies record the same graph.
#[test]
fn gradients_equal_finite_differences() {
    if !["cpu", "ndarray"].contains(&NAME) {
        return;
    }
    let options = Conv2dOptions { stride: [2, 1], padding: [1, 0] };
    let Tensors { input, weight, bias } = tensors([2, 3, 7, 6], [4, 3, 3, 2]);
    let leaves = Tensors {
        input: double(&input).require_grad(),
        weight: double(&weight).require_grad(),
        bias: double(&bias).require_grad(),
    };
    let loss = |tensors: Tensors<Recording>| {
        let map = conv2d(tensors.input, tensors.weight, Some(tensors.bias), &options, true);
        let map = max_pool2d(map, &PoolOptions { kernel: [2, 3], stride: [1, 1], padding: [1, 1] });
        let factors = random::<Recording, 4>(4, map.dims()).cast(DType::F64);
        (map * factors).sum()
    };
    let gradients = loss(leaves.clone()).backward();
    let value = |tensors| loss(tensors).into_data().into_vec::<f64>().unwrap()[0];
    let step = 1e-6;
    let difference = |of: &dyn Fn(f64) -> Tensors<Recording>| {
        (value(of(step)) - value(of(-step))) / (2.0 * step)
    };
    // Each of the four numbers of the bias is among them.
    for index in [0, 5, 18, 39] {
        let input = |by| Tensors { input: shifted(&leaves.input, index, by), ..leaves.clone() };
        let weight = |by| Tensors { weight: shifted(&leaves.weight, index, by), ..leaves.clone() };
        let bias = |by| Tensors { bias: shifted(&leaves.bias, index % 4, by), ..leaves.clone() };
        for (name, found, gradient) in [
            ("input", difference(&input), gradient_at(&leaves.input, &gradients, index)),
            ("weight", difference(&weight), gradient_at(&leaves.weight, &gradients, index)),
            ("bias", difference(&bias), gradient_at(&leaves.bias, &gradients, index % 4)),
        ] {
            assert!((found - gradient).abs() < 1e-6, "{name}, {index}: {found} and {gradient}");
        }
    }
}

#[test]
fn a_nan_stays_one_through_relu_and_pooling() {
    let nans = |maps: Tensor<Selected, 4>| {
        let values = maps.into_data().into_vec::<f32>().unwrap();
        values.into_iter().filter(|value| value.is_nan()).count()
    };
    for (row, column) in [(0, 0), (3, 4)] {
        let place = [0..1, 0..1, row..row + 1, column..column + 1];
        let nan = Tensor::<Selected, 4>::full([1, 1, 1, 1], f32::NAN, &Default::default());
        let input = random::<Selected, 4>(1, [1, 1, 6, 6]).slice_assign(place, nan);
        let weight = random::<Selected, 4>(2, [2, 1, 1, 1]);
        let bias = random::<Selected, 1>(3, [2]);
        assert_eq!(nans(max_pool2d(input.clone(), &PoolOptions::square(2))), 1);
        let output = conv2d_relu_max_pool(input, weight, bias, &Conv2dOptions::default());
        assert_eq!(nans(output), 2, "one a channel");
    }
}
