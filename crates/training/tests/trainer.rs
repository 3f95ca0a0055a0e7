//! The trainer's own promises: accumulation, divergence, the end of a run, and what it tells.

#![allow(clippy::unwrap_used)] // A failure here is a failed test.

mod common;

use backend::{
    Selected,
    random::{Purpose, Random},
};
use common::{BATCH, LinearModel, Problem, Recorder, SAMPLES, optimizer, settings, train};
use training::{EndStatus, Event, OptimizerKind, TrainError, Trained, TrainerConfig};

fn problem() -> Problem {
    let values = |stream, count| {
        let random = Random::new(1, Purpose::Synthetic, stream);
        (0..count).map(|index| random.normal(index as u64)).collect()
    };
    Problem { features: values(0, SAMPLES * 3), targets: values(1, SAMPLES), start: values(2, 3) }
}

fn weight(trained: &Trained<LinearModel<Selected>>) -> Vec<f32> {
    trained.model.weight.val().into_data().to_vec().unwrap()
}

#[test]
fn micro_batches_give_the_update_of_the_whole_batch() {
    let run = |micro_batch| {
        let mut recorder = Recorder::default();
        let settings = settings(optimizer(OptimizerKind::Adam));
        let trained = train(&problem(), settings, micro_batch, &mut recorder).unwrap();
        (weight(&trained), recorder.losses(), trained.steps, trained.samples)
    };
    let (whole, whole_losses, ..) = run(BATCH);
    for micro_batch in [1, 2, 4] {
        let (weight, losses, steps, samples) = run(micro_batch);
        assert_eq!((steps, samples), (10, 60));
        for (a, b) in weight.iter().zip(&whole) {
            assert!((a - b).abs() <= 1e-6 * b.abs().max(1.0), "{micro_batch}: {a} {b}");
        }
        for (a, b) in losses.iter().zip(&whole_losses) {
            assert!((a - b).abs() <= 1e-6 * b.abs().max(1.0), "{micro_batch}: {a} {b}");
        }
    }
}

#[test]
fn a_value_that_is_not_finite_stops_the_run_and_is_never_applied() {
    // It lies in the second batch; nothing is read before the end of the epoch.
    let mut poisoned = problem();
    poisoned.targets[BATCH] = f32::NAN;
    let settings =
        TrainerConfig { log_every_steps: 100, ..settings(optimizer(OptimizerKind::Adam)) };
    let mut recorder = Recorder::default();
    let error = train(&poisoned, settings, BATCH, &mut recorder).unwrap_err();
    assert!(matches!(error, TrainError::Diverged { after: 0, step: 2, .. }), "{error}");
    assert!(error.help().unwrap().contains("optimizer.learning_rate"));
}

#[test]
fn a_run_ends_after_max_steps_with_its_epoch_reported() {
    let mut recorder = Recorder::default();
    let settings = TrainerConfig { max_steps: Some(3), ..settings(optimizer(OptimizerKind::Sgd)) };
    let trained = train(&problem(), settings, BATCH, &mut recorder).unwrap();
    assert_eq!((trained.status, trained.epochs, trained.steps), (EndStatus::Finished, 2, 3));
    assert_eq!(trained.samples, 18);

    let epochs: Vec<(usize, u64)> = recorder
        .0
        .iter()
        .filter_map(|event| match event {
            Event::Epoch { epoch, step, .. } => Some((*epoch, *step)),
            _ => None,
        })
        .collect();
    assert_eq!(epochs, [(1, 2), (2, 3)]);
    assert!(matches!(recorder.0.first(), Some(Event::Start { epochs: 5, steps: 3, .. })));
    assert!(matches!(recorder.0.last(), Some(Event::End { status: EndStatus::Finished, .. })));
}

#[test]
fn an_epoch_reports_the_mean_of_its_samples_and_its_last_batch() {
    let mut recorder = Recorder::default();
    train(&problem(), settings(optimizer(OptimizerKind::Sgd)), BATCH, &mut recorder).unwrap();
    let losses = recorder.losses();
    let epochs = recorder.0.iter().filter_map(|event| match event {
        Event::Epoch { train_loss, last_loss, .. } => Some((*train_loss, *last_loss)),
        _ => None,
    });
    for ((train_loss, last_loss), steps) in epochs.zip(losses.chunks(2)) {
        assert!((train_loss - (steps[0] + steps[1]) / 2.0).abs() < 1e-6);
        assert!((last_loss - steps[1]).abs() < 1e-6);
    }
}
