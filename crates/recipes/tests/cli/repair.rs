//! Runs that lost a part of their files, and what `resume` refuses before it looks at the rest.

use std::fs;

use crate::{
    folder::{Folder, told},
    resume::{outcome, wait_until},
};

#[test]
fn a_model_that_is_missing_or_damaged_is_told_and_written_again() {
    let folder = Folder::new();
    let train = "train mlp --set data.labels=linear --set training.epochs=2 --progress quiet";
    folder.run(&format!("{train} --run-dir run")).succeeded();
    let model = folder.path("run/model.safetensors");
    let (before, config) = (fs::read(&model).unwrap(), folder.read("run/config.toml"));
    let check = |message: &str| {
        for command in [
            "eval run",
            "predict run rows.csv",
            "export run --format onnx",
            "generate run --prompt a",
        ] {
            let ran = folder.run(command).refused(3, message);
            let help = "help: to write it again: recipes resume run\n";
            assert!(ran.stderr.ends_with(help), "{command}: {}", ran.stderr);
        }
        let ran = folder.run("resume run").succeeded();
        assert!(ran.stderr.contains("; it is written again from the last checkpoint"), "{ran:#?}");
        assert_eq!(fs::read(&model).unwrap(), before);
        assert_eq!(folder.read("run/config.toml"), config);
        assert!(folder.run("resume run").succeeded().stdout.contains("already finished"));
    };
    fs::remove_file(&model).unwrap();
    check("the run `run` has no model: its `model.safetensors` is missing");
    fs::write(&model, &before[..before.len() - 1]).unwrap();
    check("`run/model.safetensors`");
}

