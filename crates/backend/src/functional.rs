//! The fused operations on tensors: what layers call.
//!
//! They panic where shapes do not fit together, with a text that names the operation and the operand.

mod checks;
mod predictions;

use burn::tensor::{Int, Tensor};

pub use self::predictions::{binary_cross_entropy, correct_count, cross_entropy};
use crate::{
    Backend, BatchNorm2d, Counts, DropoutMask, Lstm, LstmOutput, LstmPrimitives, Packing, PlaneMap,
    precision::{operand, result},
    primitive::{primitive, tensor},
};

/// How a convolution moves over its input; as in PyTorch's `conv2d` (no dilation, no groups).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv2dOptions {
    /// Rows and columns from one output to the next.
    pub stride: [usize; 2],
    /// Rows and columns of zeros at each side.
    pub padding: [usize; 2],
}

impl Conv2dOptions {
    /// Height and width of the output, by those of the input and of the kernel; zero where the
    /// kernel does not fit.
    pub fn output_size(&self, input: [usize; 2], kernel: [usize; 2]) -> [usize; 2] {
        std::array::from_fn(|axis| {
            positions(input[axis], self.padding[axis], kernel[axis], self.stride[axis])
        })
    }
}

/// How often a window of so many pixels fits along an axis; zero where it does not, as with a padding
/// that overflows.
fn positions(input: usize, padding: usize, window: usize, stride: usize) -> usize {
    let padded = padding.checked_mul(2).and_then(|both| both.checked_add(input));
    let room = padded.and_then(|padded| padded.checked_sub(window));
    room.map_or(0, |room| room / stride + 1)
}

impl Default for Conv2dOptions {
    fn default() -> Self {
        Self { stride: [1, 1], padding: [0, 0] }
    }
}

/// How pooling moves over its input; as in PyTorch's `max_pool2d` (no dilation, no ceiling).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolOptions {
    /// Rows and columns of a window.
    pub kernel: [usize; 2],
    /// Rows and columns from one window to the next.
    pub stride: [usize; 2],
    /// Rows and columns of padding at each side, which never hold a maximum.
    pub padding: [usize; 2],
}

impl PoolOptions {
    /// Height and width of the output, by those of the input; zero where no window fits.
    pub fn output_size(&self, input: [usize; 2]) -> [usize; 2] {
        std::array::from_fn(|axis| {
            positions(input[axis], self.padding[axis], self.kernel[axis], self.stride[axis])
        })
    }

    /// Square windows side by side.
    pub fn square(side: usize) -> Self {
        Self { kernel: [side; 2], stride: [side; 2], padding: [0; 2] }
    }
}

/// What batch normalisation normalises by.
#[derive(Clone, Debug)]
pub enum Normalization<B: Backend> {
    /// The batch's own mean and variance.
    Batch,
    /// Those of the batches of all processes that train together.
    BatchesOfAll(Counts),
    /// A mean and a variance from elsewhere, `[channels]` each, which get no gradients.
    Stored {
        /// The mean.
        mean: Tensor<B, 1>,
        /// The variance.
        variance: Tensor<B, 1>,
    },
}

/// The mean and the variance of a batch, `[channels]` each, without gradients.
#[derive(Clone, Debug)]
pub struct BatchStatistics<B: Backend> {
    /// The mean.
    pub mean: Tensor<B, 1>,
    /// The biased variance.
    pub variance: Tensor<B, 1>,
    /// The unbiased variance, which PyTorch's running variance averages, divided by the biased one;
    /// 1 if a channel has a single value.
    pub unbiased: f64,
}

/// The weights of one LSTM layer in PyTorch's layout: four gates (input, forget, cell, output)
/// stacked.
#[derive(Clone, Debug)]
pub struct LstmWeights<B: Backend> {
    /// `[4 hidden, inputs]`
    pub input: Tensor<B, 2>,
    /// `[4 hidden, hidden]`
    pub hidden: Tensor<B, 2>,
    /// `[4 hidden]`, the sum of PyTorch's two biases
    pub bias: Tensor<B, 1>,
}

/// The state of one LSTM layer, `[batch, hidden]` each.
#[derive(Clone, Debug)]
pub struct LstmState<B: Backend> {
    /// The cells.
    pub cell: Tensor<B, 2>,
    /// The last outputs.
    pub hidden: Tensor<B, 2>,
}

