//! Batch normalisation (Ioffe and Szegedy, 2015), optionally with a residual and ReLU.
//!
//! ```text
//! normal = (input - mean) / sqrt(variance + epsilon)
//! output = relu(scale * normal + shift + residual)
//! ```
//!
//! Backward, with `d` the gradient of the output, masked by ReLU:
//!
//! ```text
//! d shift = sum(d),  d scale = sum(d * normal),  d residual = d
//! d input = scale / sqrt(variance + epsilon) * (d - (d shift + normal * d scale) / count)
//! ```
//!
//! without the subtraction if mean and variance are stored ones.
//!
//! Overrides: Flex (`flex/batch_norm2d/`), CUDA and WGPU (`cube/batch_norm2d/`).

use burn::backend::autodiff::{Autodiff, checkpoint::strategy::CheckpointStrategy, ops::OpsKind};
use burn::tensor::{Tensor, backend::AutodiffBackend, ops::FloatTensor};

use crate::{
    Backend, batch_statistics,
    overrides::note_composed,
    primitive::{channel_sums, primitive, relu, relu_backward, tensor},
    tape,
};

/// What is normalised, and how.
#[derive(Clone, Debug)]
pub struct BatchNorm2d<B: Backend> {
    /// `[batch, channels, height, width]`
    pub input: FloatTensor<B>,
    /// `[channels]`
    pub scale: FloatTensor<B>,
    /// `[channels]`
    pub shift: FloatTensor<B>,
    /// Mean and variance, `[channels]` each, without gradients; `None` for the batch's own.
    pub stored: Option<[FloatTensor<B>; 2]>,
    /// If none are stored: use those over the batches of all processes, and whether this one's
    /// counts. Only where gradients are recorded.
    pub over_processes: Option<Counts>,
    /// Added after the normalisation, of the input's shape.
    pub residual: Option<FloatTensor<B>>,
    /// Added to the variance.
    pub epsilon: f64,
    /// Whether ReLU follows.
    pub rectified: bool,
}

/// Whether this process's batch counts in the statistics over all processes: not if it only stands
/// in for an empty share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts(pub bool);

