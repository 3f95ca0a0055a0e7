//! Weights by name, in PyTorch's names and layout.
//!
//! A parameter's name is its path in the module (`layers.0.weight`). The weight of a dense layer
//! is `[outputs, inputs]` in a file, the reverse of Burn's own layout.

use std::collections::BTreeMap;

use backend::Backend;
use burn::{
    module::{Module, ModuleMapper, ModuleVisitor, Param},
    tensor::{Tensor, TensorData},
};
use store::StoredTensor;

/// Weights that do not fit a network; every mismatch is listed.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("the weights do not fit the network: {}", self.0.join("; "))]
pub struct WeightsError(Vec<String>);

impl WeightsError {
    /// What to do about it.
    pub fn help(&self) -> String {
        "use weights of the same architecture; their names and shapes are those of the network"
            .to_owned()
    }
}

/// All parameters of a model.
pub fn to_tensors<B: Backend, M: Module<B>>(model: &M) -> BTreeMap<String, StoredTensor> {
    let mut collect = Collect { path: Path::default(), tensors: BTreeMap::new() };
    model.visit(&mut collect);
    collect.tensors
}

/// The model with its parameters replaced.
///
/// # Errors
///
/// Names every parameter that is missing, unknown or of another shape; then nothing is replaced.
pub fn load<B: Backend, M: Module<B>>(
    model: M,
    tensors: BTreeMap<String, StoredTensor>,
) -> Result<M, WeightsError> {
    let mut problems = Vec::new();
    let expected = to_tensors(&model);
    for (name, tensor) in &expected {
        match tensors.get(name) {
            None => problems.push(format!("`{name}` {:?} is missing", tensor.shape())),
            Some(found) if found.shape() != tensor.shape() => problems.push(format!(
                "`{name}` has the shape {:?} instead of {:?}",
                found.shape(),
                tensor.shape()
            )),
            Some(_) => {}
        }
    }
    let unknown = tensors.iter().filter(|(name, _)| !expected.contains_key(*name));
    problems.extend(
        unknown.map(|(name, tensor)| format!("`{name}` {:?} is not part of it", tensor.shape())),
    );
    if !problems.is_empty() {
        return Err(WeightsError(problems));
    }
    Ok(model.map(&mut Replace { path: Path::default(), tensors }))
}

/// Where a walk through a module is.
#[derive(Default)]
struct Path(Vec<(String, bool)>);

impl Path {
    fn enter(&mut self, name: &str, container: &str) {
        let dense_weight = name == "weight" && container == "Struct:Linear";
        self.0.push((name.to_owned(), dense_weight));
    }

    fn exit(&mut self) {
        self.0.pop();
    }

    fn name(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        names.join(".")
    }

    /// Whether the file's layout is the transpose of Burn's.
    fn is_dense_weight(&self) -> bool {
        self.0.last().is_some_and(|&(_, dense_weight)| dense_weight)
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
        let tensor = if self.path.is_dense_weight() { swap_first_two(tensor) } else { tensor };
        let shape = tensor.dims().to_vec();
        let values = tensor.into_data().iter().collect();
        let stored = StoredTensor::new(shape, values).expect("a tensor fills its shape");
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
        let (id, tensor, mapper) = parameter.consume();
        let (shape, values) = stored.into_parts();
        let new = Tensor::from_data(TensorData::new(values, shape), &tensor.device());
        let new = if self.path.is_dense_weight() { swap_first_two(new) } else { new };
        Param::from_mapped_value(id, new.set_require_grad(tensor.is_require_grad()), mapper)
    }
}

fn swap_first_two<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Tensor<B, D> {
    tensor.swap_dims(0, 1)
}

#[cfg(test)]
mod tests {
    use backend::{Selected, device::Device};

    use super::*;
    use crate::MlpConfig;

    fn config() -> MlpConfig {
        MlpConfig { inputs: 3, hidden: vec![2], outputs: 1 }
    }

    #[test]
    fn weights_come_back_and_lie_as_in_pytorch() {
        let device = Device::default();
        let model = config().init::<Selected>(1, &device);
        let tensors = to_tensors(&model);
        let names: Vec<&str> = tensors.keys().map(String::as_str).collect();
        assert_eq!(names, ["layers.0.bias", "layers.0.weight", "layers.1.bias", "layers.1.weight"]);
        assert_eq!(tensors["layers.0.weight"].shape(), [2, 3]);

        let other = config().init::<Selected>(2, &device);
        let loaded = load(other, tensors.clone()).unwrap();
        assert_eq!(to_tensors(&loaded), tensors);
        let features = Tensor::ones([4, 3], &device);
        assert_eq!(
            loaded.forward(features.clone()).into_data(),
            model.forward(features).into_data()
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
    }
}
