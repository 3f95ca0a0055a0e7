//! Inputs of networks.

use backend::Backend;
use burn::tensor::{Int, Tensor, TensorData};

/// Images, or other numbers, that are spread over -1 to 1 without a pattern.
pub(crate) fn images<B: Backend, const D: usize>(shape: [usize; D]) -> Tensor<B, D> {
    let values = (0..shape.iter().product::<usize>()).map(|i| (i as f32 * 0.7).sin());
    Tensor::from_data(TensorData::new(values.collect::<Vec<_>>(), shape), &Default::default())
}

/// Tokens of a vocabulary of 11.
pub(crate) fn tokens<B: Backend>(batch: usize, time: usize) -> Tensor<B, 2, Int> {
    let values: Vec<i32> = (0..batch * time).map(|i| (i * i % 11) as i32).collect();
    Tensor::from_data(TensorData::new(values, [batch, time]), &Default::default())
}
