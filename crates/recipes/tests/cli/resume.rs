//! Runs that were stopped, killed, extended, and what `resume` says where it cannot go on.

use std::{
    fs,
    process::{Child, Stdio},
    thread,
    time::Duration,
};

use crate::folder::Folder;

const SETTINGS: &str = "--set data.labels=linear --set training.epochs=60 --set training.batch_size=30 \
     --set schedule.kind=one_cycle --set training.ema=0.9 --set data.order=shuffled \
     --set checkpoint.every_steps=70 --progress quiet";

/// Weights and metrics of a run, without times.
fn outcome(folder: &Folder, run: &str) -> (Vec<u8>, Vec<String>) {
    let weights = fs::read(folder.path(run).join("model.safetensors")).unwrap();
    let metrics = folder.read(&format!("{run}/metrics.csv"));
    let untimed = |line: &str| line.rsplitn(4, ',').last().unwrap().to_owned();
    (weights, metrics.lines().map(untimed).collect())
}

/// Waits until something is true of the run, as long as it goes on.
fn wait_until(child: &mut Child, holds: impl Fn() -> bool) {
    while !holds() && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
}

fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    let status = std::process::Command::new("kill").args(["-s", name, &id]).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_signal_ends_the_run_with_a_checkpoint_and_resume_goes_on() {
    let folder = Folder::new();
    folder.run(&format!("train mlp {SETTINGS} --run-dir straight")).succeeded();
    for name in ["INT", "TERM"] {
        let run = name.to_lowercase();
        let arguments = format!("train mlp {SETTINGS} --run-dir {run}");
        let mut child = folder
            .command()
            .args(arguments.split_whitespace())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_until(&mut child, || folder.path(&run).join("metrics.csv").exists());
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(130), "{stderr}");
        assert!(stderr.contains(&format!("help: to go on: recipes resume {run}")), "{stderr}");
        assert!(!folder.path(&run).join("summary.json").exists());
        let report = folder.read(&format!("{run}/report.html"));
        assert!(report.contains("mlp was interrupted after step "), "{report}");

        folder.run(&format!("resume {run}")).succeeded();
        assert_eq!(outcome(&folder, &run), outcome(&folder, "straight"));
        let summary = folder.json(&format!("{run}/summary.json"));
        assert_eq!((&summary["steps"], &summary["status"]), (&1620.into(), &"finished".into()));
        assert!(summary["seconds"].as_f64() >= summary["seconds_training"].as_f64());
        let report = folder.read(&format!("{run}/report.html"));
        assert!(report.contains(" % accuracy on "), "{report}");
    }
}

#[test]
fn a_killed_run_goes_on_from_its_last_checkpoint_and_its_logs_have_no_line_twice() {
    let folder = Folder::new();
    folder.run(&format!("train mlp {SETTINGS} --run-dir straight")).succeeded();
    let arguments = format!("train mlp {SETTINGS} --run-dir run");
    let mut child = folder.command().args(arguments.split_whitespace()).spawn().unwrap();
    let second = folder.path("run/checkpoints/step-140");
    wait_until(&mut child, || second.exists());
    child.kill().unwrap();
    child.wait().unwrap();
    folder.run("resume run").succeeded();
    assert_eq!(outcome(&folder, "run"), outcome(&folder, "straight"));

    let steps = |run: &str| -> Vec<u64> {
        let events = folder.read(&format!("{run}/events.jsonl"));
        let events =
            events.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        events
            .filter(|event| event["kind"] == "step")
            .map(|e| e["step"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(steps("run"), steps("straight"));
}

#[test]
fn a_run_without_a_checkpoint_starts_and_a_finished_one_says_so() {
    let folder = Folder::new();
    folder.run("train mlp --set training.epochs=3 --seed 5 --run-dir first").succeeded();
    fs::create_dir(folder.path("second")).unwrap();
    folder.write("second/config.toml", folder.read("first/config.toml"));
    folder.run("resume second").succeeded();
    assert_eq!(outcome(&folder, "first"), outcome(&folder, "second"));

    let before = folder.read("second/summary.json");
    let ran = folder.run("resume second").succeeded();
    assert!(ran.stdout.contains("finished already"), "{}", ran.stdout);
    assert_eq!(folder.read("second/summary.json"), before);
    let ran = folder.run("resume second --json").succeeded();
    assert_eq!(ran.json()["steps"], 75);
}

#[test]
fn a_run_may_grow_but_not_change() {
    let folder = Folder::new();
    folder.run("train mlp --set training.epochs=6 --run-dir straight").succeeded();
    folder.run("train mlp --set training.epochs=4 --run-dir run").succeeded();

    let ran = folder.run("resume run --set training.epochs=6 --set optimizer.learning_rate=0.1");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("`optimizer.learning_rate` was 0.001 and is 0.1"),
        "{}",
        ran.stderr
    );
    let ran = folder.run("resume run --set training.epochs=3");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("`training.epochs` was 4 and is 3"), "{}", ran.stderr);

    folder.run("resume run --set training.epochs=6").succeeded();
    assert_eq!(outcome(&folder, "run"), outcome(&folder, "straight"));
    assert_eq!(folder.read("run/config.toml"), folder.read("straight/config.toml"));
}

#[test]
fn what_is_no_run_is_named() {
    let folder = Folder::new();
    let ran = folder.run("resume nowhere");
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.starts_with("error: `nowhere` is not a run"), "{}", ran.stderr);

    folder.run("train mlp --max-steps 2 --run-dir run").succeeded();
    let ran = folder.run("train mlp --run-dir run");
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains("help: to go on with it: recipes resume run"), "{}", ran.stderr);
}

#[test]
fn a_resumed_run_is_proved_identical() {
    let ran = Folder::new().run("verify-resume mlp --json").succeeded();
    let verdict = ran.json();
    assert_eq!(verdict["recipe"], "mlp");
    assert_eq!(verdict["identical"], true);
    assert_eq!(verdict["largest_difference"], 0.0);
    assert_eq!(verdict["straight"], verdict["resumed"]);
}
