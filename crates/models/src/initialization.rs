//! Initial weights: the tutorial frameworks' own distributions, drawn by counter from the seed.
//!
//! A value depends on the seed, the parameter's path and its position in PyTorch's layout, so a
//! network starts from the same weights on every backend.

use backend::{
    Backend,
    random::{Purpose, Random, stream_of},
};
use burn::{
    module::{Param, ParamId},
    tensor::{Tensor, TensorData},
};
use rayon::{
    iter::{IntoParallelIterator, ParallelIterator},
    slice::ParallelSliceMut,
};
use serde::{Deserialize, Serialize};

/// How a layer's weights are drawn.
///
/// `fan_in` and `fan_out` are the numbers of weights of one output and of one input: for a convolution
/// the channels times the area of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Initialization {
    /// PyTorch's own: weight and bias uniform within `1 / sqrt(fan_in)`, in an LSTM within
    /// `1 / sqrt(hidden)`; embeddings normal (the `reset_parameters` of `torch.nn`).
    Pytorch,
    /// Keras's: weights by Glorot's uniform distribution, zero biases, in an LSTM an orthogonal recurrent
    /// weight and a forget bias of 1; embeddings uniform within 0.05.
    Keras,
    /// He et al.'s for ReLU networks, as in torchvision: weights normal with standard deviation
    /// `sqrt(2 / fan_out)`, zero biases. Embeddings and LSTMs, which no ReLU follows, keep PyTorch's own.
    He,
}

/// The distribution of a value.
#[derive(Clone, Copy)]
enum Spread {
    /// Uniform in `[-bound, bound)`.
    Uniform(f64),
    /// Mean 0 and this standard deviation.
    Normal(f64),
}

/// The source of initial weights: a seed, and the path of the module to build.
///
/// A value depends on the seed, the path of its layer, and its place in the layer, so a network starts
/// with the same weights on every backend. Two layers at one path start alike: each needs its own.
///
/// ```
/// use backend::{Backend, Selected, device::Device};
/// use burn::{module::Module, tensor::Tensor};
/// use models::{Initializer, Initialization, layers::Linear};
///
/// #[derive(Module, Debug)]
/// struct Network<B: Backend> {
///     fc1: Linear<B>,
///     fc2: Linear<B>,
/// }
///
/// impl<B: Backend> Network<B> {
///     fn new(initializer: &Initializer<B>) -> Self {
///         Self {
///             fc1: Linear::new(&initializer.at("fc1"), Initialization::Pytorch, 20, 10),
///             fc2: Linear::new(&initializer.at("fc2"), Initialization::Pytorch, 10, 1),
///         }
///     }
///
///     fn forward(&self, features: Tensor<B, 2>) -> Tensor<B, 2> {
///         self.fc2.forward(self.fc1.forward_relu(features))
///     }
/// }
///
/// let device = Device::default();
/// let network = Network::<Selected>::new(&Initializer::seeded(0, &device));
/// assert_eq!(network.forward(Tensor::zeros([40, 20], &device)).dims(), [40, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct Initializer<B: Backend> {
    seed: Option<u64>,
    path: String,
    device: B::Device,
}

/// Columns that are drawn, and made orthogonal to all before them, at a time.
const AT_ONCE: usize = 64;

/// Of these, the columns of one thread: what they are orthogonal to may be larger than the processor's
/// caches, and is read once for all of them.
const OF_THREAD: usize = 8;

impl<B: Backend> Initializer<B> {
    /// Weights drawn from a seed.
    pub fn seeded(seed: u64, device: &B::Device) -> Self {
        Self { seed: Some(seed), path: String::new(), device: device.clone() }
    }

    /// Draws nothing: parameters are zeros that take no memory before they are used. For networks whose
    /// weights will be replaced.
    pub fn blank(device: &B::Device) -> Self {
        Self { seed: None, path: String::new(), device: device.clone() }
    }

    /// The same, for the part of the module with this name.
    pub fn at(&self, name: &str) -> Self {
        let path =
            if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        Self { path, ..self.clone() }
    }