/// Convolution with bias, and ReLU if `rectified`. For groups of channels and dilation there is
/// Burn's own `conv2d`.
///
/// - `input`: `[batch, inputs, height, width]`
/// - `weight`: `[outputs, inputs, kernel height, kernel width]`
/// - `bias`: `[outputs]`
/// - returns: `[batch, outputs, height, width]` by PyTorch's `conv2d`
///
/// # Panics
///
/// If the shapes are not these, or the kernel does not fit into the padded input.
#[track_caller]
pub fn conv2d<B: Backend>(
    input: Tensor<B, 4>,
    weight: Tensor<B, 4>,
    bias: Option<Tensor<B, 1>>,
    options: &Conv2dOptions,
    rectified: bool,
) -> Tensor<B, 4> {
    let of_bias = bias.as_ref().map(Tensor::dims);
    checks::conv2d(input.dims(), weight.dims(), of_bias, options);
    let [input, weight] = [input, weight].map(operand);
    result(B::fused_conv2d(input, weight, bias.map(operand), options, rectified))
}

/// Convolution with bias, ReLU, and the maximum of windows of 2x2, in one operation that keeps no
/// full map.
///
/// - shapes as in [`conv2d`], height and width of the result halved, rounded down
///
/// # Panics
///
/// As [`conv2d`], and where the convolution's result is smaller than a window.
#[track_caller]
pub fn conv2d_relu_max_pool<B: Backend>(
    input: Tensor<B, 4>,
    weight: Tensor<B, 4>,
    bias: Tensor<B, 1>,
    options: &Conv2dOptions,
) -> Tensor<B, 4> {
    let ([batch, _, rows, columns], [outputs, _, height, width]) = (input.dims(), weight.dims());
    checks::conv2d(input.dims(), weight.dims(), Some(bias.dims()), options);
    let [rows, columns] = options.output_size([rows, columns], [height, width]);
    checks::max_pool2d([batch, outputs, rows, columns], &PoolOptions::square(2));
    let [input, weight] = [input, weight].map(operand);
    result(B::fused_conv2d_relu_max_pool(input, weight, operand(bias), options).0)
}

/// The maximum of each window.
///
/// - `input`: `[batch, channels, height, width]`
/// - returns: `[batch, channels, height, width]` by PyTorch's `max_pool2d`
///
/// # Panics
///
/// Where a window is larger than the padded input, or the padding than half a window.
#[track_caller]
pub fn max_pool2d<B: Backend>(input: Tensor<B, 4>, options: &PoolOptions) -> Tensor<B, 4> {
    checks::max_pool2d(input.dims(), options);
    tensor(B::fused_max_pool2d(primitive(input), options).0)
}

/// The maps twice, for two readers, whose gradients are added in the layout that convolutions return:
/// added in another one, they would be copied back.
pub fn forked<B: Backend>(maps: Tensor<B, 4>) -> [Tensor<B, 4>; 2] {
    if !B::CHANNELS_LAST {
        return [maps.clone(), maps];
    }
    let maps = maps.permute([0, 2, 3, 1]);
    [maps.clone(), maps].map(|maps| maps.permute([0, 3, 1, 2]))
}

/// The sum, `[1]`, in the same order each time, which Burn's `sum` does not promise on a GPU; where
/// gradients are recorded it is Burn's.
pub fn sum<B: Backend>(values: Tensor<B, 1>) -> Tensor<B, 1> {
    tensor(B::column_sums(primitive(values)))
}

/// Every `stride`th row and column of maps, in the middle of `channels` channels, the others being
/// zeros.
///
/// - `maps`: `[batch, inputs, height, width]`, with `inputs` at most `channels`
/// - returns: `[batch, channels, height / stride, width / stride]`, rounded up
///
/// # Panics
///
/// Where there are more inputs than `channels`, or the stride is 0.
#[track_caller]
pub fn subsample<B: Backend>(maps: Tensor<B, 4>, stride: usize, channels: usize) -> Tensor<B, 4> {
    let [_, inputs, ..] = maps.dims();
    assert!(
        stride > 0 && inputs <= channels,
        "subsample: {inputs} maps do not fit among {channels} channels, or the stride {stride} is 0"
    );
    tensor(B::fused_subsample(primitive(maps), stride, channels))
}

/// The mean of each map.
///
/// - `input`: `[batch, channels, height, width]`
/// - returns: `[batch, channels]`
pub fn global_average_pool<B: Backend>(input: Tensor<B, 4>) -> Tensor<B, 2> {
    tensor(B::fused_global_average_pool(primitive(input)))
}

