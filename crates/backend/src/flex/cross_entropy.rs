//! Softmax and cross-entropy in one pass over each row, which stays in the cache; backward the
//! gradient overwrites the softmax.

use burn::backend::Flex;
use burn_flex::FlexTensor;

use super::{
    activations::exp,
    all_f32, assert_shape, contiguous, dimensions, elements,
    indices::indices_below,
    lanes::{first_or, read, write},
    output_from,
    parallel::{self, Shared},
    recycled,
    rescale::Scale,
    simd::{Kernel, Level, Vector},
};
use crate::{cross_entropy, overrides::note_taken};

/// The fewest values of a task.
const TASK_VALUES: usize = 1 << 13;

/// The losses, and the softmax.
pub(super) fn forward(logits: FlexTensor, targets: FlexTensor) -> (FlexTensor, FlexTensor) {
    match classes_of(&logits, &targets) {
        Some(targets) => losses_of(Level::best(), logits, &targets),
        None => cross_entropy::composed::<Flex>(logits, targets),
    }
}

pub(super) fn backward(
    probabilities: FlexTensor,
    targets: FlexTensor,
    gradient: FlexTensor,
) -> FlexTensor {
    let classes = classes_of(&probabilities, &targets);
    assert_shape("the gradient", &gradient, targets.layout().shape());
    match classes.filter(|_| all_f32([&gradient])) {
        Some(targets) => of_logits(Level::best(), probabilities, &targets, gradient),
        None => cross_entropy::composed_backward::<Flex>(probabilities, targets, gradient),
    }
}

/// The target of each row, `[batch, classes]`, if the kernels apply to these types.
fn classes_of(rows: &FlexTensor, targets: &FlexTensor) -> Option<Vec<usize>> {
    let [batch, classes] = dimensions(rows);
    assert_shape("the targets", targets, &[batch]);
    indices_below(classes, targets).filter(|_| all_f32([rows]))
}

fn rows_of_task(classes: usize) -> usize {
    TASK_VALUES.div_ceil(classes.max(1))
}

fn losses_of(level: Level, logits: FlexTensor, targets: &[usize]) -> (FlexTensor, FlexTensor) {
    note_taken();
    let logits = contiguous(logits);
    let [batch, classes] = dimensions(&logits);
    let (mut losses, mut softmax) = (recycled::floats([batch]), recycled::floats([batch, classes]));
    let logits = elements(&logits);
    let of_losses = Shared::new(losses.storage_mut::<f32>());
    let of_softmax = Shared::new(softmax.storage_mut::<f32>());
    parallel::ranges(batch, rows_of_task(classes), |rows, _| {
        for row in rows {
            let logits = &logits[row * classes..][..classes];
            // SAFETY: each row is of one task.
            let (loss, probabilities) =
                unsafe { (of_losses.slice(row, 1), of_softmax.slice(row * classes, classes)) };
            let target = logits[targets[row]];
            loss[0] = level.run(Row { logits, target, probabilities });
        }
    });
    (losses, softmax)
}

fn of_logits(
    level: Level,
    probabilities: FlexTensor,
    targets: &[usize],
    gradient: FlexTensor,
) -> FlexTensor {
    note_taken();
    let [probabilities, gradient] = [probabilities, gradient].map(contiguous);
    let [_, classes] = dimensions(&probabilities);
    let (mut result, source) = output_from(probabilities);
    let (source, gradient) = (source.as_ref().map(elements), elements(&gradient));
    let rows = rows_of_task(classes);
    parallel::chunks(result.storage_mut::<f32>(), rows * classes, |number, values, _| {
        for (row, values) in (number * rows..).zip(values.chunks_exact_mut(classes)) {
            if let Some(source) = source {
                values.copy_from_slice(&source[row * classes..][..classes]);
            }
            let factor = gradient[row];
            level.run(Scale { values, factor });
            values[targets[row]] -= factor;
        }
    });
    result
}

/// The loss of a row of logits, and its softmax.
struct Row<'a> {
    logits: &'a [f32],
    /// The logit of the target.
    target: f32,
    /// As many as logits.
    probabilities: &'a mut [f32],
}

impl Kernel for Row<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<V: Vector>(self) -> f32 {
        let classes = self.logits.len();
        let source = self.logits.as_ptr();
        let mut largest = V::splat(f32::NEG_INFINITY);
        for at in (0..classes).step_by(V::LANES) {
            // SAFETY: `classes - at` logits follow.
            let values = unsafe { read::<V>(source.add(at), classes - at) };
            largest = first_or(values, classes - at, f32::NEG_INFINITY).max(largest);
        }
        let mut lanes = [f32::NEG_INFINITY; 16];
        // SAFETY: no vector has more than sixteen lanes.
        unsafe { largest.store(lanes.as_mut_ptr()) };
        let largest = lanes[..V::LANES].iter().copied().fold(f32::NEG_INFINITY, f32::max);

