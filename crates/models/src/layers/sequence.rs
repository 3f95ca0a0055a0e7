//! Stages in sequence, numbered like PyTorch's `nn.Sequential`.

use backend::{
    Backend,
    functional::{PoolOptions, max_pool2d},
};
use burn::{
    module::Module,
    tensor::{Tensor, activation::relu},
};

use crate::{
    Pass,
    layers::{BatchNorm2d, Conv2d},
};

/// A stage of a sequence of layers on maps.
///
/// Stages without parameters keep their place, so that parameters are numbered as in PyTorch.
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant)] // on some platforms; a network has a few dozen
pub(crate) enum Stage<B: Backend> {
    /// A convolution.
    Conv(Conv2d<B>),
    /// Batch normalisation.
    Norm(BatchNorm2d<B>),
    /// ReLU.
    Relu(Parameterless),
    /// 2x2 max pooling.
    MaxPool(Parameterless),
    /// A stage that another sequence ran already.
    Elsewhere(Parameterless),
}

/// Nothing to learn.
#[derive(Module, Clone, Debug)]
pub(crate) struct Parameterless;

/// Runs all stages, fused where there is an operation for several.
///
/// - `input`: `[batch, channels, height, width]`
pub(crate) fn forward<B: Backend>(
    stages: &[Stage<B>],
    input: Tensor<B, 4>,
    pass: &mut Pass<B>,
) -> Tensor<B, 4> {
    use Stage::{Conv, Elsewhere, MaxPool, Norm, Relu};
    let (output, rest) = match stages {
        [] => return input,
        [Conv(conv), Relu(_), MaxPool(_), rest @ ..] => (conv.forward_relu_max_pool(input), rest),
        [Conv(conv), Relu(_), rest @ ..] => (conv.forward_relu(input), rest),
        [Conv(conv), rest @ ..] => (conv.forward(input), rest),
        [Norm(norm), Relu(_), rest @ ..] => (norm.forward_relu(input, pass), rest),
        [Norm(norm), rest @ ..] => (norm.forward(input, pass), rest),
        [Relu(_), rest @ ..] => (relu(input), rest),
        [MaxPool(_), rest @ ..] => (max_pool2d(input, &PoolOptions::square(2)), rest),
        [Elsewhere(_), rest @ ..] => (input, rest),
    };
    forward(rest, output, pass)
}
