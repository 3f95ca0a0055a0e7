//! The program from outside: every benchmark runs, and PyTorch computes the same.
//!
//! Without Python, torch, numpy and safetensors the test of the peer says that it skips; with
//! `REQUIRE_ALL=1` in the environment that is a failure.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::process::{Command, Output};

use backend::{Backend, Selected};
use bench::{CASES, Entry, Peers, Results};

/// Runs benchmarks quickly.
fn run(arguments: &[&str]) -> (Output, Vec<Entry>) {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("results.json");
    let cache = folder.path().join("cache");
    let output = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(["run", "--quick", "--rounds", "1", "--threads", "1", "--json"])
        .arg(&json)
        .args(["--commit", "4567def-dirty"])
        .args(arguments)
        // A GPU's kernels are kept, so that a later run of these tests finds them.
        .envs(Selected::IS_SYNCHRONOUS.then_some(("BURN_RECIPES_DATA", &cache)))
        .output()
        .unwrap();
    assert!(!cache.exists());
    let results: Results = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert!(results.peaks.copy_bytes_per_second > 0.0 && results.machine.cores > 0);
    assert!(!results.machine.device.is_empty() && results.machine.commit == "4567def-dirty");
    assert!(results.machine.compiler.starts_with("rustc ") && results.machine.date.len() == 10);
    let [command] = &results.commands[..] else { panic!("{:?}", results.commands) };
    assert!(results.quick && command.starts_with("run ") && command.ends_with(" --quick"));
    assert!(command.contains(" --rounds 1 ") && command.contains(" --threads 1 "), "{command}");
    (output, results.entries)
}

/// Whether PyTorch can be compared with; prints why if it cannot.
fn pytorch_is_there() -> bool {
    let missing = Peers::find("python3").unwrap().missing();
    let prevents = |said: &String| {
        said.contains("not measured: PyTorch") || said.ends_with("only ours is measured")
    };
    let Some(missing) = missing.filter(prevents) else { return true };
    let required = std::env::var_os("REQUIRE_ALL").is_some_and(|value| value == "1");
    assert!(!required, "{missing}");
    eprintln!("skipped: {missing}");
    false
}

