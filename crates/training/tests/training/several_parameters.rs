//! What holds over all parameters together: the norm, clipping, averages and resuming, of a network
//! whose parameters differ in shape.

use backend::{
    Part, Selected,
    device::Device,
    random::{Purpose, Random},
};
use burn::{
    module::{Module, Param},
    tensor::{ElementConversion, Tensor, TensorData, backend::Backend},
};
use training::{
    EndStatus, Event, Metrics, Observer, OptimizerConfig, OptimizerKind, Stop, Trained, Trainer,
    TrainerConfig,
};

use crate::{
    checkpoints::{KINDS, Kept, everything},
    common::{BATCH, Problem, Recorded, Recorder, SAMPLES, settings},
};

/// Two dense layers, and a parameter that never has a gradient.
#[derive(Module, Debug)]
struct Several<B: Backend> {
    first: Param<Tensor<B, 2>>,
    unused: Param<Tensor<B, 1>>,
    bias: Param<Tensor<B, 1>>,
    second: Param<Tensor<B, 2>>,
}

impl<B: Backend> Several<B> {
    fn drawn(device: &B::Device) -> Self {
        let values = |stream, count| -> Vec<f32> {
            let random = Random::new(2, Purpose::Synthetic, stream);
            (0..count).map(|index| random.normal(index) * 0.5).collect()
        };
        let matrix = |stream, [rows, columns]: [usize; 2]| {
            let values = values(stream, (rows * columns) as u64);
            Param::from_tensor(Tensor::from_data(TensorData::new(values, [rows, columns]), device))
        };
        let vector = |stream, length: usize| {
            let values = values(stream, length as u64);
            Param::from_tensor(Tensor::from_data(TensorData::new(values, [length]), device))
        };
        Self {
            first: matrix(0, [3, 4]),
            unused: vector(1, 2),
            bias: vector(2, 4),
            second: matrix(3, [4, 1]),
        }
    }

    fn forward(&self, features: Tensor<B, 2>) -> Tensor<B, 2> {
        let hidden = features.matmul(self.first.val()) + self.bias.val().unsqueeze();
        hidden.tanh().matmul(self.second.val())
    }
}

/// The values of each parameter that learns.
fn weights(model: &Several<Selected>) -> [Vec<f64>; 3] {
    let matrix = |parameter: &Param<Tensor<Selected, 2>>| parameter.val().into_data();
    [matrix(&model.first), model.bias.val().into_data(), matrix(&model.second)]
        .map(|data| data.iter().collect())
}

fn train(
    settings: TrainerConfig,
    observer: &mut dyn Observer,
    stop: Stop,
) -> Trained<Several<Selected>> {
    let device = Device::default();
    let Problem { features, targets, .. } = Problem::drawn();
    let tensor = |values: Vec<f32>, shape: [usize; 2]| {
        Tensor::<Recorded, 2>::from_data(TensorData::new(values, shape), &device)
    };
    let (features, targets) = (tensor(features, [SAMPLES, 3]), tensor(targets, [SAMPLES, 1]));
    let model = Several::<Recorded>::drawn(&device);
    let mut trainer = Trainer::new(model, settings, &device, observer, stop).unwrap();
    while let Some(epoch) = trainer.next_epoch() {
        let starts = (epoch.position * BATCH..SAMPLES).step_by(BATCH);
        for start in epoch.batches(starts) {
            let outputs = trainer.model().forward(features.clone().narrow(0, start, BATCH));
            let errors = outputs - targets.clone().narrow(0, start, BATCH);
            trainer.step(errors.flatten::<1>(0, 1).square(), Part::whole(BATCH)).unwrap();
        }
        let (features, targets) = (features.clone().inner(), targets.clone().inner());
        let validate = |model: &Several<Selected>| {
            let loss = (model.forward(features) - targets).square().mean();
            let loss: f64 = loss.into_scalar().elem();
            Some(Metrics::from([("loss".to_owned(), loss)]))
        };
        trainer.end_epoch(validate).unwrap();
    }
    trainer.finish().unwrap()
}

/// Gradient descent for so many steps.
fn descent(rate: f64, steps: u64) -> TrainerConfig {
    let optimizer = OptimizerConfig::new(OptimizerKind::Sgd, rate);
    TrainerConfig { max_steps: Some(steps), ..settings(optimizer) }
}

#[test]
fn gradients_are_clipped_by_the_norm_of_all_of_them() {
    let start = weights(&Several::drawn(&Device::default()));
    let step = |clip_norm| {
        let mut recorder = Recorder::default();
        let settings = TrainerConfig { clip_norm, ..descent(1.0, 1) };
        let after = weights(&train(settings, &mut recorder, Stop::default()).model);
        let update = |(before, after): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
            before.iter().zip(after).map(|(before, after)| before - after).collect()
        };
        let updates: Vec<_> = start.iter().zip(&after).map(update).collect();
        let norm = recorder.0.iter().find_map(|event| match event {
            Event::Step(report) => Some(report.gradient_norm),
            _ => None,
        });
        (updates, norm.unwrap())
    };
    let (gradients, told) = step(None);
    let norm = gradients.iter().flatten().map(|value| value * value).sum::<f64>().sqrt();
    assert!((told - norm).abs() < 1e-4 * norm, "{told} instead of {norm}");
    let (clipped, told) = step(Some(0.25 * norm));
    assert!((told - norm).abs() < 1e-4 * norm, "{told} instead of {norm}");
    for (gradient, clipped) in gradients.iter().zip(&clipped) {
        assert!(gradient.iter().any(|value| value.abs() > 1e-3), "{gradient:?}");
        for (value, clipped) in gradient.iter().zip(clipped) {
            let expected = 0.25 * value;
            let error = (clipped - expected).abs();
            assert!(error < 1e-6 + 1e-4 * expected.abs(), "{clipped} instead of {expected}");
        }
    }
}

#[test]
fn each_parameter_has_an_average_of_its_own() {
    let after = |steps, ema| {
        let settings = TrainerConfig { ema, ..descent(0.1, steps) };
        weights(&train(settings, &mut Recorder::default(), Stop::default()).model)
    };
    let mut expected = after(1, None);
    for steps in 2..=4 {
        let kept = (1.0 + steps as f64) / (10.0 + steps as f64);
        let kept = kept.min(0.28); // as the third update leaves more
        for (average, weights) in expected.iter_mut().zip(after(steps, None)) {
            for (average, weight) in average.iter_mut().zip(weights) {
                *average = kept * *average + (1.0 - kept) * weight;
            }
        }
    }
    for (found, expected) in after(4, Some(0.28)).iter().flatten().zip(expected.iter().flatten()) {
        assert!((found - expected).abs() < 1e-6, "{found} instead of {expected}");
    }
}

#[test]
fn a_run_of_several_parameters_resumes_bit_for_bit() {
    for kind in KINDS {
        let mut straight = Kept::new();
        let expected = weights(&train(everything(kind), &mut straight, Stop::default()).model);
        for step in 1..10 {
            let mut kept = Kept::new();
            let stop = Stop::default();
            stop.request_after(step);
            let stopped = train(everything(kind), &mut kept, stop);
            assert_eq!((stopped.status, stopped.steps), (EndStatus::Interrupted, step));
            let resumed = train(everything(kind), &mut kept, Stop::default());
            assert_eq!(weights(&resumed.model), expected, "{kind:?}, step {step}");
            assert_eq!(kept.rows(), straight.rows(), "{kind:?}, step {step}");
        }
    }
}
