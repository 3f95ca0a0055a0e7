//! Runs that are stopped, resumed, or cannot write.

use std::fs;

use data::{ImagePreprocessing, ImageShape, Resize};
use inference::Preprocessing;
use models::{Architecture, MlpConfig};
use store::fault;

use super::*;
use crate::{
    config::{SettingsLayer, TableData},
    mlp,
    run::metrics_csv::untimed_metrics,
};

/// Two epochs of two steps, with a checkpoint after every step.
fn train(directory: &Path, resumes: bool) -> Result<Summary, Failure> {
    let settings = [
        "data.samples=40",
        "data.labels=linear",
        "training.epochs=2",
        "training.batch_size=16",
        "checkpoint.every_steps=1",
        "checkpoint.keep=1",
        "output.log_every_steps=1",
    ];
    let mut nobody = ();
    let start = Start { resumes, ..Start::new(directory.to_owned(), &mut nobody) };
    (mlp::RECIPE.train)(SettingsLayer::sets(&settings), start)
}

#[test]
fn what_does_not_fit_into_memory_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut nobody = ();
    let start = Start::new(folder.path().join("run"), &mut nobody);
    let config: Config<TableData, mlp::Model> = mlp::RECIPE.resolve(Vec::new()).unwrap();
    let hashes = DataHashes { samples: "data".to_owned(), source: None };
    let inputs = RunInputs { weights: None, hashes, notes: Vec::new(), skipped: 0 };
    let (begun, _) = start.begin(&mlp::RECIPE, &config).unwrap();
    let mut run = begun.open(&config, &inputs).unwrap();
    let hidden = vec![1_000_000; 2]; // a matrix of 4 TB
    let network = MlpConfig { inputs: 1, hidden, outputs: 1, ..MlpConfig::default() };
    let shape = ImageShape { channels: 1, height: 1, width: 1 };
    let description = Description {
        recipe: "mlp".to_owned(),
        architecture: Architecture::Mlp(network),
        preprocessing: Preprocessing::Image(ImagePreprocessing::identity(shape, Resize::Crop)),
        classes: Vec::new(),
    };
    run.complete(config.trainer(10), &description, &[1]);
    let told = run.notes.iter().any(|note| note.contains("of memory, but only"));
    assert_eq!(told, device::memory_bytes().is_some(), "{:?}", run.notes);
}

#[test]
fn a_stop_before_the_first_step_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let interrupt = Stop::default();
    interrupt.request();
    let mut nobody = ();
    let start = Start { interrupt, ..Start::new(directory.clone(), &mut nobody) };
    let failure = (mlp::RECIPE.train)(Vec::new(), start).unwrap_err();
    assert_eq!(failure.exit_code, ExitCode::Interrupted);
    assert_eq!(failure.to_string(), "interrupted before the first step");
    assert!(!directory.exists());
}

/// Asks the run to stop at such an event.
struct StopsAt(Stop, fn(&Event) -> bool);

impl Observer for StopsAt {
    fn observe(&mut self, event: &Event) -> Result<(), ObserverError> {
        if self.1(event) {
            self.0.request();
        }
        Ok(())
    }
}

#[test]
fn a_stop_before_the_first_update_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let interrupt = Stop::default();
    let start = |event: &Event| matches!(event, Event::Start { .. });
    let mut observer = StopsAt(interrupt.clone(), start);
    let start = Start { interrupt, ..Start::new(directory.clone(), &mut observer) };
    let layers = SettingsLayer::sets(&["training.epochs=1"]);
    let failure = (mlp::RECIPE.train)(layers.clone(), start).unwrap_err();
    assert_eq!(failure.exit_code, ExitCode::Interrupted);
    let mut nobody = ();
    let start = Start { resumes: true, ..Start::new(directory, &mut nobody) };
    assert_eq!((mlp::RECIPE.train)(layers, start).unwrap().epochs, 1);
}

