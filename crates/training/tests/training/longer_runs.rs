//! Runs that are made longer once they have ended.

use training::{
    EndStatus, Monitor, OptimizerKind, ScheduleConfig, ScheduleKind, Stop, TrainerConfig,
};

use crate::checkpoints::{KINDS, Kept, everything, run, weight};

#[test]
fn a_finished_run_may_be_made_longer() {
    let settings = |epochs| TrainerConfig {
        schedule: ScheduleConfig::new(ScheduleKind::Constant),
        epochs,
        ..everything(OptimizerKind::AdamW)
    };
    let mut straight = Kept::new();
    let expected = weight(run(&mut straight, settings(8), Stop::default()));
    let mut kept = Kept::new();
    run(&mut kept, settings(5), Stop::default()).unwrap();
    assert_eq!(weight(run(&mut kept, settings(8), Stop::default())), expected);
    assert_eq!(kept.rows(), straight.rows());
}

#[test]
fn a_learning_rate_that_rises_with_the_length_of_a_run_is_told() {
    let told = |kind| {
        let mut settings = TrainerConfig { epochs: 3, ..everything(OptimizerKind::Sgd) };
        settings.schedule = ScheduleConfig::new(kind);
        let mut kept = Kept::new();
        for epochs in [3, 7] {
            run(&mut kept, TrainerConfig { epochs, ..settings.clone() }, Stop::default()).unwrap();
        }
        kept.warnings().concat()
    };
    // Of 6 updates the last has a sixth of the learning rate, of 14 the seventh eight fourteenths.
    let told_of = "the learning rate goes up from 0.0083 to 0.029: the schedule follows";
    assert!(told(ScheduleKind::Linear).starts_with(told_of), "{}", told(ScheduleKind::Linear));
    assert_eq!(told(ScheduleKind::Constant), "");

    // Where the length is the same, a steep rise is the schedule's own.
    let mut settings = everything(OptimizerKind::Sgd);
    settings.schedule = ScheduleConfig::new(ScheduleKind::OneCycle);
    let (mut kept, stop) = (Kept::new(), Stop::default());
    stop.request_after(1);
    run(&mut kept, settings.clone(), stop).unwrap();
    run(&mut kept, settings, Stop::default()).unwrap();
    assert_eq!(kept.warnings(), [""; 0]);
}

#[test]
fn a_run_that_ended_within_an_epoch_goes_on_there_when_it_is_made_longer() {
    for kind in KINDS {
        let mut straight = Kept::new();
        let expected = weight(run(&mut straight, everything(kind), Stop::default()));
        for steps in [1, 3, 4, 9] {
            let ends_at = |max_steps| TrainerConfig { max_steps, ..everything(kind) };
            let mut kept = Kept::new();
            let first = run(&mut kept, ends_at(Some(steps)), Stop::default()).unwrap();
            assert_eq!((first.status, first.steps), (EndStatus::Finished, steps));
            assert!(first.validation.is_some(), "the end of the run is validated");
            assert_eq!(kept.names().last(), Some(&format!("step-{steps}")), "{kind:?}");
            let rows = kept.rows();
            let again = run(&mut kept, ends_at(Some(steps)), Stop::default()).unwrap();
            assert_eq!((again.status, again.steps), (EndStatus::Finished, steps));
            assert_eq!(weight(Ok(again)), weight(Ok(first)), "{kind:?}, {steps} steps");
            assert_eq!(kept.rows(), rows, "{kind:?}, {steps} steps");
            assert_eq!(run(&mut kept, ends_at(Some(9)), Stop::default()).unwrap().steps, 9);
            let longer = run(&mut kept, ends_at(None), Stop::default());
            assert_eq!(weight(longer), expected, "{kind:?}, {steps} steps");
            assert_eq!(kept.rows(), straight.rows(), "{kind:?}, {steps} steps");
        }
    }
}

#[test]
fn a_run_that_goes_on_keeps_the_better_epoch_from_before() {
    // Of losses that fall, the first is the highest.
    let monitor = Monitor::higher("loss");
    let settings = || TrainerConfig { monitor: monitor.clone(), ..everything(OptimizerKind::Sgd) };
    let straight = run(&mut Kept::new(), settings(), Stop::default()).unwrap();
    assert_eq!(straight.kept_epoch, Some(1));
    let (mut kept, stop) = (Kept::new(), Stop::default());
    stop.request_after(5);
    run(&mut kept, settings(), stop).unwrap();
    let resumed = run(&mut kept, settings(), Stop::default()).unwrap();
    assert_eq!((resumed.kept_epoch, &resumed.best), (Some(1), &straight.best));
    assert_eq!(weight(Ok(resumed)), weight(Ok(straight)));
}

#[test]
fn the_time_of_training_goes_on_from_what_it_was() {
    let (mut kept, stop) = (Kept::new(), Stop::default());
    stop.request_after(3);
    let [before, after] = [(); 2].map(|()| {
        let stopped = run(&mut kept, everything(OptimizerKind::Sgd), stop.clone()).unwrap();
        (stopped.steps, stopped.seconds_training)
    });
    assert_eq!((before.0, after.0), (3, 3));
    assert!((before.1 - after.1).abs() < 1e-6, "{before:?} {after:?}");
}
