//! The kernels against the default body.

use super::{sizes::Divides, *};
use crate::{
    LstmWanted,
    flex::testing::{assert_close, normal, on_1_2_and_3_threads, values},
};

/// Batch, time, inputs, hidden.
type Shape = [usize; 4];

const SHAPES: [Shape; 12] = [
    [1, 1, 1, 1],
    [1, 3, 5, 8],
    [2, 1, 3, 16],
    [3, 2, 20, 7],
    [5, 4, 16, 33],
    [17, 3, 9, 12],
    [40, 5, 32, 16],
    [7, 2, 64, 40],
    [1, 8, 20, 70],
    [8, 1, 60, 40],
    [13, 3, 20, 250],
    [0, 3, 4, 5],
];

fn scaled<const D: usize>(shape: [usize; D], stream: u64) -> FlexTensor {
    multiplied(normal(shape, stream), 0.4)
}

fn multiplied(tensor: FlexTensor, factor: f32) -> FlexTensor {
    use burn::tensor::ops::FloatTensorOps;
    Flex::float_mul_scalar(tensor, factor.into())
}

fn state([batch, _, _, hidden]: Shape, stream: u64) -> LstmPrimitives<Flex> {
    let shape = [batch, hidden];
    LstmPrimitives { cell: normal(shape, stream), hidden: scaled(shape, stream + 1) }
}

fn layer(shape: Shape, with_state: bool) -> Lstm<Flex> {
    let [batch, time, inputs, hidden] = shape;
    Lstm {
        input: normal([batch, time, inputs], 1),
        input_weight: scaled([4 * hidden, inputs], 2),
        // The sums of many units are as large as those of few, and so are their roundings.
        hidden_weight: multiplied(
            normal([4 * hidden, hidden], 3),
            0.4 * (64.0 / hidden.max(64) as f32).sqrt(),
        ),
        bias: normal([4 * hidden], 4),
        state: with_state.then(|| state(shape, 5)),
    }
}

fn saved(layer: &Lstm<Flex>, values: Vec<FlexTensor>, wanted: LstmWanted) -> LstmSaved<Flex> {
    let shape = dimensions(&layer.input);
    let (input_weight, hidden_weight) = (layer.input_weight.clone(), layer.hidden_weight.clone());
    LstmSaved { input_weight, hidden_weight, shape, values, wanted }
}

fn gradients(shape: Shape, of_outputs: bool, of_state: bool) -> LstmOutputGradients<Flex> {
    let [batch, time, _, hidden] = shape;
    let LstmPrimitives { cell, hidden: of_hidden } = state(shape, 8);
    LstmOutputGradients {
        outputs: of_outputs.then(|| normal([batch, time, hidden], 7)),
        cell: of_state.then_some(cell),
        hidden: of_state.then_some(of_hidden),
    }
}

fn all_of(gradients: LstmGradients<Flex>) -> Vec<(&'static str, FlexTensor)> {
    let LstmGradients { input, weights, state } = gradients;
    let [input_weight, hidden_weight, bias] = weights.map_or([None, None, None], |w| w.map(Some));
    let (cell, hidden) = state.map(|state| (state.cell, state.hidden)).unzip();
    [
        ("input", input),
        ("input weight", input_weight),
        ("hidden weight", hidden_weight),
        ("bias", bias),
        ("cell", cell),
        ("hidden", hidden),
    ]
    .into_iter()
    .filter_map(|(name, tensor)| Some((name, tensor?)))
    .collect()
}

#[test]
fn forward_equals_the_default_body() {
    for level in Level::all() {
        for (shape, with_state) in SHAPES.into_iter().flat_map(|s| [(s, false), (s, true)]) {
            let (reference, _) = lstm::composed(layer(shape, with_state));
            for saving in [false, true] {
                let (ours, saved) = run(level, layer(shape, with_state), saving);
                assert_eq!(saved.len(), if saving { 3 } else { 0 });
                let what = |part| format!("{part} of {shape:?} at {level:?}");
                let close = |part, ours, reference: &FlexTensor| {
                    assert_close(&what(part), ours, reference.clone(), 2e-6);
                };
                close("outputs", ours.outputs, &reference.outputs);
                close("cell", ours.state.cell, &reference.state.cell);
                close("hidden", ours.state.hidden, &reference.state.hidden);
            }
        }
    }
}

