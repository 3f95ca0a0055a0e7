//! Runs that were stopped, killed, extended, and what `resume` says where it cannot.

use std::{
    fs,
    process::{Child, Stdio},
    thread,
    time::Duration,
};

use crate::folder::{Folder, told};

const SETTINGS: &str = "--set data.labels=linear --set training.epochs=60 --set training.batch_size=30 \
     --set schedule.kind=one_cycle --set training.ema=0.9 --set data.order=shuffled \
     --set checkpoint.every_steps=70 --progress quiet";

/// Weights and metrics of a run, without times.
pub(crate) fn outcome(folder: &Folder, run: &str) -> (Vec<u8>, Vec<String>) {
    let weights = fs::read(folder.path(run).join("model.safetensors")).unwrap();
    let metrics = folder.read(&format!("{run}/metrics.csv"));
    let untimed = |line: &str| line.rsplitn(4, ',').last().unwrap().to_owned();
    (weights, metrics.lines().map(untimed).collect())
}

/// Waits until something is true of the run, while it runs.
pub(crate) fn wait_until(child: &mut Child, holds: impl Fn() -> bool) {
    while !holds() && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn signal(child: &Child, name: &str) {
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
        let mut child = folder.begin(&arguments);
        wait_until(&mut child, || folder.path(&run).join("metrics.csv").exists());
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(130), "{stderr}");
        assert!(stderr.contains("error: interrupted after step "), "{stderr}");
        assert!(stderr.contains(&format!("help: to resume it: recipes resume {run}")), "{stderr}");
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

/// The exit code of a run whose terminal is closed, and whether it has a checkpoint.
///
/// - `under`: the program that starts it
#[cfg(target_os = "linux")]
fn hung_up(under: &[&str]) -> (Option<i32>, bool) {
    let folder = Folder::new();
    let train = format!("train mlp {SETTINGS} --run-dir run");
    let mut command = folder.in_folder(under[0]);
    command.args(&under[1..]).arg(env!("CARGO_BIN_EXE_recipes")).args(train.split_whitespace());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(&mut child, || folder.path("run/metrics.csv").exists());
    // As a shell and the system both do.
    signal(&child, "HUP");
    signal(&child, "HUP");
    let code = child.wait().unwrap().code();
    (code, !folder.checkpoints("run").is_empty())
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_ends_with_its_terminal_unless_it_is_to_outlive_it() {
    assert_eq!(hung_up(&["env", "--default-signal=HUP"]), (Some(130), true));
    assert_eq!(hung_up(&["nohup"]).0, Some(0));
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
    assert!(!child.wait().unwrap().success(), "the run had ended");
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
    let told = folder.run("resume second").succeeded().stderr;
    assert!(told.contains("note: the run had no checkpoint to resume from"), "{told}");
    assert_eq!(outcome(&folder, "first"), outcome(&folder, "second"));

    let before = folder.read("second/summary.json");
    let ran = folder.run("resume second").succeeded();
    assert!(ran.stdout.contains("already finished"), "{}", ran.stdout);
    assert_eq!(folder.read("second/summary.json"), before);
    let ran = folder.run("resume second --json").succeeded();
    assert_eq!(ran.json()["steps"], 75);
}

#[test]
fn a_run_may_grow_but_not_change() {
    let folder = Folder::new();
    folder.run("train mlp --set training.epochs=6 --run-dir straight").succeeded();
    folder.run("train mlp --set training.epochs=4 --run-dir run").succeeded();

    folder
        .run("resume run --set training.epochs=6 --set optimizer.learning_rate=0.1")
        .refused(2, "`optimizer.learning_rate` was 0.001 and is 0.1");
    // Though with another batch size the epochs have another length.
    folder
        .run("resume run --set training.batch_size=20")
        .refused(2, "`training.batch_size` was 40 and is 20");
    folder
        .run("resume run --set training.epochs=3")
        .refused(2, "`training.epochs` is 3, and the run has reached 4 already");

    folder.run("resume run --set training.epochs=6").succeeded();
    assert_eq!(outcome(&folder, "run"), outcome(&folder, "straight"));
    assert_eq!(folder.read("run/config.toml"), folder.read("straight/config.toml"));
    folder.run("resume run --set training.epochs=7").succeeded();
    let environment = folder.json("run/environment.json");
    let words = |key: &str| environment[key].as_array().unwrap().clone();
    assert_eq!(words("command_line")[1..3], ["train", "mlp"]);
    assert_eq!(words("resumed_by")[1..], ["resume", "run", "--set", "training.epochs=7"]);
}

#[test]
fn what_has_no_result_is_told_as_json() {
    let folder = Folder::new();
    let train = "train mlp --set training.epochs=1000000 --json --progress quiet --run-dir run";
    let mut child = folder.begin(train);
    wait_until(&mut child, || folder.path("run/metrics.csv").exists());
    signal(&child, "INT");
    let ran = told(child.wait_with_output().unwrap()).refused(130, "interrupted after step ");
    let interrupted = ran.json();
    let steps = interrupted["steps"].as_u64().unwrap();
    assert!(ran.stderr.contains(&format!("after step {steps}, in `run`")), "{}", ran.stderr);
    let expected = serde_json::json!({
        "status": "interrupted", "run": "run", "steps": steps, "resume": "recipes resume run",
    });
    assert_eq!(interrupted, expected);

    let commands = [
        ("eval none", 3, "there is no run directory `none`"),
        ("train mlp --epochs 3", 2, "unexpected argument"),
    ];
    for (command, code, error) in commands {
        let told = folder.run(&format!("{command} --json")).refused(code, error).json();
        assert!(told["error"].as_str().unwrap().contains(error), "{told}");
    }
    for command in ["train mlp --set data.sorce=csv", "resume run --set data.sorce=csv"] {
        let ran = folder.run(&format!("{command} --json")).refused(2, "unknown key");
        let expected = serde_json::json!({
            "error": "unknown key `data.sorce`, in --set data.sorce=csv",
            "help": "did you mean `data.source`?",
        });
        assert_eq!(ran.json(), expected);
    }
}

/// A run without an end, from its first checkpoint on.
fn endless(folder: &Folder) -> Child {
    let train = "train mlp --set data.labels=linear --set training.epochs=1000000 \
                 --set schedule.kind=cosine --progress quiet --run-dir run";
    let mut child = folder.command().args(train.split_whitespace()).spawn().unwrap();
    let is_whole =
        |name: &str| name.strip_prefix("step-").is_some_and(|n| n.parse::<u64>().is_ok());
    wait_until(&mut child, || {
        fs::read_dir(folder.path("run/checkpoints")).is_ok_and(|found| {
            found.flatten().any(|entry| entry.file_name().to_str().is_some_and(is_whole))
        })
    });
    child
}

#[test]
fn a_run_that_was_interrupted_has_its_model_so_far() {
    let folder = Folder::new();
    let mut child = endless(&folder);
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let ran = folder.run("eval run --json").succeeded();
    let note = "note: the run `run` is not finished: this is its model from when it last stopped";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
    let accuracy = ran.json()["metrics"]["accuracy"].as_f64().unwrap();
    assert!(accuracy > 0.8, "{accuracy}");
}

#[test]
fn a_run_that_was_killed_is_ended_by_the_command_that_is_told() {
    let folder = Folder::new();
    let mut child = endless(&folder);
    child.kill().unwrap();
    child.wait().unwrap();

    let end = "; to end it where it is: recipes ";
    let ran = folder.run("predict run rows.csv").refused(3, end);
    let command = ran.stderr.split(end).nth(1).unwrap().trim();
    let steps: u64 = command.rsplit('=').next().unwrap().parse().unwrap();
    assert_eq!(command, format!("resume run --set training.max_steps={steps}"));
    folder
        .run(&format!("resume run --set training.max_steps={}", steps - 1))
        .refused(2, "`training.max_steps` is ");

    folder.run(command).succeeded();
    let summary = folder.json("run/summary.json");
    assert_eq!((&summary["steps"], &summary["status"]), (&steps.into(), &"finished".into()));
    assert!(summary["validation"]["loss"].is_f64() && summary["best"].is_object(), "{summary}");
    folder.run("eval run").succeeded();
    // The rate of a run of a million epochs has hardly fallen yet, whatever its end is now.
    let metrics = folder.read("run/metrics.csv");
    let mut columns = metrics.lines().next().unwrap().split(',');
    let column = columns.position(|name| name == "learning_rate").unwrap();
    let rate = metrics.lines().last().unwrap().split(',').nth(column).unwrap();
    assert!(rate.parse::<f64>().unwrap() > 9e-4, "{metrics}");

    let longer = format!("resume run --set training.max_steps={}", steps + 30);
    folder.run(&longer).succeeded();
    assert_eq!(folder.json("run/summary.json")["steps"], steps + 30);
    let page = folder.read("run/report.html");
    assert_eq!(page.matches(" steps, until step ").count(), 1, "{page}");
}

#[test]
fn a_run_whose_data_moved_goes_on_with_them_but_not_with_others() {
    let folder = Folder::new();
    let rows = |first: usize| -> String {
        (0..150).map(|row| format!("{row},{}\n", ["a", "b"][(first + row) % 2])).collect()
    };
    folder.write("table.csv", format!("x,class\n{}", rows(0)));
    folder.write("other.csv", format!("x,class\n{}", rows(1)));
    let data = "--set data.source=csv --set data.path=table.csv --set data.target=class";
    let train = format!("train mlp {data} --set training.epochs=2 --progress quiet --run-dir run");
    folder.run(&train).succeeded();
    fs::rename(folder.path("table.csv"), folder.path("moved.csv")).unwrap();
    folder.run("eval run").refused(3, "`--data PATH`");

    let resume = |path: &str, epochs: usize| {
        let settings = format!("--set data.path={path} --set training.epochs={epochs}");
        folder.run(&format!("resume run {settings} --progress quiet"))
    };
    let changed = "the data of `run` have changed since it began";
    let refused = resume("other.csv", 4).refused(3, changed).stderr;
    let train = "recipes train run/config.toml --set data.path=other.csv; ";
    assert!(refused.contains(train), "{refused}");
    resume("moved.csv", 4).succeeded();
    assert_eq!(folder.json("run/summary.json")["epochs"], 4);
    // Elsewhere another file may have its name.
    let elsewhere = folder.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::copy(folder.path("other.csv"), elsewhere.join("moved.csv")).unwrap();
    let started_in = "is as well: give the command there";
    for command in ["eval ../run", "resume ../run --set training.epochs=5"] {
        let mut command_there = folder.command();
        command_there.current_dir(&elsewhere).args(command.split(' '));
        let stderr = told(command_there.output().unwrap()).refused(3, started_in).stderr;
        assert!(
            stderr.contains("`moved.csv` here holds other data than those of `../run`"),
            "{stderr}"
        );
    }
    folder.run("eval run").succeeded();
}

/// `rm -r run/checkpoints` and a resume must not cost what the run came to.
#[test]
fn a_finished_run_that_has_nothing_to_go_on_from_stays_as_it_is() {
    let folder = Folder::new();
    folder.run("train mlp --max-steps 30 --progress quiet --run-dir run").succeeded();
    let files = ["summary.json", "metrics.csv", "config.toml"].map(|name| format!("run/{name}"));
    let before = files.each_ref().map(|name| folder.read(name));
    let events = folder.read("run/events.jsonl");
    let check = |message: &str| {
        folder.run("resume run --set training.max_steps=60").refused(3, message);
        assert_eq!(files.each_ref().map(|name| folder.read(name)), before);
    };
    fs::remove_file(folder.path("run/checkpoints/step-30/state.json")).unwrap();
    check("the checkpoint `run/checkpoints/step-30` cannot be used: ");
    fs::remove_dir_all(folder.path("run/checkpoints")).unwrap();
    check("the run `run` has a `summary.json`, but no checkpoint to resume from");
    assert_eq!(folder.read("run/events.jsonl"), events);
    let ran = folder.run("resume run").succeeded();
    assert!(ran.stdout.contains("already finished"), "{}", ran.stdout);
    let model = folder.path("run/model.safetensors");
    fs::rename(&model, folder.path("model.safetensors")).unwrap();
    let ran = folder.run("resume run").refused(3, "its `model.safetensors` is missing");
    assert!(ran.stderr.contains("train again: recipes train run/config.toml"), "{ran:#?}");
    fs::rename(folder.path("model.safetensors"), &model).unwrap();

    // Nor what a run that is not finished has come to so far.
    fs::remove_file(folder.path("run/summary.json")).unwrap();
    fs::remove_file(folder.path("run/model.safetensors")).unwrap();
    let gone = "the checkpoints of the run `run` are gone: `events.jsonl` names one";
    let ran = folder.run("resume run").refused(3, gone);
    assert!(ran.stderr.contains("start another run: recipes train run/config.toml"), "{ran:#?}");
    assert_eq!(folder.read("run/events.jsonl"), events);
    assert_eq!(folder.read("run/metrics.csv"), before[1]);
}

/// The line of the checkpoint that a run was resumed from is no longer in its log.
#[test]
fn a_run_that_lost_its_checkpoints_after_it_was_resumed_does_not_begin_again() {
    let folder = Folder::new();
    folder.run("train mlp --max-steps 20 --progress quiet --run-dir run").succeeded();
    folder.run("resume run --set training.max_steps=40").succeeded();
    let events = folder.read("run/events.jsonl");
    let kept: String =
        events.split_inclusive('\n').filter(|line| !line.contains("\"checkpoint\"")).collect();
    assert!(kept.contains("\"resume\"") && kept != events, "{events}");
    fs::write(folder.path("run/events.jsonl"), &kept).unwrap();
    fs::remove_dir_all(folder.path("run/checkpoints")).unwrap();
    fs::remove_file(folder.path("run/summary.json")).unwrap();
    fs::remove_file(folder.path("run/model.safetensors")).unwrap();
    folder.run("resume run").refused(3, "the checkpoints of the run `run` are gone");
    assert_eq!(folder.read("run/events.jsonl"), kept);
}

/// A limit on files, since no disk can be filled here: `events.jsonl` outgrows it.
#[cfg(target_os = "linux")]
#[test]
fn a_run_that_fails_in_the_middle_says_how_to_resume_it() {
    let folder = Folder::new();
    let often = "--set checkpoint.every_steps=20 --set output.log_every_steps=1";
    let train = format!("train mlp --set training.epochs=2 {often} --progress quiet --run-dir run");
    folder.run(&train).succeeded();
    assert!(folder.read("run/report.html").contains("mlp reached "));

    let resume = "resume run --set training.epochs=100 --progress quiet";
    let ran = folder.run_limited("ulimit -f 256", resume);
    let ran = ran.refused(1, "File too large");
    let page = folder.read("run/report.html");
    assert!(page.contains("mlp did not finish: ") && !page.contains("mlp reached "), "{page}");
    let (_, told) = ran.stderr.split_once("; to resume the run from step ").unwrap();
    let (step, command) = told.trim().split_once(": recipes ").unwrap();
    assert!(step.parse::<u64>().unwrap() > 50, "{}", ran.stderr);
    folder.run(command).succeeded();
    assert_eq!(folder.json("run/summary.json")["epochs"], 100);
}

#[test]
fn a_run_is_written_by_one_process_at_a_time() {
    let folder = Folder::new();
    let train = "train mlp --set training.epochs=1000000 --progress quiet --run-dir run";
    let mut child = folder.command().args(train.split_whitespace()).spawn().unwrap();
    wait_until(&mut child, || folder.path("run/events.jsonl").exists());
    let ran = folder.run("resume run");
    let still_going = child.try_wait().unwrap().is_none();
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(still_going);
    ran.refused(3, "`run` is in use by another process");
}

#[test]
fn the_way_to_make_a_run_longer_is_told_and_works() {
    let folder = Folder::new();
    let check = |run: &str, expected: &str| {
        let told = folder.run(&format!("resume {run}")).succeeded().stdout;
        let command =
            told.lines().find_map(|line| line.strip_prefix("to make it longer: recipes "));
        assert_eq!(command, Some(&*format!("resume {run} {expected}")), "{told}");
        folder.run(command.unwrap()).succeeded();
        folder.json(&format!("{run}/summary.json"))
    };
    folder.run("train mlp --max-steps 30 --progress quiet --run-dir steps").succeeded();
    assert_eq!(check("steps", "--set training.max_steps=60")["steps"], 60);

    let train = "train mlp --set data.labels=linear --set training.epochs=6 --progress quiet";
    folder.run(&format!("{train} --run-dir straight")).succeeded();
    // No epoch is so much better than the first.
    let early = "--set training.patience=1 --set training.minimum_improvement=100";
    folder.run(&format!("{train} {early} --run-dir early")).succeeded();
    let summary = folder.json("early/summary.json");
    assert_eq!((&summary["status"], &summary["epochs"]), (&"stopped_early".into(), &2.into()));
    let summary = check("early", "--set training.patience=");
    assert_eq!((&summary["status"], &summary["epochs"]), (&"finished".into(), &6.into()));
    assert_eq!(outcome(&folder, "early"), outcome(&folder, "straight"));
}

#[test]
fn more_epochs_for_a_run_that_stopped_early_say_what_makes_it_longer() {
    let folder = Folder::new();
    let early = "--set training.patience=1 --set training.minimum_improvement=100";
    let train = format!("train mlp --set data.labels=linear --set training.epochs=6 {early}");
    folder.run(&format!("{train} --progress quiet --run-dir run")).succeeded();
    let ran = folder.run("resume run --set training.epochs=10 --progress quiet").succeeded();
    let note = "note: the run had stopped early after step ";
    assert!(ran.stderr.starts_with(note), "{}", ran.stderr);
    let command = ran.stderr.split("to make it longer: recipes ").nth(1).unwrap().trim();
    assert_eq!(command, "resume run --set training.patience=");
    let ran = folder.run("resume run --set training.patience=2 --progress quiet").succeeded();
    assert!(!ran.stderr.contains(note), "it went on to another step: {}", ran.stderr);
    folder.run(command).succeeded();
    assert_eq!(folder.json("run/summary.json")["epochs"], 10);
}

#[test]
fn more_epochs_for_a_run_of_so_many_steps_say_what_makes_it_longer() {
    let folder = Folder::new();
    folder.run("train mlp --max-steps 30 --progress quiet --run-dir run").succeeded();
    let ran = folder.run("resume run --set training.epochs=1000 --progress quiet").succeeded();
    let command = ran.stderr.split("to make it longer: recipes ").nth(1).unwrap().trim();
    assert_eq!(command, "resume run --set training.max_steps=60");
    let ran = folder.run(&format!("{command} --progress quiet")).succeeded();
    assert_eq!(ran.stderr, "");
    assert_eq!(folder.json("run/summary.json")["steps"], 60);
}

#[test]
fn a_model_of_a_run_that_is_not_finished_is_named_as_such() {
    let folder = Folder::new();
    let rows: String = (0..150).map(|row| format!("{},{}\n", row, ["a", "b"][row % 2])).collect();
    folder.write("table.csv", format!("x,class\n{rows}"));
    let data = "--set data.source=csv --set data.path=table.csv --set data.target=class";
    let train = format!("train mlp {data} --set training.epochs=2 --progress quiet --run-dir run");
    folder.run(&train).succeeded();
    let commands = [
        "predict run table.csv",
        "eval run",
        "export run --format safetensors --force",
        "export run --format onnx --force",
    ];
    let is_told = |command: &str| {
        let ran = folder.run(command).succeeded();
        ran.stderr.contains("note: the run `run` is not finished: this is its model from when")
    };
    assert_eq!(commands.map(is_told), [false; 4]);

    let resume = "resume run --set training.epochs=1000000 --progress quiet";
    let mut child = folder.command().args(resume.split_whitespace()).spawn().unwrap();
    wait_until(&mut child, || !folder.path("run/summary.json").exists());
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(commands.map(is_told), [true; 4]);
}

#[test]
fn a_resumed_run_is_proved_identical() {
    let ran = Folder::new().run("verify-resume mlp --json").succeeded();
    let verdict = ran.json();
    assert_eq!(verdict["recipe"], "mlp");
    assert_eq!(verdict["identical"], true);
    assert_eq!(verdict["largest_difference"], 0.0);
    assert_eq!(verdict["straight"], verdict["resumed"]);
    assert_eq!((&verdict["steps"], &verdict["stops"]), (&40.into(), &vec![13, 27].into()));
}

#[test]
fn a_run_too_short_to_be_stopped_proves_nothing() {
    let few = "--set training.epochs=1 --set data.samples=80";
    let ran = Folder::new().run(&format!("verify-resume mlp {few}"));
    assert_eq!(ran.refused(2, "ends after step 2").stdout, "");
}
