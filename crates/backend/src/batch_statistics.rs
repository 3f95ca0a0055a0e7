//! Batch normalisation over the batches of several processes.
//!
//! Sums over the processes give the common statistics: of the values and of their squares, in f64, so that
//! the digits which cancel are none that f32 has. Another gives the gradient through them, with the formula
//! of [`batch_norm2d`](crate::batch_norm2d).

use std::{cell::RefCell, rc::Rc};

use burn::tensor::{Tensor, TensorData, ops::FloatTensor};

use crate::{
    Backend, BatchNorm2d, BatchNorm2dGradients, BatchNorm2dOutput, BatchNorm2dSaved,
    BatchNorm2dWanted, Counts,
    primitive::{primitive, tensor},
};

/// Adds the other processes' numbers to this one's.
pub type SumOverProcesses = Rc<dyn Fn(&mut [f64])>;

thread_local! {
    /// Per thread: the one that trains also runs the backward pass.
    static SUM: RefCell<Option<SumOverProcesses>> = const { RefCell::new(None) };
}

/// Sets how the calling thread sums over the processes that train together; `None` if it trains
/// alone, or has finished.
pub fn set_sum_over_processes(sum: Option<SumOverProcesses>) {
    SUM.set(sum);
}

/// Whether there are other processes.
pub(crate) fn has_others() -> bool {
    SUM.with_borrow(Option::is_some)
}

fn sum_over_processes(numbers: &mut [f64]) {
    if let Some(sum) = SUM.with_borrow(Clone::clone) {
        sum(numbers);
    }
}

/// Normalises by the statistics of the batches of all processes.
pub(crate) fn forward<B: Backend>(
    layer: BatchNorm2d<B>,
    Counts(counts): Counts,
) -> BatchNorm2dOutput<B> {
    let input = tensor::<B, 4>(layer.input.clone());
    let device = input.device();
    let [batch, _, height, width] = input.dims();
    let own = if counts { (batch * height * width) as f64 } else { 0.0 };
    let plain = BatchNorm2d { residual: None, rectified: false, ..layer.clone() };
    let BatchNorm2dOutput { mean, variance, .. } = B::fused_batch_norm2d(plain);
    let of_batch = to_host::<B>([mean, variance]);
    let (means, variances) = of_batch.split_at(of_batch.len() / 2);

    let mut sums = vec![own];
    sums.extend(means.iter().map(|mean| own * mean));
    let square = |(mean, variance): (&f64, &f64)| own * (variance + mean * mean);
    sums.extend(means.iter().zip(variances).map(square));
    sum_over_processes(&mut sums);
    let count = sums[0].max(1.0);
    let (of_values, of_squares) = sums[1..].split_at(means.len());
    let common = of_values.iter().map(|sum| sum / count);
    // Not by `max`, which would make 0 of a NaN.
    let around =
        |(squares, mean): (&f64, f64)| (squares / count - mean * mean).clamp(0.0, f64::INFINITY);
    let variances = of_squares.iter().zip(common.clone()).map(around).collect();

    let mean = from_host::<B>(common.collect(), &device);
    let variance = from_host::<B>(variances, &device);
    let stored = Some([mean.clone(), variance.clone()]);
    let BatchNorm2dOutput { output, .. } = B::fused_batch_norm2d(BatchNorm2d { stored, ..layer });
    BatchNorm2dOutput { output, mean, variance, over_processes: Some(count as usize) }
}

/// The gradients of [`forward`]; those of scale and shift are of this process's batch alone, as all
/// gradients of parameters.
///
/// - `count`: values per channel, over all processes
/// - `counts`: whether this batch is among them
pub(crate) fn backward<B: Backend>(
    saved: BatchNorm2dSaved<B>,
    gradient: FloatTensor<B>,
    count: usize,
    Counts(counts): Counts,
) -> BatchNorm2dGradients<B> {
    let BatchNorm2dSaved { input, scale, mean, variance, epsilon, wanted, .. } = saved.clone();
    let by_constants = BatchNorm2dSaved {
        of_batch: false,
        wanted: BatchNorm2dWanted { affine: true, ..wanted },
        ..saved
    };
    let mut gradients = B::fused_batch_norm2d_backward(by_constants, gradient);
    let affine = gradients.affine.clone().expect("they were asked for");
    let mut sums = to_host::<B>(affine);
    sum_over_processes(&mut sums);
    if !counts {
        return gradients; // the statistics do not depend on this batch
    }

    gradients.input = gradients.input.map(|own| {
        let device = tensor::<B, 4>(own.clone()).device();
        let deviation = (tensor::<B, 1>(variance.clone()) + epsilon).sqrt();
        let factor = tensor::<B, 1>(scale) / deviation;
        let through = |sums: &[f64]| {
            let shares = sums.iter().map(|sum| -sum / count as f64).collect();
            primitive(factor.clone() * tensor::<B, 1>(from_host::<B>(shares, &device)))
        };
        let (of_scale, of_shift) = sums.split_at(sums.len() / 2);
        // The part through the statistics is itself a scaled and shifted normalised input.
        let BatchNorm2dOutput { output, .. } = B::fused_batch_norm2d(BatchNorm2d {
            input,
            scale: through(of_scale),
            shift: through(of_shift),
            stored: Some([mean, variance]),
            over_processes: None,
            residual: Some(own),
            epsilon,
            rectified: false,
        });
        output
    });
    gradients
}

