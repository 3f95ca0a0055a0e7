//! Convolution with bias, ReLU and the maximum of windows of 2x2 as one operation, which keeps
//! only what the backward pass needs of the full map.
//!
//! Overrides: Flex (`flex/conv/`), CUDA and WGPU (`cube/relu_max_pool.rs`, after Burn's convolution).

use burn::backend::autodiff::{
    Autodiff, NodeId,
    checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use burn::tensor::{
    Shape, TensorMetadata,
    ops::{FloatTensor, IntTensor},
};

use crate::{
    Backend,
    conv2d::{self, Conv2dGradients, Conv2dParents},
    functional::{Conv2dOptions, PoolOptions},
    max_pool2d,
};

pub(crate) fn composed<B: Backend>(
    input: FloatTensor<B>,
    weight: FloatTensor<B>,
    bias: FloatTensor<B>,
    options: &Conv2dOptions,
) -> (FloatTensor<B>, IntTensor<B>) {
    let options = Conv2dOptions { relu: true, ..*options };
    let map = conv2d::composed::<B>(input, weight, Some(bias), &options);
    max_pool2d::composed::<B>(map, &PoolOptions::square(2))
}

pub(crate) fn composed_backward<B: Backend>(
    input: FloatTensor<B>,
    weight: FloatTensor<B>,
    [output, gradient]: [FloatTensor<B>; 2],
    indices: IntTensor<B>,
    options: &Conv2dOptions,
    wanted: Conv2dParents<bool>,
) -> Conv2dGradients<B> {
    // ReLU zeroes a window's gradient if its maximum is not above zero.
    let gradient = B::relu_backward(output, gradient);
    let map = map_shape(&input.shape(), &weight.shape(), options);
    let gradient =
        max_pool2d::composed_backward::<B>(indices, gradient, map, &PoolOptions::square(2));
    conv2d::composed_backward::<B>(input, weight, None, gradient, options, wanted)
}

/// The shape of a convolution's output.
pub(crate) fn map_shape(input: &Shape, weight: &Shape, options: &Conv2dOptions) -> Shape {
    let [batch, _, height, width] = input.dims();
    let [outputs, _, kernel_height, kernel_width] = weight.dims();
    let [height, width] = options.output_size([height, width], [kernel_height, kernel_width]);
    [batch, outputs, height, width].into()
}

/// The operation on a backend that records gradients.
pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    input: FloatTensor<Autodiff<B, C>>,
    weight: FloatTensor<Autodiff<B, C>>,
    bias: FloatTensor<Autodiff<B, C>>,
    options: &Conv2dOptions,
) -> (FloatTensor<Autodiff<B, C>>, IntTensor<B>) {
    let nodes = [input.node.clone(), weight.node.clone(), bias.node.clone()];
    match Backward::<B, 3>::prepare::<C>(Recorded, nodes).compute_bound().stateful() {
        OpsKind::Tracked(mut step) => {
            let (saved_input, saved_weight) = (step.checkpoint(&input), step.checkpoint(&weight));
            let (output, indices) = B::fused_conv2d_relu_max_pool(
                input.primitive,
                weight.primitive,
                bias.primitive,
                options,
            );
            let state = State {
                input: saved_input,
                weight: saved_weight,
                output: output.clone(),
                indices: indices.clone(),
                options: *options,
            };
            (step.finish(state, output), indices)
        }
        OpsKind::UnTracked(step) => {
            let (output, indices) = B::fused_conv2d_relu_max_pool(
                input.primitive,
                weight.primitive,
                bias.primitive,
                options,
            );
            (step.finish(output), indices)
        }
    }
}

#[derive(Debug)]
struct Recorded;

#[derive(Clone, Debug)]
struct State<B: Backend> {
    input: NodeId,
    weight: NodeId,
    output: FloatTensor<B>,
    indices: IntTensor<B>,
    options: Conv2dOptions,
}

impl<B: Backend> Backward<B, 3> for Recorded {
    type State = State<B>;

    fn backward(
        self,
        ops: Ops<Self::State, 3>,
        gradients: &mut Gradients,
        checkpointer: &mut Checkpointer,
    ) {
        let gradient = gradients.consume::<B>(&ops.node);
        let State { input, weight, output, indices, options } = ops.state;
        let parents = ops.parents.map(|parent| parent.map(|node| node.id));
        let found = B::fused_conv2d_relu_max_pool_backward(
            checkpointer.retrieve_node_output(input),
            checkpointer.retrieve_node_output(weight),
            [output, gradient],
            indices,
            &options,
            conv2d::wanted(&parents),
        );
        conv2d::register::<B>(gradients, &parents, found);
    }
}
