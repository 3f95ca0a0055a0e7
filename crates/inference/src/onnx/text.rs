//! The network that writes text, and what reads texts in rows, each following its `forward` in `models`.

use models::{Positions, TextLstmConfig, TextReaderConfig};
use store::StoredTensor;

use super::{
    LOGITS,
    graph::{Graph, Size, Value, int, ints},
    messages::ElementType,
};

/// The places of ONNX's gates (input, output, forget, cell) in PyTorch's order (input, forget, cell,
/// output).
const GATES: [usize; 4] = [0, 3, 1, 2];

/// The whole network, its inputs and outputs included:
///
/// - `tokens`: `[batch, time]`
/// - `h`, `c`: the hidden units and cells of each layer, `[layers, batch, hidden]`; zeros if they are
///   not given
/// - `logits`: `[batch, time, vocabulary]`, or `[batch, 1, vocabulary]` where only the last position
///   predicts
/// - `h_next`, `c_next`: the state after the last token
pub(super) fn text_lstm(graph: &mut Graph, config: &TextLstmConfig) {
    let batch = Size::Named("batch");
    let tokens = graph.input("tokens", ElementType::I64, &[batch, Size::Named("time")]);
    let sequence = graph.embedding("embedding", &tokens); // [batch, time, embedding]
    let (sequence, state) = lstm_layers(graph, config, &tokens, &sequence); // [batch, time, hidden]
    let (outputs, positions) = match config.predict {
        Positions::All => (sequence, Size::Named("time")),
        Positions::Last => (graph.slice(&sequence, &[1], [-1, i64::MAX, 1]), Size::Fixed(1)),
    };
    let weight = graph.weight("dense.weight");
    let weight = graph.transpose(&weight, &[1, 0]);
    let products = graph.node("MatMul", &[&outputs, &weight], Vec::new());
    let bias = graph.weight("dense.bias");
    let logits = graph.node("Add", &[&products, &bias], Vec::new());
    graph.output(
        &logits,
        LOGITS,
        ElementType::F32,
        &[batch, positions, Size::Fixed(config.vocabulary)],
    );
    // Behind the logits: a program that asks for the first output expects those.
    let shape = [Size::Fixed(config.layers), batch, Size::Fixed(config.hidden)];
    for (name, next) in ["h_next", "c_next"].into_iter().zip(state) {
        graph.output(&next, name, ElementType::F32, &shape);
    }
}

/// - `sequence`: `[batch, time, embedding]`
/// - returns: `[batch, time, hidden]`, and the hidden units and cells after the last token, each
///   `[layers, batch, hidden]`; none without layers
fn lstm_layers(
    graph: &mut Graph,
    config: &TextLstmConfig,
    tokens: &Value,
    sequence: &Value,
) -> (Value, Vec<Value>) {
    let &TextLstmConfig { layers, hidden, .. } = config;
    if layers == 0 {
        return (sequence.clone(), Vec::new());
    }
    let [h, c] = ["h", "c"].map(|name| state(graph, name, tokens, [layers, hidden]));
    let (mut h_next, mut c_next) = (Vec::new(), Vec::new());
    let mut sequence = graph.transpose(sequence, &[1, 0, 2]); // [time, batch, embedding]
    for layer in 0..layers {
        let index = layer as i64;
        let [h, c] = [&h, &c].map(|state| graph.slice(state, &[0], [index, index + 1, 1]));
        let weights = weights(graph, "lstm", layer, hidden);
        let [weight, recurrent, bias] = &weights;
        let lengths = String::new(); // every sequence has the length of the longest
        let inputs = [&sequence, weight, recurrent, bias, &lengths, &h, &c];
        let [outputs, h, c] =
            graph.node_of("LSTM", &inputs, vec![int("hidden_size", hidden as i64)]);
        let direction = graph.integers(&[1]);
        sequence = graph.node("Squeeze", &[&outputs, &direction], Vec::new());
        h_next.push(h);
        c_next.push(c);
    }
    let state = [h_next, c_next].map(|parts| graph.concat(&parts, 0)).to_vec();
    (graph.transpose(&sequence, &[1, 0, 2]), state)
}

