//! The kernels of CUDA and WGPU against those of the CPU, which are held against the default bodies.
//! Those are no reference on a GPU itself: not all of Burn's operations are right there, as its sums of
//! many numbers where that GPU is one in software.
//!
//! For a build with a GPU's feature and the CPU's; `cargo xtask gpu-check --tests` makes it.

#![cfg(all(feature = "cpu", feature = "cube"))]
#![allow(clippy::print_stderr, clippy::unwrap_used)]

use backend::{
    AdamStep, Backend, BatchNorm2d, BatchNorm2dSaved, BatchNorm2dWanted, Lstm, LstmGradients,
    LstmOutputGradients, LstmPrimitives, LstmSaved, LstmWanted, RmsPropStep, Selected, SgdStep,
    overrides,
    random::{Purpose, Random},
};
use burn::{
    backend::Flex,
    tensor::{
        DType, Int, Tensor, TensorData, TensorMetadata, TensorPrimitive,
        backend::Backend as _,
        ops::{FloatTensor, FloatTensorOps},
    },
};

fn primitive<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> FloatTensor<B> {
    tensor.into_primitive().tensor()
}

/// The numbers in the order of the shape.
fn numbers<B: Backend>(primitive: FloatTensor<B>) -> Vec<f32> {
    let count = primitive.shape().num_elements();
    let flat = B::float_reshape(primitive, [count].into());
    let flat = Tensor::<B, 1>::from_primitive(TensorPrimitive::Float(flat));
    flat.into_data().to_vec().unwrap()
}

/// Normal values that depend on `stream` alone.
fn normal<B: Backend, const D: usize>(shape: [usize; D], stream: u64) -> Tensor<B, D> {
    let random = Random::new(5, Purpose::Synthetic, stream);
    let count = shape.iter().product::<usize>() as u64;
    let values: Vec<f32> = (0..count).map(|index| random.normal(index)).collect();
    Tensor::from_data(TensorData::new(values, shape), &Default::default())
}

/// Indices below `end`, with repetitions.
fn indices<B: Backend, const D: usize>(shape: [usize; D], end: usize) -> Tensor<B, D, Int> {
    let random = Random::new(5, Purpose::Synthetic, 0);
    let count = shape.iter().product::<usize>() as u64;
    // Squared, so that small ones are frequent.
    let index = |at| (f64::from(random.uniform(at)).powi(2) * end as f64) as i32;
    let values: Vec<i32> = (0..count).map(index).collect();
    Tensor::from_data(TensorData::new(values, shape), &Default::default())
}

/// Fails unless both agree to `relative` of each value, or of one where values are smaller.
#[track_caller]
fn assert_close(
    what: &str,
    ours: FloatTensor<Selected>,
    reference: FloatTensor<Flex>,
    relative: f32,
) {
    assert_eq!(ours.shape(), reference.shape(), "{what}");
    let (ours, reference) = (numbers::<Selected>(ours), numbers::<Flex>(reference));
    for (index, (ours, reference)) in ours.iter().zip(&reference).enumerate() {
        let difference = (ours - reference).abs();
        assert!(
            difference <= relative * reference.abs().max(1.0),
            "{what}, element {index}: {ours} instead of {reference}"
        );
    }
}

/// Fails unless `work` is done by kernels alone.
#[track_caller]
fn by_kernels<T>(work: impl FnOnce() -> T) -> T {
    let before = overrides::counts();
    let result = work();
    let after = overrides::counts();
    assert_eq!(after.composed, before.composed, "a default body was taken");
    assert!(after.taken > before.taken);
    result
}

/// A parameter that is large enough for several cubes; its gradient is transposed, as products return
/// them.
struct Parameter<B: Backend> {
    weight: Tensor<B, 2>,
    gradient: FloatTensor<B>,
    state: [FloatTensor<B>; 2],
    diverged: FloatTensor<B>,
}

impl<B: Backend> Parameter<B> {
    fn new() -> Self {
        Self {
            weight: normal([300, 70], 1),
            gradient: primitive(normal::<B, 2>([70, 300], 2).transpose()),
            state: [normal([300, 70], 3), normal::<B, 2>([300, 70], 4).abs()].map(primitive),
            diverged: primitive(Tensor::<B, 1>::zeros([1], &Default::default())),
        }
    }

