//! What is shown on a terminal.

use std::process::Command;

use crate::folder::{Folder, skip, told};

/// What a run with a note shows on a terminal of this kind.
fn shown_on(term: &str) -> String {
    let folder = Folder::new();
    let settings = "--set training.epochs=60 --set optimizer.kind=adamw";
    let program = env!("CARGO_BIN_EXE_recipes");
    let command = format!("{program} train mlp {settings} --run-dir run");
    let mut script = folder.in_folder("script");
    script.env("TERM", term).args(["-qec", &command, "/dev/null"]);
    told(script.output().unwrap()).succeeded().stdout
}

#[test]
fn a_terminal_gets_a_bar_and_one_that_cannot_move_its_cursor_gets_lines() {
    if Command::new("script").arg("--version").output().is_err() {
        skip("there is no `script`, which makes a terminal");
        return;
    }
    let (bar, line) = ("█", "Epoch [3/60], Loss: ");
    let note = "note: `optimizer.kind = \"adamw\"` is";
    let shown = shown_on("xterm");
    assert!(shown.contains(note) && shown.contains(bar) && !shown.contains(line), "{shown}");
    let shown = shown_on("dumb");
    assert!(shown.contains(note) && !shown.contains(bar) && shown.contains(line), "{shown}");
}

#[test]
fn a_comparison_fits_the_terminal() {
    if Command::new("script").arg("--version").output().is_err() {
        skip("there is no `script`, which makes a terminal");
        return;
    }
    let folder = Folder::new();
    for run in ["one", "two"] {
        folder
            .run(&format!("train mlp --max-steps 2 --run-dir {run} --progress quiet"))
            .succeeded();
    }
    let program = env!("CARGO_BIN_EXE_recipes");
    let shown = |columns: usize| {
        let command = format!("stty rows 24 cols {columns}; {program} compare one two");
        let mut script = folder.in_folder("script");
        script.args(["-qec", &command, "/dev/null"]);
        told(script.output().unwrap()).succeeded().stdout
    };
    let widest = |text: &str| {
        let table = text.lines().take_while(|line| !line.trim().is_empty());
        table.map(|line| line.trim_end().chars().count()).max().unwrap()
    };
    let [wide, narrow] = [shown(200), shown(40)];
    assert!(widest(&wide) > 40 && wide.starts_with("run  recipe"), "{wide}");
    assert!(widest(&narrow) <= 40 && narrow.contains("train loss"), "{narrow}");
}
