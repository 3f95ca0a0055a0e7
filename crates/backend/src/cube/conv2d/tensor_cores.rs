//! Convolutions on tensor cores, by those of cubek's kernels that are worth a try.
//!
//! Burn's autotune tries eight, each of which takes half a second to compile. Of those, at the shapes of the
//! recipes on an H200, the direct kernel was slower wherever there are more than a few channels, and those
//! that copy by the tensor memory accelerator were faster at some shapes of 32 channels and more. They are
//! tried there, and with them one that Burn does not try, whose planes copy or multiply; it was not timed.
//! Where there are many channels, Winograd's algorithm ([`winograd`]) is tried as well.

use std::fmt;

use burn::tensor::DType;
use burn_cubecl::{
    CubeRuntime, CubeTuneId,
    cubecl::{
        features::Tma,
        tune::{AutotuneKey, LocalTuner, Tunable, TunableSet, TuneGroup, anchor},
    },
    kernel::into_contiguous,
    ops::{permute_nchw_to_nhwc, permute_nhwc_to_nchw},
    tensor::CubeTensor,
};
use cubek::{
    convolution::{
        AcceleratedTileKind::{self, Cmma, Mma},
        ConvAlgorithm::{
            self, SimpleAsyncTma, SimpleSyncCyclic, SimpleSyncStrided, SpecializedTma,
        },
        ConvolutionArgs, ConvolutionInputs, Strategy, launch_ref,
    },
    std::InputBinding,
};
use serde::{Deserialize, Serialize};

use super::winograd;
use crate::{
    cube::{
        buffers::empty,
        can_be_counted,
        product::{has_tensor_cores, of_one_type, only, tuner},
        subsample,
    },
    functional::Conv2dOptions,
};

/// How a kernel copies, and by which instructions it multiplies.
type Kernel = (ConvAlgorithm, AcceleratedTileKind);

const CMMA: Kernel = (SimpleSyncCyclic, Cmma);
const MMA: Kernel = (SimpleSyncStrided, Mma);
/// Those that copy by the tensor memory accelerator.
const ACCELERATED: [Kernel; 3] =
    [(SimpleAsyncTma, Cmma), (SimpleAsyncTma, Mma), (SpecializedTma, Mma)];

/// What the choice of a kernel depends on; the size of maps and their number up to the next power of two. Both
/// tuners have a name, and so a [file](tuner) for their choices: a convolution and the gradient of an input may
/// have equal keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Key {
    dtype: DType,
    /// Batch, height and width of the maps that are read.
    maps: [usize; 3],
    weight: [usize; 4],
    /// Stride and padding.
    moves: [[usize; 2]; 2],
    bias: bool,
    /// Whether the device has a tensor memory accelerator.
    accelerator: bool,
}

impl AutotuneKey for Key {}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self:?}")
    }
}

impl Key {
    fn of<R: CubeRuntime>(
        maps: &CubeTensor<R>,
        weight: &CubeTensor<R>,
        options: &Conv2dOptions,
        bias: bool,
    ) -> Self {
        let [batch, _, height, width] = maps.meta.shape().dims();
        Self {
            dtype: maps.dtype,
            maps: [batch, height, width].map(|count| anchor(count, None, None, None)),
            weight: weight.meta.shape().dims(),
            moves: [options.stride, options.padding],
            bias,
            accelerator: maps.client.properties().features.tma.contains(Tma::Base),
        }
    }

    /// Whether the tensor memory accelerator takes the maps, which wants rows of 16 bytes and has eight bits
    /// for a window's borders and three for its steps, and may pay.
    fn is_accelerated(&self) -> bool {
        const SOME: usize = 32;
        const BORDER: usize = 127;
        const STEP: usize = 8;
        let [stride, padding] = self.moves;
        let [_, inputs, rows, columns] = self.weight;
        self.accelerator
            && inputs >= SOME
            && (inputs * self.dtype.size()).is_multiple_of(16)
            && padding.into_iter().chain([rows - 1, columns - 1]).all(|places| places <= BORDER)
            && stride.into_iter().all(|places| places <= STEP)
    }