#[test]
fn every_kind_of_benchmark_runs() {
    // One of each kind, except those that compute VGG-16 or need files; the others differ only in a
    // recipe or a number.
    let kinds = [
        "mlp-step",
        "lstm-char-step",
        "inference",
        "first-step",
        "memory-growth",
        "stages",
        "sources",
    ];
    let (output, entries) = run(&[&["--peer", "none"], &kinds[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for entry in &entries {
        assert!(entry.median_seconds.is_finite() && entry.median_seconds >= 0.0, "{entry:?}");
        let counts = entry.batch.is_some_and(|samples| samples > 0);
        assert_eq!(counts, entry.name != "first-step", "{entry:?}");
        assert!(entry.peers.is_empty() && entry.threads == 1, "{entry:?}");
    }
    let named = |name: &str| entries.iter().find(|entry| entry.name == name).unwrap();
    let step = named("mlp-step");
    // 40 samples: three passes of 20 x 10 and 10 x 1 multiply-adds, less the gradient of the data.
    assert_eq!(step.flops, Some((40 * 2 * (3 * 210 - 200)) as f64));
    // A sample's 20 features twice and 11 results five times, and 221 parameters ten times.
    assert_eq!(step.bytes, Some((4 * (40 * (2 * 20 + 5 * 11) + 10 * 221)) as f64));
    assert!(step.percent_of_peak.unwrap() > 0.0 && step.percent_of_bandwidth.unwrap() > 0.0);
    // The stages are those of the recipe: `cnn` does not augment.
    assert!(
        named("stage/resnet/augment").batch == Some(128)
            && named("stage/cnn/upload").batch == Some(128)
    );
    assert!(entries.iter().all(|entry| entry.name != "stage/cnn/augment"));
    assert!(named("cnn-latency").batch == Some(1) && named("cnn-throughput").batch == Some(256));
    assert!(named("memory-growth/mlp").memory_growth_bytes.is_some());
    assert!(named("source/image-folder-cached/training").data_wait.is_some());
    if cfg!(target_os = "linux") {
        // A process of its own: far below what all of these need together, above what any does.
        let peak = step.peak_memory_bytes.unwrap();
        assert!((4 << 20..200 << 20).contains(&peak), "{peak}");
    }
}

#[test]
fn pytorch_comes_to_the_same_losses() {
    if !pytorch_is_there() {
        return;
    }
    let cases = ["mlp-step", "cnn-step", "simplenet-step", "resnet-step", "lstm-step"];
    let (output, entries) = run(&cases);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(entries.len(), cases.len());
    for entry in entries {
        assert!(entry.refused.is_empty(), "{entry:?}");
        let pytorch = entry.peers.iter().find(|peer| peer.name == "pytorch").unwrap();
        // With Winograd's algorithm convolutions round differently from PyTorch's.
        let most = if ["mlp-step", "lstm-step"].contains(&&*entry.name) { 1e-5 } else { 1e-4 };
        assert!(pytorch.largest_difference.unwrap() < most, "{pytorch:?}");
        assert!(pytorch.ratio > 0.0 && !pytorch.version.is_empty(), "{pytorch:?}");
        let memory = pytorch.peak_memory_bytes.zip(entry.peak_memory_bytes);
        assert!(memory.is_none_or(|(its, ours)| its > ours), "{pytorch:?} {entry:?}");
        assert_eq!(memory.is_some(), cfg!(target_os = "linux"));
    }
}

#[test]
fn without_a_usable_python_it_measures_ours_and_says_so() {
    let (output, entries) = run(&["mlp-step", "--peer", "no-such-python"]);
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    let expected = "`no-such-python` does not run: only ours is measured";
    assert!(said.contains(expected), "{said}");
    assert!(entries.len() == 1 && entries[0].peers.is_empty());
}

#[cfg(unix)]
#[test]
fn a_peer_that_computes_something_else_is_refused_and_ours_is_reported() {
    let peer = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wrong_peer.sh");
    let (output, entries) = run(&["mlp-step", "--peer", peer]);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("error: mlp-step: pytorch: it computes something else"), "{said}");
    assert!(entries.len() == 1 && entries[0].median_seconds > 0.0 && entries[0].peers.is_empty());
    assert_eq!(entries[0].refused.len(), 1);
    assert!(entries[0].refused[0].reason.contains("in step 1 its loss is 0.1"), "{entries:?}");
}

#[test]
fn an_unknown_benchmark_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_bench")).args(["run", "mlp"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(said.contains("there is no benchmark `mlp`; `bench list` names them"), "{said}");
}

#[test]
fn what_would_fail_in_the_end_is_said_before_anything_is_measured() {
    let fails = |arguments: &[&str], expected: &str| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_bench")).arg("run").args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
        assert!(said.contains(expected) && !said.contains("peak"), "{said}");
    };
    let plain = ["mlp-step", "--quick", "--peer", "none"];
    fails(&[&plain[..], &["time-to-accuracy"]].concat(), "it needs MNIST's files");
    let nowhere = "no/such/folder/results.json";
    let expected = "cannot write results to `no/such/folder/results.json`";
    fails(&[&plain[..], &["--json", nowhere]].concat(), expected);
    fails(&[&plain[..], &["--rounds", "0"]].concat(), "invalid value '0' for '--rounds <ROUNDS>'");
    fails(&[&plain[..], &["--threads", "0"]].concat(), "invalid value '0' for '--threads <N>'");
}

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), CASES.len());
}

/// Whether there is a run directory somewhere below.
#[cfg(unix)]
fn has_run(folder: &std::path::Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| path.ends_with("run") || has_run(&path))
}

/// By a signal to the process group, as from a terminal.
#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_no_files_behind() {
    use std::os::unix::process::CommandExt;

    struct Running(std::process::Child);

    impl Running {
        fn signal(&self, signal: &str) -> bool {
            let group = format!("-{}", self.0.id());
            Command::new("kill").args([signal, "--", &group]).status().unwrap().success()
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            if self.0.try_wait().unwrap().is_none() {
                self.signal("-KILL");
            }
        }
    }

    let folder = tempfile::tempdir().unwrap();
    let running = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(["run", "mlp-step", "--rounds", "1000", "--peer", "none"])
        .env("TMPDIR", folder.path())
        .process_group(0)
        .spawn();
    let mut running = Running(running.unwrap());
    while !has_run(folder.path()) {
        assert!(running.0.try_wait().unwrap().is_none(), "it ended before it measured");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(running.signal("-INT"));
    assert_eq!(running.0.wait().unwrap().code(), Some(130));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
