//! Times convolutions on the CPU: a line for each shape with the milliseconds of the forward pass,
//! of the weight gradient and of the input gradient, the least of several runs.
//!
//! `python3 crates/backend/examples/convolution_speed.py` runs it in turns with PyTorch.

use std::{env, time::Instant};

use backend::{
    Backend, Conv2dParents, Convolution,
    functional::Conv2dOptions,
    random::{Purpose, Random},
    set_convolution,
};
use burn::{
    backend::Flex,
    tensor::{Tensor, TensorData, ops::FloatTensor},
};

/// Batch, input channels, output channels, side, kernel, stride, padding.
type Shape = [usize; 7];

fn main() {
    let mut arguments = env::args().skip(1);
    let runs: usize = arguments.next().map_or(5, |runs| runs.parse().expect("a number of runs"));
    if arguments.next().as_deref() == Some("exact") {
        set_convolution(Convolution::Exact);
    }
    for line in include_str!("convolution_speed.txt").lines() {
        let numbers: Vec<usize> =
            line.split(' ').map(|number| number.parse().expect("a number")).collect();
        let shape = Shape::try_from(numbers).expect("seven numbers");
        let [forward, weight, input] = time(shape, runs);
        println!("{forward:.3} {weight:.3} {input:.3}");
    }
}

fn time([batch, inputs, outputs, side, kernel, stride, padding]: Shape, runs: usize) -> [f64; 3] {
    let options =
        Conv2dOptions { stride: [stride; 2], padding: [padding; 2], ..Default::default() };
    let [height, width] = options.output_size([side; 2], [kernel; 2]);
    let input = random([batch, inputs, side, side]);
    let weight = random([outputs, inputs, kernel, kernel]);
    let gradient = random([batch, outputs, height, width]);
    let backward = |wanted| {
        let [input, weight, gradient] = [&input, &weight, &gradient].map(Clone::clone);
        drop(Flex::fused_conv2d_backward(input, weight, None, gradient, &options, wanted));
    };
    let none = Conv2dParents { input: false, weight: false, bias: false };
    [
        least(runs, || drop(Flex::fused_conv2d(input.clone(), weight.clone(), None, &options))),
        least(runs, || backward(Conv2dParents { weight: true, ..none })),
        least(runs, || backward(Conv2dParents { input: true, ..none })),
    ]
}

fn random(shape: [usize; 4]) -> FloatTensor<Flex> {
    let random = Random::new(1, Purpose::Synthetic, 0);
    let values = (0..shape.iter().product::<usize>() as u64).map(|index| random.normal(index));
    let data = TensorData::new(values.collect::<Vec<f32>>(), shape);
    Tensor::<Flex, 4>::from_data(data, &Default::default()).into_primitive().tensor()
}

/// The least milliseconds of `runs` calls after one to warm up.
fn least(runs: usize, work: impl Fn()) -> f64 {
    work();
    (0..runs)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e3
        })
        .fold(f64::INFINITY, f64::min)
}