/// What is read of a text in a row.
///
/// - `name`: of the reader
/// - `tokens`: `[batch, time]`, 0 where there is none
/// - returns: `[batch, outputs]`
pub(super) fn read(
    graph: &mut Graph,
    name: &str,
    config: &TextReaderConfig,
    tokens: &Value,
) -> Value {
    let vectors = graph.embedding(&format!("{name}.embedding"), tokens); // [batch, time, embedding]
    let times = graph.integers(&[1]);
    let nothing = graph.integers(&[0]);
    let are_tokens = graph.node("Greater", &[tokens, &nothing], Vec::new());
    let last = graph.integers(&[2]);
    let are_tokens = graph.node("Unsqueeze", &[&are_tokens, &last], Vec::new()); // [batch, time, 1]
    let ones = graph.cast(&are_tokens, ElementType::F32);
    let Some(hidden) = config.hidden else {
        let vectors = graph.node("Mul", &[&vectors, &ones], Vec::new());
        let [sum, count] = [&vectors, &ones]
            .map(|values| graph.node("ReduceSum", &[values, &times], vec![int("keepdims", 0)]));
        let one = graph.integers(&[1]);
        let one = graph.cast(&one, ElementType::F32);
        let count = graph.node("Max", &[&count, &one], Vec::new());
        return graph.node("Div", &[&sum, &count], Vec::new());
    };
    let sequence = graph.transpose(&vectors, &[1, 0, 2]);
    let [weight, recurrent, bias] = weights(graph, &format!("{name}.lstm"), 0, hidden);
    let inputs = [&sequence, &weight, &recurrent, &bias];
    let outputs = graph.node("LSTM", &inputs, vec![int("hidden_size", hidden as i64)]);
    let outputs = graph.node("Squeeze", &[&outputs, &times], Vec::new()); // [time, batch, hidden]
    let outputs = graph.transpose(&outputs, &[1, 0, 2]);
    let below = graph.integers(&[-2]); // all outputs
    let below = graph.cast(&below, ElementType::F32);
    let outputs = graph.node("Where", &[&are_tokens, &outputs, &below], Vec::new());
    let [largest, has_token] = [&outputs, &ones].map(|values| {
        let attributes = vec![ints("axes", [1]), int("keepdims", 0)];
        graph.node("ReduceMax", &[values], attributes)
    });
    graph.node("Mul", &[&largest, &has_token], Vec::new())
}

/// The state before the first token, `[layers, batch, hidden]`.
fn state(graph: &mut Graph, name: &str, tokens: &Value, [layers, hidden]: [usize; 2]) -> Value {
    let shape = [Size::Fixed(layers), Size::Named("batch"), Size::Fixed(hidden)];
    // The default cannot depend on the size of the batch, so it is one sample's, repeated. ONNX Runtime
    // warns of every input with a default; without one it would have to be given.
    let given = graph.optional_input(name, &shape, [layers, 1, hidden]);
    let batch = graph.node("Shape", &[tokens], vec![int("start", 0), int("end", 1)]);
    let one = graph.integers(&[1]);
    let shape = graph.concat(&[one.clone(), batch, one], 0);
    graph.node("Expand", &[&given, &shape], Vec::new())
}

/// The weights of a layer for one direction: `[1, 4 hidden, inputs]`, `[1, 4 hidden, hidden]`, and
/// the two biases one after the other, `[1, 8 hidden]`.
///
/// - `name`: that of all layers
fn weights(graph: &mut Graph, name: &str, layer: usize, hidden: usize) -> [Value; 3] {
    let names = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"];
    let [weight, recurrent, bias, second] = names.map(|of| format!("{name}.{of}_l{layer}"));
    let matrices = [weight, recurrent].map(|name| {
        let tensor = graph.take(&name);
        let inputs = tensor.shape()[1];
        let values = reordered(&tensor, hidden * inputs);
        graph.tensor(&name, &stored(vec![1, 4 * hidden, inputs], values))
    });
    let [weight, recurrent] = matrices;
    let mut biases = reordered(&graph.take(&bias), hidden);
    match graph.take_if_any(&second) {
        Some(second) => biases.extend(reordered(&second, hidden)),
        None => biases.resize(8 * hidden, 0.0),
    }
    let bias = graph.tensor(&bias, &stored(vec![1, 8 * hidden], biases));
    [weight, recurrent, bias]
}

/// The values with their gates in ONNX's order, `gate` values for each.
fn reordered(tensor: &StoredTensor, gate: usize) -> Vec<f32> {
    GATES.iter().flat_map(|place| &tensor.values()[place * gate..][..gate]).copied().collect()
}

fn stored(shape: Vec<usize>, values: Vec<f32>) -> StoredTensor {
    StoredTensor::new(shape, values).expect("the gates in another order are as many")
}
