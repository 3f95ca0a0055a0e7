//! The trainer's own promises: accumulation, divergence, the end of a run, and what it tells.

use std::{
    thread,
    time::{Duration, Instant},
};

use backend::{NAME, Part, Selected, device::Device, overrides};
use burn::tensor::Tensor;
use training::{
    Best, EndStatus, EpochReport, Event, Metrics, Monitor, OptimizerKind, ScheduleConfig,
    ScheduleKind, StepReport, Stop, TrainError, Trained, Trainer, TrainerConfig,
};

use crate::common::{
    BATCH, LinearModel, LinearTrainer, Problem, Recorded, Recorder, begun, ones, optimizer,
    settings, train, train_until, train_validated,
};

fn weight(trained: &Trained<LinearModel<Selected>>) -> Vec<f32> {
    trained.model.weight.val().into_data().to_vec().unwrap()
}

#[test]
fn micro_batches_give_the_update_of_the_whole_batch() {
    let run = |micro_batch| {
        let mut recorder = Recorder::default();
        let settings = settings(optimizer(OptimizerKind::Adam));
        let trained = train(&Problem::drawn(), settings, micro_batch, &mut recorder).unwrap();
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
    // It lies in the second batch, and nothing is logged before the end of the epoch.
    let mut poisoned = Problem::drawn();
    poisoned.targets[BATCH] = f32::NAN;
    let settings =
        TrainerConfig { log_every_steps: 100, ..settings(optimizer(OptimizerKind::Adam)) };
    let mut recorder = Recorder::default();
    let error = train(&poisoned, settings, BATCH, &mut recorder).unwrap_err();
    assert!(matches!(error, TrainError::Diverged { after: 1, step: 2, .. }), "{error}");
    assert!(error.to_string().contains("the loss became infinite or NaN in step 2"), "{error}");
    assert!(error.help().unwrap().contains("optimizer.learning_rate"));
    let end = Event::End { status: EndStatus::Diverged, epoch: 1, step: 2 };
    assert_eq!(recorder.0.last(), Some(&end));
}

/// Makes a step on one sample, whose features are all the same.
fn step(trainer: &mut LinearTrainer<'_>, feature: f32) -> Result<(), TrainError> {
    let features = Tensor::<Recorded, 2>::full([1, 3], feature, &Device::default());
    let losses = features.matmul(trainer.model().weight.val()).flatten::<1>(0, 1);
    trainer.step(losses, Part { first: 0, samples: 1, of: 1, last: true })
}

#[test]
fn slow_steps_are_reported_between_log_intervals() {
    let mut recorder = Recorder::default();
    let mut trainer = begun(&mut recorder);
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(110));
        step(&mut trainer, 1.0).unwrap();
    }
    drop(trainer);
    let reported = recorder.0.iter().filter(|event| matches!(event, Event::Progress { .. }));
    let [one, two] = [1, 2].map(|step| Event::Progress { epoch: 1, step });
    assert!(reported.eq([&one, &two]), "{:?}", recorder.0);
}

#[test]
fn an_update_that_is_not_finite_leaves_the_weights_as_they_were() {
    for loss_scaling in [false, true] {
        let mut settings = settings(optimizer(OptimizerKind::Adam));
        (settings.loss_scaling, settings.steps_per_epoch) = (loss_scaling, 3);
        let (device, stop, mut recorder) =
            (Device::default(), Stop::default(), Recorder::default());
        let mut trainer = Trainer::new(ones(), settings, &device, &mut recorder, stop).unwrap();
        trainer.next_epoch().unwrap();
        let mut weight_after = |feature| {
            let _ = step(&mut trainer, feature); // which fails where it is noticed at once
            trainer.model().weight.val().inner().into_data().to_vec::<f32>().unwrap()
        };
        let after_one = weight_after(1.0);
        assert!(after_one.iter().all(|&weight| weight < 1.0), "{after_one:?}");
        assert_eq!([f32::NAN, 1.0].map(weight_after), [after_one.clone(), after_one]);
    }
}

#[test]
fn a_gradient_that_is_not_finite_is_named_by_its_parameter() {
    // Errors of 1e10 have squares within f32's range, and gradients of 1e20, whose squares are not.
    let mut problem = Problem::drawn();
    problem.features.iter_mut().for_each(|feature| *feature *= 1e10);
    let mut recorder = Recorder::default();
    let settings = settings(optimizer(OptimizerKind::Sgd));
    let error = train(&problem, settings, BATCH, &mut recorder).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the gradient of `weight`, or its square, became infinite or NaN in"),
        "{error}"
    );
}

