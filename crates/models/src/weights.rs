//! Weights by name, with PyTorch's names and layout.
//!
//! A parameter's name is its path in the module (`layer1.0.conv1.weight`), with three differences
//! between Burn's module and PyTorch's: the weight of a dense layer is `[outputs, inputs]` in a
//! file, the reverse of Burn's own layout; an LSTM's parameters are `lstm.weight_ih_l0` rather
//! than `lstm.0.weight_ih`, or `lstm.weight_ih` where there is a single layer; and the variant of an
//! enum is no part of a name.
//!
//! Layers are recognised by the names of their types: a matrix `weight` of any struct called `Linear` is a
//! dense layer's, as in [`layers`](crate::layers) and in `burn::nn`, and a parameter of any struct called
//! `Lstm` is an LSTM's. Give your other layers different names.

use std::collections::BTreeMap;

use backend::{
    Backend,
    primitive::{primitive, tensor},
};
use burn::{
    module::{Module, ModuleMapper, ModuleVisitor, Param},
    tensor::{Tensor, TensorData},
};
use store::{Hasher, StoredTensor};

/// Weights that a network cannot take.
#[derive(Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum WeightsError {
    /// They are another network's; every mismatch is listed, the first ones shown.
    #[error("the weights do not fit the network: {}", first_of(.0))]
    Mismatch(Vec<String>),
    /// They would make everything that follows from them NaN.
    #[error("{count} of its tensors hold NaN or infinite weights, the first of them `{first}`")]
    NotFinite { count: usize, first: String },
}

/// The first mismatches, and how many more there are.
fn first_of(mismatches: &[String]) -> String {
    const TOLD: usize = 6;
    let (told, others) = mismatches.split_at(mismatches.len().min(TOLD));
    let more =
        if others.is_empty() { String::new() } else { format!("; and {} more", others.len()) };
    told.join("; ") + &more
}

impl WeightsError {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Mismatch(_) => {
                "use weights of the same architecture; their names and shapes are those of the \
                 network"
            }
            Self::NotFinite { .. } => {
                "download or copy the file again; if it is whole, its training has diverged: use \
                 other weights"
            }
        }
        .to_owned()
    }
}

/// All parameters of a model, running statistics included.
pub fn to_tensors<B: Backend, M: Module<B>>(model: &M) -> BTreeMap<String, StoredTensor> {
    let mut collect = Collect { path: Path::default(), tensors: BTreeMap::new() };
    model.visit(&mut collect);
    collect.tensors
}

/// The shapes of all parameters of a model, running statistics included, as in a file.
pub fn shapes<B: Backend, M: Module<B>>(model: &M) -> BTreeMap<String, Vec<usize>> {
    let mut collect = Shapes { path: Path::default(), shapes: BTreeMap::new() };
    model.visit(&mut collect);
    collect.shapes
}

/// The number of learnt values in a model, without running statistics.
pub fn count<B: Backend, M: Module<B>>(model: &M) -> usize {
    let learnt = |name: &str| !name.ends_with("running_mean") && !name.ends_with("running_var");
    let shapes = shapes(model);
    let learnt = shapes.iter().filter(|(name, _)| learnt(name));
    learnt.map(|(_, shape)| shape.iter().product::<usize>()).sum()
}

/// A hash of names, shapes and values: equal exactly where these are.
pub fn fingerprint(tensors: &BTreeMap<String, StoredTensor>) -> String {
    let mut hasher = Hasher::default();
    for (name, tensor) in tensors {
        hasher.update(format!("{name} {:?}\n", tensor.shape()).as_bytes());
        hasher.update_values(tensor.values());
    }
    hasher.finish()
}

/// The model with its parameters replaced.
///
/// # Errors
///
/// Names every parameter that is missing, unknown or of another shape, or one that is not finite; then
/// nothing is replaced.
pub fn load<B: Backend, M: Module<B>>(
    model: M,
    tensors: BTreeMap<String, StoredTensor>,
) -> Result<M, WeightsError> {
    load_part(model, tensors, |_| true)
}

