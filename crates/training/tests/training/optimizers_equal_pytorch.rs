//! Ten updates of each optimizer against PyTorch's, with clipped gradients and averaged weights.

use std::collections::BTreeMap;

use serde::Deserialize;
use training::{OptimizerConfig, OptimizerKind, TrainerConfig};

use crate::common::{BATCH, Problem, Recorder, optimizer, settings, train};

#[derive(Deserialize)]
struct Fixture {
    features: Vec<f32>,
    targets: Vec<f32>,
    start: Vec<f32>,
    cases: BTreeMap<String, Case>,
}

#[derive(Deserialize)]
struct Case {
    losses: Vec<f64>,
    weight: Vec<f64>,
}

/// The settings of each case in `generate.py`.
fn case(name: &str) -> TrainerConfig {
    let adam = optimizer(OptimizerKind::Adam);
    let nadam = optimizer(OptimizerKind::NAdam);
    let rms_prop = optimizer(OptimizerKind::RmsProp);
    let sgd = optimizer(OptimizerKind::Sgd);
    let optimizer = match name {
        "adam" => adam,
        "adam_decay" => OptimizerConfig { weight_decay: 0.1, epsilon: 1e-3, ..adam },
        "adamw_default" => OptimizerConfig::new(OptimizerKind::AdamW, 0.05),
        "adamw" => OptimizerConfig {
            kind: OptimizerKind::AdamW,
            weight_decay: 0.1,
            beta_1: 0.8,
            beta_2: 0.99,
            ..adam
        },
        "nadam" => nadam,
        "nadam_decay" => OptimizerConfig { weight_decay: 0.1, beta_1: 0.8, beta_2: 0.99, ..nadam },
        "rmsprop" => rms_prop,
        "rmsprop_momentum" => {
            OptimizerConfig { alpha: 0.9, momentum: 0.9, weight_decay: 0.1, ..rms_prop }
        }
        "sgd" | "sgd_clipped" | "sgd_averaged" => sgd,
        "sgd_momentum" => OptimizerConfig { momentum: 0.9, weight_decay: 0.1, ..sgd },
        "sgd_nesterov" => OptimizerConfig { momentum: 0.9, nesterov: true, ..sgd },
        _ => panic!("the fixture has a case `{name}` that this test does not know"),
    };
    let mut settings = settings(optimizer);
    settings.clip_norm = (name == "sgd_clipped").then_some(3.5);
    settings.ema = (name == "sgd_averaged").then_some(0.5);
    settings
}

fn assert_close(ours: &[f64], pytorch: &[f64], what: &str) {
    assert_eq!(ours.len(), pytorch.len(), "{what}");
    for (ours, pytorch) in ours.iter().zip(pytorch) {
        let error = (ours - pytorch).abs() / pytorch.abs().max(0.1);
        assert!(error < 1e-5, "{what}: {ours} instead of {pytorch}");
    }
}

#[test]
fn losses_and_weights_follow_pytorchs() {
    let text = include_str!("../golden/optimizers/fixture.json");
    let Fixture { features, targets, start, cases } = serde_json::from_str(text).unwrap();
    assert_eq!(cases.len(), 13);
    for (name, expected) in &cases {
        let problem =
            Problem { features: features.clone(), targets: targets.clone(), start: start.clone() };
        let mut recorder = Recorder::default();
        let trained = train(&problem, case(name), BATCH, &mut recorder).unwrap();
        assert_close(&recorder.losses(), &expected.losses, name);
        let weight: Vec<f64> = trained.model.weight.val().into_data().iter().collect();
        assert_close(&weight, &expected.weight, name);
    }
}
