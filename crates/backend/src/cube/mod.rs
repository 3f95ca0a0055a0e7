//! The operations that CUDA and WGPU do themselves, by kernels that CubeCL compiles for either.
//!
//! A kernel is worth its lines where Burn would launch one small kernel after another, each of which takes
//! longer to launch than to run and reads and writes everything, or where one of Burn's does with one
//! unit what many could do.
//!
//! They replace several of Burn's for:
//!
//! - the updates of optimizers and moving averages, many parameters at a time;
//! - batch normalisation, both cross-entropies, and dropout, whose mask is drawn where it is applied;
//! - all steps of an LSTM layer's recurrence, which keeps as many weights on the chip as there is room for,
//!   the mean of a text's embeddings, and their gradients;
//! - pooling with the ReLU before it, bias with the ReLU after it, and ResNet's shortcut without weights;
//! - the conversion of image bytes to numbers, their crops, flips and rotations, and their normalisation;
//! - sums of columns, such as a bias's gradient, the check that an update is finite, and the count of
//!   correct predictions.
//!
//! Others divide or choose work better than Burn's: products of matrices, and convolutions with their
//! gradients.
//!
//! They take plain arrays: CubeCL would upload a tensor's strides before each launch.
//!
//! Sums are made in an order that follows from shapes and from how tensors lie in memory, without
//! atomics, so a run can be repeated bit for bit.

// One operation per file.
mod adam;
mod affine;
mod batch_norm2d;
mod binary_cross_entropy;
mod column_sums;
mod conv2d;
mod correct_count;
mod cross_entropy;
mod divergence;
mod dropout;
mod embedding;
mod embedding_mean;
mod linear;
mod lstm;
mod max_pool2d;
mod moving_averages;
mod pixels;
mod product;
mod rescale;
mod rms_prop;
mod sgd;
mod square_sums;
mod subsample;
mod update;

// What kernels are made of.
mod buffers;
mod extent;
mod lanes;
mod layout;
mod taken;

pub use self::{
    conv2d::{convolution_gradients_by_each, convolutions_by_each, winograd},
    lstm::{backward as lstm_backward, forward as lstm_forward},
    product::by_each as products_by_each,
};

use burn::tensor::{
    Shape, TensorMetadata,
    ops::{ActivationOps, FloatTensor, FloatTensorOps, IntTensor},
};
use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime, FloatElement, IntElement};

use crate::{
    Backend, BatchNorm2d, BatchNorm2dGradients, BatchNorm2dOutput, BatchNorm2dSaved,
    Conv2dGradients, Conv2dSaved, DropoutMask, LinearGradients, LinearSaved, Lstm, LstmGradients,
    LstmOutput, LstmOutputGradients, LstmSaved, Parameter, PlaneMap, UpdateRule, Updated,
    conv2d_relu_max_pool,
    functional::{Conv2dOptions, PoolOptions},
    overrides::note_taken,
};

use self::taken::{can_be_counted, noted, pooled, taken, takes, takes_any_float};

/// An operation on maps element by element, which Burn would list with the channels before the rows
/// otherwise, so that the next convolution copied them.
fn channels_last<B: Backend>(
    maps: FloatTensor<B>,
    operation: impl FnOnce(FloatTensor<B>) -> FloatTensor<B>,
) -> FloatTensor<B> {
    let done = operation(B::float_permute(maps, &[0, 2, 3, 1]));
    B::float_permute(done, &[0, 3, 1, 2])
}

impl<R, F, I, T> Backend for CubeBackend<R, F, I, T>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    T: BoolElement,
{
    const CHANNELS_LAST: bool = true;
    const IS_SYNCHRONOUS: bool = false;

    fn memory_in_use(device: &Self::Device) -> Option<u64> {
        R::client(device).memory_usage().ok().map(|usage| usage.bytes_reserved)
    }

    fn fused_update(
        parameters: Vec<Parameter<Self>>,
        diverged: FloatTensor<Self>,
        rule: &UpdateRule,
    ) -> Vec<Updated<Self>> {
        if !taken(parameters.iter().flat_map(|one| [&one.weight, &one.gradient])) {
            return crate::update::composed(parameters, diverged, rule);
        }
        update::update(parameters, &diverged, rule)
    }

    fn fused_moving_averages(
        pairs: Vec<[FloatTensor<Self>; 2]>,
        share: f64,
        factor: f64,
    ) -> Vec<FloatTensor<Self>> {
        if pairs.is_empty() || !taken(pairs.iter().flatten()) {
            return crate::moving_averages::composed::<Self>(pairs, share, factor);
        }
        moving_averages::moving_averages(&pairs, [share, factor])
    }