/// The normalised batch, and what it was normalised by.
#[derive(Clone, Debug)]
pub struct BatchNorm2dOutput<B: Backend> {
    /// `[batch, channels, height, width]`
    pub output: FloatTensor<B>,
    /// `[channels]`, without gradient
    pub mean: FloatTensor<B>,
    /// `[channels]`, the biased variance, without gradient
    pub variance: FloatTensor<B>,
    /// Values per channel in the batches of all processes, if mean and variance are over those.
    pub over_processes: Option<usize>,
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
pub struct BatchNorm2dSaved<B: Backend> {
    /// `[batch, channels, height, width]`
    pub input: FloatTensor<B>,
    /// `[channels]`
    pub scale: FloatTensor<B>,
    /// `[channels]`
    pub shift: FloatTensor<B>,
    /// `[channels]`
    pub mean: FloatTensor<B>,
    /// `[channels]`, biased
    pub variance: FloatTensor<B>,
    /// Whether mean and variance are the batch's own, so that the gradient goes through them too.
    pub of_batch: bool,
    /// Added to the variance.
    pub epsilon: f64,
    /// Whether ReLU followed.
    pub rectified: bool,
    /// The output, if ReLU followed a residual; otherwise ReLU's mask is recomputed.
    pub output: Option<FloatTensor<B>>,
    /// Which gradients are wanted.
    pub wanted: BatchNorm2dWanted,
}

/// Which gradients of batch normalisation are wanted.
#[derive(Clone, Copy, Debug)]
pub struct BatchNorm2dWanted {
    /// Of the input.
    pub input: bool,
    /// Of scale or shift.
    pub affine: bool,
    /// Of the residual.
    pub residual: bool,
}

/// The gradients of batch normalisation that were wanted.
#[derive(Clone, Debug)]
pub struct BatchNorm2dGradients<B: Backend> {
    /// `[batch, channels, height, width]`
    pub input: Option<FloatTensor<B>>,
    /// Of scale and shift, `[channels]` each.
    pub affine: Option<[FloatTensor<B>; 2]>,
    /// `[batch, channels, height, width]`
    pub residual: Option<FloatTensor<B>>,
}

/// `[channels]`, shaped to broadcast over maps.
fn per_channel<B: Backend>(values: Tensor<B, 1>) -> Tensor<B, 4> {
    let [channels] = values.dims();
    values.reshape([1, channels, 1, 1])
}

/// The number of values per channel, at least one, since sums are divided by it.
fn values_of_channel<B: Backend>(input: &Tensor<B, 4>) -> f64 {
    let [batch, _, height, width] = input.dims();
    (batch * height * width).max(1) as f64
}

pub(crate) fn composed<B: Backend>(layer: BatchNorm2d<B>) -> BatchNorm2dOutput<B> {
    note_composed();
    let input = tensor::<B, 4>(layer.input);
    let [mean, variance] = layer.stored.map(|stored| stored.map(tensor)).unwrap_or_else(|| {
        let count = values_of_channel(&input);
        let mean = channel_sums(input.clone()) / count;
        let centered = input.clone() - per_channel(mean.clone());
        [mean, channel_sums(centered.clone() * centered) / count]
    });
    let factor = tensor::<B, 1>(layer.scale) / (variance.clone() + layer.epsilon).sqrt();
    let centered = input - per_channel(mean.clone());
    let mut output = centered * per_channel(factor) + per_channel(tensor(layer.shift));
    if let Some(residual) = layer.residual {
        output = output + tensor(residual);
    }
    if layer.rectified {
        output = relu(output);
    }
    BatchNorm2dOutput {
        output: primitive(output),
        mean: primitive(mean),
        variance: primitive(variance),
        over_processes: None,
    }
}

pub(crate) fn composed_backward<B: Backend>(
    saved: BatchNorm2dSaved<B>,
    gradient: FloatTensor<B>,
) -> BatchNorm2dGradients<B> {
    note_composed();
    let input = tensor::<B, 4>(saved.input);
    let count = values_of_channel(&input);
    let deviation = (tensor::<B, 1>(saved.variance) + saved.epsilon).sqrt();
    // Not `recip`, which ndarray computes to twelve bits.
    let inverse_deviation = deviation.ones_like() / deviation;
    let centered = input - per_channel(tensor(saved.mean));
    let normal = centered * per_channel(inverse_deviation.clone());
    let scale = tensor::<B, 1>(saved.scale);

    let mut gradient = tensor::<B, 4>(gradient);
    if saved.rectified {
        let output = saved.output.map(tensor).unwrap_or_else(|| {
            normal.clone() * per_channel(scale.clone()) + per_channel(tensor(saved.shift))
        });
        gradient = relu_backward(output, gradient);
    }
    let residual = saved.wanted.residual.then(|| primitive(gradient.clone()));
    if !saved.wanted.input && !saved.wanted.affine {
        return BatchNorm2dGradients { input: None, affine: None, residual };
    }

    let shift_gradient = channel_sums(gradient.clone());
    let scale_gradient = channel_sums(gradient.clone() * normal.clone());
    let input = saved.wanted.input.then(|| {
        if saved.of_batch {
            let through_mean = per_channel(shift_gradient.clone() / count);
            let through_variance = normal * per_channel(scale_gradient.clone() / count);
            gradient = gradient - through_mean - through_variance;
        }
        primitive(gradient * per_channel(scale * inverse_deviation))
    });
    let affine = saved.wanted.affine.then(|| [scale_gradient, shift_gradient].map(primitive));
    BatchNorm2dGradients { input, affine, residual }
}

pub(crate) fn recorded<B: Backend, C: CheckpointStrategy>(
    layer: BatchNorm2d<Autodiff<B, C>>,
) -> BatchNorm2dOutput<Autodiff<B, C>> {
    let constant = |primitive| Autodiff::<B, C>::from_inner(primitive);
    let no_residual = constant(layer.shift.primitive.clone());
    let parents =
        [&layer.input, &layer.scale, &layer.shift, layer.residual.as_ref().unwrap_or(&no_residual)];
    let recording = tape::begin::<B, C, _, 4>(parents, recorded_backward::<B>);
    let [input, scale, shift, residual] = parents.map(|parent| parent.is_tracked());
    let wanted = BatchNorm2dWanted { input, affine: scale || shift, residual };
    let layer = without_tape(layer);
    let (found, output) = match recording {
        OpsKind::Tracked(operation) => {
            let (found, state) = saving(layer, wanted);
            let output = found.output.clone();
            (found, operation.finish(state, output))
        }
        OpsKind::UnTracked(operation) => {
            let found = B::fused_batch_norm2d(layer);
            let output = found.output.clone();
            (found, operation.finish(output))
        }
    };
    let [mean, variance] = [found.mean, found.variance].map(constant);
    BatchNorm2dOutput { output, mean, variance, over_processes: found.over_processes }
}

fn without_tape<B: Backend, C: CheckpointStrategy>(
    layer: BatchNorm2d<Autodiff<B, C>>,
) -> BatchNorm2d<B> {
    BatchNorm2d {
        input: layer.input.primitive,
        scale: layer.scale.primitive,
        shift: layer.shift.primitive,
        stored: layer.stored.map(|stored| stored.map(|statistic| statistic.primitive)),
        over_processes: layer.over_processes,
        residual: layer.residual.map(|residual| residual.primitive),
        epsilon: layer.epsilon,
        rectified: layer.rectified,
    }
}

/// What the backward pass reads; the number of values per channel if the statistics are over several processes,
/// and whether those of this batch are among them.
type Recorded<B> = (BatchNorm2dSaved<B>, Option<(usize, Counts)>);

/// The normalised batch, and what is recorded.
fn saving<B: Backend>(
    layer: BatchNorm2d<B>,
    wanted: BatchNorm2dWanted,
) -> (BatchNorm2dOutput<B>, Recorded<B>) {
    let [input, scale, shift] = [&layer.input, &layer.scale, &layer.shift].map(Clone::clone);
    let (epsilon, rectified, of_batch) = (layer.epsilon, layer.rectified, layer.stored.is_none());
    let keeps_output = rectified && layer.residual.is_some();
    let counts = layer.over_processes;
    let found = match counts {
        Some(counts) if of_batch && batch_statistics::has_others() => {
            batch_statistics::forward(layer, counts)
        }
        _ => B::fused_batch_norm2d(layer),
    };
    let saved = BatchNorm2dSaved {
        input,
        scale,
        shift,
        mean: found.mean.clone(),
        variance: found.variance.clone(),
        of_batch,
        epsilon,
        rectified,
        output: keeps_output.then(|| found.output.clone()),
        wanted,
    };
    let shared = found.over_processes.zip(counts);
    (found, (saved, shared))
}

/// The gradients of input, scale, shift and residual.
fn recorded_backward<B: Backend>(
    (saved, shared): Recorded<B>,
    gradient: FloatTensor<B>,
) -> [Option<FloatTensor<B>>; 4] {
    let BatchNorm2dGradients { input, affine, residual } = match shared {
        None => B::fused_batch_norm2d_backward(saved, gradient),
        Some((count, counts)) => batch_statistics::backward(saved, gradient, count, counts),
    };
    let [scale, shift] = affine.map_or([None, None], |affine| affine.map(Some));
    [input, scale, shift, residual]
}
