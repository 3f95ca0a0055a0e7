//! The learning rates of each schedule against those of PyTorch's schedulers.

use std::collections::BTreeMap;

use serde::Deserialize;
use training::{
    EpochReport, Event, Metrics, Monitor, OptimizerKind, RunLength, ScheduleConfig, ScheduleKind,
};

use crate::common::{BATCH, Problem, Recorder, optimizer, settings, train_validated};

#[derive(Deserialize)]
struct Fixture {
    base: f64,
    steps: u64,
    steps_per_epoch: u64,
    cases: BTreeMap<String, Vec<f64>>,
    plateaus: BTreeMap<String, PlateauCase>,
}

#[derive(Deserialize)]
struct PlateauCase {
    /// What validation measures, epoch by epoch.
    values: Vec<f64>,
    rates: Vec<f64>,
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
        "warm_constant" => ScheduleConfig { warmup_steps: 7, ..new(ScheduleKind::Constant) },
        "linear" => new(ScheduleKind::Linear),
        "warm_linear" => {
            ScheduleConfig { warmup_steps: 7, minimum: 0.001, ..new(ScheduleKind::Linear) }
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
    assert_eq!(cases.len(), 9);
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
    let Fixture { base, plateaus, .. } = fixture();
    assert_eq!(plateaus.len(), 2);
    for (metric, PlateauCase { values, rates }) in plateaus {
        let monitor = match metric.as_str() {
            "loss" => Monitor::loss(),
            _ => Monitor::higher(metric),
        };
        let ours = plateau(base, monitor, &values);
        assert_eq!(ours.len(), rates.len());
        for (epoch, (ours, pytorch)) in ours.into_iter().zip(rates).enumerate() {
            assert_close(ours, pytorch, &format!("epoch {epoch}"));
        }
    }
}

/// The learning rate of each epoch, of which validation measures these values.
fn plateau(base: f64, monitor: Monitor, values: &[f64]) -> Vec<f64> {
    let schedule = ScheduleConfig {
        gamma: Some(0.2),
        patience: 2,
        minimum: 0.001,
        ..ScheduleConfig::new(ScheduleKind::Plateau)
    };
    let mut settings = settings(optimizer(OptimizerKind::Sgd));
    settings.optimizer.learning_rate = base;
    settings.schedule = schedule;
    settings.epochs = values.len();
    settings.monitor = monitor.clone();
    let mut recorder = Recorder::default();
    let mut values = values.iter();
    let validate = || Some(Metrics::from([(monitor.metric.clone(), *values.next()?)]));
    train_validated(&Problem::drawn(), settings, BATCH, &mut recorder, validate).unwrap();

    recorder
        .0
        .iter()
        .filter_map(|event| match event {
            Event::Epoch(EpochReport { learning_rate, .. }) => Some(*learning_rate),
            _ => None,
        })
        .collect()
}