/// The model with all parameters whose names are `wanted` replaced, for instance all but those of a new head.
/// The others stay as they are, and tensors of other names are ignored.
///
/// ```
/// use backend::{Selected, device::Device};
/// use models::{MlpConfig, weights};
///
/// let network = |outputs| MlpConfig { inputs: 4, hidden: vec![8], outputs, ..Default::default() };
/// let trained = network(1).init::<Selected>(0, &Device::default());
/// let new = network(3).init::<Selected>(1, &Device::default());
/// let is_body = |name: &str| name.starts_with("layers.0.");
/// let new = weights::load_part(new, weights::to_tensors(&trained), is_body)?;
/// # let _ = new;
/// # Ok::<(), weights::WeightsError>(())
/// ```
///
/// # Errors
///
/// Of what is wanted, as [`load`]; and where nothing is.
pub fn load_part<B: Backend, M: Module<B>>(
    model: M,
    mut tensors: BTreeMap<String, StoredTensor>,
    wanted: impl Fn(&str) -> bool,
) -> Result<M, WeightsError> {
    let mut expected = shapes(&model);
    let first = expected.keys().next().cloned();
    expected.retain(|name, _| wanted(name));
    tensors.retain(|name, _| wanted(name));
    if let Some(first) = first.filter(|_| expected.is_empty() && tensors.is_empty()) {
        let problem = format!("none of its parameters is wanted, the first of which is `{first}`");
        return Err(WeightsError::Mismatch(vec![problem]));
    }
    check(&expected, &tensors)?;
    check_finite(&tensors)?;
    Ok(model.map(&mut Replace { path: Path::default(), tensors }))
}

/// Checks that there are at least as many tensors as layers, which have one or more each.
pub(crate) fn check_number(
    layers: usize,
    tensors: &BTreeMap<String, StoredTensor>,
) -> Result<(), WeightsError> {
    if layers <= tensors.len() {
        return Ok(());
    }
    let found = tensors.len();
    Err(WeightsError::Mismatch(vec![format!(
        "it has {layers} layers, and there are {found} tensors"
    )]))
}

/// Checks that `tensors` have the names and shapes of `expected`.
fn check(
    expected: &BTreeMap<String, Vec<usize>>,
    tensors: &BTreeMap<String, StoredTensor>,
) -> Result<(), WeightsError> {
    let mut problems = Vec::new();
    for (name, shape) in expected {
        match tensors.get(name) {
            None => problems.push(format!("`{name}` {shape:?} is missing")),
            Some(found) if found.shape() != shape => problems
                .push(format!("`{name}` has the shape {:?} instead of {shape:?}", found.shape(),)),
            Some(_) => {}
        }
    }
    let unknown = tensors.iter().filter(|(name, _)| !expected.contains_key(*name));
    problems.extend(
        unknown.map(|(name, tensor)| format!("`{name}` {:?} is not part of it", tensor.shape())),
    );
    if problems.is_empty() { Ok(()) } else { Err(WeightsError::Mismatch(problems)) }
}

fn check_finite(tensors: &BTreeMap<String, StoredTensor>) -> Result<(), WeightsError> {
    let is_finite = |tensor: &StoredTensor| tensor.values().iter().all(|value| value.is_finite());
    let mut others = tensors.iter().filter(|(_, tensor)| !is_finite(tensor));
    let Some((first, _)) = others.next() else { return Ok(()) };
    Err(WeightsError::NotFinite { count: 1 + others.count(), first: first.clone() })
}

/// The position of a walk through a module: names, and the types that they are parts of.
#[derive(Default)]
struct Path(Vec<(String, String)>);

impl Path {
    fn enter(&mut self, name: &str, container: &str) {
        self.0.push((name.to_owned(), container.to_owned()));
    }

    fn exit(&mut self) {
        self.0.pop();
    }

    fn name(&self) -> String {
        let parts = self.0.iter().filter(|(_, container)| !container.starts_with("Enum:"));
        let mut names: Vec<&str> = parts.map(|(name, _)| name.as_str()).collect();
        let is_lstm = self.0.last().is_some_and(|(_, container)| container == "Struct:Lstm");
        let Some(parameter) = names.pop_if(|_| is_lstm) else { return names.join(".") };
        let is_number = |name: &mut &str| name.parse::<usize>().is_ok();
        let layer = names.pop_if(is_number).unwrap_or("0");
        let parameter = format!("{parameter}_l{layer}");
        names.push(&parameter);
        names.join(".")
    }

    /// Whether the file's layout of a parameter with so many dimensions is the transpose of Burn's.
    fn is_dense_weight(&self, dimensions: usize) -> bool {
        let dense =
            |(name, container): &(String, String)| name == "weight" && container == "Struct:Linear";
        dimensions == 2 && self.0.last().is_some_and(dense)
    }
}

