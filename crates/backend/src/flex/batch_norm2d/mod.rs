//! Batch normalisation: one task per channel, which reads its planes for the sums and again, mostly
//! from the cache, for the result. Where channels are few they are cut by images as well.

mod kernels;
#[cfg(test)]
mod tests;

use burn::backend::Flex;
use burn_flex::FlexTensor;

use super::{
    all_f32, assert_shape, contiguous, dimensions, elements, output_from,
    parallel::{self, Shared},
    parts::part,
    recycled,
    simd::Level,
};
use crate::{
    BatchNorm2d, BatchNorm2dGradients, BatchNorm2dOutput, BatchNorm2dSaved, batch_norm2d,
    overrides::note_taken,
};
use kernels::{
    Affine, Backward, Forward, Moments, Normalize, Planes, Propagate, Statistics, Sums, Walk,
};

/// Fewer channels than this are cut by images, so that enough threads have work.
const FEW_CHANNELS: usize = 16;

/// How a batch is cut into tasks: by its shape alone.
#[derive(Clone, Copy)]
struct Plan {
    batch: usize,
    channels: usize,
    plane: usize,
    cuts: usize,
}

impl Plan {
    fn of(input: &FlexTensor) -> Self {
        let [batch, channels, height, width] = dimensions(input);
        let cuts = FEW_CHANNELS.div_ceil(channels.max(1)).clamp(1, batch.max(1));
        Self { batch, channels, plane: height * width, cuts }
    }

    fn tasks(&self) -> usize {
        self.channels * self.cuts
    }

    /// The planes of a task.
    ///
    /// # Safety
    ///
    /// All maps have the shape of the plan, and only this task works on these planes.
    unsafe fn planes<M>(&self, task: usize, maps: M) -> Planes<M> {
        let (channel, cut) = (task / self.cuts, task % self.cuts);
        let images = part(self.batch, self.cuts, cut);
        let walk = Walk {
            start: (images.start * self.channels + channel) * self.plane,
            planes: images.len(),
            stride: self.channels * self.plane,
            length: self.plane,
        };
        // SAFETY: tasks divide the planes among themselves, and the rest is the caller's promise.
        unsafe { Planes::new(walk, maps) }
    }

    /// Calls `gather` for each task, `merge` with the channel and what its tasks gathered, then
    /// `apply` for each task.
    fn two_passes<T: Clone + Default + Send>(
        &self,
        gather: impl Fn(usize) -> T + Sync,
        merge: impl Fn(usize, &[T]) + Sync,
        apply: impl Fn(usize) + Sync,
    ) {
        if self.cuts == 1 {
            parallel::run(self.tasks(), |channel, _| {
                merge(channel, &[gather(channel)]);
                apply(channel);
            });
            return;
        }
        let mut gathered = vec![T::default(); self.tasks()];
        parallel::chunks(&mut gathered, 1, |task, gathered, _| gathered[0] = gather(task));
        for (channel, parts) in gathered.chunks(self.cuts).enumerate() {
            merge(channel, parts);
        }
        parallel::run(self.tasks(), |task, _| apply(task));
    }
}

pub(super) fn forward(layer: BatchNorm2d<Flex>) -> BatchNorm2dOutput<Flex> {
    forward_at(Level::best(), layer)
}

fn forward_at(level: Level, layer: BatchNorm2d<Flex>) -> BatchNorm2dOutput<Flex> {
    let others = layer.stored.iter().flatten().chain(&layer.residual);
    if !all_f32([&layer.input, &layer.scale, &layer.shift].into_iter().chain(others)) {
        return batch_norm2d::composed(layer);
    }
    note_taken();
    let [_, channels, ..] = dimensions::<4>(&layer.input);
    for values in [&layer.scale, &layer.shift].into_iter().chain(layer.stored.iter().flatten()) {
        assert_shape("a value for each channel", values, &[channels]);
    }
    if let Some(residual) = &layer.residual {
        assert_shape("the residual", residual, layer.input.layout().shape());
    }
    let BatchNorm2d { input, scale, shift, stored, residual, epsilon, rectified, .. } = layer;
    let [input, scale, shift] = [input, scale, shift].map(contiguous);
    let residual = residual.map(contiguous);
    let plan = Plan::of(&input);
    let of_batch = stored.is_none();
    let [mut mean, mut variance] = match stored {
        Some(stored) => stored.map(contiguous),
        None => [(); 2].map(|()| recycled::floats([plan.channels])),
    };

    let (mut output, input) = output_from(input);
    let target = output.storage_mut::<f32>().as_mut_ptr();
    let maps = Forward {
        input: input.as_ref().map_or(target.cast_const(), |input| elements(input).as_ptr()),
        residual: residual.as_ref().map(|residual| elements(residual).as_ptr()),
        output: target,
        rectified,
    };
    let normalize = |task: usize, mean: f32, variance: f32| {
        let channel = task / plan.cuts;
        let affine = Affine::new(
            [mean, variance],
            epsilon,
            elements(&scale)[channel],
            elements(&shift)[channel],
        );
        // SAFETY: all maps have the input's shape, and each task runs by itself.
        level.run(Normalize { planes: unsafe { plan.planes(task, maps) }, affine });
    };
    if of_batch {
        let means = Shared::new(mean.storage_mut::<f32>());
        let variances = Shared::new(variance.storage_mut::<f32>());
        plan.two_passes(
            // SAFETY: as above.
            |task| level.run(Moments(unsafe { plan.planes(task, maps) })),
            |channel, parts| {
                let whole = parts.iter().copied().fold(Statistics::default(), Statistics::merged);
                // SAFETY: each channel is merged once, in one task.
                unsafe {
                    *means.pointer(channel) = whole.mean();
                    *variances.pointer(channel) = whole.variance();
                }
            },
            |task| {
                let channel = task / plan.cuts;
                // SAFETY: the channel was merged before, and no other task writes to it.
                let [mean, variance] =
                    [means, variances].map(|all| unsafe { all.pointer(channel).read() });
                normalize(task, mean, variance);
            },
        );
    } else {
        let [means, variances] = [&mean, &variance].map(elements);
        parallel::run(plan.tasks(), |task, _| {
            normalize(task, means[task / plan.cuts], variances[task / plan.cuts]);
        });
    }
    BatchNorm2dOutput { output, mean, variance, over_processes: None }
}

