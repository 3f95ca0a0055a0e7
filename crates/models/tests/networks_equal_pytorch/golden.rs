//! A fixture, and how a network is held against it.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Mutex, PoisonError},
};

use backend::{Arithmetic, Selected, arithmetic, device::Device, set_arithmetic};
use burn::{
    backend::Autodiff,
    module::{Module, ModuleMapper, Param},
    tensor::{Tensor, TensorData, backend::AutodiffBackend},
};
use models::{Architecture, Inputs, Pass, losses::cross_entropy, weights};
use store::{StoredTensor, TensorFile};

pub(crate) type Recorded = Autodiff<Selected>;

type Gradients = <Recorded as AutodiffBackend>::Gradients;

/// As in `generate.py`.
const LEARNING_RATE: f32 = 0.03;

pub(crate) struct Golden {
    network: &'static str,
    tensors: BTreeMap<String, StoredTensor>,
}

pub(crate) fn device() -> Device {
    Device::default()
}

/// Held by tests that need the process's arithmetic to stay the same.
static ARITHMETIC: Mutex<()> = Mutex::new(());

/// The error allowed, relative to the largest value of a tensor.
fn tolerance() -> f32 {
    match (backend::NAME, arithmetic()) {
        // Tensor cores round what they multiply to 11 bits.
        ("cuda", Arithmetic::Fast) => 5e-3,
        ("cuda" | "wgpu", _) | (_, Arithmetic::Fast) => 1e-4,
        (_, Arithmetic::Exact) => 1e-5,
    }
}

/// Below this a tensor's largest value is noise: the gradient of a bias before batch normalisation
/// is zero but for rounding.
const FLOOR: f32 = 1e-2;

impl Golden {
    pub(crate) fn read(network: &'static str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/networks");
        let file = TensorFile::read(folder.join(format!("{network}.safetensors"))).unwrap();
        Self { network, tensors: file.tensors }
    }

    pub(crate) fn inputs<const D: usize>(&self) -> Tensor<Recorded, D> {
        self.tensor("inputs")
    }

    /// Holds a network with the fixture's weights against all that stands there, in exact arithmetic and in
    /// fast one.
    pub(crate) fn check(&self, architecture: &Architecture, inputs: &Inputs<Recorded>) {
        let _held = ARITHMETIC.lock().unwrap_or_else(PoisonError::into_inner);
        // ndarray computes the same in both.
        let different = if backend::NAME == "ndarray" { 1 } else { 2 };
        for arithmetic in [Arithmetic::Exact, Arithmetic::Fast].into_iter().take(different) {
            set_arithmetic(arithmetic);
            self.check_training(architecture, inputs);
        }
    }

    fn check_training(&self, architecture: &Architecture, inputs: &Inputs<Recorded>) {
        let mut model = architecture.load(self.part("weights."), &device()).unwrap();
        let mut mean_losses = Vec::new();
        for step in 0..5 {
            let mut pass = Pass::training(0, step, 0);
            let logits = model.forward(inputs.clone(), &mut pass).unwrap();
            let losses = cross_entropy(logits.clone(), self.tensor("targets").int());
            let mean = losses.clone().mean();
            mean_losses.extend(mean.clone().into_data().iter::<f32>());
            let gradients = mean.backward();
            if step == 0 {
                self.compare("logits", &stored(logits));
                self.compare("losses", &stored(losses));
                let gradients = model.clone().map(&mut TakeGradients { found: &gradients });
                let found = weights::to_tensors(&gradients);
                for (name, _) in self.part("gradients.") {
                    self.compare(&format!("gradients.{name}"), &found[&name]);
                }
                assert_eq!(self.part("gradients.").len(), found.len() - self.statistics());
            }
            model = pass.update_statistics(model.map(&mut Descend(gradients)));
        }
        let mean_losses = StoredTensor::new(vec![5], mean_losses).unwrap();
        self.compare("mean_losses", &mean_losses);
        let evaluation = model.forward(inputs.clone(), &mut Pass::evaluation()).unwrap();
        self.compare("evaluation", &stored(evaluation));
        let after = weights::to_tensors(&model);
        for (name, _) in self.part("after.") {
            self.compare(&format!("after.{name}"), &after[&name]);
        }
    }

    /// The number of running statistics.
    fn statistics(&self) -> usize {
        self.part("after.").len()
    }

    fn part(&self, prefix: &str) -> BTreeMap<String, StoredTensor> {
        let named = |(name, tensor): (&String, &StoredTensor)| {
            Some((name.strip_prefix(prefix)?.to_owned(), tensor.clone()))
        };
        self.tensors.iter().filter_map(named).collect()
    }

    fn tensor<const D: usize>(&self, name: &str) -> Tensor<Recorded, D> {
        let (shape, values) = self.tensors[name].clone().into_parts();
        Tensor::from_data(TensorData::new(values, shape), &device())
    }

    fn compare(&self, name: &str, found: &StoredTensor) {
        let expected = &self.tensors[name];
        assert_eq!(found.shape(), expected.shape(), "{} {name}", self.network);
        let largest =
            expected.values().iter().fold(FLOOR, |largest, value| largest.max(value.abs()));
        let pairs = found.values().iter().zip(expected.values());
        for (index, (found, expected)) in pairs.enumerate() {
            let error = (found - expected).abs() / largest;
            assert!(
                error <= tolerance(),
                "{} {name}: element {index} is {found} instead of {expected} ({error:e})",
                self.network
            );
        }
    }
}

fn stored<const D: usize>(tensor: Tensor<Recorded, D>) -> StoredTensor {
    let shape = tensor.dims().to_vec();
    StoredTensor::new(shape, tensor.into_data().iter().collect()).unwrap()
}

/// Puts each parameter's gradient in its place.
struct TakeGradients<'a> {
    found: &'a Gradients,
}

impl ModuleMapper<Recorded> for TakeGradients<'_> {
    fn map_float<const D: usize>(
        &mut self,
        parameter: Param<Tensor<Recorded, D>>,
    ) -> Param<Tensor<Recorded, D>> {
        match parameter.val().grad(self.found) {
            Some(gradient) => parameter.map(|_| Tensor::from_inner(gradient)),
            None => parameter,
        }
    }
}

/// A step of gradient descent.
struct Descend(Gradients);

impl ModuleMapper<Recorded> for Descend {
    fn map_float<const D: usize>(
        &mut self,
        parameter: Param<Tensor<Recorded, D>>,
    ) -> Param<Tensor<Recorded, D>> {
        let Some(gradient) = parameter.val().grad(&self.0) else { return parameter };
        parameter.map(|weight| {
            Tensor::from_inner(weight.inner() - gradient * LEARNING_RATE).require_grad()
        })
    }
}
