//! One LSTM layer over a sequence (Hochreiter and Schmidhuber, 1997; forget gate: Gers and others,
//! 2000), in PyTorch's form.
//!
//! ```text
//! i, f, g, o = input_weight x + hidden_weight h + bias     (four gates: input, forget, cell, output)
//! c = sigmoid(f) c + sigmoid(i) tanh(g)
//! h = sigmoid(o) tanh(c)
//! ```
//!
//! Overrides: Flex (`flex/lstm`), CUDA and WGPU (`cube/lstm`).

mod recorded;

use burn::tensor::{Tensor, activation::sigmoid, ops::FloatTensor};

use crate::{
    Backend,
    functional::product,
    overrides::note_composed,
    precision::result,
    primitive::{primitive, tensor},
};

/// A sequence and the layer that reads it.
#[derive(Clone, Debug)]
pub struct Lstm<B: Backend> {
    /// `[batch, time, inputs]`, at least one step
    pub input: FloatTensor<B>,
    /// `[4 hidden, inputs]`, the gates stacked
    pub input_weight: FloatTensor<B>,
    /// `[4 hidden, hidden]`
    pub hidden_weight: FloatTensor<B>,
    /// `[4 hidden]`
    pub bias: FloatTensor<B>,
    /// The state before the first step; zeros if `None`.
    pub state: Option<LstmPrimitives<B>>,
}

/// Cells and hidden units, `[batch, hidden]` each.
#[derive(Clone, Debug)]
pub struct LstmPrimitives<B: Backend> {
    /// The cells.
    pub cell: FloatTensor<B>,
    /// The last outputs.
    pub hidden: FloatTensor<B>,
}

