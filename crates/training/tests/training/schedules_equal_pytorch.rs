//! The learning rates of each schedule against those of PyTorch's schedulers.

use std::collections::BTreeMap;

use serde::Deserialize;
use training::{Event, Metrics, OptimizerKind, RunLength, ScheduleConfig, ScheduleKind};

use crate::common::{BATCH, Problem, Recorder, optimizer, settings, train_validated};

#[derive(Deserialize)]
struct Fixture {
    base: f64,
    steps: u64,
    steps_per_epoch: u64,
    cases: BTreeMap<String, Vec<f64>>,
    validation: Vec<f64>,
    plateau: Vec<f64>,
}

fn fixture() -> Fixture {
    serde_json::from_str(include_str!("../golden/schedules/fixture.json")).unwrap()
}

/// The settings of each case in `generate.py`.
fn case(name: &str) -> ScheduleConfig {
    let new = ScheduleConfig::new;
    match name {
        "cosine" => new(ScheduleKind::Cosine),
        "warm_cosine" => {
            ScheduleConfig { warmup_steps: 7, minimum: 0.001, ..new(ScheduleKind::Cosine) }
        }
        "one_cycle" => new(ScheduleKind::OneCycle),
        "one_cycle_early" => ScheduleConfig {
            pct_start: 0.1,
            div_factor: 10.0,
            final_div_factor: 100.0,
            ..new(ScheduleKind::OneCycle)
        },
        "step" => {
            ScheduleConfig { milestones: vec![3, 7], gamma: Some(0.2), ..new(ScheduleKind::Step) }
        }
        "exponential" => ScheduleConfig { gamma: Some(0.9), ..new(ScheduleKind::Exponential) },
        _ => panic!("the fixture has a case `{name}` that this test does not know"),
    }
}

fn assert_close(ours: f64, pytorch: f64, what: &str) {
    assert!((ours - pytorch).abs() <= 1e-9 * pytorch, "{what}: {ours} instead of {pytorch}");
}

#[test]
fn every_step_has_pytorchs_learning_rate() {
    let Fixture { base, steps, steps_per_epoch, cases, .. } = fixture();
    assert_eq!(cases.len(), 6);
    for (name, expected) in cases {
        assert_eq!(expected.len(), steps as usize);
        for (step, &expected) in expected.iter().enumerate() {
            let length = RunLength { steps, steps_per_epoch };
            let ours = case(&name).learning_rate(base, step as u64, length);
            assert_close(ours, expected, &format!("{name}, step {step}"));
        }
    }
}

#[test]
fn a_plateau_lowers_the_learning_rate_as_pytorchs_does() {
    let Fixture { base, validation, plateau, .. } = fixture();
    let schedule = ScheduleConfig {
        gamma: Some(0.2),
        patience: 2,
        minimum: 0.001,
        ..ScheduleConfig::new(ScheduleKind::Plateau)
    };
    let mut settings = settings(optimizer(OptimizerKind::Sgd));
    settings.optimizer.learning_rate = base;
    settings.schedule = schedule;
    settings.epochs = validation.len();
    let mut recorder = Recorder::default();
    let mut losses = validation.iter();
    let validate = || losses.next().map(|&loss| Metrics::from([("loss".to_owned(), loss)]));
    train_validated(&Problem::drawn(), settings, BATCH, &mut recorder, validate).unwrap();

    let rates: Vec<f64> = recorder
        .0
        .iter()
        .filter_map(|event| match event {
            Event::Epoch { learning_rate, .. } => Some(*learning_rate),
            _ => None,
        })
        .collect();
    assert_eq!(rates.len(), plateau.len());
    for (epoch, (ours, pytorch)) in rates.into_iter().zip(plateau).enumerate() {
        assert_close(ours, pytorch, &format!("epoch {epoch}"));
    }
}
