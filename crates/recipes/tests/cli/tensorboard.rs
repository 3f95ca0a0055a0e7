//! The curves of a run, read by TensorBoard itself.
//!
//! Without Python and tensorboard the test says that it skips; with `REQUIRE_ALL=1` in the
//! environment that is a failure.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::folder::{Folder, skip};

/// A curve by its tag: steps and values.
type Curves = BTreeMap<String, Vec<(u64, f32)>>;

/// Whether Python can read the curves; says so if it cannot.
fn tensorboard_is_there() -> bool {
    let imports =
        Command::new("python3").args(["-c", "import tensorboard"]).stderr(Stdio::null()).status();
    if imports.is_ok_and(|status| status.success()) {
        return true;
    }
    skip("there is no python3 with tensorboard");
    false
}

fn read_by_tensorboard(folder: &Path) -> Curves {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/read_curves.py");
    let output = Command::new("python3").arg(script).arg(folder).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The curves that `events.jsonl` tells of.
fn told(events: &str) -> Curves {
    let mut curves = Curves::new();
    for line in events.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let mut add = |tag: String, value: &Value| {
            let point = (event["step"].as_u64().unwrap(), value.as_f64().unwrap() as f32);
            curves.entry(tag).or_default().push(point);
        };
        match event["kind"].as_str().unwrap() {
            "step" => {
                const MEASURED: [&str; 7] = [
                    "loss",
                    "accuracy",
                    "learning_rate",
                    "gradient_norm",
                    "samples_per_second",
                    "data_wait",
                    "memory_bytes",
                ];
                for name in MEASURED {
                    add(format!("train/{name}"), &event[name]);
                }
            }
            "epoch" => {
                add("train/epoch_loss".to_owned(), &event["train_loss"]);
                add("train/epoch_accuracy".to_owned(), &event["train_accuracy"]);
                for (name, value) in event["validation"].as_object().unwrap() {
                    add(format!("validation/{name}"), value);
                }
            }
            _ => {}
        }
    }
    curves
}

#[test]
fn tensorboard_reads_the_curves_of_a_resumed_run() {
    let folder = Folder::new();
    let train = "train mlp --set data.labels=linear --set training.epochs=2 \
         --set output.log_every_steps=10 --progress quiet --run-dir run";
    folder.run(train).succeeded();
    folder.run("resume run --set training.epochs=4").succeeded();
    let told = told(&folder.read("run/events.jsonl"));
    assert_eq!(told["train/loss"].last().unwrap().0, 80);
    assert!(told.contains_key("validation/accuracy"), "{told:?}");
    if tensorboard_is_there() {
        assert_eq!(read_by_tensorboard(&folder.path("run/tb")), told);
    }

    // A run that goes on without curves keeps those that it has.
    let curves = || fs::read(folder.path("run/tb/events.out.tfevents.0")).unwrap();
    let before = curves();
    for (epochs, tensorboard) in [(5, false), (6, true)] {
        let settings = format!("training.epochs={epochs} --set output.tensorboard={tensorboard}");
        folder.run(&format!("resume run --set {settings}")).succeeded();
    }
    assert!(curves().starts_with(&before) && curves().len() > before.len());
    fs::remove_dir_all(folder.path("run/tb")).unwrap();
    let told = folder.run("resume run --set training.epochs=7").succeeded().stderr;
    assert!(told.contains("events.out.tfevents.0` lacks curves from before"), "{told}");

    folder.run(&format!("{train}-without --set output.tensorboard=false")).succeeded();
    assert!(!folder.path("run-without/tb").exists());
}
