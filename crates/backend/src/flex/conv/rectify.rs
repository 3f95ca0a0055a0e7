//! From the gradient of a convolution's output to that of its sums: ReLU's mask and the bias's
//! gradient, in one pass.

use std::ops::Range;

use burn_flex::FlexTensor;

use super::super::{
    dimensions, elements,
    lanes::{read, write},
    output_from,
    parallel::{self, Shared, TASK},
    recycled,
    simd::{Kernel, Level, Vector},
    sum::{self, Sum},
};

/// The gradient where ReLU let the output through, and the sum of each channel if it is wanted.
///
/// - `gradient`, `output`: `[batch, channels, height, width]`
pub(super) fn backward(
    level: Level,
    gradient: FlexTensor,
    output: Option<FlexTensor>,
    sums_wanted: bool,
) -> (FlexTensor, Option<FlexTensor>) {
    let [batch, channels, height, width] = dimensions(&gradient);
    let (planes, size) = ([batch, channels], height * width);
    let Some(output) = output else {
        let sums = sums_wanted.then(|| {
            let gradient = elements(&gradient);
            channel_sums(planes, size, |part| level.run(Sum::<false>(&gradient[part])))
        });
        return (gradient, sums);
    };
    let (mut masked, source) = output_from(gradient);
    let (output, source) = (elements(&output), source.as_ref().map(elements));
    let target = Shared::new(masked.storage_mut::<f32>());
    let sums = channel_sums(planes, size, |part| {
        // SAFETY: each part is worked on once.
        let gradient = unsafe { target.slice(part.start, part.len()) };
        if let Some(source) = source {
            gradient.copy_from_slice(&source[part.clone()]);
        }
        level.run(Mask { output: &output[part], gradient })
    });
    (masked, sums_wanted.then_some(sums))
}

/// The sum of each channel, from those of parts of `[batch][channels]` planes, each of which is worked
/// on once.
///
/// - `size`: numbers of a plane
pub(super) fn channel_sums(
    [batch, channels]: [usize; 2],
    size: usize,
    of_part: impl Fn(Range<usize>) -> f32 + Sync,
) -> FlexTensor {
    let mut sums_of_planes = recycled::floats([batch * channels]);
    let of_task = (TASK / size.max(1)).max(1);
    parallel::chunks(sums_of_planes.storage_mut::<f32>(), of_task, |number, sums, _| {
        for (sum, plane) in sums.iter_mut().zip(number * of_task..) {
            let start = plane * size;
            *sum = sum::in_parts(size, |part| of_part(start + part.start..start + part.end));
        }
    });
    let mut sums = recycled::floats([channels]);
    let totals = sums.storage_mut::<f32>();
    totals.fill(0.0);
    for image in sums_of_planes.storage::<f32>().chunks_exact(channels) {
        totals.iter_mut().zip(image).for_each(|(total, sum)| *total += sum);
    }
    sums
}

/// Sets the gradient to zero where the output is zero or less, and sums up the rest.
struct Mask<'a> {
    output: &'a [f32],
    gradient: &'a mut [f32],
}

impl Kernel for Mask<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<V: Vector>(self) -> f32 {
        assert_eq!(self.output.len(), self.gradient.len());
        let count = self.gradient.len();
        let mut sum = V::zero();
        for start in (0..count).step_by(V::LANES) {
            // SAFETY: the slices are equally long, and `count - start` numbers are left.
            unsafe {
                let output = read::<V>(self.output.as_ptr().add(start), count - start);
                let target = self.gradient.as_mut_ptr().add(start);
                let gradient = read::<V>(target, count - start);
                // A NaN lets its gradient through, as PyTorch's does.
                let kept = V::select(V::zero().at_least(output), V::zero(), gradient);
                write(kept, target, count - start);
                sum = sum.add(kept);
            }
        }
        sum.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flex::testing::{normal, values};

    #[test]
    fn a_nan_lets_its_gradient_through() {
        let shape = [2, 2, 1, 3];
        let outputs = [f32::NAN, 1.0, 0.0, -0.0, -1.0, 2.0, 0.0, f32::NAN, 0.0, 3.0, 0.0, 4.0];
        let output = burn::tensor::TensorData::new(outputs.to_vec(), shape);
        let given = values(normal(shape, 1));
        let expected: Vec<f32> = given
            .iter()
            .zip(outputs)
            .map(|(given, output)| if output <= 0.0 { 0.0 } else { *given })
            .collect();
        let output = Some(FlexTensor::from_data(output));
        let (masked, sums) = backward(Level::best(), normal(shape, 1), output, true);
        assert_eq!(values(masked), expected);
        let channel = |first: usize| -> f32 {
            [0, 6].map(|image| expected[first + image..][..3].iter().sum::<f32>()).iter().sum()
        };
        for (sum, expected) in values(sums.unwrap()).into_iter().zip([channel(0), channel(3)]) {
            assert!((sum - expected).abs() < 1e-5, "{sum} for {expected}");
        }
    }
}