    /// The weight, which is held elsewhere too.
    fn shared(&self) -> FloatTensor<B> {
        primitive(self.weight.clone())
    }
}

/// Checks weight and state after an update, and the weight that was held before it.
fn check_update(
    ours: (Parameter<Selected>, FloatTensor<Selected>, Vec<FloatTensor<Selected>>),
    reference: (FloatTensor<Flex>, Vec<FloatTensor<Flex>>),
) {
    let (parameter, weight, state) = ours;
    assert_close("weight", weight, reference.0, 1e-5);
    for (ours, reference) in state.into_iter().zip(reference.1) {
        assert_close("state", ours, reference, 1e-5);
    }
    let held = parameter.weight.into_data();
    assert_eq!(held, normal::<Selected, 2>([300, 70], 1).into_data());
}

#[test]
fn adam_updates() {
    let step = AdamStep {
        learning_rate: 0.01,
        beta_1: 0.9,
        beta_2: 0.999,
        epsilon: 1e-8,
        weight_decay: 0.1,
        decoupled: true,
        look_ahead: None,
        time: 3,
    };
    let p = Parameter::<Selected>::new();
    let (weight, state) = by_kernels(|| {
        let state = p.state.clone();
        Selected::fused_adam(p.shared(), p.gradient.clone(), state, p.diverged.clone(), &step)
    });
    let r = Parameter::<Flex>::new();
    let (expected, moments) = Flex::fused_adam(r.shared(), r.gradient, r.state, r.diverged, &step);
    check_update((p, weight, state.into()), (expected, moments.into()));
}

#[test]
fn sgd_updates() {
    let step = SgdStep { learning_rate: 0.1, momentum: 0.9, weight_decay: 0.01, nesterov: true };
    let p = Parameter::<Selected>::new();
    let (weight, velocity) = by_kernels(|| {
        let [velocity, _] = p.state.clone();
        Selected::fused_sgd(p.shared(), p.gradient.clone(), velocity, p.diverged.clone(), &step)
    });
    let r = Parameter::<Flex>::new();
    let [old, _] = r.state.clone();
    let (expected, reference) = Flex::fused_sgd(r.shared(), r.gradient, old, r.diverged, &step);
    check_update((p, weight, vec![velocity]), (expected, vec![reference]));
}

#[test]
fn rms_prop_updates() {
    let step = RmsPropStep {
        learning_rate: 0.1,
        alpha: 0.9,
        epsilon: 1e-5,
        momentum: 0.9,
        weight_decay: 0.01,
    };
    let p = Parameter::<Selected>::new();
    let (weight, state) = by_kernels(|| {
        let [velocity, mean] = p.state.clone();
        let (gradient, diverged) = (p.gradient.clone(), p.diverged.clone());
        Selected::fused_rms_prop(p.shared(), gradient, [mean, velocity], diverged, &step)
    });
    let r = Parameter::<Flex>::new();
    let [velocity, mean] = r.state.clone();
    let (expected, reference) =
        Flex::fused_rms_prop(r.shared(), r.gradient, [mean, velocity], r.diverged, &step);
    check_update((p, weight, state.into()), (expected, reference.into()));
}

#[test]
fn square_sums_of_all_sizes() {
    for count in [1, 255, 256, 257, 16_384, 16_385, 700_001] {
        let one = primitive(Tensor::<Selected, 1>::ones([1], &Default::default()));
        let values = normal::<Selected, 1>([count], 1);
        let sum = by_kernels(|| Selected::fused_square_sum(one, primitive(values.clone())));
        let squares = values.into_data().to_vec::<f32>().unwrap().into_iter();
        let expected = 1.0 + squares.map(|value| f64::from(value).powi(2)).sum::<f64>();
        let sum = f64::from(numbers::<Selected>(sum)[0]);
        assert!((sum - expected).abs() < 1e-5 * expected, "{sum} for {expected}");
    }
}

#[derive(Clone, Copy, Debug)]
struct Norm {
    shape: [usize; 4],
    stored: bool,
    residual: bool,
    rectified: bool,
}

