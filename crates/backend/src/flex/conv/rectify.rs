//! From the gradient of a convolution's output to that of its sums: ReLU's mask and the bias's
//! gradient, in one pass.

use burn_flex::FlexTensor;

use super::super::{
    elements,
    lanes::{read, write},
    parallel::{self, Shared},
    recycled,
    simd::{Kernel, Level, Vector},
    sum::Sum,
};

/// Numbers of one task.
const TASK: usize = 1 << 15;

/// The gradient where ReLU let the output through, and the sum of each channel if it is wanted.
///
/// - `gradient`, `output`: `[batch, channels, height, width]`
pub(super) fn backward(
    mut gradient: FlexTensor,
    output: Option<FlexTensor>,
    sums_wanted: bool,
) -> (FlexTensor, Option<FlexTensor>) {
    if output.is_none() && !sums_wanted {
        return (gradient, None);
    }
    let [batch, channels, height, width] = gradient.layout().shape().dims();
    let plane = height * width;
    let mut sums = recycled::floats([batch * channels]);
    let sums_of_planes = Shared::new(sums.storage_mut::<f32>());
    let each_plane = |work: &(dyn Fn(usize) -> f32 + Sync)| {
        let of_task = (TASK / plane.max(1)).max(1);
        parallel::ranges(batch * channels, of_task, |planes, _| {
            // SAFETY: each task has planes of its own.
            let sums = unsafe { sums_of_planes.slice(planes.start, planes.len()) };
            sums.iter_mut().zip(planes).for_each(|(sum, plane)| *sum = work(plane));
        });
    };
    let level = Level::best();
    if let Some(output) = &output {
        let output = elements(output);
        // In place where nobody else holds the gradient.
        let mut masked =
            (!gradient.is_unique()).then(|| recycled::floats([batch, channels, height, width]));
        let source = masked.as_ref().map(|_| gradient.clone());
        let target = Shared::new(masked.as_mut().unwrap_or(&mut gradient).storage_mut::<f32>());
        each_plane(&|index| {
            let start = index * plane;
            // SAFETY: each plane is worked on once.
            let target = unsafe { target.slice(start, plane) };
            if let Some(source) = &source {
                target.copy_from_slice(&elements(source)[start..start + plane]);
            }
            level.run(Mask { output: &output[start..start + plane], gradient: target })
        });
        gradient = masked.unwrap_or(gradient);
    } else {
        let gradient = elements(&gradient);
        each_plane(&|index| level.run(Sum::<false>(&gradient[index * plane..][..plane])));
    }
    let bias = sums_wanted.then(|| channel_sums(sums.storage(), channels));
    (gradient, bias)
}

/// The sum of each channel, from those of `[batch][channels]` planes.
pub(super) fn channel_sums(planes: &[f32], channels: usize) -> FlexTensor {
    let mut sums = recycled::floats([channels]);
    let totals = sums.storage_mut::<f32>();
    totals.fill(0.0);
    for image in planes.chunks_exact(channels) {
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
        let (masked, sums) = backward(normal(shape, 1), output, true);
        assert_eq!(values(masked), expected);
        let channel = |first: usize| -> f32 {
            [0, 6].map(|image| expected[first + image..][..3].iter().sum::<f32>()).iter().sum()
        };
        for (sum, expected) in values(sums.unwrap()).into_iter().zip([channel(0), channel(3)]) {
            assert!((sum - expected).abs() < 1e-5, "{sum} for {expected}");
        }
    }
}