/// As a kill leaves it that comes when a finished run has just begun to go on.
#[test]
fn a_finished_run_without_its_results_gets_them_again() {
    let folder = Folder::new();
    let train = "train mlp --set data.labels=linear --set training.epochs=2 --progress quiet";
    folder.run(&format!("{train} --run-dir run")).succeeded();
    let before = folder.json("run/summary.json");
    let summary = folder.path("run/summary.json");
    fs::remove_file(&summary).unwrap();
    folder.run("resume run").succeeded();
    let after = folder.json("run/summary.json");
    for key in ["epochs", "train", "validation"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    fs::remove_file(&summary).unwrap();
    folder.run("resume run --set training.epochs=4").succeeded();
    assert_eq!(folder.json("run/summary.json")["epochs"], 4);
}

/// Neither the data nor the checkpoint are to blame for what they would follow from.
#[test]
fn settings_that_may_not_change_are_refused_before_data_and_checkpoint() {
    let folder = Folder::new();
    let train = "train mlp --set data.labels=linear --max-steps 30 --progress quiet";
    folder.run(&format!("{train} --run-dir run")).succeeded();
    for (change, told) in [
        ("training.seed=3", "`training.seed` was 0 and is 3"),
        ("data.labels=random", "`data.labels` was \"linear\" and is \"random\""),
        ("data.validation=0.5", "`data.validation` was 0.2 and is 0.5"),
        ("model.hidden=[7]", "`model.hidden` was [10] and is [7]"),
        ("model.dropout=0.5", "`model.dropout` was 0.0 and is 0.5"),
    ] {
        let message = format!("error: a resumed run cannot change its settings: {told}\n");
        folder.run(&format!("resume run --set {change}")).refused(2, &message);
    }
    // The run's own value, not its recipe's.
    let own = "help: `run/config.toml` has `training.max_steps = 30`";
    folder.run("resume run --set training.max_steps=many").refused(2, own);
    folder.run("resume run --set training.max_steps=0").refused(2, own);
    // What is left open is chosen again.
    folder.run("resume run --set model.hidden= --set training.max_steps=40").succeeded();
    // Nor without a checkpoint.
    fs::remove_dir_all(folder.path("run/checkpoints")).unwrap();
    let message = "settings: `training.seed` was 0 and is 3";
    folder.run("resume run --set training.seed=3").refused(2, message);
    // Nor where the run came to nothing, as after a kill before its first checkpoint.
    let come_to_nothing = |run: &str| {
        for file in ["events.jsonl", "metrics.csv", "model.safetensors", "summary.json"] {
            fs::remove_file(folder.path(run).join(file)).unwrap();
        }
    };
    come_to_nothing("run");
    let config = folder.read("run/config.toml");
    for (change, told) in [
        ("optimizer.learning_rate=0.5", "`optimizer.learning_rate` was 0.001 and is 0.5"),
        ("training.batch_size=20", "`training.batch_size` was 40 and is 20"),
    ] {
        let message = format!("error: a resumed run cannot change its settings: {told}\n");
        folder.run(&format!("resume run --set {change}")).refused(2, &message);
    }
    assert_eq!(folder.read("run/config.toml"), config);
    // Nor where it leaves open what the run had set, if that is then chosen otherwise.
    let set = "--set data.validation=0.3 --set training.clip_norm=0.1";
    folder.run(&format!("{train} {set} --run-dir set")).succeeded();
    fs::remove_dir_all(folder.path("set/checkpoints")).unwrap();
    come_to_nothing("set");
    for (open, told) in [
        ("data.validation=", "`data.validation` was 0.3 and is 0.2"),
        ("training.clip_norm=", "`training.clip_norm` was 0.1 and is not set"),
    ] {
        folder.run(&format!("resume set --set {open}")).refused(2, told);
    }
    folder.run("resume run --set training.max_steps=20").succeeded();
    assert_eq!(folder.json("run/summary.json")["steps"], 20);
}

/// What becomes of a file's content.
type Damage = fn(&str) -> String;

/// As a file system leaves them after a fault, while every checkpoint is whole.
#[test]
fn a_run_goes_on_without_the_end_of_its_logs() {
    let folder = Folder::new();
    let train = "train mlp --set data.labels=linear --set training.ema=0.9 --progress quiet";
    let epochs = |epochs: usize| format!("--set training.epochs={epochs}");
    folder.run(&format!("{train} {} --run-dir straight", epochs(5))).succeeded();
    let (weights, rows) = outcome(&folder, "straight");
    let gone = |_: &str| String::new();
    let last_byte = |text: &str| text[..text.len() - 1].to_owned();
    let third_epoch =
        |text: &str| text.split_once("\"kind\":\"epoch\",\"epoch\":3,").unwrap().0.to_owned();
    // With the rows that they cost.
    let cases: [(&str, Damage, &[&str]); 4] = [
        ("metrics.csv", last_byte, &["3,"]),
        ("metrics.csv", gone, &["1,", "2,", "3,"]),
        ("events.jsonl", third_epoch, &[]),
        ("events.jsonl", gone, &[]),
    ];
    for (place, (file, damage, lost)) in cases.into_iter().enumerate() {
        let run = place.to_string();
        folder.run(&format!("{train} {} --run-dir {run}", epochs(3))).succeeded();
        let name = format!("{run}/{file}");
        folder.write(&name, damage(&folder.read(&name)));
        fs::remove_file(folder.path(&run).join("summary.json")).unwrap();
        let lines = if folder.read(&name).is_empty() { "all its lines" } else { "its last lines" };
        let warning = format!("`{name}` has lost {lines}, and the run goes on");

        let ran = folder.run(&format!("resume {run} {} --progress plain", epochs(5))).succeeded();
        assert!(ran.stderr.contains(&warning), "{}", ran.stderr);
        let (resumed, left) = outcome(&folder, &run);
        assert_eq!(resumed, weights, "case {run}");
        let is_kept = |row: &&String| !lost.iter().any(|epoch| row.starts_with(epoch));
        let expected: Vec<String> = rows.iter().filter(is_kept).cloned().collect();
        assert_eq!(left, expected, "case {run}");
        let events = folder.read(&format!("{run}/events.jsonl"));
        assert!(events.lines().all(|line| line.starts_with('{') && line.ends_with('}')));
        folder.run(&format!("report {run}")).succeeded();
    }
}

/// An open file holds its folder where it is on Windows.
#[cfg(unix)]
#[test]
fn a_run_that_is_moved_while_it_trains_ends_and_goes_on_where_it_is() {
    let folder = Folder::new();
    let settings =
        "train mlp --set data.labels=linear --set checkpoint.every_epochs=1 --progress quiet";
    let train = format!("{settings} --set training.epochs=1000000 --run-dir here");
    let mut child = folder.begin(&train);
    let newest = |run: &str| {
        let checkpoints = fs::read_dir(folder.path(&format!("{run}/checkpoints"))).ok()?;
        let step = |name: Option<&str>| name?.strip_prefix("step-")?.parse::<u64>().ok();
        checkpoints.filter_map(|entry| step(entry.ok()?.file_name().to_str())).max()
    };
    wait_until(&mut child, || newest("here").is_some());
    fs::rename(folder.path("here"), folder.path("there")).unwrap();
    let ran = told(child.wait_with_output().unwrap());
    ran.refused(3, "the checkpoints of this run are no longer in `here/checkpoints`");
    assert!(!folder.path("here").exists());
    let told = folder.run("report there --json").succeeded().json();
    assert!(told["verdict"].as_str().unwrap().contains("mlp "), "{told}");
    let next = newest("there").unwrap() + 1;
    folder.run(&format!("resume there --set training.max_steps={next}")).succeeded();
    assert_eq!(folder.json("there/summary.json")["steps"], next);
}

#[test]
fn a_checkpoint_of_another_version_names_the_commit_that_wrote_it() {
    let folder = Folder::new();
    let train = "train mlp --set data.labels=linear --max-steps 30 --progress quiet --run-dir run";
    folder.run(train).succeeded();
    let change = |file: &str, key: &str, value: serde_json::Value| {
        let mut json = folder.json(file);
        json[key] = value;
        fs::write(folder.path(file), json.to_string()).unwrap();
    };
    change("run/environment.json", "commit", "0123456789abcdef".into());
    let resume = "resume run --set training.max_steps=40 --progress quiet";
    change("run/checkpoints/step-30/manifest.json", "format", 3.into());
    let ran = folder.run(resume).refused(3, "another version of this program wrote the checkpoint");
    let help = "help: resume with that version (commit 0123456789, used on ";
    assert!(ran.stderr.contains(help), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("), or train again: recipes train run/config.toml"),
        "{}",
        ran.stderr
    );

    change("run/checkpoints/step-30/manifest.json", "format", 4.into());
    let ran = folder.run(resume).succeeded();
    assert!(ran.stderr.contains("computed the steps so far (commit 0123456789"), "{}", ran.stderr);
    assert_eq!(folder.json("run/environment.json")["began_with"], "0123456789abcdef");
}