struct Shapes {
    path: Path,
    shapes: BTreeMap<String, Vec<usize>>,
}

impl<B: Backend> ModuleVisitor<B> for Shapes {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.enter(name, container);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<B, D>>) {
        let mut shape = parameter.lazy_shape().to_vec();
        if self.path.is_dense_weight(D) {
            shape.swap(0, 1);
        }
        self.shapes.insert(self.path.name(), shape);
    }
}

struct Collect {
    path: Path,
    tensors: BTreeMap<String, StoredTensor>,
}

impl<B: Backend> ModuleVisitor<B> for Collect {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.enter(name, container);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<B, D>>) {
        let tensor = parameter.val();
        let shape = tensor.dims().to_vec();
        let values = tensor.into_data().iter().collect();
        let stored = StoredTensor::new(shape, values).expect("a tensor fills its shape");
        let stored = if self.path.is_dense_weight(D) { transposed(&stored) } else { stored };
        self.tensors.insert(self.path.name(), stored);
    }
}

struct Replace {
    path: Path,
    tensors: BTreeMap<String, StoredTensor>,
}

impl<B: Backend> ModuleMapper<B> for Replace {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.enter(name, container);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
    }

    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
        let Some(stored) = self.tensors.remove(&self.path.name()) else { return parameter };
        let stored = if self.path.is_dense_weight(D) { transposed(&stored) } else { stored };
        let (shape, values) = stored.into_parts();
        let new = TensorData::new(values, shape);
        let new = Tensor::<B, D>::from_data(new, &parameter.lazy_device());
        let new = tensor(B::laid_out(primitive(new)));
        let id = parameter.id;
        parameter.transform_for_load(new, id)
    }
}

