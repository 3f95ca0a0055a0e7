//! The layers of `models` as ONNX operators.

use models::layers::BATCH_NORM_EPSILON;

use super::{
    graph::{Graph, Value, float, int, ints},
    messages::ElementType,
};

impl Graph {
    /// A dense layer: `[batch, inputs]` to `[batch, outputs]`.
    pub(super) fn dense(&mut self, name: &str, input: &Value) -> Value {
        let weight = self.weight(&format!("{name}.weight"));
        let bias = self.weight(&format!("{name}.bias"));
        self.node("Gemm", &[input, &weight, &bias], vec![int("transB", 1)])
    }

    /// A dense layer, then ReLU.
    pub(super) fn dense_relu(&mut self, name: &str, input: &Value) -> Value {
        let output = self.dense(name, input);
        self.relu(&output)
    }

    /// A convolution with a square kernel.
    pub(super) fn conv(
        &mut self,
        name: &str,
        input: &Value,
        stride: usize,
        padding: usize,
    ) -> Value {
        let weight = self.weight(&format!("{name}.weight"));
        let bias = format!("{name}.bias");
        let bias = self.take_if_any(&bias).map(|tensor| self.tensor(&bias, &tensor));
        let inputs: Vec<&Value> = [input, &weight].into_iter().chain(&bias).collect();
        let attributes = vec![ints("strides", [stride; 2]), ints("pads", [padding; 4])];
        self.node("Conv", &inputs, attributes)
    }

    /// Batch normalisation by the running statistics.
    pub(super) fn batch_norm(&mut self, name: &str, input: &Value) -> Value {
        let [scale, shift, mean, variance] = ["weight", "bias", "running_mean", "running_var"]
            .map(|parameter| self.weight(&format!("{name}.{parameter}")));
        let inputs = [input, &scale, &shift, &mean, &variance];
        self.node("BatchNormalization", &inputs, vec![float("epsilon", BATCH_NORM_EPSILON as f32)])
    }

    pub(super) fn relu(&mut self, input: &Value) -> Value {
        self.node("Relu", &[input], Vec::new())
    }

    /// 2x2 max pooling.
    pub(super) fn max_pool(&mut self, input: &Value) -> Value {
        self.node("MaxPool", &[input], vec![ints("kernel_shape", [2; 2]), ints("strides", [2; 2])])
    }

    /// Flattens all dimensions but the batch.
    pub(super) fn flatten(&mut self, input: &Value) -> Value {
        self.node("Flatten", &[input], vec![int("axis", 1)])
    }

    /// Every `step`-th index from `start` to before `end`, along each of `axes`.
    pub(super) fn slice(
        &mut self,
        input: &Value,
        axes: &[i64],
        [start, end, step]: [i64; 3],
    ) -> Value {
        let [starts, ends, steps] =
            [start, end, step].map(|value| self.integers(&vec![value; axes.len()]));
        let axes = self.integers(axes);
        self.node("Slice", &[input, &starts, &ends, &axes, &steps], Vec::new())
    }

    pub(super) fn concat(&mut self, inputs: &[Value], axis: i64) -> Value {
        let inputs: Vec<&Value> = inputs.iter().collect();
        self.node("Concat", &inputs, vec![int("axis", axis)])
    }

    pub(super) fn transpose(&mut self, input: &Value, order: &[usize]) -> Value {
        self.node("Transpose", &[input], vec![ints("perm", order.iter().copied())])
    }

    pub(super) fn cast(&mut self, input: &Value, to: ElementType) -> Value {
        self.node("Cast", &[input], vec![int("to", to as i64)])
    }

    /// The vectors of integer tokens: `[..]` to `[.., width]`.
    pub(super) fn embedding(&mut self, name: &str, tokens: &Value) -> Value {
        let table = self.weight(&format!("{name}.weight"));
        self.node("Gather", &[&table, tokens], Vec::new())
    }
}
