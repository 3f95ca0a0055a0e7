//! Convolution with bias and ReLU, forward and backward.
//!
//! Overrides: Flex (`flex/conv/`), CUDA and WGPU (`cube/conv2d/`).

use std::sync::atomic::{AtomicBool, Ordering};

use burn::backend::autodiff::{
    Autodiff, NodeId,
    checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use burn::tensor::ops::{ConvOptions, FloatTensor};

use serde::{Deserialize, Serialize};

use crate::{
    Backend,
    functional::Conv2dOptions,
    overrides,
    primitive::{channel_sums, primitive, tensor},
};

/// How convolutions are computed; see [`set_convolution`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Convolution {
    /// By the fastest algorithm. Winograd's (Lavin and Gray, 2016) does a quarter of the
    /// multiplications of a 3x3 kernel, with an error of up to 1e-4 of the largest value.
    Fast,
    /// By plain sums of products, with an error of 1e-6 of the largest value.
    Exact,
}

static EXACT: AtomicBool = AtomicBool::new(false);

/// Chooses how this process computes convolutions from now on; [`Convolution::Fast`] at first.
pub fn set_convolution(convolution: Convolution) {
    EXACT.store(convolution == Convolution::Exact, Ordering::Relaxed);
}

/// How this process computes convolutions.
pub fn convolution() -> Convolution {
    if EXACT.load(Ordering::Relaxed) { Convolution::Exact } else { Convolution::Fast }
}

/// A value for each of the tensors that a convolution is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv2dParents<T> {
    /// For the input.
    pub input: T,
    /// For the weight.
    pub weight: T,
    /// For the bias.
    pub bias: T,
}

/// The gradients of a convolution that were wanted.
pub type Conv2dGradients<B> = Conv2dParents<Option<FloatTensor<B>>>;

pub(crate) fn composed<B: Backend>(
    input: FloatTensor<B>,
    weight: FloatTensor<B>,
    bias: Option<FloatTensor<B>>,
    options: &Conv2dOptions,
) -> FloatTensor<B> {
    overrides::note_composed();
    let output = B::conv2d(input, weight, bias, burn_options(options));
    if options.relu { B::relu(output) } else { output }
}

pub(crate) fn composed_backward<B: Backend>(
    input: FloatTensor<B>,
    weight: FloatTensor<B>,
    output: Option<FloatTensor<B>>,
    mut gradient: FloatTensor<B>,
    options: &Conv2dOptions,
    wanted: Conv2dParents<bool>,
) -> Conv2dGradients<B> {
    overrides::note_composed();
    if let Some(output) = output {
        gradient = B::relu_backward(output, gradient);
    }
    let burn_options = burn_options(options);
    Conv2dParents {
        input: wanted.input.then(|| {
            let (weight, options) = (weight.clone(), burn_options.clone());
            B::conv2d_x_backward(input.clone(), weight, gradient.clone(), options)
        }),
        weight: wanted
            .weight
            .then(|| B::conv2d_weight_backward(input, weight, gradient.clone(), burn_options)),
        bias: wanted.bias.then(|| primitive(channel_sums::<B>(tensor(gradient)))),
    }
}

pub(crate) fn burn_options(options: &Conv2dOptions) -> ConvOptions<2> {
    let Conv2dOptions { stride, padding, dilation, groups, relu: _ } = *options;
    ConvOptions::new(stride, padding, dilation, groups)
}

/// Convolution on a backend that records gradients.
pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    input: FloatTensor<Autodiff<B, C>>,
    weight: FloatTensor<Autodiff<B, C>>,
    bias: Option<FloatTensor<Autodiff<B, C>>>,
    options: &Conv2dOptions,
) -> FloatTensor<Autodiff<B, C>> {
    // With a bias the backward pass has three parents, otherwise two.
    macro_rules! record {
        ($nodes:expr, $bias:expr) => {
            match Backward::<B, _>::prepare::<C>(Recorded, $nodes).compute_bound().stateful() {
                OpsKind::Tracked(mut step) => {
                    let (saved_input, saved_weight) =
                        (step.checkpoint(&input), step.checkpoint(&weight));
                    let output = B::fused_conv2d(input.primitive, weight.primitive, $bias, options);
                    let state = State {
                        input: saved_input,
                        weight: saved_weight,
                        output: options.relu.then(|| output.clone()),
                        options: *options,
                    };
                    step.finish(state, output)
                }
                OpsKind::UnTracked(step) => {
                    step.finish(B::fused_conv2d(input.primitive, weight.primitive, $bias, options))
                }
            }
        };
    }
    match bias {
        Some(bias) => {
            let nodes = [input.node.clone(), weight.node.clone(), bias.node.clone()];
            record!(nodes, Some(bias.primitive))
        }
        None => record!([input.node.clone(), weight.node.clone()], None),
    }
}

#[derive(Debug)]
struct Recorded;

#[derive(Clone, Debug)]
struct State<B: Backend> {
    input: NodeId,
    weight: NodeId,
    /// The output, if ReLU's mask is read from it.
    output: Option<FloatTensor<B>>,
    options: Conv2dOptions,
}

impl<B: Backend, const N: usize> Backward<B, N> for Recorded {
    type State = State<B>;

    fn backward(
        self,
        ops: Ops<Self::State, N>,
        gradients: &mut Gradients,
        checkpointer: &mut Checkpointer,
    ) {
        let gradient = gradients.consume::<B>(&ops.node);
        let State { input, weight, output, options } = ops.state;
        let input = checkpointer.retrieve_node_output(input);
        let weight = checkpointer.retrieve_node_output(weight);
        let parents = ops.parents.map(|parent| parent.map(|node| node.id));
        let wanted = wanted(&parents);
        let found = B::fused_conv2d_backward(input, weight, output, gradient, &options, wanted);
        register::<B>(gradients, &parents, found);
    }
}

/// The parents whose gradients are needed.
pub(crate) fn wanted(parents: &[Option<NodeId>]) -> Conv2dParents<bool> {
    let wanted = |index: usize| parents.get(index).is_some_and(Option::is_some);
    Conv2dParents { input: wanted(0), weight: wanted(1), bias: wanted(2) }
}

/// Hands each gradient to its parent.
pub(crate) fn register<B: Backend>(
    gradients: &mut Gradients,
    parents: &[Option<NodeId>],
    found: Conv2dGradients<B>,
) {
    for (parent, gradient) in parents.iter().zip([found.input, found.weight, found.bias]) {
        if let (Some(parent), Some(gradient)) = (parent, gradient) {
            gradients.register::<B>(*parent, gradient);
        }
    }
}