/// The transpose of a matrix as a copy, since some backends multiply views of matrices wrongly.
fn transposed(matrix: &StoredTensor) -> StoredTensor {
    const ROWS_AT_A_TIME: usize = 32; // so that both sides stay in the processor's cache
    let &[rows, columns] = matrix.shape() else { panic!("a dense layer's weight is a matrix") };
    let mut values = vec![0.0; rows * columns];
    for first in (0..rows).step_by(ROWS_AT_A_TIME) {
        let last = rows.min(first + ROWS_AT_A_TIME);
        for column in 0..columns {
            for row in first..last {
                values[column * rows + row] = matrix.values()[row * columns + column];
            }
        }
    }
    StoredTensor::new(vec![columns, rows], values).expect("as many values as before")
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;
    use crate::{Initialization, Initializer, MlpConfig, layers::Lstm};

    fn config() -> MlpConfig {
        MlpConfig { inputs: 3, hidden: vec![2], outputs: 1, ..Default::default() }
    }

    /// Runs keep it, to tell whether weights are those that they rest on.
    #[test]
    fn a_fingerprint_stays_what_it_was() {
        let tensor = |shape: &[usize], values: &[f32]| {
            StoredTensor::new(shape.to_vec(), values.to_vec()).unwrap()
        };
        let tensors = [("b", tensor(&[2, 1], &[1.0, -2.5])), ("a", tensor(&[1], &[0.5]))];
        let tensors = tensors.map(|(name, tensor)| (name.to_owned(), tensor)).into();
        let whole = b"a [1]\n\0\0\0\x3fb [2, 1]\n\0\0\x80\x3f\0\0\x20\xc0";
        assert_eq!(fingerprint(&tensors), store::sha256_hex(whole));
    }

    #[test]
    fn a_part_is_loaded_and_the_rest_stays() {
        let device = Device::default();
        let [trained, new] = [(1, 1), (2, 3)].map(|(seed, outputs)| {
            MlpConfig { outputs, ..config() }.init::<Selected>(seed, &device)
        });
        let (given, before) = (to_tensors(&trained), to_tensors(&new));
        let is_first = |name: &str| name.starts_with("layers.0.");
        let after = to_tensors(&load_part(new.clone(), given.clone(), is_first).unwrap());
        for (name, tensor) in &after {
            assert_eq!(tensor, if is_first(name) { &given[name] } else { &before[name] }, "{name}");
        }

        let nothing = load_part(new.clone(), given.clone(), |name| name.starts_with("layer.0."));
        let told = nothing.unwrap_err().to_string();
        assert!(told.ends_with("is wanted, the first of which is `layers.0.bias`"), "{told}");

        let mut given = given;
        given.remove("layers.0.bias");
        let error = load_part(new, given, is_first).unwrap_err().to_string();
        assert!(error.ends_with("network: `layers.0.bias` [2] is missing"), "{error}");
    }

    #[test]
    fn an_lstm_has_pytorchs_names_alone_and_among_layers() {
        #[derive(Module, Debug)]
        struct Network<B: Backend> {
            one: Lstm<B>,
            several: Vec<Lstm<B>>,
        }

        let initializer = Initializer::<Selected>::blank(&Device::default());
        let layer = |name| Lstm::new(&initializer.at(name), Initialization::Keras, 1, 1);
        let network = Network { one: layer("one"), several: vec![layer("a"), layer("b")] };
        let shapes = shapes(&network);
        let biases: Vec<_> = shapes.keys().filter(|name| name.contains("bias")).collect();
        assert_eq!(biases, ["one.bias_ih_l0", "several.bias_ih_l0", "several.bias_ih_l1"]);
        assert!(super::shapes(&network.one).contains_key("weight_ih_l0"));
    }

    #[test]
    fn only_a_matrix_of_what_is_called_linear_is_transposed() {
        /// A user's own, such as a dense layer of several heads.
        #[derive(Module, Debug)]
        struct Linear<B: Backend, const D: usize> {
            weight: Param<Tensor<B, D>>,
        }

        fn check<const D: usize>(shape: [usize; D], stored: &[usize]) {
            let numbers = (0..shape.iter().product::<usize>() as i64).map(|value| value as f32);
            let data = TensorData::new(numbers.collect(), shape);
            let weight = Tensor::<Selected, D>::from_data(data, &Device::default());
            let layer = Linear { weight: Param::from_tensor(weight.clone()) };
            let tensors = to_tensors(&layer);
            assert_eq!(tensors["weight"].shape(), stored);
            assert_eq!(shapes(&layer)["weight"], stored);
            let blank = Linear { weight: Param::from_tensor(weight.zeros_like()) };
            let loaded = load(blank, tensors).unwrap();
            assert_eq!(loaded.weight.val().into_data(), weight.into_data());
        }

        check([3], &[3]);
        check([2, 3], &[3, 2]);
        check([2, 3, 4], &[2, 3, 4]);
    }

    #[test]
    fn a_matrix_is_transposed_over_the_edges_of_its_parts_too() {
        let (rows, columns) = (70, 3);
        let values: Vec<f32> = (0..rows * columns).map(|value| value as f32).collect();
        let matrix = StoredTensor::new(vec![rows, columns], values).unwrap();
        let other = transposed(&matrix);
        assert_eq!(other.shape(), [columns, rows]);
        for (index, &value) in other.values().iter().enumerate() {
            assert_eq!(value as usize, index % rows * columns + index / rows);
        }
        assert_eq!(transposed(&other), matrix);
    }

    #[test]
    fn weights_that_are_not_finite_are_refused() {
        let model = config().init::<Selected>(1, &Device::default());
        let mut tensors = to_tensors(&model);
        let shape = |name: &str| tensors[name].shape().to_vec();
        for (name, shape, value) in [
            ("layers.0.bias", shape("layers.0.bias"), f32::INFINITY),
            ("layers.1.weight", shape("layers.1.weight"), f32::NAN),
        ] {
            let values = vec![value; shape.iter().product()];
            tensors.insert(name.to_owned(), StoredTensor::new(shape, values).unwrap());
        }
        assert_eq!(
            load(model, tensors).unwrap_err().to_string(),
            "2 of its tensors hold NaN or infinite weights, the first of them `layers.0.bias`"
        );
    }

    #[test]
    fn every_mismatch_is_named() {
        let model = config().init::<Selected>(1, &Device::default());
        let mut tensors = to_tensors(&model);
        tensors.remove("layers.0.bias");
        let scalar = || StoredTensor::new(vec![1, 1], vec![0.0]).unwrap();
        tensors.insert("layers.1.weight".into(), scalar());
        tensors.insert("extra".into(), scalar());
        assert_eq!(
            load(model, tensors).unwrap_err().to_string(),
            "the weights do not fit the network: `layers.0.bias` [2] is missing; \
             `layers.1.weight` has the shape [1, 1] instead of [1, 2]; \
             `extra` [1, 1] is not part of it"
        );
        let many =
            WeightsError::Mismatch((0..9).map(|index| format!("`{index}` is missing")).collect());
        assert!(many.to_string().ends_with("; `5` is missing; and 3 more"), "{many}");
    }
}