#[test]
fn a_stop_while_the_test_split_is_measured_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let [path, directory] = ["table.csv", "run"].map(|name| folder.path().join(name));
    let rows: String = (0..40).map(|row| format!("{row},{}\n", row % 2)).collect();
    fs::write(&path, format!("x,y\n{rows}")).unwrap();
    fs::write(folder.path().join("test.csv"), "x,y\n0.5,1\n1.5,0\n").unwrap();
    let test = format!("data.test_path={}", folder.path().join("test.csv").display());
    let path = format!("data.path={}", path.display());
    let settings = ["data.source=csv", &path, &test, "data.target=y", "training.epochs=2"];
    let interrupt = Stop::default();
    let end = |event: &Event| matches!(event, Event::End { .. });
    let mut observer = StopsAt(interrupt.clone(), end);
    let start = Start { interrupt, ..Start::new(directory.clone(), &mut observer) };
    let failure = (mlp::RECIPE.train)(SettingsLayer::sets(&settings), start).unwrap_err();
    assert_eq!(failure.exit_code, ExitCode::Interrupted);
    assert!(failure.to_string().starts_with("interrupted while the test split"), "{failure}");
    assert!(directory.join("model.safetensors").exists());
    assert!(!directory.join("summary.json").exists());

    let mut nobody = ();
    let start = Start { resumes: true, ..Start::new(directory, &mut nobody) };
    let summary = (mlp::RECIPE.train)(SettingsLayer::sets(&settings), start).unwrap();
    assert_eq!(summary.status, EndStatus::Finished);
    assert!(summary.test.is_some_and(|test| test["loss"].is_finite()));
}

#[test]
fn what_was_told_at_the_start_is_not_told_again() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let told = |resumes, epochs: &str| {
        let mut nobody = ();
        let start = Start { resumes, ..Start::new(directory.clone(), &mut nobody) };
        let settings = ["training.minimum_improvement=0.1", epochs];
        (mlp::RECIPE.train)(SettingsLayer::sets(&settings), start).unwrap();
        Record::read(&directory).unwrap().warnings
    };
    let warnings = told(false, "training.epochs=10");
    assert_eq!(warnings.len(), 1);
    assert_eq!(told(true, "training.epochs=11"), warnings);
}

#[test]
fn a_start_that_the_trainer_refuses_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (new, empty) = (folder.path().join("new"), folder.path().join("empty"));
    fs::create_dir(&empty).unwrap();
    for directory in [&new, &empty] {
        let mut nobody = ();
        let start = Start::new(directory.clone(), &mut nobody);
        let settings = vec![SettingsLayer::set("training.epochs=1000000000000000000")];
        let failure = (mlp::RECIPE.train)(settings, start).unwrap_err();
        assert!(failure.to_string().starts_with("`training.epochs` is 1000"), "{failure}");
    }
    assert!(!new.exists());
    assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
}

/// The weights, the metrics without their times, and the names of all files.
fn outcome(directory: &Path) -> (Vec<u8>, String, Vec<String>) {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let weights = fs::read(directory.join("model.safetensors")).unwrap();
    (weights, untimed_metrics(directory), names)
}

#[test]
fn whichever_write_fails_the_run_ends_as_it_would_have() {
    let folder = tempfile::tempdir().unwrap();
    let straight = folder.path().join("straight");
    train(&straight, false).unwrap();
    for failing_write in 0.. {
        let directory = folder.path().join(failing_write.to_string());
        fault::arm(failing_write);
        let result = train(&directory, false);
        if fault::disarm() {
            assert!(failing_write > 80, "only {failing_write} writes");
            break;
        }
        let told = match result {
            Ok(_) => Record::read(&directory).unwrap().warnings.concat(), // something may stay
            Err(failure) => failure.to_string(),
        };
        assert!(told.contains("injected"), "{told}");
        let begun = directory.join("config.toml").exists();
        train(&directory, begun).unwrap();
        assert_eq!(outcome(&directory), outcome(&straight), "write {failing_write}");
    }
}
