//! What a loop or a model gets wrong is an error that says so, rather than a run that learns nothing.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use backend::{Part, device::Device};
use burn::{
    module::{AutodiffModule, Module, Param, ParamId},
    tensor::{Bool, Int, Tensor, backend::Backend},
};
use training::{
    CheckpointDirectory, Event, Metrics, Monitor, OptimizerKind, Stop, TrainError, Trainer,
    TrainerConfig,
};

use crate::{
    checkpoints::stopped,
    common::{
        LinearModel, LinearTrainer, Problem, Recorded, Recorder, begun, ones, optimizer, settings,
        train, train_validated,
    },
};

fn sgd() -> TrainerConfig {
    settings(optimizer(OptimizerKind::Sgd))
}

fn losses(model: &LinearModel<Recorded>) -> Tensor<Recorded, 1> {
    model.weight.val().flatten(0, 1)
}

#[test]
fn losses_that_do_not_depend_on_the_model_are_refused() {
    let mut nobody = ();
    let mut trainer = begun(&mut nobody);
    let of_a_copy = trainer.model().clone();
    let whole = Part::whole(3);
    trainer.step(losses(&of_a_copy), whole).unwrap();
    let evaluated = Tensor::from_inner(trainer.model().valid().weight.val().flatten(0, 1));
    let detached = losses(trainer.model()).detach();
    for independent in [evaluated, detached, losses(&of_a_copy)] {
        let error = trainer.step(independent, whole).unwrap_err();
        assert!(matches!(error, TrainError::NoGradients), "{error}");
        assert!(error.help().unwrap().contains("`valid()`"));
    }
    assert_eq!(trainer.step_number(), 1);
}

/// A mean would be divided by the samples once more.
#[test]
fn losses_are_one_for_each_sample_that_counts() {
    let mut nobody = ();
    let mut trainer = begun(&mut nobody);
    let mean = |trainer: &LinearTrainer<'_>| trainer.model().weight.val().mean();
    let error = trainer.step(mean(&trainer), Part::whole(3)).unwrap_err();
    assert!(matches!(error, TrainError::Losses { losses: 1, samples: 3 }), "{error}");
    assert_eq!(trainer.step_number(), 0);

    let part = |samples, last| Part { first: 0, samples, of: 3, last };
    trainer.step(losses(trainer.model()), part(3, false)).unwrap();
    trainer.step(mean(&trainer), part(0, true)).unwrap();
    assert_eq!(trainer.step_number(), 1);
}

#[test]
fn a_part_without_gradients_is_none_of_an_update_with_some() {
    let mut nobody = ();
    let mut trainer = begun(&mut nobody);
    let part = |last| Part { first: 0, samples: 3, of: 6, last };
    for detached_first in [true, false] {
        for (last, detached) in [(false, detached_first), (true, !detached_first)] {
            let losses = losses(trainer.model());
            let losses = if detached { losses.detach() } else { losses };
            trainer.step(losses, part(last)).unwrap();
        }
    }
    assert_eq!(trainer.step_number(), 2);
}

#[test]
fn a_model_that_is_frozen_has_no_gradients() {
    let (device, mut nobody) = (Device::default(), ());
    let frozen = ones().no_grad();
    let stop = Stop::default();
    let mut trainer = Trainer::new(frozen, sgd(), &device, &mut nobody, stop).unwrap();
    trainer.next_epoch().unwrap();
    trainer.step(losses(trainer.model()), Part::whole(3)).unwrap();
    assert_eq!(trainer.step_number(), 1);
    let weight: Vec<f32> = trainer.model().weight.val().into_data().iter().collect();
    assert_eq!(weight, [1.0; 3]);
}

#[test]
fn a_part_that_is_no_share_of_its_update_is_refused() {
    let mut nobody = ();
    let mut trainer = begun(&mut nobody);
    for (samples, of) in [(3, 2), (3, 0), (0, 0)] {
        let part = Part { first: 0, samples, of, last: true };
        let error = trainer.step(losses(trainer.model()), part).unwrap_err();
        assert!(matches!(error, TrainError::Part { .. }), "{error}");
        assert!(error.to_string().contains(&format!("update of {of}")), "{error}");
    }
}