/// Converts images held as bytes on the device to numbers between 0 and 1.
///
/// - `packed`: `[images, channels * height * width]`, or a quarter as many words, rounded up; see
///   [`Packing`]
/// - `indices`: `[batch]`, the images to take; all if `None`
/// - `shape`: `[channels, height, width]`
/// - returns: `[batch, channels, height, width]`
///
/// # Panics
///
/// Where an image has another number of bytes than `shape`.
///
/// [`Packing`]: crate::Packing
#[track_caller]
pub fn pixels<B: Backend>(
    packed: Tensor<B, 2, Int>,
    indices: Option<Tensor<B, 1, Int>>,
    shape: [usize; 3],
) -> Tensor<B, 4> {
    let ([images, _], bytes) = (packed.dims(), shape.iter().product::<usize>());
    let units = Packing::of_values(packed.dtype()).units(bytes);
    let given = format!("the shape {shape:?} of an image");
    checks::shape("pixels: the packed images", packed.dims(), [images, units], &given);
    let indices = indices.map(Tensor::into_primitive);
    tensor(B::fused_pixels(packed.into_primitive(), indices, shape))
}

/// Scales and shifts each channel of images. Gradients end here.
///
/// - `images`: `[batch, channels, height, width]`
/// - `factors`, `summands`: `[channels]`
/// - returns: the same shape
///
/// # Panics
///
/// Where there is not one factor and one summand for each channel.
#[track_caller]
pub fn normalized<B: Backend>(
    images: Tensor<B, 4>,
    [factors, summands]: [Tensor<B, 1>; 2],
) -> Tensor<B, 4> {
    let [_, channels, ..] = images.dims();
    for values in [&factors, &summands] {
        let what = "normalized: the factors or summands";
        checks::shape(what, values.dims(), [channels], "the channels of the images");
    }
    tensor(B::fused_normalized(primitive(images), [factors, summands].map(primitive)))
}

/// Transforms each image by its own map of the plane, sampled bilinearly, with zeros outside of the image, as
/// PyTorch's `grid_sample` does, but within the map's window, if it has one. Gradients end here.
///
/// - `images`: `[batch, channels, height, width]`
/// - `maps`: one per image
/// - returns: the same shape
///
/// # Panics
///
/// Where there is not one map for each image.
#[track_caller]
pub fn affine<B: Backend>(images: Tensor<B, 4>, maps: &[PlaneMap]) -> Tensor<B, 4> {
    let [batch, ..] = images.dims();
    assert!(maps.len() == batch, "affine: there are {} maps for {batch} images", maps.len());
    tensor(B::fused_affine(primitive(images), maps))
}

/// Batch normalisation, then `+ residual` if there is one, then ReLU if asked for.
///
/// - `input`, `residual`: `[batch, channels, height, width]`
/// - `scale`, `shift`: `[channels]`
/// - returns: the normalised maps, and the batch's statistics if it was normalised by them
///
/// # Panics
///
/// If the shapes are not these.
#[track_caller]
pub fn batch_norm2d<B: Backend>(
    input: Tensor<B, 4>,
    [scale, shift]: [Tensor<B, 1>; 2],
    by: Normalization<B>,
    epsilon: f64,
    residual: Option<Tensor<B, 4>>,
    rectified: bool,
) -> (Tensor<B, 4>, Option<BatchStatistics<B>>) {
    let [batch, channels, height, width] = input.dims();
    let per_channel = |what: &str, values: &Tensor<B, 1>| {
        let what = format!("batch_norm2d: the {what}");
        checks::shape(&what, values.dims(), [channels], "the channels of the input");
    };
    per_channel("scale", &scale);
    per_channel("shift", &shift);
    if let Normalization::Stored { mean, variance } = &by {
        per_channel("mean", mean);
        per_channel("variance", variance);
    }
    if let Some(residual) = &residual {
        checks::shape("batch_norm2d: the residual", residual.dims(), input.dims(), "the input");
    }
    let (stored, over_processes) = match by {
        Normalization::Batch => (None, None),
        Normalization::BatchesOfAll(counts) => (None, Some(counts)),
        Normalization::Stored { mean, variance } => (Some([mean, variance].map(primitive)), None),
    };
    let of_batch = stored.is_none();
    let output = B::fused_batch_norm2d(BatchNorm2d {
        input: primitive(input),
        scale: primitive(scale),
        shift: primitive(shift),
        stored,
        over_processes,
        residual: residual.map(primitive),
        epsilon,
        rectified,
    });
    let statistics = of_batch.then(|| {
        let count = output.over_processes.unwrap_or(batch * height * width);
        let unbiased = count as f64 / count.saturating_sub(1).max(1) as f64;
        BatchStatistics { mean: tensor(output.mean), variance: tensor(output.variance), unbiased }
    });
    (tensor(output.output), statistics)
}

