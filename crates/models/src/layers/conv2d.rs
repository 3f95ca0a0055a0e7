//! The convolution.

use backend::{
    Backend,
    functional::{Conv2dOptions, PoolOptions, conv2d, conv2d_relu_max_pool, max_pool2d},
};
use burn::{
    module::{Module, Param},
    tensor::Tensor,
};

use crate::initialization::{Initialization, Initializer};

/// The sizes of a [`Conv2d`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv2dConfig {
    /// Channels of the input.
    pub inputs: usize,
    /// Channels of the output.
    pub outputs: usize,
    /// Rows and columns of the kernel.
    pub kernel: [usize; 2],
    /// Rows and columns from one output to the next.
    pub stride: [usize; 2],
    /// Rows and columns of zeros at each side.
    pub padding: [usize; 2],
    /// Whether a bias is added; unnecessary before batch normalisation.
    pub bias: bool,
}

/// A convolution.
#[derive(Module, Debug)]
pub struct Conv2d<B: Backend> {
    /// `[outputs, inputs, kernel height, kernel width]`
    pub weight: Param<Tensor<B, 4>>,
    /// `[outputs]`
    pub bias: Option<Param<Tensor<B, 1>>>,
    #[module(skip)]
    options: Conv2dOptions,
}

impl Conv2dConfig {
    /// A kernel of `side` by `side` with bias, of stride 1, without padding.
    pub fn square(side: usize, inputs: usize, outputs: usize) -> Self {
        Self { inputs, outputs, kernel: [side; 2], stride: [1; 2], padding: [0; 2], bias: true }
    }

    /// The layer with its initial weights.
    pub fn build<B: Backend>(
        &self,
        initializer: &Initializer<B>,
        initialization: Initialization,
    ) -> Conv2d<B> {
        let Self { inputs, outputs, kernel: [height, width], stride, padding, bias } = *self;
        let fan_in = inputs.saturating_mul(height * width);
        let bias = bias.then(|| initializer.bias(initialization, outputs, fan_in));
        Conv2d {
            weight: initializer.weight(initialization, [outputs, inputs, height, width]),
            bias,
            options: Conv2dOptions { stride, padding },
        }
    }
}

impl<B: Backend> Conv2d<B> {
    /// - `input`: `[batch, inputs, height, width]`
    /// - returns: `[batch, outputs, height, width]`
    ///
    /// # Panics
    ///
    /// Where the input has other channels, or is too small for the kernel, as [`conv2d`].
    #[track_caller]
    pub fn forward(&self, input: Tensor<B, 4>) -> Tensor<B, 4> {
        conv2d(input, self.weight.val(), self.bias(), &self.options, false)
    }

    /// As [`Conv2d::forward`], then ReLU.
    #[track_caller]
    pub fn forward_relu(&self, input: Tensor<B, 4>) -> Tensor<B, 4> {
        conv2d(input, self.weight.val(), self.bias(), &self.options, true)
    }

    /// As [`Conv2d::forward`], then ReLU and 2x2 max pooling.
    #[track_caller]
    pub fn forward_relu_max_pool(&self, input: Tensor<B, 4>) -> Tensor<B, 4> {
        match self.bias() {
            Some(bias) => conv2d_relu_max_pool(input, self.weight.val(), bias, &self.options),
            None => max_pool2d(self.forward_relu(input), &PoolOptions::square(2)),
        }
    }

    fn bias(&self) -> Option<Tensor<B, 1>> {
        self.bias.as_ref().map(Param::val)
    }
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};
    use burn::tensor::TensorData;

    use super::*;

    #[test]
    fn a_kernel_has_its_own_height_stride_and_padding() {
        let device = Device::default();
        let config = Conv2dConfig {
            kernel: [1, 3],
            stride: [2, 1],
            padding: [0, 1],
            bias: false,
            ..Conv2dConfig::square(1, 1, 1)
        };
        let mut layer =
            config.build(&Initializer::<Selected>::blank(&device), Initialization::Pytorch);
        assert_eq!(layer.weight.lazy_shape().to_vec(), [1, 1, 1, 3]);
        layer.weight = Param::from_tensor(Tensor::from_floats([[[[1.0, 10.0, 100.0]]]], &device));
        let input = [[1.0, 2.0, 3.0], [7.0, 7.0, 7.0], [4.0, 5.0, 6.0]];
        let output = layer.forward(Tensor::from_floats([[input]], &device)).into_data();
        let expected = [[[[210.0f32, 321.0, 32.0], [540.0, 654.0, 65.0]]]];
        output.assert_eq(&TensorData::from(expected), true);
    }
}