    /// Whether Winograd's algorithm may pay, which reads and writes four times the maps besides: of 64 channels
    /// an H200's memory takes longer for that than its tensor cores for all multiplications.
    fn has_many_channels(&self) -> bool {
        const MANY: usize = 128;
        let [outputs, inputs, ..] = self.weight;
        self.dtype == DType::F32
            && outputs.min(inputs) >= MANY
            && winograd::takes(self.maps, self.weight, self.moves)
    }

    /// Whether it may pay to do so with few tiles at a time, where these are not all and at least a hundredth.
    fn has_many_tiles(&self) -> bool {
        let bytes = winograd::bytes(self.maps, self.weight);
        self.has_many_channels() && (1..=100).contains(&(bytes / winograd::CACHED))
    }
}

/// Input, weight, bias, and how the convolution moves.
type Forward<R> = (CubeTensor<R>, CubeTensor<R>, Option<CubeTensor<R>>, Conv2dOptions);

/// Convolution without ReLU.
pub(super) fn forward<R: CubeRuntime>(
    input: CubeTensor<R>,
    weight: CubeTensor<R>,
    bias: Option<CubeTensor<R>>,
    options: &Conv2dOptions,
) -> CubeTensor<R> {
    static TUNER: LocalTuner<Key, CubeTuneId> = tuner!("forward");
    let candidates = TUNER.init(|| {
        let direct = |(input, weight, bias, options): Forward<R>| {
            Ok::<_, String>(super::forward_directly(input, weight, bias, &options))
        };
        let by = |kernel| move |inputs: Forward<R>| forward_by(kernel, inputs);
        let by_winograd = |room| {
            move |(input, weight, bias, options): Forward<R>| {
                Ok::<_, String>(winograd::forward(input, weight, bias, options.padding, room))
            }
        };
        let all = TuneGroup::new("all", |_: &Key| 1);
        let set = TunableSet::new(key_of::<R>, |_: &Key, inputs: &Forward<R>| inputs.clone())
            .with(Tunable::new("direct", direct).group(&all, |_| 1))
            .with(Tunable::new("cmma", by(CMMA)).group(&all, |_| 1))
            .with(Tunable::new("mma", by(MMA)).group(&all, |_| 1))
            .with(
                Tunable::new("winograd", by_winograd(winograd::ROOM))
                    .group(&all, only(Key::has_many_channels)),
            )
            .with(
                Tunable::new("cached-winograd", by_winograd(winograd::CACHED))
                    .group(&all, only(Key::has_many_tiles)),
            );
        ACCELERATED.into_iter().fold(set, |set, kernel| {
            // Tiles depend on the number of maps, so what fits at some may not at others.
            let fitting = move |inputs: Forward<R>| {
                forward_by(kernel, inputs.clone())
                    .or_else(|_| forward_by(MMA, inputs.clone()))
                    .or_else(|_| direct(inputs))
            };
            set.with(Tunable::new(&name(kernel), fitting).group(&all, only(Key::is_accelerated)))
        })
    });
    let [input, weight] = in_fours([input, weight]);
    let (id, client) = (CubeTuneId::new(&input.client, &input.device), input.client.clone());
    TUNER.execute(&id, &client, candidates, (input, weight, bias, *options))
}

fn key_of<R: CubeRuntime>((input, weight, bias, options): &Forward<R>) -> Key {
    Key::of(input, weight, options, bias.is_some())
}

/// Maps and weight, padded with one channel of zeros where that makes a multiple of four, which kernels read
/// at once: pictures have three. Not timed. Where more are missing, up to three quarters of a copy would be
/// zeros.
fn in_fours<R: CubeRuntime>(operands: [CubeTensor<R>; 2]) -> [CubeTensor<R>; 2] {
    let channels = operands[0].meta.shape()[1];
    let can_grow =
        |maps: &CubeTensor<R>| can_be_counted(maps.meta.num_elements() / channels * (channels + 1));
    if channels % 4 == 3 && operands.iter().all(can_grow) {
        return operands.map(|maps| subsample::forward(maps, 1, channels + 1));
    }
    operands
}

