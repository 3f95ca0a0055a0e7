//! The programs in README that use an exported model from Python.

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

/// What a program of README prints, the first of which is given a picture, the second nothing, and the third
/// a table.
fn told_by_python(folder: &Folder, program: usize, given: &[&str]) -> String {
    let program = README.split("```python\n").nth(1 + program).unwrap();
    let (program, _) = program.split_once("```").unwrap();
    let mut command = Command::new("python3");
    command.args(["-c", program]).args(given).current_dir(folder.path(""));
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
        assert_eq!(told_by_python(&folder, 0, &["night.bmp"]), "dark\n");
        assert_eq!(told_by_python(&folder, 0, &["day.bmp"]), "bright\n");
    }
}

#[test]
fn readmes_python_program_classifies_rows() {
    if !python_is_there() {
        return;
    }
    for classes in [2, 3] {
        let folder = Folder::new();
        let row = |place: usize| {
            let [size, class] = [place % 7, place % 7 % classes];
            let colour = ["red", "green", ""][place % 3];
            let texts = ["Don’t, ‘it’ 1,024.5", "it's U\u{308}ber_x: don't!", "it; rare"];
            let text = if place.is_multiple_of(5) { "" } else { texts[class] };
            let class = ["low", "middle", "high"][class];
            format!("{place},{size}.5,{colour},\"{text}\",{class}\n")
        };
        let rows: String = (0..84).map(row).collect();
        folder.write("rows.csv", format!("id,size,colour,text,class\n{rows}"));
        let train = "train mlp --set data.source=csv --set data.path=rows.csv --set data.target=class \
                     --set data.columns.text=text";
        folder.run(&format!("{train} --max-steps 600 --run-dir runs/titanic")).succeeded();
        folder.run("export runs/titanic --format onnx").succeeded();
        let new = "id,size,colour,text\n7,0.5,red,don't 'it'\n8,1.5,green,it's über_x!\n9,2.5,NA,\n\
                   10,,blue,\"NEVER 1,024.5\"\n11,3.5, red ,It’s rare: ‘über’\n";
        folder.write("new.csv", new);
        let predicted = folder.run("predict runs/titanic new.csv --csv").succeeded().stdout;
        let predicted = predicted.lines().skip(1).map(|line| line.split(',').nth(1).unwrap());
        let predicted: Vec<&str> = predicted.collect();
        let told = told_by_python(&folder, 2, &["new.csv"]);
        assert_eq!(told.lines().collect::<Vec<_>>(), predicted);
        assert!(predicted.iter().any(|class| *class != predicted[0]), "{predicted:?}");
    }
}

#[test]
fn readmes_python_program_continues_a_text() {
    if !python_is_there() {
        return;
    }
    let folder = Folder::new();
    folder.write("text.txt", "The cat sat on the mat. ".repeat(200));
    let settings = "--set data.sequence_length=9 --set training.batch_size=2 --max-steps 60";
    let train = format!("train lstm-char --set data.path=text.txt {settings} --run-dir runs/text");
    folder.run(&train).succeeded();
    folder.run("export runs/text --format onnx").succeeded();
    let generate = "--length 100 --temperature 0";
    let words = ["generate", "runs/text", "--prompt", "The "];
    let words: Vec<&str> = words.into_iter().chain(generate.split(' ')).collect();
    let written = folder.run_words(&words).succeeded().stdout;
    assert_eq!(told_by_python(&folder, 1, &[]), written);
}