#[test]
fn backward_equals_the_default_body() {
    let everything = LstmWanted { input: true, weights: true, state: true };
    let without_input = LstmWanted { input: false, ..everything };
    let weights_only = LstmWanted { state: false, ..without_input };
    let cases = [
        (everything, true, true),
        (without_input, true, false),
        (weights_only, false, true),
        (LstmWanted { weights: false, state: false, ..everything }, true, true),
        (everything, false, false),
    ];
    for level in Level::all() {
        for shape in SHAPES {
            for (wanted, of_outputs, of_state) in cases {
                let layer = layer(shape, wanted.state);
                let (_, values) = run(level, layer.clone(), true);
                let given = || gradients(shape, of_outputs, of_state);
                let ours = run_backward(level, saved(&layer, values, wanted), given());
                let (_, values) = lstm::composed(layer.clone());
                let reference = lstm::composed_backward(saved(&layer, values, wanted), given());
                let (ours, reference) = (all_of(ours), all_of(reference));
                assert_eq!(ours.len(), reference.len());
                for ((name, ours), (_, reference)) in ours.into_iter().zip(reference) {
                    let what = format!("{name} of {shape:?}, {wanted:?}, at {level:?}");
                    assert_close(&what, ours, reference, 1e-4);
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "the input weight: shape [32, 4] instead of [32, 5]")]
fn weights_for_other_inputs_are_refused() {
    forward(Lstm { input_weight: scaled([32, 4], 2), ..layer([2, 3, 5, 8], false) }, false);
}

#[test]
#[should_panic(expected = "the bias: shape [31] instead of [32]")]
fn a_bias_of_another_shape_is_refused() {
    forward(Lstm { bias: normal([31], 4), ..layer([2, 3, 5, 8], false) }, false);
}

#[test]
#[should_panic(expected = "the outputs' gradient: shape [2, 4, 8] instead of [2, 3, 8]")]
fn a_gradient_of_another_shape_is_refused() {
    let layer = layer([2, 3, 5, 8], false);
    let (_, values) = forward(layer.clone(), true);
    let wanted = LstmWanted { input: true, weights: true, state: true };
    backward(saved(&layer, values, wanted), gradients([2, 4, 5, 8], true, false));
}

/// Sequences are computed by themselves, so in tiles of any size and tasks of any share their bits
/// are the same.
#[test]
fn the_number_of_sequences_changes_no_bit() {
    check_the_number_of_sequences(20, &[1, 2, 3, 4, 5, 6, 7, 11, 12, 16, 20, 48]);
    check_the_number_of_sequences(250, &[1, 7]);
}

fn check_the_number_of_sequences(hidden: usize, batches: &[usize]) {
    let [time, inputs] = [3, 5];
    let most = layer([70, time, inputs, hidden], true);
    let first = |tensor: &FlexTensor, batch: usize| {
        let mut shape = tensor.layout().shape().clone();
        let count = shape.num_elements() / shape[0] * batch;
        shape[0] = batch;
        let values = values(tensor.clone());
        FlexTensor::from_data(burn::tensor::TensorData::new(values[..count].to_vec(), shape))
    };
    for level in Level::all() {
        let of_batch = |batch: usize| {
            let state = most.state.as_ref().unwrap();
            let layer = Lstm {
                input: first(&most.input, batch),
                state: Some(LstmPrimitives {
                    cell: first(&state.cell, batch),
                    hidden: first(&state.hidden, batch),
                }),
                ..most.clone()
            };
            let (output, saved_values) = run(level, layer.clone(), true);
            let wanted = LstmWanted { input: true, weights: false, state: true };
            let saved = saved(&layer, saved_values, wanted);
            let of_outputs = first(&normal([70, time, hidden], 7), batch);
            let given = LstmOutputGradients { outputs: Some(of_outputs), cell: None, hidden: None };
            let gradients = all_of(run_backward(level, saved, given));
            let gradients = gradients.into_iter().map(|(_, tensor)| tensor);
            gradients.chain([output.outputs]).map(values).collect::<Vec<_>>()
        };
        let whole = of_batch(70);
        for &batch in batches {
            for (part, whole) in of_batch(batch).iter().zip(&whole) {
                assert_eq!(*part, whole[..part.len()], "{batch} sequences at {level:?}");
            }
        }
    }
}

#[test]
fn weights_that_no_cache_holds_divide_the_units() {
    let divides = |hidden| Sizes { batch: 1, time: 1, inputs: 33, hidden, lanes: 16 }.divides();
    assert_eq!(divides(40), Divides::Sequences);
    assert_eq!(divides(250), Divides::Units);
}

#[test]
fn tasks_are_equal_shares_of_every_batch() {
    for batch in 0..300 {
        let sizes = Sizes { batch, time: 1, inputs: 1, hidden: 1, lanes: 8 };
        let shares: Vec<_> = (0..sizes.tasks()).map(|task| sizes.sequences(task)).collect();
        assert!(shares.iter().cloned().flatten().eq(0..batch), "{batch}: {shares:?}");
        let lengths = || shares.iter().map(ExactSizeIterator::len);
        let [least, most] = [lengths().min(), lengths().max()].map(Option::unwrap_or_default);
        assert!(most - least <= 1, "{batch}: {shares:?}");
        assert!(
            shares.len() < 2 || shares.len().is_multiple_of(2) && least >= 6,
            "{batch}: {shares:?}"
        );
        assert!(batch < 12 || shares.len() > 1, "{batch} sequences are one task");
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    for shape in [[70, 9, 33, 40], [30, 3, 33, 250]] {
        check_the_number_of_threads(shape);
    }
}

fn check_the_number_of_threads(shape: Shape) {
    let [one, two, three] = on_1_2_and_3_threads(|| {
        let layer = layer(shape, true);
        let (output, values_saved) = forward(layer.clone(), true);
        let wanted = LstmWanted { input: true, weights: true, state: true };
        let saved = saved(&layer, values_saved, wanted);
        let gradients = backward(saved, gradients(shape, true, true));
        let results = all_of(gradients).into_iter().map(|(_, tensor)| tensor);
        results.chain([output.outputs, output.state.cell]).map(values).collect::<Vec<_>>()
    });
    assert_eq!(one, two);
    assert_eq!(one, three);
}

#[test]
fn many_gradients_of_a_bias_add_up() {
    let lanes = Level::best().lanes();
    let sizes = Sizes { batch: 1, time: 1 << 18, inputs: 1, hidden: 1, lanes };
    let of_sums = vec![0.1; sizes.time * sizes.gate_stride()];
    let rows = vec![0.0; (sizes.time + 1) * sizes.stride()];
    let [_, _, bias] = weight_gradients(Level::best(), &sizes, &of_sums, &rows);
    let expected = 0.1 * sizes.time as f32;
    assert!(values(bias).iter().all(|sum| (sum / expected - 1.0).abs() < 1e-4));
}