impl Norm {
    fn all() -> impl Iterator<Item = Self> {
        let shapes = [
            [1, 1, 1, 1],
            [2, 3, 1, 1],
            [3, 17, 2, 2],
            [4, 40, 5, 5],
            [9, 2, 31, 17],
            [3, 3, 130, 130],
        ];
        shapes.into_iter().flat_map(|shape| {
            (0..8).map(move |bits| Self {
                shape,
                stored: bits & 1 != 0,
                residual: bits & 2 != 0,
                rectified: bits & 4 != 0,
            })
        })
    }

    fn layer<B: Backend>(&self) -> BatchNorm2d<B> {
        let channels = [self.shape[1]];
        let variance = || normal::<B, 1>(channels, 5).powi_scalar(2);
        BatchNorm2d {
            input: primitive(normal::<B, 4>(self.shape, 1) + 3.0),
            scale: primitive(normal::<B, 1>(channels, 2)),
            shift: primitive(normal::<B, 1>(channels, 3)),
            stored: self.stored.then(|| [normal(channels, 4), variance()].map(primitive)),
            over_processes: None,
            residual: self.residual.then(|| primitive(normal::<B, 4>(self.shape, 6))),
            epsilon: 1e-3,
            rectified: self.rectified,
        }
    }

    fn saved<B: Backend>(&self) -> BatchNorm2dSaved<B> {
        let layer = self.layer::<B>();
        let normalized = B::fused_batch_norm2d(layer.clone());
        BatchNorm2dSaved {
            input: layer.input,
            scale: layer.scale,
            shift: layer.shift,
            mean: normalized.mean,
            variance: normalized.variance,
            of_batch: !self.stored,
            epsilon: layer.epsilon,
            rectified: self.rectified,
            output: (self.residual && self.rectified).then_some(normalized.output),
            wanted: BatchNorm2dWanted { input: true, affine: true, residual: self.residual },
        }
    }

    fn gradient<B: Backend>(&self) -> FloatTensor<B> {
        primitive(normal::<B, 4>(self.shape, 7))
    }
}

#[test]
fn batch_norm2d_forward() {
    for case in Norm::all() {
        let ours = by_kernels(|| Selected::fused_batch_norm2d(case.layer()));
        let reference = Flex::fused_batch_norm2d(case.layer());
        let what = |part| format!("{part} of {case:?}");
        assert_close(&what("output"), ours.output, reference.output, 5e-5);
        assert_close(&what("mean"), ours.mean, reference.mean, 1e-5);
        assert_close(&what("variance"), ours.variance, reference.variance, 1e-5);
    }
}

#[test]
fn batch_norm2d_backward() {
    for case in Norm::all() {
        let ours = by_kernels(|| {
            Selected::fused_batch_norm2d_backward(case.saved(), case.gradient::<Selected>())
        });
        let gradient = case.gradient::<Flex>();
        let reference = Flex::fused_batch_norm2d_backward(case.saved(), gradient);
        let what = |part| format!("{part} of {case:?}");
        let (input, expected) = (ours.input.unwrap(), reference.input.unwrap());
        assert_close(&what("input"), input, expected, 2e-4);
        let affine = ours.affine.unwrap().into_iter().zip(reference.affine.unwrap());
        for (name, (ours, reference)) in ["scale", "shift"].into_iter().zip(affine) {
            assert_close(&what(name), ours, reference, 1e-4);
        }
        assert_eq!(ours.residual.is_some(), case.residual);
        if let (Some(ours), Some(reference)) = (ours.residual, reference.residual) {
            assert_close(&what("residual"), ours, reference, 0.0);
        }
    }
}

#[test]
fn sums_and_means_of_maps() {
    // As they come from a user, and as a convolution returns them.
    fn both<B: Backend>() -> [FloatTensor<B>; 2] {
        let returned = normal::<B, 4>([3, 5, 7, 6], 2).permute([0, 3, 1, 2]);
        [normal([3, 6, 5, 7], 1), returned].map(primitive)
    }
    for (ours, reference) in both::<Selected>().into_iter().zip(both::<Flex>()) {
        let sums = Selected::fused_channel_sums(ours.clone());
        assert_close("sums", sums, Flex::fused_channel_sums(reference.clone()), 1e-5);
        let means = Selected::fused_global_average_pool(ours);
        assert_close("means", means, Flex::fused_global_average_pool(reference), 1e-5);
    }
}