/// Whose gradient would be too large or too small.
#[test]
fn parts_that_do_not_add_up_to_their_update_are_refused() {
    let part = |of, last| Part { first: 0, samples: 3, of, last };
    for (first, second, told) in [
        (part(6, false), part(5, true), "parts of 6 samples do not make an update of 5"),
        (part(3, false), part(3, true), "parts of 6 samples do not make an update of 3"),
        (part(9, false), part(9, true), "parts of 6 samples do not make an update of 9"),
        (part(12, false), part(6, true), "parts of 6 samples do not make an update of 6"),
    ] {
        let mut nobody = ();
        let mut trainer = begun(&mut nobody);
        trainer.step(losses(trainer.model()), first).unwrap();
        let error = trainer.step(losses(trainer.model()), second).unwrap_err();
        assert_eq!(error.to_string(), told);
        assert!(matches!(error, TrainError::Part { .. }) && error.help().is_some());
    }
}

#[test]
fn an_update_that_is_not_due_is_refused() {
    let (device, mut nobody) = (Device::default(), ());
    let settings = TrainerConfig { max_steps: Some(1), ..sgd() };
    let mut trainer =
        Trainer::new(ones(), settings, &device, &mut nobody, Stop::default()).unwrap();
    let step = |trainer: &mut LinearTrainer<'_>| {
        trainer.step(losses(trainer.model()), Part::whole(3)).map_err(|error| {
            assert!(matches!(error, TrainError::NotDue { .. }), "{error}");
            assert!(error.help().unwrap().contains("`Epoch::batches`"));
        })
    };
    assert!(step(&mut trainer).is_err(), "before an epoch");
    trainer.next_epoch().unwrap();
    assert!(step(&mut trainer).is_ok());
    assert!(step(&mut trainer).is_err(), "after the last");
    assert_eq!(trainer.step_number(), 1);
}

#[test]
#[should_panic(expected = "`map_model` changes which parameters are trained")]
fn what_is_trained_cannot_change_within_a_run() {
    let mut nobody = ();
    begun(&mut nobody).map_model(Module::no_grad);
}

#[test]
fn an_epoch_that_ends_within_an_update_is_refused() {
    let mut nobody = ();
    let mut trainer = begun(&mut nobody);
    let part = Part { first: 0, samples: 3, of: 6, last: false };
    trainer.step(losses(trainer.model()), part).unwrap();
    let error = trainer.end_epoch(|_| None).unwrap_err();
    assert!(matches!(error, TrainError::NoLastPart { step: 0 }), "{error}");
    let error = trainer.finish().unwrap_err();
    assert!(matches!(error, TrainError::NoLastPart { step: 0 }), "{error}");
}

#[test]
#[should_panic(expected = "epoch 1 has begun: end it with `end_epoch` first")]
fn a_loop_that_does_not_end_its_epochs_is_a_mistake() {
    begun(&mut ()).next_epoch();
}