/// What each kernel computes, with its name, or why it does not run.
type ByEach<R> = Vec<(String, Result<CubeTensor<R>, String>)>;

/// Convolution without ReLU by each kernel for tensor cores that would be tried, if the device has some: for
/// tests.
pub fn by_each<R: CubeRuntime>(
    input: CubeTensor<R>,
    weight: CubeTensor<R>,
    bias: Option<CubeTensor<R>>,
    options: &Conv2dOptions,
) -> ByEach<R> {
    if !has_tensor_cores(&input) {
        return Vec::new();
    }
    let [input, weight] = in_fours([input, weight]);
    let inputs = (input, weight, bias, *options);
    let is_accelerated = key_of(&inputs).is_accelerated();
    let accelerated = ACCELERATED.into_iter().filter(|_| is_accelerated);
    let tried = [CMMA, MMA].into_iter().chain(accelerated);
    tried.map(|kernel| (name(kernel), forward_by(kernel, inputs.clone()))).collect()
}

/// As [`by_each`], of the gradient of an input of the shape `size`, over which a kernel moved with stride 1.
pub fn gradients_by_each<R: CubeRuntime>(
    gradient: CubeTensor<R>,
    weight: CubeTensor<R>,
    size: [usize; 4],
    options: &Conv2dOptions,
) -> ByEach<R> {
    if !has_tensor_cores(&gradient) {
        return Vec::new();
    }
    let inputs = (gradient, weight, size, *options);
    let by = |kernel| (name(kernel), input_gradient_by(kernel, inputs.clone()));
    [CMMA, MMA].map(by).into()
}

fn name((algorithm, tile_kind): Kernel) -> String {
    format!("{algorithm}_{tile_kind}")
}

fn forward_by<R: CubeRuntime>(
    kernel: Kernel,
    (input, weight, bias, options): Forward<R>,
) -> Result<CubeTensor<R>, String> {
    // cubek 0.2 would read such a bias for every other eight places as that of the next eight channels.
    if kernel.1 == Mma && bias.is_some() && input.dtype != DType::F32 {
        return Err("multiplies by instructions for which a bias has 32 bits".to_owned());
    }
    let [batch, _, height, width] = input.meta.shape().dims();
    let [outputs, _, rows, columns] = weight.meta.shape().dims();
    let [height, width] = options.output_size([height, width], [rows, columns]);
    let maps = empty(&input, [batch, height, width, outputs]);
    let (client, element) = (input.client.clone(), input.dtype.into());
    let [input, weight] = [input, weight].map(channels_last);
    let inputs = ConvolutionInputs::Forward {
        input,
        weight,
        bias: bias.map(|bias| InputBinding::new(bias.binding(), element)),
        out: maps.clone().binding(),
    };
    launch_ref(&strategy(kernel), &client, inputs, arguments(&options), of_one_type(maps.dtype))
        .map_err(|error| format!("{error:?}"))?;
    Ok(permute_nhwc_to_nchw(maps))
}

/// Gradient, weight, the shape of the input, and how the convolution moved.
type Backward<R> = (CubeTensor<R>, CubeTensor<R>, [usize; 4], Conv2dOptions);

