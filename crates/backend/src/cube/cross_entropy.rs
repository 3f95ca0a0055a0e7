//! Cross-entropy of the softmax: some units for each sample forward, one for each logit backward.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    tensor::CubeTensor,
};

use super::{
    buffers::{cubes, elementwise, empty},
    lanes::{UNITS, largest_of_lane, sum_of_lane},
};

/// The units of a lane go through a row.
#[cube(launch)]
fn compute_losses<I: Int>(
    logits: &Array<f32>,
    targets: &Array<I>,
    losses: &mut Array<f32>,
    probabilities: &mut Array<f32>,
    classes: usize,
    #[comptime] lanes: usize,
    #[define(I)] _index: StorageType,
) {
    let unit = UNIT_POS as usize;
    let row = CUBE_POS * lanes + unit % lanes;
    let rows = losses.len();
    let first = row * classes;
    let begin = unit / lanes;
    let mut largest = 0.0f32;
    if row < rows {
        largest = logits[first];
        for class in range_stepped(begin, classes, UNITS / lanes) {
            largest = f32::max(largest, logits[first + class]);
        }
    }
    let largest = largest_of_lane::<f32>(largest, lanes);
    let mut sum = 0.0f32;
    if row < rows {
        for class in range_stepped(begin, classes, UNITS / lanes) {
            let power = f32::exp(logits[first + class] - largest);
            probabilities[first + class] = power;
            sum += power;
        }
    }
    let sum = sum_of_lane(sum, lanes);
    if row < rows {
        for class in range_stepped(begin, classes, UNITS / lanes) {
            probabilities[first + class] /= sum;
        }
        if begin == 0 {
            let target = usize::cast_from(targets[row]);
            losses[row] = f32::ln(sum) - (logits[first + target] - largest);
        }
    }
}

/// The losses and the probabilities.
pub(super) fn forward<R: CubeRuntime>(
    logits: CubeTensor<R>,
    targets: CubeTensor<R>,
) -> (CubeTensor<R>, CubeTensor<R>) {
    let [logits, targets] = [logits, targets].map(into_contiguous);
    let [rows, classes] = logits.meta.shape().dims();
    let (losses, probabilities) = (empty(&logits, [rows]), empty(&logits, [rows, classes]));
    let lanes = UNITS / classes.next_power_of_two().min(UNITS);
    let (count, cube) = cubes(&logits.client, rows.div_ceil(lanes));
    let index = targets.dtype.into();
    compute_losses::launch::<R>(
        &losses.client,
        count,
        cube,
        logits.into_array_arg(),
        targets.into_array_arg(),
        losses.clone().into_array_arg(),
        probabilities.clone().into_array_arg(),
        classes,
        lanes,
        index,
    );
    (losses, probabilities)
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
    probabilities: CubeTensor<R>,
    targets: CubeTensor<R>,
    gradient: CubeTensor<R>,
) -> CubeTensor<R> {
    let [probabilities, targets, gradient] =
        [probabilities, targets, gradient].map(into_contiguous);
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