    /// The weight of a layer in PyTorch's layout: `shape` is outputs, inputs, and the kernel's sides.
    pub fn weight<const D: usize>(
        &self,
        initialization: Initialization,
        shape: [usize; D],
    ) -> Param<Tensor<B, D>> {
        let area: f64 = shape[2..].iter().map(|&size| size as f64).product();
        let [fan_out, fan_in] = [shape[0], shape[1]].map(|channels| channels as f64 * area);
        self.draw("weight", shape, Spread::of(initialization, fan_in, fan_out), |index| index)
    }

    /// The weight of a dense layer, `[inputs, outputs]`: the transpose of [`weight`](Self::weight),
    /// also in memory, since some backends multiply views of matrices wrongly.
    pub fn dense_weight(
        &self,
        initialization: Initialization,
        inputs: usize,
        outputs: usize,
    ) -> Param<Tensor<B, 2>> {
        let [rows, columns] = [inputs, outputs].map(|size| size as u64);
        let in_pytorchs_layout = |index: u64| index % columns * rows + index / columns;
        let spread = Spread::of(initialization, inputs as f64, outputs as f64);
        self.draw("weight", [inputs, outputs], spread, in_pytorchs_layout)
    }

    /// The bias of a layer, `[outputs]`.
    pub fn bias(
        &self,
        initialization: Initialization,
        outputs: usize,
        fan_in: usize,
    ) -> Param<Tensor<B, 1>> {
        match initialization {
            Initialization::Pytorch => {
                self.uniform("bias", [outputs], 1.0 / (fan_in.max(1) as f64).sqrt())
            }
            Initialization::Keras | Initialization::He => self.fixed([outputs], |_| 0.0),
        }
    }

    /// A parameter that is not drawn, with a value for each position.
    pub fn fixed<const D: usize>(
        &self,
        shape: [usize; D],
        value: impl Fn(usize) -> f32,
    ) -> Param<Tensor<B, D>> {
        if self.seed.is_none() {
            return self.unset(shape);
        }
        self.parameter((0..shape.iter().product()).map(value).collect(), shape)
    }

    /// Uniform in `[-bound, bound)`.
    pub fn uniform<const D: usize>(
        &self,
        name: &str,
        shape: [usize; D],
        bound: f64,
    ) -> Param<Tensor<B, D>> {
        self.draw(name, shape, Spread::Uniform(bound), |index| index)
    }

    /// Normal with mean 0.
    pub fn normal<const D: usize>(
        &self,
        name: &str,
        shape: [usize; D],
        deviation: f64,
    ) -> Param<Tensor<B, D>> {
        self.draw(name, shape, Spread::Normal(deviation), |index| index)
    }

    /// Standard normal, but zeros in the first row.
    pub(crate) fn normal_after_first_row(
        &self,
        name: &str,
        [rows, columns]: [usize; 2],
    ) -> Param<Tensor<B, 2>> {
        let Some(random) = self.random(name) else { return self.unset([rows, columns]) };
        let value = |index| if index < columns { 0.0 } else { random.normal(index as u64) };
        self.parameter((0..rows * columns).map(value).collect(), [rows, columns])
    }

    /// Orthonormal columns, for at least as many `rows` as `columns`: normal vectors, made orthogonal in
    /// their order, which is the `Q` of Keras's `orthogonal` initializer.
    pub(crate) fn orthogonal(
        &self,
        name: &str,
        [rows, columns]: [usize; 2],
    ) -> Param<Tensor<B, 2>> {
        let Some(random) = self.random(name) else { return self.unset([rows, columns]) };
        let draw = |column| -> Vec<f64> {
            let value = |row| f64::from(random.normal((row * columns + column) as u64));
            (0..rows).map(value).collect()
        };
        let norm = |vector: &[f64]| dot(vector, vector).sqrt();
        let mut basis: Vec<Vec<f64>> = Vec::with_capacity(columns);
        for first in (0..columns).step_by(AT_ONCE) {
            let mut vectors: Vec<Vec<f64>> =
                (first..columns.min(first + AT_ONCE)).into_par_iter().map(draw).collect();
            let lengths: Vec<f64> = vectors.iter().map(|vector| norm(vector)).collect();
            vectors.par_chunks_mut(OF_THREAD).for_each(|vectors| {
                for other in &basis {
                    vectors.iter_mut().for_each(|vector| make_orthogonal(vector, other));
                }
            });
            for (mut vector, before) in vectors.into_iter().zip(lengths) {
                basis[first..].iter().for_each(|other| make_orthogonal(&mut vector, other));
                let mut length = norm(&vector);
                // Rounding errors count only where little is left; a second round removes them.
                if length <= 0.7 * before {
                    basis.iter().for_each(|other| make_orthogonal(&mut vector, other));
                    length = norm(&vector);
                }
                basis.push(vector.into_iter().map(|value| value / length).collect());
            }
        }
        let position = |index: usize| basis[index % columns][index / columns] as f32;
        self.parameter((0..rows * columns).map(position).collect(), [rows, columns])
    }