#[test]
fn a_validation_without_what_is_monitored_is_refused() {
    for (names, measured) in [(vec!["accuracy", "f1"], "`accuracy`, `f1`"), (vec![], "nothing")] {
        let metrics: Metrics = names.into_iter().map(|name| (name.to_owned(), 0.5)).collect();
        let validate = || Some(metrics.clone());
        let mut recorder = Recorder::default();
        let error =
            train_validated(&Problem::drawn(), sgd(), 6, &mut recorder, validate).unwrap_err();
        let expected = format!("a validation measured {measured}, and not `loss`");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn the_best_model_without_a_validation_is_reported_to_be_the_last() {
    for keep_best in [false, true] {
        let mut recorder = Recorder::default();
        let settings = TrainerConfig { keep_best, ..sgd() };
        train(&Problem::drawn(), settings, 6, &mut recorder).unwrap();
        let message = "keeping the best model has no effect: there is no validation split";
        let warning = Event::Warning { message: message.to_owned() };
        assert_eq!(recorder.0.contains(&warning), keep_best);
    }
}

#[test]
fn a_monitor_without_a_validation_is_reported_to_have_no_effect() {
    let mut recorder = Recorder::default();
    let settings = TrainerConfig { monitor: Monitor::higher("accuracy"), ..sgd() };
    train(&Problem::drawn(), settings, 6, &mut recorder).unwrap();
    let message = "`training.monitor` has no effect: there is no validation split".to_owned();
    assert!(recorder.0.contains(&Event::Warning { message }));
}

/// Keeps checkpoints below a folder, and tells nobody.
fn kept_below(folder: &Path) -> CheckpointDirectory<()> {
    CheckpointDirectory::new(folder.join("checkpoints"), ())
}

#[test]
fn a_directory_of_checkpoints_is_made_before_the_first_step() {
    let directory = tempfile::tempdir().unwrap();
    let new = |path: PathBuf| {
        let (mut kept, stop) = (kept_below(&path), Stop::default());
        Trainer::new(ones(), sgd(), &Device::default(), &mut kept, stop).map(|_| ())
    };
    new(directory.path().join("run")).unwrap();
    assert!(directory.path().join("run/checkpoints").is_dir());

    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let error = new(file).unwrap_err();
    assert!(error.to_string().contains("checkpoints"), "{error}");
}

#[test]
fn without_a_validation_it_does_not_matter_whether_the_best_would_be_kept() {
    let directory = tempfile::tempdir().unwrap();
    for (keep_best, steps) in [(true, 2), (false, 4)] {
        let (mut kept, stop) = (kept_below(directory.path()), Stop::default());
        let settings = TrainerConfig { keep_best, ..sgd() };
        let device = Device::default();
        let mut trainer = Trainer::new(ones(), settings, &device, &mut kept, stop).unwrap();
        trainer.next_epoch().unwrap();
        for _ in 0..2 {
            trainer.step(losses(trainer.model()), Part::whole(3)).unwrap();
        }
        trainer.end_epoch(|_| None).unwrap();
        assert_eq!(trainer.step_number(), steps);
    }
}

#[derive(Module, Debug)]
struct Counted<B: Backend> {
    layer: LinearModel<B>,
    steps: Param<Tensor<B, 1, Int>>,
}

#[derive(Module, Debug)]
struct Masked<B: Backend> {
    layers: Vec<LinearModel<B>>,
    mask: Option<Param<Tensor<B, 1, Bool>>>,
}

fn refusal<M: AutodiffModule<Recorded>>(model: M) -> TrainError {
    Trainer::new(model, sgd(), &Device::default(), &mut (), Stop::default()).err().unwrap()
}

#[test]
fn parameters_that_are_not_floating_point_are_named() {
    let device = Device::default();
    let steps = Tensor::<Recorded, 1, Int>::zeros([1], &device);
    let steps = Param::initialized(ParamId::new(), steps);
    let error = refusal(Counted { layer: ones(), steps });
    assert!(error.to_string().starts_with("the parameter `steps` holds integers"), "{error}");
    assert!(error.help().unwrap().contains("outside of the module"));

    let mask = Tensor::<Recorded, 1>::zeros([1], &device).bool();
    let mask = Some(Param::initialized(ParamId::new(), mask));
    let error = refusal(Masked { layers: vec![ones()], mask });
    assert!(error.to_string().starts_with("the parameter `mask` holds booleans"), "{error}");
}

#[test]
fn a_parameter_in_two_places_is_named_with_both() {
    let layer = ones();
    let error = refusal(Masked { layers: vec![layer.clone(), ones(), layer], mask: None });
    let expected = "`layers.0.weight` and `layers.2.weight` are the same parameter";
    assert!(error.to_string().starts_with(expected), "{error}");
    let same_values = Masked::<Recorded> { layers: vec![ones(), ones()], mask: None };
    Trainer::new(same_values, sgd(), &Device::default(), &mut (), Stop::default()).unwrap();
}

/// In a loop that begins its epoch anew instead of at [`Epoch::position`](training::Epoch::position).
#[test]
fn a_resumed_epoch_of_another_length_is_refused() {
    let (mut kept, settings) = stopped();
    let (device, stop) = (Device::default(), Stop::default());
    let mut trainer = Trainer::new(ones(), settings, &device, &mut kept, stop).unwrap();
    let epoch = trainer.next_epoch().unwrap();
    assert_eq!(epoch.position, 1);
    let mut step = || trainer.step(trainer.model().weight.val().sum(), Part::whole(1));
    step().unwrap();
    let error = step().unwrap_err();
    assert_eq!(error.to_string(), "epoch 4 comes to 3 updates, and `steps_per_epoch` is 2");
    assert!(error.help().unwrap().contains("the batch at `Epoch::position`"));
}

#[test]
fn an_epoch_ends_once() {
    let mut nobody = ();
    let mut trainer = begun(&mut nobody);
    for _ in 0..2 {
        trainer.step(losses(trainer.model()), Part::whole(3)).unwrap();
    }
    trainer.end_epoch(|_| None).unwrap();
    let error = trainer.end_epoch(|_| None).unwrap_err();
    assert!(matches!(error, TrainError::NoEpoch { ended: 1 }), "{error}");
}

/// A checkpoint is written at the beginning of `step`, so it would hold what its own batch has changed.
#[test]
fn what_a_batch_changes_is_changed_after_its_step() {
    for carries in [false, true] {
        let is_due = Arc::new(AtomicBool::new(false));
        let told_due = Arc::clone(&is_due);
        let change = move || {
            let mut nobody = ();
            let device = Device::default();
            let mut trainer =
                Trainer::new(ones(), sgd(), &device, &mut nobody, Stop::default()).unwrap();
            let epoch = trainer.next_epoch().unwrap();
            let change = |trainer: &mut LinearTrainer<'_>| match carries {
                true => trainer.carry("state", Tensor::zeros([1, 1], &device)),
                false => trainer.map_model(|model| model),
            };
            let mut batches = epoch.batches(0..2);
            batches.next();
            trainer.step(losses(trainer.model()), Part::whole(3)).unwrap();
            change(&mut trainer);
            told_due.store(true, Ordering::Relaxed);
            batches.next();
            change(&mut trainer);
        };
        let panic = std::panic::catch_unwind(change).unwrap_err();
        let told = panic.downcast_ref::<&str>().unwrap();
        assert!(told.ends_with("is to be called after `step`"), "{told}");
        assert!(is_due.load(Ordering::Relaxed), "after `step` it is allowed");
    }
}

#[test]
fn training_that_diverged_is_over() {
    let mut recorder = Recorder::default();
    let mut trainer = begun(&mut recorder);
    let undefined = losses(trainer.model()) * f32::NAN;
    let error = match trainer.step(undefined, Part::whole(3)) {
        Err(error) => error, // noticed at once
        Ok(()) => {
            trainer.step(losses(trainer.model()), Part::whole(3)).unwrap();
            trainer.end_epoch(|_| None).unwrap_err()
        }
    };
    assert!(matches!(error, TrainError::Diverged { after: 0, .. }), "{error}");
    assert!(trainer.next_epoch().is_none());
    assert!(matches!(trainer.finish().unwrap_err(), TrainError::Diverged { .. }));
    let ends = recorder.0.iter().filter(|event| matches!(event, Event::End { .. }));
    assert_eq!(ends.count(), 1);
}

#[test]
fn a_second_trainer_in_a_folder_of_checkpoints_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let new = |kept| Trainer::new(ones(), sgd(), &Device::default(), kept, Stop::default());
    let mut kept = [(); 3].map(|()| kept_below(directory.path()));
    let [first, second, third] = &mut kept;
    let trainer = new(first).unwrap();
    let error = new(second).unwrap_err();
    assert!(matches!(error, TrainError::InUse { .. }), "{error}");
    drop(trainer);
    new(third).unwrap();
}
