//! Sums of squares, from which the norm of all gradients is computed.
//!
//! Overrides: Flex (`flex/square_sums.rs`), CUDA and WGPU (`cube/square_sums.rs`).

use burn::tensor::{Tensor, ops::FloatTensor};

use crate::{Backend, operations::flat, overrides::note_composed};

pub(crate) fn composed<B: Backend>(values: Vec<FloatTensor<B>>) -> FloatTensor<B> {
    note_composed();
    let sums = values.into_iter().map(|values| flat::<B>(values).square().sum_dim(0)).collect();
    Tensor::cat(sums, 0).into_primitive().tensor()
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Int, TensorPrimitive};

    use super::*;
    use crate::{Selected, device::Device};

    #[test]
    fn each_tensor_has_its_sum() {
        let device = Device::default();
        let counts = [1, 16, 35, 1000];
        let value = |i: i64| i as f64 * 0.1;
        let tensor = |count| {
            let values = Tensor::<Selected, 1, Int>::arange(0..count, &device).float() * 0.1;
            values.into_primitive().tensor()
        };
        for sums in [Selected::fused_square_sums, composed::<Selected>] {
            let sums = TensorPrimitive::Float(sums(counts.map(tensor).into()));
            let sums = Tensor::<Selected, 1>::from_primitive(sums).into_data();
            assert_eq!(sums.num_elements(), counts.len());
            for (found, count) in sums.iter::<f64>().zip(counts) {
                let expected: f64 = (0..count).map(|i| value(i).powi(2)).sum();
                assert!((found - expected).abs() <= 1e-5 * expected, "{found} for {expected}");
            }
        }
    }
}