    /// - `drawn_at`: from a position in the tensor to the index of the random value there
    fn draw<const D: usize>(
        &self,
        name: &str,
        shape: [usize; D],
        spread: Spread,
        drawn_at: impl Fn(u64) -> u64,
    ) -> Param<Tensor<B, D>> {
        let Some(random) = self.random(name) else { return self.unset(shape) };
        let elements = shape.iter().product::<usize>() as u64;
        let value = |position| spread.value(&random, drawn_at(position));
        self.parameter((0..elements).map(value).collect(), shape)
    }

    fn random(&self, name: &str) -> Option<Random> {
        let stream = stream_of(&self.at(name).path);
        Some(Random::new(self.seed?, Purpose::Initialization, stream))
    }

    fn parameter<const D: usize>(
        &self,
        values: Vec<f32>,
        shape: [usize; D],
    ) -> Param<Tensor<B, D>> {
        Param::from_tensor(Tensor::from_data(TensorData::new(values, shape), &self.device))
    }

    /// Zeros, once they are used.
    fn unset<const D: usize>(&self, shape: [usize; D]) -> Param<Tensor<B, D>> {
        let zeros = move |device: &B::Device, trained: bool| {
            Tensor::zeros(shape, device).set_require_grad(trained)
        };
        Param::uninitialized(ParamId::new(), zeros, self.device.clone(), true, shape.into())
    }
}

impl Spread {
    /// That of a weight.
    fn of(initialization: Initialization, fan_in: f64, fan_out: f64) -> Self {
        match initialization {
            Initialization::Pytorch => Self::Uniform(1.0 / fan_in.max(1.0).sqrt()),
            Initialization::Keras => Self::Uniform(glorot(fan_in, fan_out)),
            Initialization::He => Self::Normal((2.0 / fan_out.max(1.0)).sqrt()),
        }
    }

    fn value(self, random: &Random, index: u64) -> f32 {
        match self {
            Self::Uniform(bound) => ((random.uniform_f64(index) * 2.0 - 1.0) * bound) as f32,
            Self::Normal(deviation) => (f64::from(random.normal(index)) * deviation) as f32,
        }
    }
}

/// The bound of Glorot's uniform distribution (Glorot and Bengio, 2010).
pub(crate) fn glorot(fan_in: f64, fan_out: f64) -> f64 {
    (6.0 / (fan_in + fan_out).max(1.0)).sqrt()
}

/// Takes from a vector what lies along another one of length 1.
fn make_orthogonal(vector: &mut [f64], other: &[f64]) {
    let along = dot(vector, other);
    vector.iter_mut().zip(other).for_each(|(value, base)| *value -= along * base);
}