/// What an LSTM layer returns.
#[derive(Clone, Debug)]
pub struct LstmOutput<B: Backend> {
    /// `[batch, time, hidden]`
    pub outputs: FloatTensor<B>,
    /// The state after the last step.
    pub state: LstmPrimitives<B>,
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
pub struct LstmSaved<B: Backend> {
    /// `[4 hidden, inputs]`
    pub input_weight: FloatTensor<B>,
    /// `[4 hidden, hidden]`
    pub hidden_weight: FloatTensor<B>,
    /// `[batch, time, inputs]`
    pub shape: [usize; 3],
    /// Values of the forward pass; which ones, and their layout, is up to the backend.
    pub values: Vec<FloatTensor<B>>,
    /// Which gradients are wanted.
    pub wanted: LstmWanted,
}

/// Which gradients of an LSTM layer are wanted.
#[derive(Clone, Copy, Debug)]
pub struct LstmWanted {
    /// Of the input.
    pub input: bool,
    /// Of any weight or the bias.
    pub weights: bool,
    /// Of the state before the first step.
    pub state: bool,
}

/// The gradients of the outputs of an LSTM layer that were used.
#[derive(Clone, Debug)]
pub struct LstmOutputGradients<B: Backend> {
    /// `[batch, time, hidden]`
    pub outputs: Option<FloatTensor<B>>,
    /// Of the last cells, `[batch, hidden]`.
    pub cell: Option<FloatTensor<B>>,
    /// Of the last hidden units, `[batch, hidden]`.
    pub hidden: Option<FloatTensor<B>>,
}

/// The gradients of an LSTM layer that were wanted.
#[derive(Clone, Debug)]
pub struct LstmGradients<B: Backend> {
    /// `[batch, time, inputs]`
    pub input: Option<FloatTensor<B>>,
    /// Of input weight, hidden weight and bias, in their shapes.
    pub weights: Option<[FloatTensor<B>; 3]>,
    /// Of the state before the first step.
    pub state: Option<LstmPrimitives<B>>,
}

pub(crate) use recorded::recorded;

/// Returns what [`composed_backward`] reads: the input, the outputs, the gates after their
/// activations, the cells, and the first state's cells and hidden units. In a 16-bit layer only what is
/// multiplied by weights has 16 bits, and the cells that it takes and returns: within it a cell would lose what
/// many steps add to it.
pub(crate) fn composed<B: Backend>(layer: Lstm<B>) -> (LstmOutput<B>, Vec<FloatTensor<B>>) {
    note_composed();
    let input = tensor::<B, 3>(layer.input);
    let [batch, time, inputs] = input.dims();
    let dtype = input.dtype();
    let [input_weight, recurrent] =
        [layer.input_weight, layer.hidden_weight].map(|weight| tensor::<B, 2>(weight).transpose());
    let [width, _] = recurrent.dims();
    let zeros = || primitive(Tensor::<B, 2>::zeros([batch, width], (&input.device(), dtype)));
    let (first_cell, first_hidden) = match layer.state {
        Some(state) => (state.cell, state.hidden),
        None => (zeros(), zeros()),
    };
    let (first_cell, first_hidden) = (result::<B, 2>(first_cell), tensor::<B, 2>(first_hidden));
    let rows = input.clone().reshape([batch * time, inputs]);
    let from_input = product(rows, input_weight);
    let from_input = result::<B, 2>(primitive(from_input))
        .add(result::<B, 1>(layer.bias).unsqueeze())
        .reshape([batch, time, 4 * width]);

    let (mut cell, mut hidden) = (first_cell.clone(), first_hidden.clone());
    let mut steps = [(); 3].map(|()| Vec::with_capacity(time));
    for step in 0..time {
        let from_input = from_input.clone().narrow(1, step, 1).reshape([batch, 4 * width]);
        let sums = from_input + result(primitive(product(hidden, recurrent.clone())));
        let sum = |index| sums.clone().narrow(1, index * width, width);
        let [input_gate, forget_gate, output_gate] = [0, 1, 3].map(|index| sigmoid(sum(index)));
        let new = sum(2).tanh();
        cell = forget_gate.clone() * cell + input_gate.clone() * new.clone();
        hidden = (output_gate.clone() * cell.clone().tanh()).cast(dtype);
        let gates = Tensor::cat(vec![input_gate, forget_gate, new, output_gate], 1);
        for (all, one) in steps.iter_mut().zip([&hidden, &gates, &cell]) {
            all.push(one.clone());
        }
    }
    let [outputs, gates, cells] = steps.map(|steps| Tensor::<B, 2>::stack::<3>(steps, 1));
    let saved = [input, outputs.clone(), gates, cells].map(primitive).into_iter();
    let saved = saved.chain([first_cell, first_hidden].map(primitive)).collect();
    let state = LstmPrimitives { cell: primitive(cell.cast(dtype)), hidden: primitive(hidden) };
    (LstmOutput { outputs: primitive(outputs), state }, saved)
}

pub(crate) fn composed_backward<B: Backend>(
    saved: LstmSaved<B>,
    gradients: LstmOutputGradients<B>,
) -> LstmGradients<B> {
    note_composed();
    let [batch, time, _] = saved.shape;
    let Ok([input, outputs, gates, cells, first_cell, first_hidden]) =
        <[FloatTensor<B>; 6]>::try_from(saved.values)
    else {
        unreachable!("the forward pass saves six tensors");
    };
    let (gates, cells) = (tensor::<B, 3>(gates), tensor::<B, 3>(cells));
    let (first_cell, first_hidden) = (tensor::<B, 2>(first_cell), tensor::<B, 2>(first_hidden));
    let [_, width] = first_cell.dims();
    let hidden_weight = tensor::<B, 2>(saved.hidden_weight);
    let dtype = hidden_weight.dtype();

    let of_outputs = gradients.outputs.map(result::<B, 3>);
    let mut of_cell = gradients.cell.map_or_else(|| first_cell.zeros_like(), result::<B, 2>);
    let mut of_hidden = gradients.hidden.map_or_else(|| first_cell.zeros_like(), result::<B, 2>);
    let at = |all: &Tensor<B, 3>, step| all.clone().narrow(1, step, 1).squeeze_dim::<2>(1);
    // The derivatives of sigmoid and tanh, from their values.
    let sigmoid_slope = |value: &Tensor<B, 2>| value.clone() * (value.clone().neg() + 1.0);
    let tanh_slope = |value: &Tensor<B, 2>| (value.clone() * value.clone()).neg() + 1.0;

    let mut of_sums = Vec::with_capacity(time);
    for step in (0..time).rev() {
        if let Some(of_outputs) = &of_outputs {
            of_hidden = of_hidden + at(of_outputs, step);
        }
        let gates = at(&gates, step);
        let [i, f, g, o] = [0, 1, 2, 3].map(|index| gates.clone().narrow(1, index * width, width));
        let previous = if step == 0 { first_cell.clone() } else { at(&cells, step - 1) };
        let cell_tanh = at(&cells, step).tanh();
        of_cell = of_cell + of_hidden.clone() * o.clone() * tanh_slope(&cell_tanh);
        let of_gates = [
            of_cell.clone() * g.clone() * sigmoid_slope(&i),
            of_cell.clone() * previous * sigmoid_slope(&f),
            of_cell.clone() * i * tanh_slope(&g),
            of_hidden * cell_tanh * sigmoid_slope(&o),
        ];
        of_cell = of_cell * f;
        let of_sum = Tensor::cat(of_gates.to_vec(), 1).cast(dtype);
        of_hidden = result(primitive(product(of_sum.clone(), hidden_weight.clone())));
        of_sums.push(of_sum);
    }
    of_sums.reverse();
    let of_sums = Tensor::<B, 2>::stack::<3>(of_sums, 1).reshape([batch * time, 4 * width]);
    let (input, weights) = of_products(
        of_sums,
        [input, outputs],
        Some(first_hidden),
        saved.input_weight,
        &saved.shape,
        saved.wanted,
    );
    let [of_cell, of_hidden] = [of_cell, of_hidden].map(|of| primitive(of.cast(dtype)));
    let state = saved.wanted.state.then(|| LstmPrimitives { cell: of_cell, hidden: of_hidden });
    LstmGradients { input, weights, state }
}

/// The gradients of the input, and of input weight, hidden weight and bias, from those of the gates'
/// sums before their activations.
///
/// - `of_sums`: `[batch * time, 4 hidden]`
/// - `input`, `outputs`: of the layer
/// - `first_hidden`: `[batch, hidden]`, zeros if `None`
/// - `shape`: of the input
pub(crate) fn of_products<B: Backend>(
    of_sums: Tensor<B, 2>,
    [input, outputs]: [FloatTensor<B>; 2],
    first_hidden: Option<Tensor<B, 2>>,
    input_weight: FloatTensor<B>,
    &[batch, time, inputs]: &[usize; 3],
    wanted: LstmWanted,
) -> (Option<FloatTensor<B>>, Option<[FloatTensor<B>; 3]>) {
    let [rows, _] = of_sums.dims();
    let weights = wanted.weights.then(|| {
        let outputs = tensor::<B, 3>(outputs);
        let [_, _, width] = outputs.dims();
        let first = first_hidden.map_or_else(
            || Tensor::zeros([batch, 1, width], (&outputs.device(), outputs.dtype())),
            |hidden| hidden.unsqueeze_dim(1),
        );
        let mut before = vec![first];
        if time > 1 {
            before.push(outputs.narrow(1, 0, time - 1));
        }
        let before = Tensor::cat(before, 1).reshape([rows, width]);
        let input = tensor::<B, 3>(input).reshape([rows, inputs]);
        [
            primitive(product(of_sums.clone().transpose(), input)),
            primitive(product(of_sums.clone().transpose(), before)),
            B::column_sums(primitive(of_sums.clone())),
        ]
    });
    let input = wanted
        .input
        .then(|| primitive(product(of_sums, tensor(input_weight)).reshape([batch, time, inputs])));
    (input, weights)
}