/// One LSTM layer over a sequence.
///
/// - `input`: `[batch, time, inputs]`
/// - `state`: zeros if `None`
/// - returns: the output at each time, `[batch, time, hidden]`, and the state after the last
///
/// # Panics
///
/// Where the shapes are others than those of [`LstmWeights`] and [`LstmState`].
#[track_caller]
pub fn lstm<B: Backend>(
    input: Tensor<B, 3>,
    state: Option<LstmState<B>>,
    weights: &LstmWeights<B>,
) -> (Tensor<B, 3>, LstmState<B>) {
    checks::lstm(input.dims(), state.as_ref(), weights);
    let ([batch, time, _], [_, hidden]) = (input.dims(), weights.hidden.dims());
    if time == 0 {
        let zeros = || Tensor::zeros([batch, hidden], (&input.device(), input.dtype()));
        let outputs = Tensor::zeros([batch, 0, hidden], (&input.device(), input.dtype()));
        return (outputs, state.unwrap_or_else(|| LstmState { cell: zeros(), hidden: zeros() }));
    }
    let LstmOutput { outputs, state } = B::fused_lstm(Lstm {
        input: operand(input),
        input_weight: operand(weights.input.clone()),
        hidden_weight: operand(weights.hidden.clone()),
        bias: operand(weights.bias.clone()),
        state: state.map(|LstmState { cell, hidden }| LstmPrimitives {
            cell: operand(cell),
            hidden: operand(hidden),
        }),
    });
    let state = LstmState { cell: result(state.cell), hidden: result(state.hidden) };
    (result(outputs), state)
}

/// The products of matrices, pair by pair.
///
/// - `left`: `[.., rows, inner]`
/// - `right`: `[.., inner, columns]`
/// - returns: `[.., rows, columns]`
///
/// # Panics
///
/// Where the inner sizes differ, or the sizes before them do.
#[track_caller]
pub fn product<B: Backend, const D: usize>(
    left: Tensor<B, D>,
    right: Tensor<B, D>,
) -> Tensor<B, D> {
    checks::product(left.dims(), right.dims());
    tensor(B::product(primitive(left), primitive(right)))
}

/// A dense layer, and ReLU if `rectified`.
///
/// - `input`: `[batch, inputs]`
/// - `weight`: `[inputs, outputs]`, Burn's layout
/// - `bias`: `[outputs]`
/// - returns: `[batch, outputs]`
///
/// # Panics
///
/// If the shapes are not these.
#[track_caller]
pub fn linear<B: Backend>(
    input: Tensor<B, 2>,
    weight: Tensor<B, 2>,
    bias: Tensor<B, 1>,
    rectified: bool,
) -> Tensor<B, 2> {
    let ([batch, _], [inputs, outputs]) = (input.dims(), weight.dims());
    checks::shape("linear: the input", input.dims(), [batch, inputs], "the inputs of the weight");
    checks::shape("linear: the bias", bias.dims(), [outputs], "the outputs of the weight");
    result(B::fused_linear(operand(input), operand(weight), operand(bias), rectified))
}

/// Zeroes the elements that `mask` drops, and scales up the others to preserve the mean.
///
/// - `values`: `[batch, ..]`
/// - returns: the same shape
pub fn dropout<B: Backend, const D: usize>(
    values: Tensor<B, D>,
    mask: &DropoutMask,
) -> Tensor<B, D> {
    tensor(B::fused_dropout(primitive(values), mask))
}

/// The rows of a table by index.
///
/// - `table`: `[entries, width]`
/// - `indices`: `[batch, time]`, below `entries`; others give undefined rows on a GPU
/// - returns: `[batch, time, width]`
///
/// # Panics
///
/// On the CPU, if an index has no row.
#[track_caller]
pub fn embedding<B: Backend>(table: Tensor<B, 2>, indices: Tensor<B, 2, Int>) -> Tensor<B, 3> {
    let [entries, _] = table.dims();
    checks::indices("embedding: the index", &indices, entries, "rows of the table");
    tensor(B::fused_embedding(primitive(table), indices.into_primitive()))
}

/// The mean of the rows of a table by index, as PyTorch's `EmbeddingBag` has it with `mode="mean"` and
/// `padding_idx=0`: index 0 is no row, its entry gets no gradient, and the mean of no row is zeros.
///
/// - `table`: `[entries, width]`
/// - `indices`: `[batch, time]`, below `entries`; others give undefined means on a GPU
/// - returns: `[batch, width]`
///
/// # Panics
///
/// On the CPU, if an index has no row.
#[track_caller]
pub fn embedding_mean<B: Backend>(table: Tensor<B, 2>, indices: Tensor<B, 2, Int>) -> Tensor<B, 2> {
    let [entries, _] = table.dims();
    checks::indices("embedding_mean: the index", &indices, entries, "rows of the table");
    tensor(B::fused_embedding_mean(primitive(table), indices.into_primitive()))
}
