//! Cross-entropy of the softmax: a unit for each sample forward, one for each logit backward.

use burn::tensor::TensorMetadata;
use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    tensor::CubeTensor,
};

use super::{
    buffers::{elementwise, empty},
    registered::{Described, Lazy, register},
};

#[cube(launch)]
fn lose<I: Int>(
    logits: &Array<f32>,
    targets: &Array<I>,
    losses: &mut Array<f32>,
    probabilities: &mut Array<f32>,
    classes: usize,
    #[define(I)] _index: StorageType,
) {
    let row = ABSOLUTE_POS;
    if row < losses.len() {
        let first = row * classes;
        let mut largest = logits[first];
        for class in 1..classes {
            largest = f32::max(largest, logits[first + class]);
        }
        let mut sum = 0.0f32;
        for class in 0..classes {
            let power = f32::exp(logits[first + class] - largest);
            probabilities[first + class] = power;
            sum += power;
        }
        for class in 0..classes {
            probabilities[first + class] /= sum;
        }
        let target = usize::cast_from(targets[row]);
        losses[row] = f32::ln(sum) - (logits[first + target] - largest);
    }
}

pub(super) fn forward<R: CubeRuntime>(logits: Lazy<R>, targets: Lazy<R>) -> (Lazy<R>, Lazy<R>) {
    let losses = Described::new([logits.shape()[0]], logits.dtype());
    let outputs = [losses, Described::like(&logits)];
    let [losses, probabilities] =
        register("cross_entropy", [logits, targets], outputs, launch_forward);
    (losses, probabilities)
}

fn launch_forward<R: CubeRuntime>(inputs: [CubeTensor<R>; 2]) -> [CubeTensor<R>; 2] {
    let [logits, targets] = inputs.map(into_contiguous);
    let [rows, classes] = logits.meta.shape().dims();
    let (losses, probabilities) = (empty(&logits, [rows]), empty(&logits, [rows, classes]));
    let (count, cube) = elementwise(&logits.client, rows);
    let index = targets.dtype.into();
    lose::launch::<R>(
        &losses.client,
        count,
        cube,
        logits.into_array_arg(),
        targets.into_array_arg(),
        losses.clone().into_array_arg(),
        probabilities.clone().into_array_arg(),
        classes,
        index,
    );
    [losses, probabilities]
}

#[cube(launch)]
fn differentiate_losses<I: Int>(
    probabilities: &Array<f32>,
    targets: &Array<I>,
    gradient: &Array<f32>,
    of_logits: &mut Array<f32>,
    classes: usize,
    #[define(I)] _index: StorageType,
) {
    let i = ABSOLUTE_POS;
    if i < of_logits.len() {
        let row = i / classes;
        let mut difference = probabilities[i];
        if usize::cast_from(targets[row]) == i % classes {
            difference -= 1.0;
        }
        of_logits[i] = difference * gradient[row];
    }
}

pub(super) fn backward<R: CubeRuntime>(
    probabilities: Lazy<R>,
    targets: Lazy<R>,
    gradient: Lazy<R>,
) -> Lazy<R> {
    let outputs = [Described::like(&probabilities)];
    let inputs = [probabilities, targets, gradient];
    let [of_logits] =
        register("cross_entropy_backward", inputs, outputs, |inputs| [launch_backward(inputs)]);
    of_logits
}

fn launch_backward<R: CubeRuntime>(inputs: [CubeTensor<R>; 3]) -> CubeTensor<R> {
    let [probabilities, targets, gradient] = inputs.map(into_contiguous);
    let [rows, classes] = probabilities.meta.shape().dims();
    let of_logits = empty(&probabilities, [rows, classes]);
    let (count, cube) = elementwise(&of_logits.client, rows * classes);
    let index = targets.dtype.into();
    differentiate_losses::launch::<R>(
        &of_logits.client,
        count,
        cube,
        probabilities.into_array_arg(),
        targets.into_array_arg(),
        gradient.into_array_arg(),
        of_logits.clone().into_array_arg(),
        classes,
        index,
    );
    of_logits
}