pub(super) fn backward(
    saved: BatchNorm2dSaved<Flex>,
    gradient: FlexTensor,
) -> BatchNorm2dGradients<Flex> {
    backward_at(Level::best(), saved, gradient)
}

fn backward_at(
    level: Level,
    saved: BatchNorm2dSaved<Flex>,
    gradient: FlexTensor,
) -> BatchNorm2dGradients<Flex> {
    let per_channel = [&saved.scale, &saved.shift, &saved.mean, &saved.variance];
    if !all_f32([&saved.input, &gradient].into_iter().chain(per_channel)) {
        return batch_norm2d::composed_backward(saved, gradient);
    }
    note_taken();
    let plan = Plan::of(&saved.input);
    for values in per_channel {
        assert_shape("a value for each channel", values, &[plan.channels]);
    }
    for maps in [Some(&gradient), saved.output.as_ref()].into_iter().flatten() {
        assert_shape("the output or its gradient", maps, saved.input.layout().shape());
    }
    let wanted = saved.wanted;
    let [input, scale, shift, mean, variance, gradient] =
        [saved.input, saved.scale, saved.shift, saved.mean, saved.variance, gradient]
            .map(contiguous);
    let saved_output = saved.output.map(contiguous);

    let mut residual = match (wanted.residual, saved.rectified) {
        (true, true) => Some(recycled::floats(input.layout().shape().clone())),
        // Without ReLU it is the output's gradient itself.
        (true, false) => Some(gradient.clone()),
        (false, _) => None,
    };
    let masked = residual.as_mut().filter(|_| saved.rectified);
    let masked = masked.map(|residual| residual.storage_mut::<f32>().as_mut_ptr());
    let (mut result, gradient) = match wanted.input {
        true => output_from(gradient),
        false => (recycled::floats([0]), Some(gradient)),
    };
    let target = result.storage_mut::<f32>().as_mut_ptr();
    let maps = Backward {
        input: elements(&input).as_ptr(),
        gradient: gradient.as_ref().map_or(target.cast_const(), |it| elements(it).as_ptr()),
        output: saved_output.as_ref().map(|output| elements(output).as_ptr()),
        rectified: saved.rectified,
        masked,
        target: wanted.input.then_some(target),
    };

    let [scale, shift, mean, variance] = [&scale, &shift, &mean, &variance].map(elements);
    let affine = |channel: usize| {
        let statistics = [mean[channel], variance[channel]];
        Affine::new(statistics, saved.epsilon, scale[channel], shift[channel])
    };
    let propagate = |task: usize, [of_scale, of_shift]: [f32; 2]| {
        let of_means = [of_scale, of_shift].map(|sum| sum / (plan.batch * plan.plane) as f32);
        // SAFETY: all maps have the input's shape, and each task runs by itself.
        let planes = unsafe { plan.planes(task, maps) };
        level.run(Propagate { planes, affine: affine(task / plan.cuts), of_means });
    };
    let mut affine_gradients = [(); 2].map(|()| recycled::floats([plan.channels]));
    if wanted.affine || (wanted.input && saved.of_batch) {
        let sums = affine_gradients.each_mut().map(|it| Shared::new(it.storage_mut::<f32>()));
        plan.two_passes(
            |task| {
                // SAFETY: as above.
                let planes = unsafe { plan.planes(task, maps) };
                level.run(Sums { planes, affine: affine(task / plan.cuts) })
            },
            |channel, parts: &[[f32; 2]]| {
                for (index, all) in sums.iter().enumerate() {
                    // SAFETY: each channel is merged once, in one task.
                    unsafe { *all.pointer(channel) = parts.iter().map(|part| part[index]).sum() };
                }
            },
            |task| {
                // SAFETY: the channel was merged before, and no other task writes to it.
                let sums = sums.map(|all| unsafe { all.pointer(task / plan.cuts).read() });
                propagate(task, if saved.of_batch { sums } else { [0.0; 2] });
            },
        );
    } else {
        parallel::run(plan.tasks(), |task, _| propagate(task, [0.0; 2]));
    }
    BatchNorm2dGradients {
        input: wanted.input.then_some(result),
        affine: wanted.affine.then_some(affine_gradients),
        residual,
    }
}