/// The numbers of two tensors `[channels]`, one after the other. They are read at once, since the
/// host waits for the device each time.
fn to_host<B: Backend>(pair: [FloatTensor<B>; 2]) -> Vec<f64> {
    let both = Tensor::cat(Vec::from(pair.map(tensor::<B, 1>)), 0);
    both.into_data().iter().collect()
}

/// `[channels]`
fn from_host<B: Backend>(values: Vec<f64>, device: &B::Device) -> FloatTensor<B> {
    let values: Vec<f32> = values.into_iter().map(|value| value as f32).collect();
    let count = values.len();
    primitive(Tensor::<B, 1>::from_data(TensorData::new(values, [count]), device))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Selected,
        random::{Purpose, Random},
    };

    const CHANNELS: usize = 3;

    fn layer(values: &[f32]) -> BatchNorm2d<Selected> {
        let device = Default::default();
        let shape = [values.len() / (CHANNELS * 4), CHANNELS, 2, 2];
        let input =
            Tensor::<Selected, 4>::from_data(TensorData::new(values.to_vec(), shape), &device);
        BatchNorm2d {
            input: primitive(input),
            scale: primitive(Tensor::<Selected, 1>::ones([CHANNELS], &device)),
            shift: primitive(Tensor::<Selected, 1>::zeros([CHANNELS], &device)),
            stored: None,
            over_processes: None,
            residual: None,
            epsilon: 1e-5,
            rectified: false,
        }
    }

    /// What a process with this batch adds: its count, and the sums of its values and of their squares.
    fn sums(values: &[f32]) -> Vec<f64> {
        let of = |channel, power| {
            let rows = values.chunks(4).skip(channel).step_by(CHANNELS).flatten();
            rows.map(|&value| f64::from(value).powi(power)).sum()
        };
        let channels = || 0..CHANNELS;
        let count = values.len() / CHANNELS;
        let sums = channels().map(|channel| of(channel, 1)).chain(channels().map(|it| of(it, 2)));
        [count as f64].into_iter().chain(sums).collect()
    }

    fn numbers<const D: usize>(found: FloatTensor<Selected>) -> Vec<f32> {
        tensor::<Selected, D>(found).into_data().iter().collect()
    }

    #[test]
    fn what_is_not_finite_stays_so() {
        set_sum_over_processes(Some(Rc::new(|_: &mut [f64]| ())));
        let values = [f32::INFINITY; 2 * CHANNELS * 4];
        let found = forward(layer(&values), Counts(true));
        set_sum_over_processes(None);
        assert!(numbers::<1>(found.variance).iter().all(|variance| variance.is_nan()));
    }

    /// With a mean of a thousand deviations, whose square leaves f32 one digit of the variance.
    #[test]
    fn the_statistics_are_those_of_the_whole_batch() {
        let random = Random::new(1, Purpose::Synthetic, 0);
        let values: Vec<f32> =
            (0..10 * CHANNELS * 4).map(|it| 1000.0 + random.normal(it as u64)).collect();
        let (own, other) = values.split_at(6 * CHANNELS * 4);
        for (counts, all) in [(true, &values[..]), (false, other)] {
            let of_other = sums(other);
            set_sum_over_processes(Some(Rc::new(move |numbers: &mut [f64]| {
                numbers.iter_mut().zip(&of_other).for_each(|(own, other)| *own += other);
            })));
            let found = forward(layer(own), Counts(counts));
            set_sum_over_processes(None);
            let expected = Selected::fused_batch_norm2d(layer(all));
            assert_eq!(found.over_processes, Some(all.len() / CHANNELS));
            let pairs = [(found.mean, expected.mean), (found.variance, expected.variance)];
            for (found, expected) in pairs {
                for (found, expected) in numbers::<1>(found).iter().zip(numbers::<1>(expected)) {
                    assert!((found / expected - 1.0).abs() < 1e-5, "{found} and {expected}");
                }
            }
        }
    }
}
