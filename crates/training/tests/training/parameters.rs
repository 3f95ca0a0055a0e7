//! Which parameters an update changes, and by how much: groups, decay, and what is not trained.

use backend::{Part, Selected, device::Device};
use burn::{
    module::{Module, ModuleMapper, Param},
    tensor::{Tensor, backend::Backend},
};
use training::{
    CheckpointConfig, Event, Observer, OptimizerConfig, OptimizerKind, ParameterGroup, Stop,
    TrainError, Trained, Trainer, TrainerConfig,
};

use crate::{
    checkpoints::Kept,
    common::{Recorded, Recorder, ones},
};

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

#[derive(Module, Debug)]
struct LastLayers<B: Backend> {
    weight: Param<Tensor<B, 2>>,
    layers: Vec<Normalized<B>>,
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

#[test]
fn validation_measures_the_average_of_the_weights() {
    let (device, stop, mut recorder) = (Device::default(), Stop::default(), Recorder::default());
    let settings = TrainerConfig { ema: Some(0.25), ..settings(OptimizerKind::Sgd) };
    let mut trainer = Trainer::new(ones(), settings, &device, &mut recorder, stop).unwrap();
    let epoch = trainer.next_epoch().unwrap();
    for _ in epoch.batches(0..3) {
        let weights = trainer.model().weight.val().flatten::<1>(0, 1);
        trainer.step(weights.sum(), Part::whole(1)).unwrap();
    }
    let mut measured = f32::NAN;
    trainer
        .end_epoch(|model| {
            measured = first(&model.weight);
            None
        })
        .unwrap();
    let expected = 0.25 * (0.25 * 0.9 + 0.75 * 0.8) + 0.75 * 0.7;
    assert!((measured - expected).abs() < 1e-6, "{measured} instead of {expected}");
}

/// Trains for `epochs` epochs of three updates, in the last of which running statistics overflow.
///
/// - `first`: whose running mean may be infinite from the start
fn overflowing(
    first: Normalized<Recorded>,
    settings: TrainerConfig,
    stop: Stop,
    observer: &mut dyn Observer,
) -> Result<Trained<Network<Selected>>, TrainError> {
    let device = Device::default();
    let epochs = settings.epochs;
    let model = Network::<Recorded> { first, second: Normalized::ones(&device) };
    let mut trainer = Trainer::new(model, settings, &device, observer, stop)?;
    while let Some(epoch) = trainer.next_epoch() {
        for _ in epoch.batches(0..3) {
            let weights = trainer.model().second.weight.val().flatten::<1>(0, 1);
            trainer.step(weights.sum(), Part::whole(1))?;
            if epoch.index + 1 == epochs {
                trainer.map_model(|model| model.map(&mut Statistics(f32::INFINITY)));
            }
        }
        let loss = if epoch.index == 0 { 0.5 } else { f64::NAN };
        trainer.end_epoch(|_| Some([("loss".to_owned(), loss)].into()))?;
    }
    trainer.finish()
}

/// Which no loss shows where they are only used to validate.
#[test]
fn running_statistics_that_overflow_end_the_run_as_diverged() {
    let ones = || Normalized::ones(&Device::default());
    let check = |settings: TrainerConfig, stop: Stop, steps: u64| {
        let error = overflowing(ones(), settings, stop, &mut ()).unwrap_err();
        let expected = format!(
            "training diverged: `first.running_mean` became infinite or NaN in one of steps 1 to \
             {steps}, at learning rate 0.1"
        );
        assert_eq!(error.to_string(), expected);
    };
    let settings = settings(OptimizerKind::Sgd);
    check(settings.clone(), Stop::default(), 3);
    check(TrainerConfig { ema: Some(0.5), ..settings.clone() }, Stop::default(), 3);
    let interrupted = Stop::default();
    interrupted.request_after(2);
    check(settings.clone(), interrupted, 2);

    let kept = TrainerConfig { keep_best: true, epochs: 2, ..settings.clone() };
    let (mut nobody, mut store) = ((), Kept::new());
    let observers: [&mut dyn Observer; 2] = [&mut nobody, &mut store];
    for observer in observers {
        let trained = overflowing(ones(), kept.clone(), Stop::default(), observer).unwrap();
        assert_eq!(first(&trained.model.first.running_mean), 1.0, "of the better epoch");
    }
}

#[test]
fn a_run_resumes_with_parameters_that_no_loss_has_reached() {
    let settings = TrainerConfig { epochs: 2, ..settings(OptimizerKind::Adam) };
    let mut kept = Kept::new();
    for steps in [1, 2] {
        let stop = Stop::default();
        stop.request_after(steps);
        let ones = Normalized::ones(&Device::default());
        let stopped = overflowing(ones, settings.clone(), stop, &mut kept).unwrap();
        assert_eq!((stopped.steps, first(&stopped.model.first.weight)), (steps, 1.0));
    }
}

/// A run that goes on from them would diverge for ever.
#[test]
fn running_statistics_that_overflow_are_in_no_checkpoint() {
    let mut settings = TrainerConfig { epochs: 2, ..settings(OptimizerKind::Sgd) };
    settings.checkpoint = CheckpointConfig { every_steps: Some(1), ..settings.checkpoint };
    let mut kept = Kept::new();
    let ones = Normalized::ones(&Device::default());
    let error = overflowing(ones, settings, Stop::default(), &mut kept).unwrap_err();
    assert!(matches!(error, TrainError::Diverged { step: 4, .. }), "{error}");
    assert_eq!(kept.names().last().unwrap(), "step-3");
}

/// As of an optimizer of its own that begins with its first gradient.
#[test]
fn an_update_depends_on_those_that_the_parameter_had() {
    for kind in [OptimizerKind::Adam, OptimizerKind::AdamW, OptimizerKind::NAdam] {
        let weight_after = |others: usize| {
            let mut settings = settings(kind);
            settings.steps_per_epoch = others + 3;
            let (device, mut nobody) = (Device::default(), ());
            let model = Network::<Recorded> {
                first: Normalized::ones(&device),
                second: Normalized::ones(&device),
            };
            let mut trainer =
                Trainer::new(model, settings, &device, &mut nobody, Stop::default()).unwrap();
            let epoch = trainer.next_epoch().unwrap();
            for step in epoch.batches(0..others + 3) {
                let Network { first, second } = trainer.model();
                let first = first.weight.val().powi_scalar(2).sum();
                let loss = match step < others {
                    true => first,
                    false => second.weight.val().powi_scalar(2).sum() + first,
                };
                trainer.step(loss, Part::whole(1)).unwrap();
            }
            trainer.end_epoch(|_| None).unwrap();
            first(&trainer.finish().unwrap().model.second.weight)
        };
        assert_eq!(weight_after(100), weight_after(0), "{kind:?}");
    }
}

#[test]
fn what_is_not_trained_may_be_infinite_from_the_start() {
    let mut masked = Normalized::ones(&Device::default());
    let infinite = masked.running_mean.val() * f32::NEG_INFINITY;
    masked.running_mean = Param::from_tensor(infinite).set_require_grad(false);
    let settings = settings(OptimizerKind::Sgd);
    let error = overflowing(masked, settings, Stop::default(), &mut ()).unwrap_err();
    assert!(error.to_string().contains("`second.running_mean` became infinite"), "{error}");
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
    settings.parameter_groups = vec![group("first.bias", 0.0), group("first", 0.5)];
    let model = train(settings, true).model;
    assert_eq!(first(&model.first.bias), 1.0, "the first group that fits counts");
    assert!((first(&model.first.weight) - 0.95f32.powi(3)).abs() < 1e-6);
    assert!((first(&model.second.weight) - 0.9f32.powi(3)).abs() < 1e-6);
}

#[test]
fn a_group_that_decides_on_no_parameter_is_refused() {
    // `sec` is no part of the model, and of `first` the group before it has all.
    for prefixes in [&["sec"][..], &["first", "first.bias"]] {
        let group = |prefix: &&str| ParameterGroup {
            prefix: (*prefix).to_owned(),
            learning_rate_factor: 7.0,
        };
        let parameter_groups = prefixes.iter().map(group).collect();
        let settings = TrainerConfig { parameter_groups, ..settings(OptimizerKind::Sgd) };
        let device = Device::default();
        let [first, second] = [(); 2].map(|()| Normalized::ones(&device));
        let model = Network::<Recorded> { first, second };
        let error = Trainer::new(model, settings, &device, &mut (), Stop::default()).err().unwrap();
        assert!(matches!(error, TrainError::Config(_)), "{error}");
        let told = format!("is `{}`, and must be the path of", prefixes.last().unwrap());
        assert!(error.to_string().contains(&told), "{error}");
    }
}

/// In a loop that does not update them: the network is evaluated with those that it began with.
#[test]
fn running_statistics_that_do_not_move_are_reported() {
    let device = Device::default();
    for (moved, frozen, told) in [(2, false, 0), (1, false, 0), (0, false, 1), (0, true, 0)] {
        let mut recorder = Recorder::default();
        let layer = || {
            let layer = Normalized::ones(&device);
            if frozen { layer.no_grad() } else { layer }
        };
        let settings = TrainerConfig { epochs: 2, ..settings(OptimizerKind::Sgd) };
        let weight = Normalized::ones(&device).weight;
        let model = LastLayers::<Recorded> { weight, layers: vec![layer(), layer()] };
        let mut trainer =
            Trainer::new(model, settings, &device, &mut recorder, Stop::default()).unwrap();
        while let Some(epoch) = trainer.next_epoch() {
            for _ in epoch.batches(0..3) {
                let weights = trainer.model().weight.val().flatten::<1>(0, 1);
                trainer.step(weights.sum(), Part::whole(1)).unwrap();
                trainer.map_model(|mut model| {
                    let layers = model.layers.into_iter().enumerate();
                    let move_some = |(index, layer): (usize, Normalized<Recorded>)| match index {
                        _ if index < moved => layer.map(&mut Statistics(2.0)),
                        _ => layer,
                    };
                    model.layers = layers.map(move_some).collect();
                    model
                });
            }
            trainer.end_epoch(|_| None).unwrap();
        }
        drop(trainer);
        let is_told = |event: &&Event| matches!(event, Event::Warning { message } if message.starts_with("`layers.0.running_mean` is what it was") && message.contains("`trainer.map_model("));
        assert_eq!(recorder.0.iter().filter(is_told).count(), told, "{moved} {frozen}");
    }
}