        let mut sum = V::zero();
        let target = self.probabilities.as_mut_ptr();
        for at in (0..classes).step_by(V::LANES) {
            let count = classes - at;
            // SAFETY: `count` logits follow, and as many places of the softmax.
            unsafe {
                let exponential = exp(read::<V>(source.add(at), count).sub(V::splat(largest)));
                sum = sum.add(first_or(exponential, count, 0.0));
                write(exponential, target.add(at), count);
            }
        }
        let sum = sum.sum();
        let share = V::splat(1.0 / sum);
        for at in (0..classes).step_by(V::LANES) {
            let count = classes - at;
            // SAFETY: as above.
            unsafe {
                let target = target.add(at);
                write(read::<V>(target, count).mul(share), target, count);
            }
        }
        sum.ln() - (self.target - largest)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, ops::IntTensorOps};

    use super::*;
    use crate::flex::testing::{assert_close, indices, normal, on_1_2_and_3_threads, values};

    const SHAPES: [[usize; 2]; 7] =
        [[1, 1], [2, 3], [5, 8], [7, 17], [300, 65], [33, 1000], [0, 4]];

    fn logits(shape: [usize; 2]) -> FlexTensor {
        use burn::tensor::ops::FloatTensorOps;
        Flex::float_mul_scalar(normal(shape, 1), 8.0.into())
    }

    #[test]
    fn forward_equals_the_default_body() {
        for (level, shape) in Level::all().into_iter().flat_map(|l| SHAPES.map(|s| (l, s))) {
            let targets = indices([shape[0]], shape[1], 2);
            let (losses, softmax) = cross_entropy::composed::<Flex>(logits(shape), targets.clone());
            let targets = indices_below(shape[1], &targets).unwrap();
            let (ours, probabilities) = losses_of(level, logits(shape), &targets);
            assert_close(&format!("losses of {shape:?} at {level:?}"), ours, losses, 2e-6);
            let what = format!("softmax of {shape:?} at {level:?}");
            assert_close(&what, probabilities, softmax, 2e-6);
        }
    }

    #[test]
    fn backward_equals_the_default_body() {
        for (level, shape) in Level::all().into_iter().flat_map(|l| SHAPES.map(|s| (l, s))) {
            let targets = indices([shape[0]], shape[1], 2);
            let gradient = normal([shape[0]], 3);
            let (_, softmax) = cross_entropy::composed::<Flex>(logits(shape), targets.clone());
            let reference = cross_entropy::composed_backward::<Flex>(
                softmax.clone(),
                targets.clone(),
                gradient.clone(),
            );
            let targets = indices_below(shape[1], &targets).unwrap();
            // Held here as well, so it must not be overwritten the first time.
            let apart = of_logits(level, softmax.clone(), &targets, gradient.clone());
            let in_place = of_logits(level, softmax, &targets, gradient);
            assert_eq!(values(apart.clone()), values(in_place));
            assert_close(&format!("{shape:?} at {level:?}"), apart, reference, 1e-6);
        }
    }

    #[test]
    #[should_panic(expected = "the targets: shape [4] instead of [3]")]
    fn targets_of_other_rows_are_refused() {
        forward(logits([3, 5]), indices([4], 5, 2));
    }

    #[test]
    fn both_types_of_indices_are_read() {
        let targets = indices([7], 17, 2);
        let narrow = Flex::int_cast(targets.clone(), burn::tensor::IntDType::I32);
        assert_eq!([targets.dtype(), narrow.dtype()], [DType::I64, DType::I32]);
        let [(wide, _), (narrow, _)] =
            [targets, narrow].map(|targets| forward(logits([7, 17]), targets));
        assert_eq!(values(wide), values(narrow));
    }

    #[test]
    fn large_logits_do_not_overflow_and_nan_is_seen() {
        let row = |numbers: [f32; 3]| {
            FlexTensor::from_data(burn::tensor::TensorData::new(numbers.to_vec(), [1, 3]))
        };
        let loss = |numbers| values(forward(row(numbers), indices([1], 1, 0)).0)[0];
        assert_eq!(loss([1e30, 0.0, -1e30]), 0.0);
        assert_eq!(loss([-1000.0, 0.0, 0.0]), 1000.0 + 2.0_f32.ln());
        assert!(loss([0.0, f32::NAN, 0.0]).is_nan());
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let [one, two, three] = on_1_2_and_3_threads(|| {
            let targets = indices([300], 65, 2);
            let (losses, softmax) = forward(logits([300, 65]), targets.clone());
            [losses, backward(softmax, targets, normal([300], 3))].map(values)
        });
        assert_eq!(one, two);
        assert_eq!(one, three);
    }
}