/// Batch, time, inputs, hidden: one sequence a cube and several, more gates than units, and as many as
/// kernels take.
const SEQUENCES: [[usize; 4]; 7] = [
    [1, 1, 1, 1],
    [3, 2, 5, 7],
    [5, 4, 16, 33],
    [130, 3, 9, 12],
    [400, 2, 4, 5],
    [4, 3, 8, 200],
    [2, 2, 8, 256],
];

fn state<B: Backend>([batch, _, _, hidden]: [usize; 4], stream: u64) -> LstmPrimitives<B> {
    let [cell, hidden] = [0, 1].map(|i| primitive(normal::<B, 2>([batch, hidden], stream + i)));
    LstmPrimitives { cell, hidden }
}

fn layer<B: Backend>(shape: [usize; 4], with_state: bool) -> Lstm<B> {
    let [batch, time, inputs, hidden] = shape;
    let scaled = |shape, stream| primitive(normal::<B, 2>(shape, stream) / (hidden as f64).sqrt());
    Lstm {
        input: primitive(normal::<B, 3>([batch, time, inputs], 1)),
        input_weight: scaled([4 * hidden, inputs], 2),
        hidden_weight: scaled([4 * hidden, hidden], 3),
        bias: primitive(normal::<B, 1>([4 * hidden], 4)),
        state: with_state.then(|| state(shape, 5)),
    }
}

#[test]
fn lstm_forward() {
    for (shape, with_state) in SEQUENCES.into_iter().flat_map(|s| [(s, false), (s, true)]) {
        let ours = by_kernels(|| Selected::fused_lstm(layer(shape, with_state)));
        let reference = Flex::fused_lstm(layer(shape, with_state));
        let what = |part| format!("{part} of {shape:?}");
        assert_close(&what("outputs"), ours.outputs, reference.outputs, 1e-5);
        assert_close(&what("cell"), ours.state.cell, reference.state.cell, 1e-5);
        assert_close(&what("hidden"), ours.state.hidden, reference.state.hidden, 1e-5);
    }
}

/// In the arithmetic that `training.precision` may ask for, where the device has it.
#[test]
fn lstm_in_fewer_bits() {
    let device = Default::default();
    for dtype in [DType::F16, DType::BF16] {
        if !Selected::supports_dtype(&device, dtype) {
            eprintln!("skipped: the device has no {dtype:?}");
            continue;
        }
        let shape = [5, 4, 16, 33];
        let cast = |values| Selected::float_cast(values, dtype.into());
        let Lstm { input, input_weight, hidden_weight, bias, state } =
            layer::<Selected>(shape, true);
        let [input, input_weight, hidden_weight, bias] =
            [input, input_weight, hidden_weight, bias].map(cast);
        let state = state.map(|LstmPrimitives { cell, hidden }| LstmPrimitives {
            cell: cast(cell),
            hidden: cast(hidden),
        });
        let layer_in_fewer = Lstm { input, input_weight, hidden_weight, bias, state };
        let ours = by_kernels(|| Selected::fused_lstm(layer_in_fewer));
        assert_eq!(ours.outputs.dtype(), dtype);
        let reference = Flex::fused_lstm(layer(shape, true));
        let widened = Selected::float_cast(ours.outputs, DType::F32.into());
        assert_close(&format!("outputs in {dtype:?}"), widened, reference.outputs, 2e-2);
    }
}

/// A backward pass of which parts are left out.
#[derive(Clone, Copy, Debug)]
struct LstmPass {
    shape: [usize; 4],
    wanted: LstmWanted,
    of_outputs: bool,
    of_state: bool,
}

