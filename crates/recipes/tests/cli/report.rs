//! Pages about runs, and runs side by side, from the outside.

use std::fs;

use crate::folder::{Folder, told};

#[test]
fn a_run_ends_with_a_page_that_opens_without_a_network() {
    let folder = Folder::new();
    let options = "--set data.labels=linear --set training.epochs=5 --set training.batch_size=64";
    let ran = folder.run(&format!("train mlp {options} --run-dir run")).succeeded();
    assert!(ran.stdout.contains("the run is in run, its report in report.html"), "{}", ran.stdout);
    assert!(ran.stderr.contains("\nmlp reached ") && ran.stderr.contains(" after 5 epochs in "));
    // However long measuring it would have taken.
    assert!(folder.read("run/report.html").contains(" % accuracy on "));

    let written = folder.run("report run --json").succeeded().json();
    assert_eq!(written["file"], "run/report.html");
    let page = folder.read("run/report.html");
    assert!(page.contains(written["verdict"].as_str().unwrap()), "{written}");
    for part in [
        "accuracy on 200 samples of the validation split after 5 epochs in",
        "<title>Loss</title>",
        "<title>Accuracy</title>",
        "Confusion matrix",
        "Largest mistakes",
        "Where the time went",
        "recipes train run/config.toml",
        "<td>training.epochs</td><td>500</td><td>5</td>",
        "prefers-color-scheme: dark",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    for outside in ["http", "<script", "<link", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }

    folder.run("report run --output page.html").succeeded();
    assert_eq!(folder.read("page.html"), page);

    folder.run("report run --output page.html").refused(3, "`page.html` already exists");
    let other = "`--output` writes HTML, but `page.pdf` does not end in `.html`";
    folder.run("report run --output page.pdf").refused(2, other);
    folder
        .run("report run --output -")
        .refused(3, "`-` is no file: nothing is written to standard");
    folder.run("report run --output run").refused(3, "`run` is a folder");
    folder.run("report nowhere").refused(3, "there is no run directory `nowhere`");
    folder.run("report run --output page.html --force").succeeded();
}

#[test]
fn nothing_is_claimed_of_a_run_that_held_nothing_out() {
    let folder = Folder::new();
    folder.run("train mlp --max-steps 30 --run-dir run").succeeded();
    let page = folder.read("run/report.html");
    assert!(page.contains("nothing was held out, so its performance on new data is unknown"));
    assert!(!page.contains("Confusion matrix"));
    let ran = folder.run("report run").succeeded();
    assert!(!ran.stderr.contains("note: "), "{}", ran.stderr);
}

/// A run on a table, which its settings name by a relative path.
fn run_on_a_table() -> Folder {
    let folder = Folder::new();
    // One in five is an exception.
    let class = |row: usize| if row.is_multiple_of(5) { row + 1 } else { row };
    let row = |row: usize| format!("{},{}\n", row % 2, ["a", "b"][class(row) % 2]);
    let rows: String = (0..150).map(row).collect();
    folder.write("table.csv", format!("x,class\n{rows}"));
    let data = "--set data.source=csv --set data.path=table.csv --set data.target=class";
    let train = format!("train mlp {data} --max-steps 20 --progress quiet --run-dir run");
    let ran = folder.run(&train).succeeded();
    assert!(!ran.stderr.contains("mlp reached"), "{}", ran.stderr);
    folder
}

#[test]
fn a_report_needs_the_data_only_once() {
    let folder = run_on_a_table();
    let page = folder.read("run/report.html");
    assert!(page.contains("Confusion matrix") && page.contains("Largest mistakes"), "{page}");
    let mistakes = folder.json("run/evaluation.json")["examined"]["mistakes"].clone();
    for mistake in mistakes.as_array().unwrap() {
        let line = mistake["sample"]["row"][0][1].as_str().unwrap().parse::<usize>().unwrap();
        assert!((line - 2).is_multiple_of(5), "{mistake}"); // below the header, an exception
    }
    fs::rename(folder.path("table.csv"), folder.path("elsewhere.csv")).unwrap();
    let ran = folder.run("report run").succeeded();
    assert!(!ran.stderr.contains("note: "), "{}", ran.stderr);
    assert_eq!(folder.read("run/report.html"), page);

    // A model that was trained further is measured anew.
    let measured = folder.read("run/evaluation.json");
    let moved = "--set data.path=elsewhere.csv --progress quiet";
    folder.run(&format!("resume run --set training.max_steps=40 {moved}")).succeeded();
    let further = folder.read("run/evaluation.json");
    assert_ne!(further, measured);
    // So is one that was put in its place, but not one that was measured before there were hashes.
    let at = |json: &str| json.split_once(',').unwrap().1.to_owned();
    folder.write("run/evaluation.json", &measured);
    folder.run("report run").succeeded();
    assert_eq!(folder.read("run/evaluation.json"), further);
    assert!(further.starts_with("{\"model\":\""), "{further}");
    // One that somebody has changed is measured again.
    folder.write("run/evaluation.json", further.replace("\"confusion\":[[", "\"confusion\":[[7,"));
    assert_ne!(folder.read("run/evaluation.json"), further);
    folder.run("report run").succeeded();
    assert_eq!(folder.read("run/evaluation.json"), further);
    let without = format!("{{{}", at(&measured));
    folder.write("run/evaluation.json", &without);
    folder.run("report run").succeeded();
    assert_eq!(folder.read("run/evaluation.json"), without);
}

#[test]
fn a_report_that_cannot_evaluate_again_says_what_it_lacks() {
    let folder = run_on_a_table();
    fs::remove_file(folder.path("run/evaluation.json")).unwrap();
    fs::rename(folder.path("table.csv"), folder.path("elsewhere.csv")).unwrap();
    let ran = folder.run("report run").succeeded();
    let note = "note: the page lacks the confusion matrix and the mistakes, since ";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
    assert!(ran.stderr.contains("; `recipes eval run` says what to do"), "{}", ran.stderr);
    let remedy = "to say where it is now: recipes resume run --set data.path=PATH";
    folder.run("eval run").refused(3, remedy);
    folder.run("resume run --set training.max_steps=40").refused(3, remedy);

    folder.run("resume run --set data.path=elsewhere.csv --progress quiet").succeeded();
    let ran = folder.run("report run").succeeded();
    assert!(!ran.stderr.contains("note: "), "{}", ran.stderr);
    assert!(folder.read("run/report.html").contains("Confusion matrix"));
}

#[test]
fn a_run_is_used_from_another_folder_than_it_was_started_in() {
    let folder = run_on_a_table();
    fs::remove_file(folder.path("run/evaluation.json")).unwrap();
    fs::create_dir(folder.path("elsewhere")).unwrap();
    for (arguments, part) in [
        ("eval ../run", "the validation split, 30 samples"),
        ("report ../run", "30 samples of the "),
        ("resume ../run --set training.max_steps=40", "for 40 steps"),
        ("resume ../run --set training.max_steps=60", "for 60 steps"),
        ("train ../run/config.toml --max-steps 30 --run-dir again", "for 30 steps"),
    ] {
        let mut command = folder.command();
        command.current_dir(folder.path("elsewhere")).args(arguments.split(' '));
        let ran = told(command.output().unwrap()).succeeded();
        assert!(ran.stdout.contains(part) && !ran.stderr.contains("note: the page"), "{ran:#?}");
    }
    // Wherever the run is.
    fs::rename(folder.path("run"), folder.path("elsewhere/run")).unwrap();
    folder.run("eval elsewhere/run").succeeded();
}

#[test]
fn a_run_that_diverged_says_so() {
    let folder = Folder::new();
    let options = "--set optimizer.kind=sgd --set optimizer.learning_rate=1e30 --max-steps 50";
    let ran = folder
        .run(&format!("train mlp {options} --run-dir run"))
        .refused(5, "error: training diverged: ");
    let lower = "`recipes train run/config.toml --set optimizer.learning_rate=0.001`";
    assert!(ran.stderr.contains(lower), "{}", ran.stderr);
    let page = folder.read("run/report.html");
    assert!(page.contains("mlp did not finish: training diverged"), "{page}");

    let told = folder.run("report run").succeeded().stdout;
    assert!(told.starts_with("mlp diverged: at step "), "{told}");
    assert!(told.contains("lower `optimizer.learning_rate`, which was 1e"), "{told}");
    assert!(!told.contains("resume"), "{told}");
    let ran = folder.run("predict run rows.csv");
    assert!(ran.stderr.contains("`run` has no model: it diverged"), "{}", ran.stderr);
    assert!(ran.stderr.contains("help: lower `optimizer.learning_rate`, which"), "{}", ran.stderr);
    let ran = folder.run("resume run");
    assert!(ran.stderr.contains("note: the run diverged, and with"), "{}", ran.stderr);
    assert!(ran.stderr.contains(lower), "{}", ran.stderr);
}

#[test]
fn runs_on_a_table_that_has_changed_are_no_seeds_of_one_experiment() {
    let folder = Folder::new();
    let write = |shift: usize| {
        let rows =
            (0..40).map(|row| format!("{},{},{}\n", row * 7 % 40, row % 3, (row + shift) % 2));
        folder.write("a.csv", rows.collect::<String>());
    };
    let csv = "train mlp --set data.source=csv --set data.path=a.csv --set data.target=-1";
    let train = |seed: u64| {
        let options = "--set training.epochs=1 --progress quiet";
        let run = format!("{csv} {options} --seed {seed} --run-dir {seed}");
        folder.run(&run).succeeded();
    };
    write(0);
    train(0);
    train(1);
    write(1);
    train(2);
    let rows = folder.run("compare 0 1 2 --json").succeeded().json()["rows"].clone();
    assert_eq!(rows.as_array().map(Vec::len), Some(2));
    assert_eq!((&rows[0]["seeds"], &rows[1]["seeds"]), (&[0, 1].into(), &[2].into()));
    let unranked = |runs: &str| {
        let compared = folder.run(&format!("compare {runs} --json")).succeeded().json();
        assert_eq!(compared["best"], serde_json::Value::Null);
        compared["notes"].to_string()
    };
    assert!(unranked("0 1 2").contains("no run is named the best: the data changed"));

    // So it is where other columns were asked for.
    write(0);
    let other = "--set data.columns.column_1=drop --set training.epochs=1 --progress quiet --run-dir columns";
    folder.run(&format!("{csv} {other} --seed 2")).succeeded();
    assert!(unranked("2 columns").contains("no run is named the best: the data changed"));
    let same = folder.run("compare 1 columns").succeeded().stdout;
    assert!(same.contains("no run is named the best: they share no seed"), "{same}");
}

#[test]
fn seeds_are_one_row_with_their_spread() {
    let folder = Folder::new();
    for (run, option) in
        [("a", "--seed 1"), ("b", "--seed 2"), ("c", "--seed 2 --set training.batch_size=64")]
    {
        let options = "--set data.labels=linear --set training.epochs=2 --progress quiet";
        folder.run(&format!("train mlp {options} {option} --run-dir {run}")).succeeded();
    }
    let accuracy = |run: &str| {
        let summary = folder.json(&format!("{run}/summary.json"));
        summary["validation"]["accuracy"].as_f64().unwrap()
    };
    let text = folder.run("compare a b c --output all.html").succeeded().stdout;
    assert!(text.contains("a and 1 more") && text.contains(" ± "), "{text}");
    let is_row = |line: &str| line.split_whitespace().eq(["training.batch_size", "40", "64"]);
    assert!(text.lines().any(is_row), "{text}");
    assert!(text.contains("\nlowest validation loss of seed 2: "), "{text}");
    assert!(folder.read("all.html").contains("<p>lowest validation loss of seed 2: "));
    assert!(folder.read("all.html").contains("<title>Validation accuracy</title>"));

    let json = folder.run("compare a b c --json").succeeded().json();
    let (first, second) = (&json["rows"][0], &json["rows"][1]);
    assert_eq!((&first["seeds"], &second["runs"]), (&[1, 2].into(), &["c"].into()));
    let of = |key: &str| first["metrics"]["validation_accuracy"][key].as_f64().unwrap();
    assert!((of("mean") - (accuracy("a") + accuracy("b")) / 2.0).abs() < 1e-12);
    let deviation = (accuracy("a") - accuracy("b")).abs() / 2.0_f64.sqrt();
    assert!((of("deviation") - deviation).abs() < 1e-12);
    assert!(second["metrics"]["validation_accuracy"].get("deviation").is_none());

    fs::create_dir(folder.path("unfinished")).unwrap();
    folder.write("unfinished/config.toml", folder.read("a/config.toml"));
    fs::create_dir(folder.path("other")).unwrap();
    let text = folder.run("compare a unfinished other c").succeeded().stdout;
    assert!(text.contains("note: left out: the run `unfinished` is not finished\n"), "{text}");
    assert!(text.contains("note: left out: `other` is not a run: it has no `config.toml`\n"));
    let sorted = folder.run("compare a c --sort val_loss --json").succeeded().json();
    let losses =
        [0, 1].map(|row| sorted["rows"][row]["metrics"]["validation_loss"]["mean"].as_f64());
    assert!(losses[0] < losses[1], "{sorted}");
    folder.run("compare a c --sort loss").refused(2, "there is no column `loss` of numbers");
    let check = |arguments: &str, message: &str| {
        folder.run(arguments).refused(3, message);
    };
    check("compare a unfinished", "the run `unfinished` is not finished");
    check("compare a other", "`other` is not a run: it has no `config.toml`");
    check("compare a ./a", "the run `./a` is named twice");
    check("compare a b --output all.html", "`all.html` already exists");
    folder.run("compare a b --output all.html --force").succeeded();
    let page = folder.run("report unfinished").succeeded().stdout;
    assert!(page.starts_with("mlp is not finished"), "{page}");
}
