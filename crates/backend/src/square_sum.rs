//! The sum of squares, from which the norm of all gradients is made.
//!
//! Overrides: Flex (`flex/square_sum.rs`), CUDA and WGPU (`cube/square_sum.rs`).

use burn::tensor::ops::FloatTensor;

use crate::{Backend, overrides::note_composed};

pub(crate) fn composed<B: Backend>(sum: FloatTensor<B>, values: FloatTensor<B>) -> FloatTensor<B> {
    note_composed();
    let squares = B::float_mul(values.clone(), values);
    B::float_add(sum, B::float_sum(squares))
}

#[cfg(test)]
mod tests {
    use burn::tensor::Tensor;

    use super::*;
    use crate::{Selected, device::Device};

    #[test]
    fn squares_are_added_to_the_sum() {
        let device = Device::default();
        for count in [1, 16, 35, 1000] {
            let values = Tensor::<Selected, 1, burn::tensor::Int>::arange(0..count, &device);
            let values = (values.float() * 0.1).into_primitive().tensor();
            for add in [Selected::fused_square_sum, composed::<Selected>] {
                let start = Tensor::<Selected, 1>::from_floats([2.0], &device);
                let sum = add(start.into_primitive().tensor(), values.clone());
                let sum = Tensor::<Selected, 1>::from_primitive(
                    burn::tensor::TensorPrimitive::Float(sum),
                );
                let expected = 2.0 + (0..count).map(|i| (i as f64 * 0.1).powi(2)).sum::<f64>();
                let found = f64::from(sum.into_scalar());
                assert!((found - expected).abs() < 1e-5 * expected, "{found} for {expected}");
            }
        }
    }
}
