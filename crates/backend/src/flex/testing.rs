//! What the tests of the kernels share.

use burn::tensor::TensorData;
use burn_flex::FlexTensor;

use crate::random::{Purpose, Random};

/// Normal values that depend on `stream` alone.
pub(super) fn normal<const D: usize>(shape: [usize; D], stream: u64) -> FlexTensor {
    let random = Random::new(5, Purpose::Synthetic, stream);
    let count = shape.iter().product::<usize>() as u64;
    let values: Vec<f32> = (0..count).map(|index| random.normal(index)).collect();
    FlexTensor::from_data(TensorData::new(values, shape))
}

/// Indices from 0 to `end`, with repetitions.
pub(super) fn indices<const D: usize>(shape: [usize; D], end: usize, stream: u64) -> FlexTensor {
    let random = Random::new(5, Purpose::Synthetic, stream);
    let count = shape.iter().product::<usize>() as u64;
    let index = |at| (f64::from(random.uniform(at)) * end as f64) as i64;
    let values: Vec<i64> = (0..count).map(index).collect();
    FlexTensor::from_data(TensorData::new(values, shape))
}

/// Fails unless both agree to `relative` of each value, or of one where values are smaller.
pub(super) fn assert_close(what: &str, ours: FlexTensor, reference: FlexTensor, relative: f32) {
    assert_eq!(ours.layout().shape(), reference.layout().shape(), "{what}");
    let [ours, reference] = [ours, reference].map(values);
    for (index, (ours, reference)) in ours.iter().zip(&reference).enumerate() {
        let difference = (ours - reference).abs();
        assert!(
            difference <= relative * reference.abs().max(1.0),
            "{what}, element {index}: {ours} instead of {reference}"
        );
    }
}

/// Fails unless the largest difference is `relative` of the largest value at most.
#[track_caller]
pub(super) fn assert_close_to_largest<T: Copy + Into<f64>>(
    what: &str,
    ours: &[f32],
    reference: &[T],
    relative: f64,
) {
    assert_eq!(ours.len(), reference.len(), "{what}");
    let reference: Vec<f64> = reference.iter().map(|&value| value.into()).collect();
    let largest = reference.iter().fold(1e-3_f64, |largest, value| largest.max(value.abs()));
    for (index, (ours, reference)) in ours.iter().zip(reference).enumerate() {
        let difference = (f64::from(*ours) - reference).abs();
        assert!(
            difference <= relative * largest,
            "{what}, element {index}: {ours} instead of {reference}"
        );
    }
}

/// The elements in the order of the shape.
pub(super) fn values(tensor: FlexTensor) -> Vec<f32> {
    tensor.into_data().to_vec().expect("f32")
}

/// What `work` returns in pools of one, two and three threads.
pub(super) fn on_1_2_and_3_threads<T: Send>(work: impl Fn() -> T + Sync) -> [T; 3] {
    [1, 2, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("a pool").install(&work)
    })
}
