//! A linear model on twelve samples, trained the way that the fixture's PyTorch script does.

use std::error::Error;

use backend::{
    Part, Selected,
    device::Device,
    random::{Purpose, Random},
};
use burn::{
    backend::Autodiff,
    module::{Module, Param},
    tensor::{Tensor, TensorData, backend::Backend},
};
use training::{
    Event, Metrics, Observer, OptimizerConfig, OptimizerKind, Stop, TrainError, Trained, Trainer,
    TrainerConfig,
};

pub(crate) type Recorded = Autodiff<Selected>;

pub(crate) const SAMPLES: usize = 12;
pub(crate) const BATCH: usize = 6;

#[derive(Module, Debug)]
pub(crate) struct LinearModel<B: Backend> {
    pub(crate) weight: Param<Tensor<B, 2>>,
}

/// The samples, and the weight to start from.
#[derive(Clone)]
pub(crate) struct Problem {
    pub(crate) features: Vec<f32>,
    pub(crate) targets: Vec<f32>,
    pub(crate) start: Vec<f32>,
}

impl Problem {
    /// Normal numbers.
    pub(crate) fn drawn() -> Self {
        let values = |stream, count| {
            let random = Random::new(1, Purpose::Synthetic, stream);
            (0..count).map(|index| random.normal(index as u64)).collect()
        };
        Self { features: values(0, SAMPLES * 3), targets: values(1, SAMPLES), start: values(2, 3) }
    }
}

/// Keeps every event.
#[derive(Default)]
pub(crate) struct Recorder(pub(crate) Vec<Event>);

impl Observer for Recorder {
    fn observe(&mut self, event: &Event) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.0.push(event.clone());
        Ok(())
    }
}

impl Recorder {
    /// The loss of each logged step.
    pub(crate) fn losses(&self) -> Vec<f64> {
        let loss = |event: &Event| match event {
            Event::Step(report) => Some(report.loss),
            _ => None,
        };
        self.0.iter().filter_map(loss).collect()
    }
}

pub(crate) type LinearTrainer<'a> = Trainer<'a, Recorded, LinearModel<Recorded>>;

/// A model of weights of one.
pub(crate) fn ones() -> LinearModel<Recorded> {
    LinearModel { weight: Param::from_tensor(Tensor::ones([3, 1], &Device::default())) }
}

/// A trainer of [`ones`] in its first epoch, which logs nothing.
pub(crate) fn begun(observer: &mut dyn Observer) -> LinearTrainer<'_> {
    let settings =
        TrainerConfig { log_every_steps: 100, ..settings(optimizer(OptimizerKind::Sgd)) };
    let (device, stop) = (Device::default(), Stop::default());
    let mut trainer = Trainer::new(ones(), settings, &device, observer, stop).unwrap();
    trainer.next_epoch().unwrap();
    trainer
}

pub(crate) fn optimizer(kind: OptimizerKind) -> OptimizerConfig {
    OptimizerConfig { weight_decay: 0.0, ..OptimizerConfig::new(kind, 0.05) }
}

/// Five epochs of two steps, each step logged.
pub(crate) fn settings(optimizer: OptimizerConfig) -> TrainerConfig {
    TrainerConfig { log_every_steps: 1, ..TrainerConfig::new(optimizer, 5, SAMPLES / BATCH) }
}

/// Trains in micro-batches of `micro_batch` samples; the squared error is the loss.
pub(crate) fn train(
    problem: &Problem,
    settings: TrainerConfig,
    micro_batch: usize,
    recorder: &mut Recorder,
) -> Result<Trained<LinearModel<Selected>>, TrainError> {
    train_validated(problem, settings, micro_batch, recorder, || None)
}

/// As [`train`], with `validate` after each epoch.
pub(crate) fn train_validated(
    problem: &Problem,
    settings: TrainerConfig,
    micro_batch: usize,
    recorder: &mut Recorder,
    validate: impl FnMut() -> Option<Metrics>,
) -> Result<Trained<LinearModel<Selected>>, TrainError> {
    train_until(problem, settings, micro_batch, recorder, Stop::default(), validate)
}

/// As [`train_validated`], until `stop` is requested.
pub(crate) fn train_until(
    problem: &Problem,
    settings: TrainerConfig,
    micro_batch: usize,
    recorder: &mut Recorder,
    stop: Stop,
    mut validate: impl FnMut() -> Option<Metrics>,
) -> Result<Trained<LinearModel<Selected>>, TrainError> {
    let device = Device::default();
    let tensor = |values: &[f32], shape: [usize; 2]| {
        Tensor::<Recorded, 2>::from_data(TensorData::new(values.to_vec(), shape), &device)
    };
    let features = tensor(&problem.features, [SAMPLES, 3]);
    let targets = tensor(&problem.targets, [SAMPLES, 1]);
    let model = LinearModel { weight: Param::from_tensor(tensor(&problem.start, [3, 1])) };

    let mut trainer = Trainer::new(model, settings, &device, recorder, stop)?;
    while let Some(epoch) = trainer.next_epoch() {
        let parts = (epoch.position * BATCH..SAMPLES).step_by(BATCH).flat_map(|update| {
            let end = update + BATCH;
            let starts = (update..end).step_by(micro_batch);
            starts.map(move |start| (start, end.min(start + micro_batch), end))
        });
        for (start, end, update_end) in epoch.batches(parts) {
            let samples = end - start;
            let outputs =
                features.clone().narrow(0, start, samples).matmul(trainer.model().weight.val());
            let errors = (outputs - targets.clone().narrow(0, start, samples)).flatten::<1>(0, 1);
            let first = start % BATCH;
            let part = Part { first, samples, of: BATCH, last: end == update_end };
            trainer.step(errors.clone() * errors, part)?;
        }
        trainer.end_epoch(|_| validate())?;
    }
    trainer.finish()
}
