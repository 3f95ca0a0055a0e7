//! Which parameters an update changes, and by how much: groups, decay, and what is not trained.

use backend::{Part, Selected, device::Device};
use burn::{
    module::{Module, ModuleMapper, Param},
    tensor::{Tensor, backend::Backend},
};
use training::{
    OptimizerConfig, OptimizerKind, ParameterGroup, Stop, TrainError, Trained, Trainer,
    TrainerConfig,
};

use crate::common::Recorded;

/// A layer like batch normalisation: an untrained parameter stands between trained ones.
#[derive(Module, Debug)]
struct Normalized<B: Backend> {
    weight: Param<Tensor<B, 2>>,
    running_mean: Param<Tensor<B, 1>>,
    bias: Param<Tensor<B, 1>>,
}

#[derive(Module, Debug)]
struct Network<B: Backend> {
    first: Normalized<B>,
    second: Normalized<B>,
}

impl<B: Backend> Normalized<B> {
    fn ones(device: &B::Device) -> Self {
        Self {
            weight: Param::from_tensor(Tensor::ones([2, 2], device)),
            running_mean: Param::from_tensor(Tensor::ones([2], device)).set_require_grad(false),
            bias: Param::from_tensor(Tensor::ones([2], device)),
        }
    }

    fn forward(&self, input: Tensor<B, 2>) -> Tensor<B, 2> {
        let centered = input.matmul(self.weight.val()) - self.running_mean.val().unsqueeze();
        centered + self.bias.val().unsqueeze()
    }
}

/// Multiplies what is not trained.
struct Statistics(f32);

impl<B: Backend> ModuleMapper<B> for Statistics {
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
        let (id, tensor, mapper) = parameter.consume();
        let tensor = if tensor.is_require_grad() { tensor } else { tensor * self.0 };
        Param::from_mapped_value(id, tensor, mapper)
    }
}

/// Three steps of gradient descent on a loss of zero for all weights, so that only decay acts, or
/// on the sum of the outputs.
fn train(settings: TrainerConfig, only_decay: bool) -> Trained<Network<Selected>> {
    let device = Device::default();
    let model =
        Network::<Recorded> { first: Normalized::ones(&device), second: Normalized::ones(&device) };
    let mut nobody = ();
    let stop = Stop::default();
    let mut trainer = Trainer::new(model, settings, &device, &mut nobody, stop).unwrap();
    while let Some(epoch) = trainer.next_epoch() {
        for _ in epoch.batches(0..3) {
            let model = trainer.model();
            let input = Tensor::ones([1, 2], &device);
            let outputs = model.second.forward(model.first.forward(input));
            let factor = if only_decay { 0.0 } else { 1.0 };
            trainer.step(outputs.flatten::<1>(0, 1).sum() * factor, Part::whole(1)).unwrap();
            trainer.map_model(|model| model.map(&mut Statistics(2.0)));
        }
        assert_eq!(trainer.step_number(), 3);
        trainer.end_epoch(|_| None).unwrap();
    }
    trainer.finish().unwrap()
}

fn settings(kind: OptimizerKind) -> TrainerConfig {
    TrainerConfig::new(OptimizerConfig::new(kind, 0.1), 1, 3)
}

fn first<const D: usize>(parameter: &Param<Tensor<Selected, D>>) -> f32 {
    parameter.val().into_data().iter().next().unwrap()
}

#[test]
fn what_is_not_trained_is_neither_updated_nor_decayed_but_may_be_mapped() {
    for kind in [OptimizerKind::Sgd, OptimizerKind::AdamW, OptimizerKind::RmsProp] {
        let mut settings = settings(kind);
        settings.optimizer.weight_decay = 0.1;
        settings.ema = Some(0.5);
        let trained = train(settings, false);
        assert_eq!(trained.trainable_parameters, 12);
        assert_eq!(first(&trained.model.first.running_mean), 8.0);
        assert_eq!(first(&trained.model.second.running_mean), 8.0);
        assert!(first(&trained.model.first.weight) < 1.0);
        assert!(first(&trained.model.second.bias) < 1.0);
    }
}

/// Which no loss shows where they are only used to validate.
#[test]
fn running_statistics_that_overflow_end_the_run_as_diverged() {
    for (keep_best, epochs) in [(false, 1), (true, 2)] {
        let mut settings = TrainerConfig { epochs, ..settings(OptimizerKind::Sgd) };
        settings.keep_best = keep_best;
        let device = Device::default();
        let [one, other] = [(); 2].map(|()| Normalized::ones(&device));
        let mut nobody = ();
        let model = Network::<Recorded> { first: one, second: other };
        let mut trainer =
            Trainer::new(model, settings, &device, &mut nobody, Stop::default()).unwrap();
        while let Some(epoch) = trainer.next_epoch() {
            for _ in epoch.batches(0..3) {
                let weights = trainer.model().second.weight.val().flatten::<1>(0, 1);
                trainer.step(weights.sum(), Part::whole(1)).unwrap();
            }
            if epoch.index + 1 == epochs {
                trainer.map_model(|model| model.map(&mut Statistics(f32::INFINITY)));
            }
            let loss = if epoch.index == 0 { 0.5 } else { f64::NAN };
            trainer.end_epoch(|_| Some([("loss".to_owned(), loss)].into())).unwrap();
        }
        match trainer.finish() {
            Ok(trained) => assert!(keep_best && first(&trained.model.first.running_mean) == 1.0),
            Err(TrainError::Diverged { what, step: 3, .. }) => {
                assert!(!keep_best && what == "`first.running_mean`", "{what}");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn biases_decay_only_where_they_are_meant_to() {
    for (decay_biases, expected) in [(true, 0.9f32.powi(3)), (false, 1.0)] {
        let mut settings = settings(OptimizerKind::Sgd);
        settings.optimizer.weight_decay = 1.0;
        settings.optimizer.decay_biases = decay_biases;
        let model = train(settings, true).model;
        assert!((first(&model.first.bias) - expected).abs() < 1e-6);
        assert!((first(&model.first.weight) - 0.9f32.powi(3)).abs() < 1e-6);
    }
}

#[test]
fn a_group_has_its_own_learning_rate() {
    let group = |prefix: &str, learning_rate_factor| ParameterGroup {
        prefix: prefix.to_owned(),
        learning_rate_factor,
    };
    let mut settings = settings(OptimizerKind::Sgd);
    settings.optimizer.weight_decay = 1.0;
    settings.groups = vec![group("first.bias", 0.0), group("first", 0.5)];
    let model = train(settings, true).model;
    assert_eq!(first(&model.first.bias), 1.0, "the first group that fits counts");
    assert!((first(&model.first.weight) - 0.95f32.powi(3)).abs() < 1e-6);
    assert!((first(&model.second.weight) - 0.9f32.powi(3)).abs() < 1e-6);
}

#[test]
fn a_group_without_parameters_is_refused() {
    let group = ParameterGroup { prefix: "sec".to_owned(), learning_rate_factor: 7.0 };
    let settings = TrainerConfig { groups: vec![group], ..settings(OptimizerKind::Sgd) };
    let device = Device::default();
    let model =
        Network::<Recorded> { first: Normalized::ones(&device), second: Normalized::ones(&device) };
    let error = Trainer::new(model, settings, &device, &mut (), Stop::default()).err().unwrap();
    assert!(matches!(error, TrainError::Config(_)), "{error}");
    assert!(error.to_string().contains("is `sec`, and must be the path of"), "{error}");
}