#[test]
fn scaled_losses_give_the_same_update() {
    let run = |loss_scaling| {
        let mut recorder = Recorder::default();
        let settings = TrainerConfig { loss_scaling, ..settings(optimizer(OptimizerKind::Adam)) };
        weight(&train(&Problem::drawn(), settings, 2, &mut recorder).unwrap())
    };
    // To scale by a power of two rounds nothing.
    assert_eq!(run(true), run(false));
}

#[test]
fn scaling_keeps_gradients_that_are_too_small_on_their_way() {
    let weight = |loss_scaling| {
        let settings = TrainerConfig { loss_scaling, ..settings(optimizer(OptimizerKind::Adam)) };
        let (device, stop, mut recorder) =
            (Device::default(), Stop::default(), Recorder::default());
        let mut trainer = Trainer::new(ones(), settings, &device, &mut recorder, stop).unwrap();
        trainer.next_epoch().unwrap();
        // Backwards 2^-156, which no f32 holds, lies between the losses and the weights.
        let losses = trainer.model().weight.val().flatten(0, 1) * 2f32.powi(126);
        let losses = losses * 2f32.powi(-78) * 2f32.powi(-78);
        trainer.step(losses, Part::whole(3)).unwrap();
        trainer.model().weight.val().into_data().to_vec::<f32>().unwrap()
    };
    assert_eq!(weight(false), [1.0; 3]);
    assert!(weight(true).iter().all(|&weight| weight < 1.0), "{:?}", weight(true));
}

