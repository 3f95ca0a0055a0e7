//! The count of correct predictions, by one cube, whose units each go through some rows.

use burn_cubecl::{
    CubeRuntime,
    cubecl::{self, prelude::*},
    kernel::into_contiguous,
    tensor::CubeTensor,
};

use super::{
    buffers::empty,
    lanes::{UNITS, sum_of_lane},
};

#[cube(launch)]
fn count_correct<I: Int>(
    logits: &Array<f32>,
    targets: &Array<I>,
    so_far: &Array<f32>,
    count: &mut Array<f32>,
    classes: usize,
    #[comptime] is_binary: bool,
    #[define(I)] _index: StorageType,
) {
    let mut correct = 0.0f32;
    for row in range_stepped(UNIT_POS as usize, targets.len(), UNITS) {
        let target = usize::cast_from(targets[row]);
        if is_binary {
            if (logits[row] > 0.0f32) == (target == 1) {
                correct += 1.0f32;
            }
        } else {
            let own = logits[row * classes + target];
            let mut is_largest = true;
            for class in 0..classes {
                let other = logits[row * classes + class];
                // Of equal logits the first is the prediction; none is where one is NaN.
                if !(own > other || (own == other && target <= class)) {
                    is_largest = false;
                }
            }
            if is_largest {
                correct += 1.0f32;
            }
        }
    }
    let correct = sum_of_lane(correct, 1usize);
    if UNIT_POS == 0 {
        count[0] = so_far[0] + correct;
    }
}

/// See [`Backend::fused_correct_count`](crate::Backend::fused_correct_count).
pub(super) fn correct_count<R: CubeRuntime>(
    logits: CubeTensor<R>,
    targets: CubeTensor<R>,
    so_far: CubeTensor<R>,
) -> CubeTensor<R> {
    let [logits, targets, so_far] = [logits, targets, so_far].map(into_contiguous);
    let [_, classes] = logits.meta.shape().dims();
    let count = empty(&so_far, [1]);
    let index = targets.dtype.into();
    count_correct::launch::<R>(
        &count.client,
        CubeCount::Static(1, 1, 1),
        CubeDim::new_1d(UNITS as u32),
        logits.into_array_arg(),
        targets.into_array_arg(),
        so_far.into_array_arg(),
        count.clone().into_array_arg(),
        classes,
        classes == 1,
        index,
    );
    count
}
