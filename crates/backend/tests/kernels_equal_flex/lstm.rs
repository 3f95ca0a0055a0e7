//! LSTM layers.

use backend::{
    Backend, Lstm, LstmGradients, LstmOutputGradients, LstmPrimitives, LstmSaved, LstmWanted,
    Selected, overrides,
};
use burn::{
    backend::Flex,
    tensor::{
        DType, TensorMetadata,
        backend::Backend as _,
        ops::{FloatTensor, FloatTensorOps},
    },
};

use crate::{assert_close, by_kernels, device, normal, of_products, primitive, skip};

/// Batch, time, inputs, hidden: one sequence a cube and several, weights for which it has room and more,
/// more gates than units, and as many as kernels take.
const SEQUENCES: [[usize; 4]; 8] = [
    [1, 1, 1, 1],
    [3, 2, 5, 7],
    [5, 4, 16, 33],
    [130, 3, 9, 12],
    [400, 2, 4, 5],
    [130, 2, 4, 100],
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
    let tolerance = of_products(1e-5);
    for (shape, with_state) in SEQUENCES.into_iter().flat_map(|s| [(s, false), (s, true)]) {
        let ours = by_kernels(|| Selected::fused_lstm(layer(shape, with_state)));
        let reference = Flex::fused_lstm(layer(shape, with_state));
        let what = |part| format!("{part} of {shape:?}");
        assert_close(&what("outputs"), ours.outputs, reference.outputs, tolerance);
        assert_close(&what("cell"), ours.state.cell, reference.state.cell, tolerance);
        assert_close(&what("hidden"), ours.state.hidden, reference.state.hidden, tolerance);
    }
}

/// In the arithmetic that `training.precision` may ask for, where the device has it.
#[test]
fn lstm_in_fewer_bits() {
    let device = device();
    for dtype in [DType::F16, DType::BF16] {
        if !Selected::supports_dtype(&device, dtype) {
            skip(dtype.name());
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
    fn layer<B: Backend>(self) -> Lstm<B> {
        layer(self.shape, self.wanted.state)
    }

    /// What the layer saved for this pass, and the gradients of what it returned.
    fn given<B: Backend>(
        self,
        layer: Lstm<B>,
        values: Vec<FloatTensor<B>>,
    ) -> (LstmSaved<B>, LstmOutputGradients<B>) {
        let Self { shape, wanted, of_outputs, of_state } = self;
        let [batch, time, inputs, hidden] = shape;
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
        (saved, given)
    }

    /// The gradients that were asked for.
    fn gradients<B: Backend>(self) -> Vec<FloatTensor<B>> {
        let layer = self.layer::<B>();
        let (_, values) = B::fused_lstm_saving(layer.clone());
        let (saved, given) = self.given(layer, values);
        listed(B::fused_lstm_backward(saved, given))
    }
}

fn listed<B: Backend>(gradients: LstmGradients<B>) -> Vec<FloatTensor<B>> {
    let LstmGradients { input, weights, state } = gradients;
    let state = state.into_iter().flat_map(|state| [state.cell, state.hidden]);
    input.into_iter().chain(weights.into_iter().flatten()).chain(state).collect()
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
        // The weights' gradients are products like others; of wide layers they would be tuned for minutes.
        let wanted = LstmWanted { weights: wanted.weights && shape[3] < 100, ..wanted };
        let pass = LstmPass { shape, wanted, of_outputs, of_state };
        let ours = by_kernels(|| pass.gradients::<Selected>());
        let reference = pass.gradients::<Flex>();
        assert_eq!(ours.len(), reference.len());
        for (index, (ours, reference)) in ours.into_iter().zip(reference).enumerate() {
            let what = format!("gradient {index} of {pass:?}");
            assert_close(&what, ours, reference, of_products(1e-4));
        }
    }
}

/// As on a device whose cubes have no room for a unit for each gate: three units for each hidden unit,
/// among which a sum's products do not divide evenly, two, and one.
#[test]
fn lstm_with_fewer_units_than_gates() {
    let wanted = LstmWanted { input: true, weights: true, state: true };
    let shape = [3, 2, 5, 7];
    let pass = LstmPass { shape, wanted, of_outputs: true, of_state: true };
    let outputs = Flex::fused_lstm(pass.layer()).outputs;
    let gradients = pass.gradients::<Flex>();
    for units in [27, 20, 7] {
        let layer = pass.layer::<Selected>();
        let (found, values) = backend::lstm_forward(layer.clone(), units);
        let what = format!("outputs with {units} units");
        assert_close(&what, found.outputs, outputs.clone(), of_products(1e-5));
        let (saved, given) = pass.given(layer, values);
        let found = listed::<Selected>(backend::lstm_backward(saved, given, units));
        assert_eq!(found.len(), gradients.len());
        for (index, (found, expected)) in found.into_iter().zip(gradients.clone()).enumerate() {
            let what = format!("gradient {index} with {units} units");
            assert_close(&what, found, expected, of_products(1e-4));
        }
    }
}

#[test]
fn wide_lstms_are_left_to_burn() {
    let before = overrides::counts();
    Selected::fused_lstm(layer([1, 1, 2, 257], false));
    assert_eq!(overrides::counts().composed, before.composed + 1);
}
