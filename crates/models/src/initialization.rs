//! Initial weights: the tutorial frameworks' own laws, drawn by counter from the seed.
//!
//! A value depends on the seed, the parameter's path and its position in PyTorch's layout, so a
//! network starts from the same weights on every backend.

use backend::{
    Backend,
    random::{Purpose, Random, stream_of},
};
use burn::{
    module::Param,
    nn::Linear,
    tensor::{Tensor, TensorData},
};

/// A dense layer by PyTorch's law: weight and bias uniform within `1 / sqrt(inputs)`.
///
/// The source is `torch.nn.Linear.reset_parameters`.
pub(crate) fn pytorch_linear<B: Backend>(
    path: &str,
    inputs: usize,
    outputs: usize,
    seed: u64,
    device: &B::Device,
) -> Linear<B> {
    let bound = 1.0 / (inputs.max(1) as f64).sqrt();
    let weight = uniform(&format!("{path}.weight"), [outputs, inputs], bound, seed, device);
    let bias = uniform(&format!("{path}.bias"), [outputs], bound, seed, device);
    Linear {
        weight: Param::from_tensor(weight.transpose()), // Burn's layout is [inputs, outputs]
        bias: Some(Param::from_tensor(bias)),
    }
}

/// Uniform in `[-bound, bound)`.
fn uniform<B: Backend, const D: usize>(
    path: &str,
    shape: [usize; D],
    bound: f64,
    seed: u64,
    device: &B::Device,
) -> Tensor<B, D> {
    let random = Random::new(seed, Purpose::Initialization, stream_of(path));
    let values: Vec<f32> = (0..shape.iter().product::<usize>() as u64)
        .map(|index| ((random.uniform_f64(index) * 2.0 - 1.0) * bound) as f32)
        .collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}
