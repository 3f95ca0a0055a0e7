//! Batch normalisation.

use backend::{
    Backend,
    functional::{Normalization, batch_norm2d},
};
use burn::{
    module::{Module, Param},
    tensor::Tensor,
};

use crate::{Pass, initialization::Initializer};

/// What is added to a variance: PyTorch's default.
pub const BATCH_NORM_EPSILON: f64 = 1e-5;

/// Batch normalisation of each channel (Ioffe and Szegedy, 2015).
///
/// In training it normalises by the batch's statistics, and leaves them in the pass, which moves the
/// running ones ([`Pass::update_statistics`]); in evaluation it normalises by the running ones.
///
/// The batch is what goes through at a time: a micro-batch, where an update has several. Features of
/// dense layers, `[batch, width]`, are normalised as `[batch, width, 1, 1]`.
///
/// Unlike PyTorch's, a layer that is used twice in a pass updates its running statistics once, by the second
/// batch; and a single value for each channel is no error, but becomes the shift, while the running
/// variance moves towards zero: choose a batch size that leaves no last batch of one sample.
#[derive(Module, Debug)]
pub struct BatchNorm2d<B: Backend> {
    /// The scale, `[channels]`.
    pub weight: Param<Tensor<B, 1>>,
    /// The shift, `[channels]`.
    pub bias: Param<Tensor<B, 1>>,
    /// The running mean, `[channels]`; it has no gradient.
    pub running_mean: Param<Tensor<B, 1>>,
    /// The running unbiased variance, `[channels]`; it has no gradient.
    pub running_var: Param<Tensor<B, 1>>,
}

impl<B: Backend> BatchNorm2d<B> {
    /// A layer that changes nothing until it has seen a batch.
    pub fn new(initializer: &Initializer<B>, channels: usize) -> Self {
        let constant = |value| initializer.fixed([channels], |_| value);
        let statistic = |value| constant(value).set_require_grad(false);
        Self {
            weight: constant(1.0),
            bias: constant(0.0),
            running_mean: statistic(0.0),
            running_var: statistic(1.0),
        }
    }

    /// - `input`: `[batch, channels, height, width]`
    /// - returns: the same shape
    ///
    /// # Panics
    ///
    /// Where the input has other channels.
    #[track_caller]
    pub fn forward(&self, input: Tensor<B, 4>, pass: &mut Pass<B>) -> Tensor<B, 4> {
        self.normalize(input, None, false, pass)
    }

    /// As [`BatchNorm2d::forward`], then ReLU.
    #[track_caller]
    pub fn forward_relu(&self, input: Tensor<B, 4>, pass: &mut Pass<B>) -> Tensor<B, 4> {
        self.normalize(input, None, true, pass)
    }

    /// As [`BatchNorm2d::forward`], then `+ residual` and ReLU.
    #[track_caller]
    pub fn forward_add_relu(
        &self,
        input: Tensor<B, 4>,
        residual: Tensor<B, 4>,
        pass: &mut Pass<B>,
    ) -> Tensor<B, 4> {
        self.normalize(input, Some(residual), true, pass)
    }

    #[track_caller]
    fn normalize(
        &self,
        input: Tensor<B, 4>,
        residual: Option<Tensor<B, 4>>,
        rectified: bool,
        pass: &mut Pass<B>,
    ) -> Tensor<B, 4> {
        let by = pass.normalization().unwrap_or_else(|| Normalization::Stored {
            mean: self.running_mean.val(),
            variance: self.running_var.val(),
        });
        let affine = [self.weight.val(), self.bias.val()];
        let (output, statistics) =
            batch_norm2d(input, affine, by, BATCH_NORM_EPSILON, residual, rectified);
        if let Some(statistics) = statistics {
            pass.record(self.running_mean.id, statistics.mean, 1.0);
            pass.record(self.running_var.id, statistics.variance, statistics.unbiased);
        }
        output
    }
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;

    #[test]
    fn a_copy_keeps_its_own_statistics() {
        let device = Device::default();
        let layer = BatchNorm2d::<Selected>::new(&Initializer::seeded(0, &device), 2);
        let mean = |layer: &BatchNorm2d<Selected>| layer.running_mean.val().into_data();
        let (copy, before) = (layer.clone(), mean(&layer));
        let mut pass = Pass::training(0, 0, 0);
        layer.forward(Tensor::ones([3, 2, 1, 2], &device), &mut pass);
        assert_ne!(mean(&pass.update_statistics(layer)), before);
        assert_eq!(mean(&copy), before);
    }
}
