//! Multiplication by a number that lies on the device, such as the factor that clips gradients.
//!
//! Overrides: Flex (`flex/rescale.rs`), CUDA and WGPU (`cube/rescale.rs`).

use burn::tensor::{TensorMetadata, ops::FloatTensor};

use crate::{Backend, overrides::note_composed};

pub(crate) fn composed<B: Backend>(
    values: Vec<FloatTensor<B>>,
    factor: FloatTensor<B>,
) -> Vec<FloatTensor<B>> {
    note_composed();
    let rescaled = |values: FloatTensor<B>| {
        let factor = B::float_reshape(factor.clone(), vec![1; values.rank()].into());
        B::float_mul(values, factor)
    };
    values.into_iter().map(rescaled).collect()
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Tensor, TensorPrimitive};

    use super::*;
    use crate::{Selected, device::Device};

    #[test]
    fn every_element_is_multiplied() {
        let device = Device::default();
        let values =
            Tensor::<Selected, 2>::from_floats([[1.0, -2.0, 3.0], [0.0, 5.0, 6.0]], &device);
        let half = Tensor::<Selected, 1>::from_floats([0.5], &device);
        for rescale in [Selected::fused_rescale, composed::<Selected>] {
            let transposed = values.clone().transpose().into_primitive().tensor();
            let found = rescale(vec![transposed], half.clone().into_primitive().tensor());
            let [result] = found.try_into().expect("one");
            let result = Tensor::<Selected, 2>::from_primitive(TensorPrimitive::Float(result));
            assert_eq!(result.into_data(), (values.clone().transpose() * 0.5).into_data());
        }
    }
}
