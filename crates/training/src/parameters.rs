//! What is known of each parameter besides its values, in the order in which the model is visited.
//!
//! A module's definition fixes the order of its parameters, so a position identifies a parameter,
//! without Burn's random ids.

use std::collections::{BTreeMap, BTreeSet};

use backend::Backend;
use burn::{
    module::{Module, ModuleVisitor, Param, ParamId},
    tensor::{Bool, DType, Int, Tensor},
};

use crate::{InvalidSetting, ParameterGroup, TrainError, TrainerConfig};

/// What is known of a parameter besides its values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parameter {
    /// Where it is in the module, such as `layers.0.weight`.
    pub(crate) path: String,
    pub(crate) shape: Vec<usize>,
    /// Whether it is trained; running statistics and frozen weights are not.
    pub(crate) trained: bool,
    /// What the learning rate is multiplied by.
    pub(crate) factor: f64,
    /// Whether weight decay acts on it.
    pub(crate) decays: bool,
}

impl Parameter {
    /// All parameters of a model.
    ///
    /// # Errors
    ///
    /// [`TrainError::NotFloat`] and [`TrainError::Tied`] name what cannot be trained, and
    /// [`TrainError::Config`] the first parameter group without parameters.
    pub(crate) fn all<B, M>(model: &M, config: &TrainerConfig) -> Result<Vec<Self>, TrainError>
    where
        B: Backend,
        M: Module<B>,
    {
        let mut collect = Collect {
            config,
            path: Vec::new(),
            parameters: Vec::new(),
            places: BTreeMap::new(),
            problem: None,
        };
        model.visit(&mut collect);
        let Collect { parameters, problem, .. } = collect;
        if let Some(problem) = problem {
            return Err(problem);
        }
        let groups = &config.parameter_groups;
        let decides: BTreeSet<usize> =
            parameters.iter().filter_map(|known| group_of(groups, &known.path)).collect();
        match (0..groups.len()).find(|index| !decides.contains(index)) {
            None => Ok(parameters),
            Some(index) => Err(TrainError::Config(InvalidSetting {
                key: "prefix of a parameter group".to_owned(),
                value: format!("`{}`", groups[index].prefix),
                expected: "the path of a parameter or of a part of the model, of which no group before it \
                           has all",
            })),
        }
    }

    /// Whether it is a running statistic of a normalisation that is trained, by the names that Burn and
    /// this workspace give it.
    pub(crate) fn is_running_statistic(&self, all: &[Self]) -> bool {
        let Some((layer, name)) = self.path.rsplit_once('.') else { return false };
        name.starts_with("running_")
            && !self.trained
            && all.iter().any(|other| other.trained && begins_with(&other.path, layer))
    }

    pub(crate) fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

/// Whether each parameter is trained.
pub(crate) fn are_trained<B: Backend, M: Module<B>>(model: &M) -> Vec<bool> {
    struct Trained(Vec<bool>);

    impl<B: Backend> ModuleVisitor<B> for Trained {
        fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<B, D>>) {
            self.0.push(parameter.is_require_grad());
        }
    }

    let mut trained = Trained(Vec::new());
    model.visit(&mut trained);
    trained.0
}

/// The positions of the parameters with a value that is not finite, of those that are asked for; waits for
/// the device.
pub(crate) fn not_finite<B, M>(model: &M, is_asked_for: impl Fn(usize) -> bool) -> BTreeSet<usize>
where
    B: Backend,
    M: Module<B>,
{
    let sums = sums(model, is_asked_for).into_iter();
    sums.filter(|(_, sum)| !sum.is_finite()).map(|(place, _)| place).collect()
}

/// The sums of the values of those parameters that are asked for, by position; waits for the device.
pub(crate) fn sums<B, M>(model: &M, is_asked_for: impl Fn(usize) -> bool) -> BTreeMap<usize, f32>
where
    B: Backend,
    M: Module<B>,
{
    let mut sums = Sums { is_asked_for, visited: 0, places: Vec::new(), sums: Vec::new() };
    model.visit(&mut sums);
    let Sums { places, sums, .. } = sums;
    if places.is_empty() {
        return BTreeMap::new();
    }
    let sums = Tensor::cat(sums, 0).into_data();
    places.into_iter().zip(sums.iter::<f32>()).collect()
}

/// The sum of each parameter's values, `[1]`, which shows one that is not finite.
struct Sums<B: Backend, F> {
    is_asked_for: F,
    visited: usize,
    places: Vec<usize>, // of the sums
    sums: Vec<Tensor<B, 1>>,
}

impl<B: Backend, F: Fn(usize) -> bool> ModuleVisitor<B> for Sums<B, F> {
    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<B, D>>) {
        let place = self.visited;
        self.visited += 1;
        if (self.is_asked_for)(place) {
            self.places.push(place);
            // The sum of finite values in half precision may be beyond its range.
            self.sums.push(parameter.val().cast(DType::F32).sum());
        }
    }
}

struct Collect<'a> {
    config: &'a TrainerConfig,
    path: Vec<String>,
    parameters: Vec<Parameter>,
    /// Where each is, by its id.
    places: BTreeMap<ParamId, String>,
    /// The first parameter that cannot be trained.
    problem: Option<TrainError>,
}

impl Collect<'_> {
    fn refuse(&mut self, kind: &'static str) {
        let path = self.path.join(".");
        self.problem.get_or_insert(TrainError::NotFloat { path, kind });
    }
}

impl<B: Backend> ModuleVisitor<B> for Collect<'_> {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<B, D>>) {
        let tensor = parameter.val();
        let path = self.path.join(".");
        if let Some(first) = self.places.insert(parameter.id, path.clone()) {
            self.problem.get_or_insert(TrainError::Tied { first, second: path.clone() });
        }
        let groups = &self.config.parameter_groups;
        let group = group_of(groups, &path).map(|index| &groups[index]);
        self.parameters.push(Parameter {
            path,
            shape: tensor.dims().to_vec(),
            trained: tensor.is_require_grad(),
            factor: group.map_or(1.0, |group| group.learning_rate_factor),
            decays: D > 1 || self.config.optimizer.decay_biases,
        });
    }

    fn visit_int<const D: usize>(&mut self, _: &Param<Tensor<B, D, Int>>) {
        self.refuse("integers");
    }

    fn visit_bool<const D: usize>(&mut self, _: &Param<Tensor<B, D, Bool>>) {
        self.refuse("booleans");
    }
}

/// The group that decides on a parameter: the first that matches.
fn group_of(groups: &[ParameterGroup], path: &str) -> Option<usize> {
    groups.iter().position(|group| begins_with(path, &group.prefix))
}

/// Whether `path` is `prefix` or lies in it: `layer10` does not lie in `layer1`.
fn begins_with(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_between_two_names() {
        let path = "backbone.layer1.weight";
        for prefix in ["backbone", "backbone.layer1", "backbone.layer1.weight"] {
            assert!(begins_with(path, prefix), "{prefix}");
        }
        for prefix in ["", "back", "backbone.layer", "layer1", "backbone.layer1.weight.more"] {
            assert!(!begins_with(path, prefix), "{prefix}");
        }
    }
}