/// The gradient of an input of the shape `size`, over which a kernel moved with stride 1.
pub(super) fn input_gradient<R: CubeRuntime>(
    gradient: CubeTensor<R>,
    weight: CubeTensor<R>,
    size: [usize; 4],
    options: &Conv2dOptions,
) -> CubeTensor<R> {
    static TUNER: LocalTuner<Key, CubeTuneId> = tuner!("input-gradient");
    let candidates = TUNER.init(|| {
        let key = |(gradient, weight, _, options): &Backward<R>| {
            Key::of(gradient, weight, options, false)
        };
        let by = |kernel| move |inputs: Backward<R>| input_gradient_by(kernel, inputs);
        let direct = |(gradient, weight, size, options): Backward<R>| {
            Ok::<_, String>(super::input_gradient(gradient, weight, size, &options))
        };
        let by_winograd = |room| {
            move |(gradient, weight, _, options): Backward<R>| {
                let Conv2dOptions { padding, .. } = options;
                Ok::<_, String>(winograd::input_gradient(gradient, weight, padding, room))
            }
        };
        let on_tensor_cores = TuneGroup::new("tensor cores", |_: &Key| 1);
        // Only where neither of them runs.
        let otherwise = TuneGroup::new("direct", |_: &Key| 0);
        TunableSet::new(key, |_: &Key, inputs: &Backward<R>| inputs.clone())
            .with(Tunable::new("cmma", by(CMMA)).group(&on_tensor_cores, |_| 1))
            .with(Tunable::new("mma", by(MMA)).group(&on_tensor_cores, |_| 1))
            .with(
                Tunable::new("winograd", by_winograd(winograd::ROOM))
                    .group(&on_tensor_cores, only(Key::has_many_channels)),
            )
            .with(
                Tunable::new("cached-winograd", by_winograd(winograd::CACHED))
                    .group(&on_tensor_cores, only(Key::has_many_tiles)),
            )
            .with(Tunable::new("direct", direct).group(&otherwise, |_| 1))
    });
    let (id, client) =
        (CubeTuneId::new(&gradient.client, &gradient.device), gradient.client.clone());
    TUNER.execute(&id, &client, candidates, (gradient, weight, size, *options))
}

fn input_gradient_by<R: CubeRuntime>(
    kernel: Kernel,
    (gradient, weight, [batch, channels, height, width], options): Backward<R>,
) -> Result<CubeTensor<R>, String> {
    let of_input = empty(&gradient, [batch, height, width, channels]);
    let client = gradient.client.clone();
    let [out_grad, weights] = [gradient, weight].map(channels_last);
    let inputs =
        ConvolutionInputs::BackwardData { out_grad, weights, in_grad: of_input.clone().binding() };
    launch_ref(
        &strategy(kernel),
        &client,
        inputs,
        arguments(&options),
        of_one_type(of_input.dtype),
    )
    .map_err(|error| format!("{error:?}"))?;
    Ok(permute_nhwc_to_nchw(of_input))
}

fn channels_last<R: CubeRuntime>(maps: CubeTensor<R>) -> InputBinding<R> {
    let element = maps.dtype.into();
    InputBinding::new(into_contiguous(permute_nchw_to_nhwc(maps)).binding(), element)
}

fn strategy((algorithm, tile_kind): Kernel) -> Strategy {
    Strategy::Inferred { algorithm, tile_kind }
}

fn arguments(options: &Conv2dOptions) -> ConvolutionArgs<2> {
    let Conv2dOptions { stride, padding } = *options;
    ConvolutionArgs { stride, padding, dilation: [1, 1] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn winograds_algorithm_is_tried_only_on_what_it_can_count() {
        let tried = |dtype, maps, channels| {
            let weight = [128, channels, 3, 3];
            let moves = [[1, 1]; 2];
            let key = Key { dtype, maps, weight, moves, bias: true, accelerator: false };
            [key.has_many_channels(), key.has_many_tiles()]
        };
        let of_f32 = |maps, channels| tried(DType::F32, maps, channels);
        assert_eq!(of_f32([8, 256, 256], 128), [true, true], "2 GiB");
        assert_eq!(of_f32([256, 128, 128], 128), [true, false], "16 GiB");
        assert_eq!(of_f32([4, 16, 16], 128), [true, false], "4 MiB");
        assert_eq!(of_f32([256, 128, 128], 64), [false, false], "few channels");
        assert_eq!(tried(DType::BF16, [8, 256, 256], 128), [false, false], "16 bits");
        // 2^31 numbers, and more where they are padded.
        assert_eq!(of_f32([256, 256, 256], 128), [false, false]);
        assert_eq!(of_f32([1, 1, 1], 1 << 22), [false, false], "kernels");
    }
}
