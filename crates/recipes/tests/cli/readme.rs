//! The program in README that uses an exported model from Python.

use std::process::{Command, Stdio};

use crate::{
    folder::{Folder, skip},
    pictures::{PHOTOS, bmp, photos},
};

const README: &str = include_str!("../../../../README.md");

fn python_is_there() -> bool {
    let imports = ["-c", "import numpy, onnxruntime, PIL"];
    let found = Command::new("python3").args(imports).stderr(Stdio::null()).status();
    if found.is_ok_and(|status| status.success()) {
        return true;
    }
    skip("there is no python3 with numpy, onnxruntime and Pillow");
    false
}

/// What README's program says of a picture.
fn told_by_python(folder: &Folder, picture: &str) -> String {
    let (_, program) = README.split_once("```python\n").unwrap();
    let (program, _) = program.split_once("```").unwrap();
    let mut command = Command::new("python3");
    command.args(["-c", program, picture]).current_dir(folder.path(""));
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn readmes_python_program_classifies_pictures() {
    if !python_is_there() {
        return;
    }
    for channels in [3, 1] {
        let folder = photos();
        let train = format!("train cnn {PHOTOS} --set data.channels={channels}");
        folder.run(&format!("{train} --run-dir runs/photos")).succeeded();
        folder.run("export runs/photos --format onnx").succeeded();
        folder.write("night.bmp", bmp(31, [5, 5, 5]));
        folder.write("day.bmp", bmp(9, [250, 250, 210]));
        assert_eq!(told_by_python(&folder, "night.bmp"), "dark\n");
        assert_eq!(told_by_python(&folder, "day.bmp"), "bright\n");
    }
}
