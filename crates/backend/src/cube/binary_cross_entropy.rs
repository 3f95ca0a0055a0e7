//! Binary cross-entropy, a unit for each sample.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    tensor::CubeTensor,
};

use super::buffers::{elementwise, empty};

#[cube(launch)]
fn compute_losses(logits: &Array<f32>, targets: &Array<f32>, losses: &mut Array<f32>) {
    let i = ABSOLUTE_POS;
    if i < losses.len() {
        let x = logits[i];
        // Not by a maximum, which loses NaN on CUDA.
        let mut above_zero = x;
        if x < 0.0f32 {
            above_zero = 0.0f32;
        }
        losses[i] = above_zero - x * targets[i] + f32::log1p(f32::exp(-f32::abs(x)));
    }
}

#[cube(launch)]
fn differentiate_losses(
    logits: &Array<f32>,
    targets: &Array<f32>,
    gradient: &Array<f32>,
    of_logits: &mut Array<f32>,
) {
    let i = ABSOLUTE_POS;
    if i < of_logits.len() {
        let sigmoid = 1.0 / (1.0 + f32::exp(-logits[i]));
        of_logits[i] = (sigmoid - targets[i]) * gradient[i];
    }
}

pub(super) fn forward<R: CubeRuntime>(inputs: [CubeTensor<R>; 2]) -> CubeTensor<R> {
    let [logits, targets] = inputs.map(into_contiguous);
    let losses = empty(&logits, logits.meta.shape().clone());
    let (count, cube) = elementwise(&losses.client, losses.meta.num_elements());
    compute_losses::launch::<R>(
        &losses.client,
        count,
        cube,
        logits.into_array_arg(),
        targets.into_array_arg(),
        losses.clone().into_array_arg(),
    );
    losses
}

/// Takes logits, targets and the gradients of the losses.
pub(super) fn backward<R: CubeRuntime>(inputs: [CubeTensor<R>; 3]) -> CubeTensor<R> {
    let [logits, targets, gradient] = inputs.map(into_contiguous);
    let of_logits = empty(&logits, logits.meta.shape().clone());
    let (count, cube) = elementwise(&of_logits.client, of_logits.meta.num_elements());
    differentiate_losses::launch::<R>(
        &of_logits.client,
        count,
        cube,
        logits.into_array_arg(),
        targets.into_array_arg(),
        gradient.into_array_arg(),
        of_logits.clone().into_array_arg(),
    );
    of_logits
}