impl LstmPass {
    /// The gradients that were asked for.
    fn gradients<B: Backend>(self) -> Vec<FloatTensor<B>> {
        let Self { shape, wanted, of_outputs, of_state } = self;
        let [batch, time, inputs, hidden] = shape;
        let layer = layer::<B>(shape, wanted.state);
        let (_, values) = B::fused_lstm_saving(layer.clone());
        let saved = LstmSaved {
            input_weight: layer.input_weight,
            hidden_weight: layer.hidden_weight,
            shape: [batch, time, inputs],
            values,
            wanted,
        };
        let LstmPrimitives { cell, hidden: of_hidden } = state::<B>(shape, 8);
        let given = LstmOutputGradients {
            outputs: of_outputs.then(|| primitive(normal::<B, 3>([batch, time, hidden], 7))),
            cell: of_state.then_some(cell),
            hidden: of_state.then_some(of_hidden),
        };
        let LstmGradients { input, weights, state } = B::fused_lstm_backward(saved, given);
        let state = state.into_iter().flat_map(|state| [state.cell, state.hidden]);
        input.into_iter().chain(weights.into_iter().flatten()).chain(state).collect()
    }
}

#[test]
fn lstm_backward() {
    let everything = LstmWanted { input: true, weights: true, state: true };
    let without_state = LstmWanted { state: false, ..everything };
    let cases = [
        (everything, true, true),
        (without_state, true, false),
        (LstmWanted { input: false, ..without_state }, false, true),
        (everything, false, false),
    ];
    for (shape, (wanted, of_outputs, of_state)) in
        SEQUENCES.into_iter().flat_map(|shape| cases.map(|case| (shape, case)))
    {
        let pass = LstmPass { shape, wanted, of_outputs, of_state };
        let ours = by_kernels(|| pass.gradients::<Selected>());
        let reference = pass.gradients::<Flex>();
        assert_eq!(ours.len(), reference.len());
        for (index, (ours, reference)) in ours.into_iter().zip(reference).enumerate() {
            assert_close(&format!("gradient {index} of {pass:?}"), ours, reference, 1e-4);
        }
    }
}

#[test]
fn wide_lstms_are_left_to_burn() {
    let before = overrides::counts();
    Selected::fused_lstm(layer([1, 1, 2, 257], false));
    assert_eq!(overrides::counts().composed, before.composed + 1);
}

#[test]
fn embedding_backward() {
    for [batch, time, entries, width] in
        [[1, 1, 1, 1], [3, 5, 4, 7], [16, 20, 50, 12], [40, 30, 1000, 3], [50, 40, 2, 5]]
    {
        let shape = [batch, time, width];
        let ours = by_kernels(|| {
            let indices = indices::<Selected, 2>([batch, time], entries).into_primitive();
            let gradient = primitive(normal::<Selected, 3>(shape, 1));
            Selected::fused_embedding_backward(entries, indices, gradient)
        });
        let indices = indices::<Flex, 2>([batch, time], entries).into_primitive();
        let gradient = primitive(normal::<Flex, 3>(shape, 1));
        let reference = Flex::fused_embedding_backward(entries, indices, gradient);
        assert_close(&format!("{batch} x {time} of {entries}"), ours, reference, 1e-4);
    }
}

#[test]
fn cross_entropy_forward_and_backward() {
    fn logits<B: Backend>(shape: [usize; 2]) -> FloatTensor<B> {
        primitive(normal::<B, 2>(shape, 1) * 20.0)
    }
    for [batch, classes] in [[1, 1], [3, 2], [70, 10], [9, 1000]] {
        let shape = [batch, classes];
        let targets = || indices::<Selected, 1>([batch], classes).into_primitive();
        let (losses, softmax) = by_kernels(|| {
            Selected::fused_cross_entropy_saving(logits::<Selected>(shape), targets())
        });
        let gradient = primitive(normal::<Selected, 1>([batch], 2));
        let of_logits = by_kernels(|| {
            Selected::fused_cross_entropy_backward(softmax.clone(), targets(), gradient)
        });

        let targets = || indices::<Flex, 1>([batch], classes).into_primitive();
        let (expected, reference) =
            Flex::fused_cross_entropy_saving(logits::<Flex>(shape), targets());
        assert_close(&format!("losses of {classes}"), losses, expected, 1e-5);
        assert_close(&format!("softmax of {classes}"), softmax, reference.clone(), 1e-5);
        let gradient = primitive(normal::<Flex, 1>([batch], 2));
        let expected = Flex::fused_cross_entropy_backward(reference, targets(), gradient);
        assert_close(&format!("gradient of {classes}"), of_logits, expected, 1e-5);
    }
}
