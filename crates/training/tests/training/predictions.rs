//! The training accuracy.

use backend::{Part, device::Device};
use burn::{
    module::Param,
    tensor::{Int, Tensor},
};
use training::{EpochReport, Event, OptimizerKind, Stop, Trainer};

use crate::common::{LinearModel, LinearTrainer, Recorded, Recorder, begun, optimizer, settings};

fn logits(values: &[f32]) -> Tensor<Recorded, 2> {
    Tensor::<Recorded, 1>::from_floats(values, &Device::default()).reshape([values.len(), 1])
}

fn labels(values: &[i32]) -> Tensor<Recorded, 1, Int> {
    Tensor::from_ints(values, &Device::default())
}

/// Learns from so many samples, the last of an update of four.
fn step(trainer: &mut LinearTrainer<'_>, first: usize, samples: usize) {
    let inputs = Tensor::ones([samples, 3], &Device::default());
    let losses = inputs.matmul(trainer.model().weight.val()).flatten(0, 1);
    let part = Part { first, samples, of: 4, last: first + samples == 4 };
    trainer.step(losses, part).unwrap();
}

#[test]
fn the_accuracy_is_over_all_parts_of_an_interval_and_of_an_epoch() {
    let mut recorder = Recorder::default();
    let model =
        LinearModel { weight: Param::from_tensor(Tensor::ones([3, 1], &Device::default())) };
    let mut settings = settings(optimizer(OptimizerKind::Sgd));
    settings.epochs = 2;
    let device = Device::default();
    let mut trainer =
        Trainer::new(model, settings, &device, &mut recorder, Stop::default()).unwrap();
    // Of the samples of each update, in parts of three and one.
    let mut updates = [
        ([0.5, -0.5, 1.0, -1.0], [1, 0, 0, 1]),
        ([0.5, -0.5, 1.0, -1.0], [1, 0, 1, 1]),
        ([0.0, -0.0, 1.0, -1.0], [0, 1, 0, 1]),
        ([-1.0, 1.0, -1.0, 1.0], [0, 1, 0, 1]),
    ]
    .into_iter();
    while let Some(epoch) = trainer.next_epoch() {
        for _ in epoch.batches(0..2) {
            let (predictions, targets) = updates.next().unwrap();
            trainer.count_correct(&logits(&predictions[..3]), &labels(&targets[..3]));
            step(&mut trainer, 0, 3);
            trainer.count_correct(&logits(&predictions[3..]), &labels(&targets[3..]));
            step(&mut trainer, 3, 1);
        }
        trainer.end_epoch(|_| None).unwrap();
    }
    let trained = trainer.finish().unwrap();
    let accuracies = recorder.0.iter().filter_map(|event| match event {
        Event::Step(report) => report.accuracy,
        Event::Epoch(EpochReport { train_accuracy, .. }) => *train_accuracy,
        _ => None,
    });
    assert_eq!(accuracies.collect::<Vec<_>>(), [0.5, 0.75, 0.625, 0.25, 1.0, 0.625]);
    assert_eq!(trained.train_accuracy, Some(0.625));
}

#[test]
fn without_counted_predictions_there_is_no_accuracy() {
    let mut recorder = Recorder::default();
    let mut trainer = begun(&mut recorder);
    step(&mut trainer, 0, 4);
    step(&mut trainer, 0, 4);
    trainer.end_epoch(|_| None).unwrap();
    drop(trainer);
    let told = recorder
        .0
        .iter()
        .any(|event| matches!(event, Event::Epoch(EpochReport { train_accuracy: None, .. })));
    assert!(told, "{:?}", recorder.0);
}

#[test]
#[should_panic(expected = "to be called before `step`")]
fn a_count_after_the_last_step_is_a_mistake() {
    let mut recorder = Recorder::default();
    let mut trainer = begun(&mut recorder);
    for _ in 0..2 {
        step(&mut trainer, 0, 4);
        trainer.count_correct(&logits(&[1.0; 4]), &labels(&[1; 4]));
    }
    let _ = trainer.end_epoch(|_| None);
}

#[test]
#[should_panic(expected = "a target for each sample")]
fn a_prediction_without_a_target_is_a_mistake() {
    begun(&mut Recorder::default()).count_correct(&logits(&[1.0, 2.0]), &labels(&[1]));
}

#[test]
#[should_panic(expected = "once before each `step`")]
fn a_part_is_counted_once() {
    let mut recorder = Recorder::default();
    let mut trainer = begun(&mut recorder);
    for _ in 0..2 {
        trainer.count_correct(&logits(&[1.0]), &labels(&[1]));
    }
}

#[test]
fn a_part_without_samples_adds_nothing() {
    let weight = |stand_in: bool| {
        let mut recorder = Recorder::default();
        let mut trainer = begun(&mut recorder);
        let weights = |trainer: &LinearTrainer<'_>| trainer.model().weight.val().flatten::<1>(0, 1);
        if stand_in {
            let part = Part { first: 0, samples: 0, of: 3, last: false };
            trainer.step(weights(&trainer) * -9.0, part).unwrap();
        }
        trainer.step(weights(&trainer), Part::whole(3)).unwrap();
        trainer.model().weight.val().into_data().to_vec::<f32>().unwrap()
    };
    assert_eq!(weight(true), weight(false));
}