#[test]
fn an_update_whose_gradients_overflow_is_not_made_and_lowers_the_scale() {
    let problem = || {
        let mut problem = Problem::drawn();
        problem.features.iter_mut().for_each(|feature| *feature *= 1e10);
        problem
    };
    let settings = |epochs| TrainerConfig {
        loss_scaling: true,
        epochs,
        ..settings(optimizer(OptimizerKind::Sgd))
    };
    let mut recorder = Recorder::default();
    let trained = train(&problem(), settings(5), BATCH, &mut recorder).unwrap();
    assert_eq!(weight(&trained), problem().start);
    let scale = |event: &Event| match event {
        Event::Step(report) => report.loss_scale,
        _ => None,
    };
    let scales: Vec<f64> = recorder.0.iter().filter_map(scale).collect();
    let halves: Vec<f64> = (6..16).rev().map(|power| f64::from(1 << power)).collect();
    assert_eq!(scales, halves);
    // What overflows at any scale, down to 2^-16, is not caused by the scale.
    let error = train(&problem(), settings(17), BATCH, &mut Recorder::default()).unwrap_err();
    assert!(matches!(error, TrainError::Diverged { step: 33, .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("the gradient of `weight`, or its square, became infinite or NaN in"),
        "{error}"
    );
}

#[test]
fn a_run_ends_after_max_steps_with_its_epoch_reported() {
    let mut recorder = Recorder::default();
    let settings = TrainerConfig { max_steps: Some(3), ..settings(optimizer(OptimizerKind::Sgd)) };
    let trained = train(&Problem::drawn(), settings, BATCH, &mut recorder).unwrap();
    assert_eq!((trained.status, trained.epochs, trained.steps), (EndStatus::Finished, 2, 3));
    assert_eq!(trained.samples, 18);

    let epochs: Vec<(usize, u64)> = recorder
        .0
        .iter()
        .filter_map(|event| match event {
            Event::Epoch(EpochReport { epoch, step, .. }) => Some((*epoch, *step)),
            _ => None,
        })
        .collect();
    assert_eq!(epochs, [(1, 2), (2, 3)]);
    assert!(matches!(recorder.0.first(), Some(Event::Start { epochs: 5, steps: 3, .. })));
    assert!(matches!(recorder.0.last(), Some(Event::End { status: EndStatus::Finished, .. })));
}

/// A perfect loss of 0 would be the best one.
#[test]
fn without_a_sample_there_is_no_loss() {
    let stop = Stop::default();
    stop.request();
    let mut recorder = Recorder::default();
    let settings = settings(optimizer(OptimizerKind::Sgd));
    let trained =
        train_until(&Problem::drawn(), settings, BATCH, &mut recorder, stop, || None).unwrap();
    assert_eq!((trained.status, trained.steps), (EndStatus::Interrupted, 0));
    assert!(trained.train_loss.is_nan(), "{}", trained.train_loss);
}

#[test]
fn an_epoch_reports_the_mean_of_its_samples_and_its_last_batch() {
    let mut recorder = Recorder::default();
    train(&Problem::drawn(), settings(optimizer(OptimizerKind::Sgd)), BATCH, &mut recorder)
        .unwrap();
    let losses = recorder.losses();
    let epochs = recorder.0.iter().filter_map(|event| match event {
        Event::Epoch(EpochReport { train_loss, last_loss, .. }) => Some((*train_loss, *last_loss)),
        _ => None,
    });
    for ((train_loss, last_loss), steps) in epochs.zip(losses.chunks(2)) {
        assert!((train_loss - (steps[0] + steps[1]) / 2.0).abs() < 1e-6);
        assert!((last_loss - steps[1]).abs() < 1e-6);
    }
}

#[test]
fn a_run_without_improvement_ends_early_with_its_best_epoch() {
    let run = |minimum_improvement| {
        let mut settings = settings(optimizer(OptimizerKind::Sgd));
        settings.epochs = 20;
        settings.patience = Some(3);
        settings.minimum_improvement = minimum_improvement;
        settings.keep_best = true;
        let mut losses = [5.0, 4.0, 3.95, 3.9, 3.85, 3.5, 4.0, 3.5, 3.6].into_iter();
        let validate = || losses.next().map(|loss| Metrics::from([("loss".to_owned(), loss)]));
        let mut recorder = Recorder::default();
        let trained =
            train_validated(&Problem::drawn(), settings, BATCH, &mut recorder, validate).unwrap();
        assert_eq!(trained.status, EndStatus::StoppedEarly);
        assert_eq!(
            trained.validation.as_ref().unwrap()["loss"],
            trained.best.as_ref().unwrap().value
        );
        (trained.epochs, trained.best.unwrap().epoch)
    };
    assert_eq!(run(0.0), (9, 6));
    assert_eq!(run(0.2), (5, 5), "too small an improvement is none, though it is the best");
}

#[test]
fn the_best_epoch_is_that_of_the_highest_score_where_one_is_monitored() {
    let mut settings = settings(optimizer(OptimizerKind::Sgd));
    settings.epochs = 20;
    settings.monitor = Monitor::higher("accuracy");
    settings.patience = Some(3);
    settings.keep_best = true;
    // The loss rises from the first epoch on, and ties are no improvement.
    let mut accuracies = [0.5, 0.625, 0.75, 0.75, 0.5, 0.625, 0.875].into_iter().zip(1..);
    let validate = || {
        let (accuracy, loss) = accuracies.next()?;
        Some(Metrics::from([
            ("accuracy".to_owned(), accuracy),
            ("loss".to_owned(), f64::from(loss)),
        ]))
    };
    let mut recorder = Recorder::default();
    let trained =
        train_validated(&Problem::drawn(), settings, BATCH, &mut recorder, validate).unwrap();
    assert_eq!((trained.status, trained.epochs), (EndStatus::StoppedEarly, 6));
    let best = Best { epoch: 3, metric: "accuracy".to_owned(), value: 0.75 };
    assert_eq!((trained.best, trained.kept_epoch), (Some(best), Some(3)));
    assert_eq!(trained.validation.unwrap()["loss"], 3.0);
}

#[test]
fn a_best_epoch_that_is_the_last_is_not_told_to_be_kept() {
    let mut settings = settings(optimizer(OptimizerKind::Sgd));
    settings.keep_best = true;
    let mut losses = [5.0, 4.0, 3.0, 2.0, 1.0].into_iter();
    let validate = || Some(Metrics::from([("loss".to_owned(), losses.next()?)]));
    let mut recorder = Recorder::default();
    let trained =
        train_validated(&Problem::drawn(), settings, BATCH, &mut recorder, validate).unwrap();
    assert_eq!((trained.best.unwrap().epoch, trained.kept_epoch), (5, None));
}

#[test]
fn epochs_without_a_validation_neither_count_nor_repeat_the_last() {
    let mut settings = settings(optimizer(OptimizerKind::Sgd));
    settings.epochs = 9;
    settings.patience = Some(2);
    let mut losses = [Some(1.0), None, Some(2.0), None, Some(3.0), None].into_iter();
    let validate = || Some(Metrics::from([("loss".to_owned(), losses.next()??)]));
    let mut recorder = Recorder::default();
    let trained =
        train_validated(&Problem::drawn(), settings, BATCH, &mut recorder, validate).unwrap();
    assert_eq!((trained.status, trained.epochs), (EndStatus::StoppedEarly, 5));
    let told = recorder.0.iter().filter_map(|event| match event {
        Event::Epoch(EpochReport { validation, .. }) => {
            Some(validation.as_ref().map(|found| found["loss"]))
        }
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [Some(1.0), None, Some(2.0), None, Some(3.0)]);
}

/// Together they are no longer than the run.
#[test]
fn log_intervals_are_timed_each_by_itself() {
    let mut recorder = Recorder::default();
    let settings = settings(optimizer(OptimizerKind::Sgd));
    let trained = train(&Problem::drawn(), settings, BATCH, &mut recorder).unwrap();
    let seconds = recorder.0.iter().filter_map(|event| match event {
        Event::Step(report) => Some(BATCH as f64 / report.throughput.samples_per_second),
        _ => None,
    });
    let (intervals, seconds) = (seconds.clone().count(), seconds.sum::<f64>());
    assert_eq!(intervals, 10);
    let all = trained.seconds_training;
    assert!(0.0 < seconds && seconds < 1.001 * all, "{seconds} of {all}");
}

#[test]
fn what_is_measured_and_shown_takes_no_time_of_training() {
    let (mut recorder, start) = (Recorder::default(), Instant::now());
    let pause = Duration::from_millis(100);
    let mut trainer = begun(&mut recorder);
    for _ in 0..2 {
        let losses = trainer.model().weight.val().sum();
        trainer.step(losses, Part::whole(1)).unwrap();
    }
    trainer.show("", |_| {
        thread::sleep(pause);
        String::new()
    });
    let validate = |_: &LinearModel<Selected>| {
        thread::sleep(pause);
        None
    };
    trainer.end_epoch(validate).unwrap();
    let trained = trainer.finish().unwrap().seconds_training;
    let others = start.elapsed().as_secs_f64() - trained;
    assert!(others >= 2.0 * pause.as_secs_f64(), "{others} seconds beside {trained}");
}

#[test]
fn an_interrupted_run_returns_the_numbers_of_its_own_model() {
    let run = |problem: &Problem, steps, log_every_steps| {
        let settings = TrainerConfig { log_every_steps, ..settings(optimizer(OptimizerKind::Sgd)) };
        let stop = Stop::default();
        stop.request_after(steps);
        let mut recorder = Recorder::default();
        let validate = || Some(Metrics::from([("loss".to_owned(), 1.0)]));
        let trained = train_until(problem, settings, BATCH, &mut recorder, stop, validate)?;
        assert_eq!((trained.status, trained.steps), (EndStatus::Interrupted, steps));
        Ok::<_, TrainError>((trained, recorder.losses()))
    };
    let (_, losses) = run(&Problem::drawn(), 3, 1).unwrap();
    for (steps, expected) in [(1, losses[0]), (3, losses[2])] {
        let (trained, _) = run(&Problem::drawn(), steps, 100).unwrap();
        assert!((trained.train_loss - expected).abs() < 1e-6, "{steps}: {}", trained.train_loss);
        assert_eq!(trained.validation, None, "of another model");
    }
    let mut poisoned = Problem::drawn();
    poisoned.targets[0] = f32::NAN;
    let error = run(&poisoned, 1, 100).unwrap_err();
    assert!(matches!(error, TrainError::Diverged { step: 1, .. }), "{error}");
}

#[test]
fn the_steps_after_the_last_log_interval_are_reported_at_the_end() {
    let reports = |log_every_steps| {
        let settings = TrainerConfig { log_every_steps, ..settings(optimizer(OptimizerKind::Sgd)) };
        let mut recorder = Recorder::default();
        train(&Problem::drawn(), settings, BATCH, &mut recorder).unwrap();
        let [.., before_last, Event::End { .. }] = &recorder.0[..] else {
            panic!("the end comes last: {:?}", recorder.0);
        };
        let is_step = matches!(before_last, Event::Step(_));
        let report = |event: &Event| match event {
            Event::Step(report) => Some(*report),
            _ => None,
        };
        (recorder.0.iter().filter_map(report).collect::<Vec<StepReport>>(), is_step)
    };
    let (every, ends_with_step) = reports(1);
    assert_eq!((every.len(), ends_with_step), (10, false));
    let (some, ends_with_step) = reports(4);
    let steps: Vec<u64> = some.iter().map(|report| report.step).collect();
    assert_eq!((steps, ends_with_step), (vec![4, 8, 10], true));
    let (last, expected) = (some[2], every[9]);
    assert_eq!(
        (last.epoch, last.learning_rate, last.gradient_norm),
        (5, expected.learning_rate, expected.gradient_norm)
    );
    let mean = f64::midpoint(every[8].loss, expected.loss);
    assert!((last.loss - mean).abs() < 1e-5, "{} {mean}", last.loss);
}

#[test]
fn patience_without_a_validation_split_is_reported_once() {
    let mut recorder = Recorder::default();
    let settings = TrainerConfig { patience: Some(1), ..settings(optimizer(OptimizerKind::Sgd)) };
    let trained = train(&Problem::drawn(), settings, BATCH, &mut recorder).unwrap();
    assert_eq!((trained.status, trained.epochs), (EndStatus::Finished, 5));
    let is_warning = |event: &&Event| matches!(event, Event::Warning { .. });
    assert_eq!(recorder.0.iter().filter(is_warning).count(), 1);
}

#[test]
fn on_the_cpu_each_update_is_done_by_kernels() {
    if NAME != "cpu" {
        eprintln!("skipped: `{NAME}` has no kernels of its own for updates");
        return;
    }
    use OptimizerKind::{Adam, AdamW, NAdam, RmsProp, Sgd};
    for kind in [Adam, AdamW, NAdam, Sgd, RmsProp] {
        // The sum of squares, the scaling where gradients are clipped, and the update.
        for (clip_norm, operations) in [(None, 2), (Some(0.1), 3)] {
            let settings = TrainerConfig { clip_norm, ..settings(optimizer(kind)) };
            let before = overrides::counts();
            let mut recorder = Recorder::default();
            let trained = train(&Problem::drawn(), settings, BATCH, &mut recorder).unwrap();
            let after = overrides::counts();
            assert_eq!(after.composed, before.composed, "{kind:?}");
            assert_eq!(after.taken - before.taken, operations * trained.steps, "{kind:?}");
        }
    }
}

#[test]
fn an_epoch_of_another_length_than_promised_is_refused() {
    // One update more is noticed before it is made, one less once the epoch ends.
    for (promised, updates, step) in [(1, 2, 1), (3, 2, 2)] {
        let mut recorder = Recorder::default();
        let settings =
            TrainerConfig { steps_per_epoch: promised, ..settings(optimizer(OptimizerKind::Sgd)) };
        let error = train(&Problem::drawn(), settings, BATCH, &mut recorder).unwrap_err();
        let expected =
            format!("epoch 1 comes to {updates} updates, and `steps_per_epoch` is {promised}");
        assert_eq!(error.to_string(), expected);
        assert!(error.help().unwrap().contains("`Part::whole`"));
        assert_eq!(recorder.losses().len(), step);
    }
}

#[test]
fn a_validation_that_measures_no_number_is_reported_once() {
    let mut recorder = Recorder::default();
    let settings = settings(optimizer(OptimizerKind::Sgd));
    let validate = || Some(Metrics::from([("loss".to_owned(), f64::NAN)]));
    let trained =
        train_validated(&Problem::drawn(), settings, BATCH, &mut recorder, validate).unwrap();
    assert!(trained.best.is_none());
    let told = |event: &&Event| matches!(event, Event::Warning { message } if message.starts_with("the validation's `loss` is not a number"));
    assert_eq!(recorder.0.iter().filter(told).count(), 1);
}

/// As those of few samples often are.
#[test]
fn of_epochs_with_the_same_score_that_with_the_lowest_loss_is_the_best() {
    let mut recorder = Recorder::default();
    let monitor = Monitor::higher("accuracy");
    let settings = TrainerConfig { monitor, ..settings(optimizer(OptimizerKind::Sgd)) };
    let mut measured = [(0.9, 0.5), (1.0, 0.4), (1.0, 0.6), (1.0, 0.3), (0.9, 0.1)].into_iter();
    let validate = || {
        let (accuracy, loss) = measured.next()?;
        Some(Metrics::from([("accuracy".to_owned(), accuracy), ("loss".to_owned(), loss)]))
    };
    let trained =
        train_validated(&Problem::drawn(), settings, BATCH, &mut recorder, validate).unwrap();
    assert_eq!(trained.best.unwrap().epoch, 4);
}

#[test]
fn a_setting_out_of_its_range_is_refused_before_anything_begins() {
    let mut settings = settings(optimizer(OptimizerKind::Sgd));
    settings.schedule =
        ScheduleConfig { minimum: f64::INFINITY, ..ScheduleConfig::new(ScheduleKind::Cosine) };
    let mut recorder = Recorder::default();
    let error = train(&Problem::drawn(), settings, BATCH, &mut recorder).unwrap_err();
    assert!(matches!(error, TrainError::Config(_)), "{error}");
    assert!(error.to_string().starts_with("`schedule.minimum` is inf, and must be"), "{error}");
    assert!(recorder.0.is_empty());
}