    fn fused_rescale(
        values: Vec<FloatTensor<Self>>,
        factor: FloatTensor<Self>,
    ) -> Vec<FloatTensor<Self>> {
        if !taken(values.iter().chain([&factor])) {
            return crate::rescale::composed::<Self>(values, factor);
        }
        rescale::rescale(values, &factor)
    }

    fn fused_square_sums(values: Vec<FloatTensor<Self>>) -> FloatTensor<Self> {
        if !taken(&values) {
            return crate::square_sums::composed::<Self>(values);
        }
        square_sums::square_sums(values)
    }

    fn fused_divergence(
        square_sums: FloatTensor<Self>,
        loss: FloatTensor<Self>,
        diverged: FloatTensor<Self>,
        largest_norm: Option<f64>,
    ) -> [FloatTensor<Self>; 2] {
        if !taken([&square_sums, &loss, &diverged]) {
            return crate::divergence::composed::<Self>(square_sums, loss, diverged, largest_norm);
        }
        divergence::judged([square_sums, loss, diverged], largest_norm)
    }

    fn laid_out(values: FloatTensor<Self>) -> FloatTensor<Self> {
        if values.shape().num_dims() == 4 { layout::channels_last(values) } else { values }
    }

    fn fused_linear(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        rectified: bool,
    ) -> FloatTensor<Self> {
        let outputs = input.shape()[0].saturating_mul(weight.shape()[1]);
        if !noted(takes_any_float(&input) && can_be_counted(outputs)) {
            return crate::linear::composed::<Self>(input, weight, bias, rectified);
        }
        linear::with_bias(product::product(input, weight), bias, rectified)
    }

    fn fused_linear_backward(
        saved: LinearSaved<Self>,
        gradient: FloatTensor<Self>,
    ) -> LinearGradients<Self> {
        if !noted(takes_any_float(&gradient)) {
            return crate::linear::composed_backward(saved, gradient);
        }
        let gradient = match saved.output.clone() {
            Some(output) => linear::before_relu(output, gradient),
            None => gradient,
        };
        crate::linear::of_sums(saved, gradient)
    }

    fn column_sums(values: FloatTensor<Self>) -> FloatTensor<Self> {
        let width = values.shape().iter().skip(1).product();
        let shape = [values.shape()[0], width];
        let values = Self::float_reshape(values, shape.into());
        let sums = if takes_any_float(&values) && column_sums::takes_columns(width) {
            let dtype = values.dtype();
            column_sums::column_sums(values, dtype)
        } else {
            Self::float_sum_dim(values, 0)
        };
        Self::float_reshape(sums, [width].into())
    }

    fn product(left: FloatTensor<Self>, right: FloatTensor<Self>) -> FloatTensor<Self> {
        product::product(left, right)
    }

    fn fused_batch_norm2d(layer: BatchNorm2d<Self>) -> BatchNorm2dOutput<Self> {
        if !taken([&layer.input, &layer.scale]) {
            return crate::batch_norm2d::composed(layer);
        }
        batch_norm2d::forward(layer)
    }

    fn fused_batch_norm2d_backward(
        saved: BatchNorm2dSaved<Self>,
        gradient: FloatTensor<Self>,
    ) -> BatchNorm2dGradients<Self> {
        let binds = buffers::binds(&gradient.client, batch_norm2d::MOST_ARRAYS);
        if !binds || !taken([&saved.input, &gradient]) {
            return crate::batch_norm2d::composed_backward(saved, gradient);
        }
        batch_norm2d::backward(saved, gradient)
    }

    fn fused_conv2d(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: Option<FloatTensor<Self>>,
        options: &Conv2dOptions,
        rectified: bool,
    ) -> FloatTensor<Self> {
        let maps = conv2d_relu_max_pool::map_shape(&input.shape(), &weight.shape(), options);
        let takes = takes_any_float(&input) && can_be_counted(maps.num_elements());
        match bias {
            Some(bias) if rectified && takes => {
                let sums = conv2d::forward::<R, Self>(input, weight, None, options);
                channels_last::<Self>(sums, |sums| linear::with_bias(sums, bias, true))
            }
            bias => {
                let output = conv2d::forward::<R, Self>(input, weight, bias, options);
                if rectified { channels_last::<Self>(output, Self::relu) } else { output }
            }
        }
    }

