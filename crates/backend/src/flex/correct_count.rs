//! The count of correct predictions: a comparison with each other logit.

use burn::backend::Flex;
use burn_flex::FlexTensor;

use super::{
    all_f32, assert_shape, contiguous, dimensions, elements, indices::indices_below, recycled,
};
use crate::{correct_count, overrides::note_taken};

/// See [`Backend::fused_correct_count`](crate::Backend::fused_correct_count).
pub(super) fn of(logits: FlexTensor, targets: FlexTensor, so_far: FlexTensor) -> FlexTensor {
    let [batch, classes] = dimensions(&logits);
    assert_shape("the targets", &targets, &[batch]);
    let known = indices_below(classes.max(2), &targets);
    let Some(known) = known.filter(|_| all_f32([&logits, &so_far])) else {
        return correct_count::composed::<Flex>(logits, targets, so_far);
    };
    note_taken();
    let [logits, so_far] = [logits, so_far].map(contiguous);
    let rows = elements(&logits).chunks_exact(classes.max(1));
    let correct = rows.zip(known).filter(|&(row, target)| is_correct(row, target)).count();
    let mut count = recycled::floats([1]);
    count.storage_mut::<f32>()[0] = elements(&so_far)[0] + correct as f32;
    count
}

/// Of equal logits the first is the prediction; a single one predicts 1 where it is positive.
fn is_correct(logits: &[f32], target: usize) -> bool {
    if let [logit] = logits {
        return (*logit > 0.0) == (target == 1);
    }
    let own = logits[target];
    let (before, from_it) = logits.split_at(target);
    before.iter().all(|&other| other < own) && from_it.iter().all(|&other| other <= own)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Int, Tensor, TensorData};

    use super::*;
    use crate::primitive::{primitive, tensor};

    #[test]
    fn the_count_is_that_of_the_default_body() {
        let device = Default::default();
        for shape in [[1usize, 1], [40, 1], [3, 2], [70, 10], [5, 300]] {
            let [batch, classes] = shape;
            // Few different values, so that some are equal.
            let logits: Vec<f32> =
                (0..batch * classes).map(|at| (at * 7919 % 11) as f32 - 5.0).collect();
            let logits = Tensor::<Flex, 2>::from_data(TensorData::new(logits, shape), &device);
            let targets: Vec<i32> =
                (0..batch).map(|at| (at * 31 % classes.max(2)) as i32).collect();
            let targets =
                Tensor::<Flex, 1, Int>::from_data(TensorData::new(targets, [batch]), &device);
            let count = |body: fn(FlexTensor, FlexTensor, FlexTensor) -> FlexTensor| {
                let so_far = primitive(Tensor::<Flex, 1>::from_floats([3.0], &device));
                let [logits, targets] =
                    [primitive(logits.clone()), targets.clone().into_primitive()];
                tensor::<Flex, 1>(body(logits, targets, so_far)).into_scalar()
            };
            assert_eq!(count(of), count(correct_count::composed::<Flex>), "{shape:?}");
        }
    }
}