/// In eight partial sums, which the processor adds up in parallel.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, rest_of_a) = a.as_chunks::<8>();
    let (b, rest_of_b) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let rest: f64 = rest_of_a.iter().zip(rest_of_b).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;
    use crate::layers::{Embedding, Lstm};

    fn values<const D: usize>(parameter: Param<Tensor<Selected, D>>) -> Vec<f64> {
        parameter.val().into_data().iter().collect()
    }

    /// Mean square and largest absolute value of a kernel of 40 outputs and 30 inputs of 3x3.
    fn spread(initialization: Initialization) -> [f64; 2] {
        let initializer = Initializer::<Selected>::seeded(3, &Device::default());
        let weight = values(initializer.weight(initialization, [40, 30, 3, 3]));
        let squares = weight.iter().map(|value| value * value).sum::<f64>();
        let largest = weight.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
        [squares / weight.len() as f64, largest]
    }

    #[test]
    fn weights_have_the_spread_of_their_initialization() {
        let close = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.05);
        let [square, largest] = spread(Initialization::Pytorch);
        close(square, 1.0 / 270.0 / 3.0);
        close(largest, (1.0f64 / 270.0).sqrt());
        let [square, largest] = spread(Initialization::Keras);
        close(square, 6.0 / 630.0 / 3.0);
        close(largest, (6.0f64 / 630.0).sqrt());
        let [square, largest] = spread(Initialization::He);
        close(square, 2.0 / 360.0);
        assert!(largest > 3.0 * square.sqrt(), "not uniform");
    }

    /// Those of PyTorch's `reset_parameters`, and of the arguments of Keras's layers.
    #[test]
    fn layers_begin_as_their_initialization_says() {
        let initializer = Initializer::<Selected>::seeded(3, &Device::default());
        let bound =
            |values: &[f64]| values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        let close = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 0.05, "{found} for {expected}");
        };
        close(bound(&values(initializer.bias(Initialization::Pytorch, 500, 9))), 1.0 / 3.0);
        for initialization in [Initialization::Keras, Initialization::He] {
            assert_eq!(values(initializer.bias(initialization, 4, 9)), [0.0; 4]);
        }

        let (inputs, hidden) = (4, 25);
        for initialization in [Initialization::Pytorch, Initialization::He] {
            let lstm = Lstm::new(&initializer, initialization, inputs, hidden);
            close(bound(&values(lstm.weight_ih)), 0.2);
            close(bound(&values(lstm.weight_hh)), 0.2);
            close(bound(&values(lstm.bias_ih)), 0.2);
            close(bound(&values(lstm.bias_hh.unwrap())), 0.2);
            let table = values(Embedding::new(&initializer, initialization, 100, 50).weight);
            let squares = table.iter().map(|value| value * value).sum::<f64>();
            close((squares / table.len() as f64).sqrt(), 1.0);
        }
        let lstm = Lstm::new(&initializer, Initialization::Keras, inputs, hidden);
        close(bound(&values(lstm.weight_ih)), (6.0f64 / 104.0).sqrt());
        // Gates are the input's, the forget gate, the cell's and the output's.
        let forgets = [0.0, 1.0, 0.0, 0.0].map(|bias| [bias; 25]).concat();
        assert_eq!(values(lstm.bias_ih), forgets);
        assert!(lstm.bias_hh.is_none());
        let table = values(Embedding::new(&initializer, Initialization::Keras, 100, 50).weight);
        close(bound(&table), 0.05);
    }

    #[test]
    fn a_dense_weight_is_the_transpose_of_pytorchs() {
        let initializer = Initializer::<Selected>::seeded(3, &Device::default());
        for initialization in [Initialization::Pytorch, Initialization::Keras, Initialization::He] {
            let transposed = initializer.weight(initialization, [5, 3]).map(Tensor::transpose);
            assert_eq!(
                values(initializer.dense_weight(initialization, 3, 5)),
                values(transposed),
                "{initialization:?}"
            );
        }
    }

    #[test]
    fn an_orthogonal_matrix_keeps_lengths() {
        let initializer = Initializer::<Selected>::seeded(3, &Device::default());
        // Of a square matrix the last columns have little left, and are projected twice.
        for [rows, columns] in [[12, 5], [150, 150], [150, 70]] {
            let matrix = initializer.orthogonal("weight", [rows, columns]);
            let product = values(matrix.map(|matrix| matrix.clone().transpose().matmul(matrix)));
            for (index, value) in product.into_iter().enumerate() {
                let expected = if index % (columns + 1) == 0 { 1.0 } else { 0.0 };
                assert!((value - expected).abs() < 1e-6, "{index}: {value}");
            }
        }
    }

    #[test]
    fn seed_and_path_decide_and_a_blank_network_is_zero() {
        let device = Device::default();
        let draw = |seed, path: &str| {
            let initializer = Initializer::<Selected>::seeded(seed, &device).at(path);
            values(initializer.weight(Initialization::Pytorch, [2, 3]))
        };
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
        let blank = Initializer::<Selected>::blank(&device);
        let weight = blank.weight(Initialization::He, [2, 3]);
        assert!(!weight.is_initialized() && weight.lazy_shape().to_vec() == [2, 3]);
        assert_eq!(values(weight), [0.0; 6]);
    }
}