    fn fused_conv2d_backward(
        mut saved: Conv2dSaved<Self>,
        mut gradient: FloatTensor<Self>,
    ) -> Conv2dGradients<Self> {
        if let Some(output) = saved.output.take() {
            let output = Self::float_permute(output, &[0, 2, 3, 1]);
            gradient =
                channels_last::<Self>(gradient, |gradient| match takes_any_float(&gradient) {
                    true => linear::before_relu(output, gradient),
                    false => Self::relu_backward(output, gradient),
                });
        }
        conv2d::gradients(saved, gradient)
    }

    fn fused_conv2d_relu_max_pool(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        options: &Conv2dOptions,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        let maps = conv2d_relu_max_pool::map_shape(&input.shape(), &weight.shape(), options);
        if !pooled(&maps, [&input, &weight]) {
            return conv2d_relu_max_pool::composed::<Self>(input, weight, bias, options);
        }
        let maps = conv2d::forward::<R, Self>(input, weight, None, options);
        max_pool2d::forward(maps, Some(bias))
    }

    fn fused_conv2d_relu_max_pool_backward(
        saved: Conv2dSaved<Self>,
        indices: IntTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> Conv2dGradients<Self> {
        let Conv2dSaved { input, weight, options, .. } = &saved;
        let maps = conv2d_relu_max_pool::map_shape(&input.shape(), &weight.shape(), options);
        if !pooled(&maps, [input, weight]) {
            return conv2d_relu_max_pool::composed_backward(saved, indices, gradient);
        }
        let gradient = max_pool2d::backward(indices, gradient, maps.dims());
        conv2d::gradients(saved, gradient)
    }

    fn fused_max_pool2d(
        input: FloatTensor<Self>,
        options: &PoolOptions,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        if *options != PoolOptions::square(2) || !pooled(&input.shape(), [&input]) {
            return crate::max_pool2d::composed::<Self>(input, options);
        }
        max_pool2d::forward(input, None)
    }

    fn fused_max_pool2d_backward(
        indices: IntTensor<Self>,
        gradient: FloatTensor<Self>,
        input: Shape,
        options: &PoolOptions,
    ) -> FloatTensor<Self> {
        if *options != PoolOptions::square(2) || !pooled(&input, [&gradient]) {
            return crate::max_pool2d::composed_backward::<Self>(indices, gradient, input, options);
        }
        max_pool2d::backward(indices, gradient, input.dims())
    }

    fn fused_subsample(
        maps: FloatTensor<Self>,
        stride: usize,
        channels: usize,
    ) -> FloatTensor<Self> {
        let [batch, _, rows, columns] = maps.shape().dims();
        let results = batch * channels * rows.div_ceil(stride) * columns.div_ceil(stride);
        if !noted(takes_any_float(&maps) && can_be_counted(results)) {
            return crate::subsample::composed::<Self>(maps, stride, channels);
        }
        subsample::forward(maps, stride, channels)
    }

    fn fused_subsample_backward(
        gradient: FloatTensor<Self>,
        input: Shape,
        stride: usize,
    ) -> FloatTensor<Self> {
        if !noted(takes_any_float(&gradient) && can_be_counted(input.num_elements())) {
            return crate::subsample::composed_backward::<Self>(gradient, input, stride);
        }
        subsample::backward(gradient, input.dims(), stride)
    }

    fn fused_global_average_pool(input: FloatTensor<Self>) -> FloatTensor<Self> {
        let [batch, channels, _, _] = input.shape().dims();
        let takes = takes_any_float(&input) && column_sums::takes_columns(channels);
        if !noted(takes && batch <= buffers::MOST_CUBES) {
            return crate::global_average_pool::composed::<Self>(input);
        }
        column_sums::column_means(layout::places::<Self>(input))
    }

    fn fused_pixels(
        packed: IntTensor<Self>,
        indices: Option<IntTensor<Self>>,
        shape: [usize; 3],
    ) -> FloatTensor<Self> {
        let images = indices.as_ref().map_or(packed.shape()[0], |indices| indices.shape()[0]);
        let numbers = images * shape.iter().product::<usize>();
        if !can_be_counted(numbers) || !can_be_counted(packed.shape().num_elements()) {
            return crate::pixels::composed::<Self>(packed, indices, shape);
        }
        note_taken();
        pixels::images(packed, indices, shape)
    }

    fn fused_normalized(
        images: FloatTensor<Self>,
        [factors, summands]: [FloatTensor<Self>; 2],
    ) -> FloatTensor<Self> {
        if ![&images, &factors, &summands].into_iter().all(takes) {
            return crate::normalized::composed::<Self>(images, [factors, summands]);
        }
        channels_last::<Self>(images, |images| pixels::normalized([images, factors, summands]))
    }

    fn fused_affine(images: FloatTensor<Self>, maps: &[PlaneMap]) -> FloatTensor<Self> {
        if !taken([&images]) {
            return crate::affine::composed::<Self>(images, maps);
        }
        let [_, _, height, width] = images.shape().dims();
        let numbers = crate::affine::numbers(maps, [width, height]);
        let numbers = Self::float_from_data(numbers, &Self::float_device(&images));
        affine::forward(images, numbers)
    }

    fn fused_dropout(values: FloatTensor<Self>, mask: &DropoutMask) -> FloatTensor<Self> {
        match takes(&values).then(|| dropout::apply(&values, *mask)).flatten() {
            Some(dropped) => {
                note_taken();
                dropped
            }
            None => crate::dropout::composed::<Self>(values, mask),
        }
    }

    fn fused_lstm_saving(layer: Lstm<Self>) -> (LstmOutput<Self>, Vec<FloatTensor<Self>>) {
        if !lstm::takes(&layer.hidden_weight, layer.input.shape().dims()) {
            return crate::lstm::composed(layer);
        }
        let units = lstm::units(&layer.input);
        lstm::forward(layer, units)
    }

    fn fused_lstm_backward(
        saved: LstmSaved<Self>,
        gradients: LstmOutputGradients<Self>,
    ) -> LstmGradients<Self> {
        if !lstm::takes(&saved.hidden_weight, saved.shape) {
            return crate::lstm::composed_backward(saved, gradients);
        }
        let units = lstm::units(&saved.hidden_weight);
        lstm::backward(saved, gradients, units)
    }

    fn fused_embedding_backward(
        entries: usize,
        indices: IntTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let [_, _, width] = gradient.shape().dims();
        if !can_be_counted(entries.saturating_mul(width)) || !taken([&gradient]) {
            return crate::embedding::composed_backward::<Self>(entries, indices, gradient);
        }
        embedding::backward(entries, indices, gradient, width, 1, 0)
    }

    fn fused_embedding_mean(
        table: FloatTensor<Self>,
        indices: IntTensor<Self>,
    ) -> FloatTensor<Self> {
        if !embedding_mean::takes(&indices.shape()) || !taken([&table]) {
            return crate::embedding_mean::composed::<Self>(table, indices);
        }
        embedding_mean::forward(table, indices)
    }

    fn fused_embedding_mean_backward(
        entries: usize,
        indices: IntTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let [_, width] = gradient.shape().dims();
        let counted = can_be_counted(entries.saturating_mul(width));
        if !counted || !embedding_mean::takes(&indices.shape()) || !taken([&gradient]) {
            return crate::embedding_mean::composed_backward::<Self>(entries, indices, gradient);
        }
        embedding_mean::backward(entries, indices, gradient)
    }

    fn fused_cross_entropy(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        if !taken([&logits]) {
            return crate::cross_entropy::composed::<Self>(logits, targets);
        }
        cross_entropy::forward(logits, targets)
    }

    fn fused_cross_entropy_backward(
        probabilities: FloatTensor<Self>,
        targets: IntTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        if !taken([&probabilities, &gradient]) {
            return crate::cross_entropy::composed_backward::<Self>(
                probabilities,
                targets,
                gradient,
            );
        }
        cross_entropy::backward(probabilities, targets, gradient)
    }

    fn fused_correct_count(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
        so_far: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        if !taken([&logits, &so_far]) {
            return crate::correct_count::composed::<Self>(logits, targets, so_far);
        }
        correct_count::correct_count(logits, targets, so_far)
    }

    fn fused_binary_cross_entropy(
        logits: FloatTensor<Self>,
        targets: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        if !taken([&logits, &targets]) {
            return crate::binary_cross_entropy::composed::<Self>(logits, targets);
        }
        binary_cross_entropy::forward([logits, targets])
    }

    fn fused_binary_cross_entropy_backward(
        logits: FloatTensor<Self>,
        targets: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        if !taken([&logits, &targets, &gradient]) {
            return crate::binary_cross_entropy::composed_backward::<Self>(
                logits, targets, gradient,
            );
        }
        binary_cross_entropy::backward([logits, targets, gradient])
    }
}
