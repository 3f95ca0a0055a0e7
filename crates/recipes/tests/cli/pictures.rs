//! Training on pictures and predicting them, from the outside.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::Stdio,
};

use serde_json::Value;
use store::FileLock;

use crate::{
    folder::{Folder, shared_data},
    resume::signal,
};

/// A picture of one colour as a BMP file of 24 bits.
pub(crate) fn bmp(side: u32, [red, green, blue]: [u8; 3]) -> Vec<u8> {
    let row = (side * 3).next_multiple_of(4);
    let mut bytes = b"BM".to_vec();
    for value in [54 + row * side, 0, 54, 40, side, side, 1 | (24 << 16), 0, row * side, 0, 0, 0, 0]
    {
        bytes.extend(value.to_le_bytes());
    }
    let mut line: Vec<u8> = [blue, green, red].repeat(side as usize);
    line.resize(row as usize, 0);
    bytes.extend(line.repeat(side as usize));
    bytes
}

/// A folder `photos` of dark and of bright pictures.
pub(crate) fn photos() -> Folder {
    let folder = Folder::new();
    for (class, base) in [("dark", 0), ("bright", 200)] {
        fs::create_dir_all(folder.path("photos").join(class)).unwrap();
        for picture in 0..20u8 {
            let colour = [base + picture, base + 2 * picture, base];
            folder.write(&format!("photos/{class}/{picture}.bmp"), bmp(24, colour));
        }
    }
    folder
}

pub(crate) const PHOTOS: &str = "--set data.source=image-folder --set data.path=photos --set data.size=20 \
     --set training.epochs=10 --set training.batch_size=8 --progress quiet";

/// A short run on drawn digits.
const DIGITS: &str =
    "train cnn --set data.samples=200 --set training.batch_size=32 --max-steps 6 --progress quiet";

fn weights(folder: &Folder, run: &str) -> Vec<u8> {
    fs::read(folder.path(run).join("model.safetensors")).unwrap()
}

#[test]
fn a_folder_of_pictures_is_learnt_and_new_ones_are_predicted() {
    let folder = photos();
    let summary =
        folder.run(&format!("train cnn {PHOTOS} --json --run-dir run")).succeeded().json();
    assert_eq!(summary["validation"]["accuracy"], 1.0);
    assert_eq!(summary["skipped_records"], 0);

    fs::create_dir(folder.path("new")).unwrap();
    folder.write("new/a.bmp", bmp(31, [5, 5, 5]));
    folder.write("new/b.bmp", bmp(8, [250, 250, 210]));
    let predicted = folder.run("predict run new --json").succeeded().stdout;
    let lines: Vec<Value> =
        predicted.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let classes: Vec<&Value> = lines.iter().map(|line| &line["class"]).collect();
    assert_eq!(classes, ["dark", "bright"]);
    assert!(
        folder.run("predict run new/b.bmp").succeeded().stdout.starts_with("new/b.bmp: bright")
    );
    let both = folder.run("predict run new/b.bmp --top 2").succeeded().stdout;
    assert!(both.starts_with("new/b.bmp: bright (") && both.contains(" %), dark ("), "{both}");
    let rows = folder.run("predict run new --csv --top 5").succeeded().stdout;
    let rows: Vec<&str> = rows.lines().collect();
    assert_eq!((rows[0], rows.len()), ("input,class,probability,class_2,probability_2", 3));
    assert!(rows[1].starts_with("new/a.bmp,dark,"), "{rows:?}");
    folder.run("predict run new --csv --json").refused(2, "`--csv` and `--json`");
    let piped = folder.run_with("predict run -", bmp(8, [250, 250, 210])).succeeded().stdout;
    assert!(piped.starts_with("standard input: bright ("), "{piped}");
    folder.run_with("predict run -", "text").refused(3, "`standard input` is not an image");
}

#[test]
fn a_picture_that_is_none_is_named_or_skipped() {
    let folder = photos();
    folder.write("photos/dark/notes.jpg", "this is text");
    folder.write("photos/dark/IMG_0001", "a picture without an ending");
    folder.write("photos/bright/drawing.tga", "a format that is not known");
    folder.run(&format!("train cnn {PHOTOS} --run-dir run")).refused(3, "photos/dark/notes.jpg");
    assert!(!folder.path("run").exists());

    let skipped = format!("train cnn {PHOTOS} --set data.on_bad_image=skip --json --run-dir run");
    let ran = folder.run(&skipped).succeeded();
    assert_eq!(ran.json()["skipped_records"], 1);
    assert!(ran.stderr.contains("notes.jpg"), "{}", ran.stderr);
    let note = "passed over 2 files, such as `photos/bright/drawing.tga`: \
                only files named as images are read";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
    let measured = folder.run("eval run --data photos").succeeded().stdout;
    assert!(measured.starts_with("note: "), "{measured}");
    assert!(measured.contains("\n`photos`, 40 samples\n  loss "), "{measured}");
    assert!(measured.contains("\nnote: skipped `"), "{measured}");
    assert!(measured.contains("photos/dark/notes.jpg`: "), "{measured}");

    folder.run("predict run photos/dark/notes.jpg").refused(3, "notes.jpg");
}

#[test]
fn settings_that_make_little_sense_are_noted() {
    let folder = Folder::new();
    let schedule = "--set schedule.kind=cosine --set schedule.warmup_steps=6";
    let augment = "--set augment.cutout=28 --set augment.crop_padding=90 --set augment.mixup=0.2";
    let odd = format!("{DIGITS} {augment} --set training.micro_batch=1 {schedule}");
    let ran = folder.run(&format!("{odd} --run-dir odd")).succeeded();
    for note in [
        "note: `augment.cutout` is 28, and pictures are 28x28: it may cover a whole one\n",
        "note: `augment.crop_padding` is 90, and pictures are 28x28: little of one may be left\n",
        "note: `augment.mixup` and `augment.cutmix` have no effect on one picture at a time",
        "note: `schedule.warmup_steps` is 6 and the run has 6 steps, so it never reaches",
    ] {
        assert!(ran.stderr.contains(note), "{}", ran.stderr);
    }
    let schedule = "--set schedule.kind=cosine --set schedule.warmup_steps=5";
    let usual = format!("{DIGITS} --set augment.cutout=27 {schedule} --run-dir usual");
    let told = folder.run(&usual).succeeded().stderr;
    assert!(told.contains("note: while training, `[augment]` has `cutout=27`\n"), "{told}");
    assert!(!told.contains("may cover") && !told.contains("warmup"), "{told}");
}

#[test]
fn a_report_names_the_files_of_mistakes() {
    let folder = Folder::new();
    for class in ["left", "right"] {
        fs::create_dir_all(folder.path("photos").join(class)).unwrap();
        for picture in 0..20 {
            // The classes are alike, so all of one of them is taken for the other.
            folder.write(&format!("photos/{class}/{class}{picture}.bmp"), bmp(24, [90; 3]));
        }
        folder.write(&format!("photos/{class}/0.bmp"), "this is text");
    }
    let settings = "--set data.validation=0.5 --set data.on_bad_image=skip --max-steps 2";
    folder.run(&format!("train cnn {PHOTOS} {settings} --run-dir run")).succeeded();
    folder.run("report run").succeeded();
    let page = folder.read("run/report.html");
    let between = |text: &str, before: &str, after: &str| -> String {
        text.split(before).nth(1).unwrap().split(after).next().unwrap().to_owned()
    };
    let figures: Vec<&str> = page.split("<figure>").skip(1).collect();
    assert_eq!(figures.len(), 10, "{page}");
    for figure in figures {
        let truth = between(figure, "<b>", "</b>");
        let path = between(figure, "title=\"", "\"");
        assert!(path.starts_with(&format!("photos/{truth}/{truth}")), "{figure}");
        assert!(
            figure.contains(&format!("<figcaption>{}: ", &path[8 + truth.len()..])),
            "{figure}"
        );
    }
}

#[test]
fn a_bad_picture_costs_its_own_prediction_alone() {
    let folder = photos();
    folder.run(&format!("train cnn {PHOTOS} --max-steps 2 --run-dir run")).succeeded();
    fs::create_dir(folder.path("new")).unwrap();
    folder.write("new/a.bmp", bmp(24, [5; 3]));
    folder.write("new/b.jpg", "this is text");
    folder.write("new/c.bmp", bmp(24, [5; 3]));

    let told = "error: `new/b.jpg` is not an image\n\
                help: the model reads pictures: JPEG, PNG, BMP or WebP files\n";
    let ran = folder.run("predict run new gone.png --json").refused(3, told);
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let inputs: Vec<&Value> = lines.iter().map(|line| &line["input"]).collect();
    assert_eq!(inputs, ["new/a.bmp", "new/b.jpg", "new/c.bmp", "gone.png"]);
    assert!(lines[0]["class"].is_string());
    assert_eq!(lines[0]["class"], lines[2]["class"]);
    assert_eq!(lines[1]["error"], "`new/b.jpg` is not an image");
    assert!(ran.stderr.contains("`gone.png` cannot be read"), "{}", ran.stderr);

    // Nor does a folder without any keep the rest from being predicted.
    fs::create_dir(folder.path("empty")).unwrap();
    let ran = folder
        .run("predict run empty new/a.bmp --csv")
        .refused(3, "the folder `empty` has no images");
    let rows: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!((rows[1], rows.len()), ("empty,,", 3), "{ran:?}");
    let ran = folder.run("predict run empty --json").refused(3, "the folder `empty` has no images");
    assert!(ran.stdout.contains("\"empty\""), "{ran:?}");

    let ran = folder.run("predict run new --csv").refused(3, told);
    let rows: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!((rows[0], rows.len()), ("input,class,probability", 4));
    assert_eq!(rows[2], "new/b.jpg,,");
    assert!(rows[3].starts_with("new/c.bmp,"), "{rows:?}");
}

#[test]
fn mistakes_are_named_before_anything_runs() {
    let folder = photos();
    let check = |arguments: &str, code: i32, message: &str| {
        folder.run(arguments).refused(code, message);
        assert_eq!(folder.entries(), ["photos"]);
    };
    check("train cnn --set data.source=image-folder", 2, "needs `data.path`");
    check("train cnn --set augment.rotate=400", 2, "`augment.rotate` must be");
    check("train cnn --set data.source=idx --set data.path=photos", 3, "photos");
    check("train resnet --set model.depth=21", 2, "`model.depth` must be 6 n + 2");
    check("plan resnet --set model.depth=600000002", 2, "`model.depth` must be 6 n + 2");
}

#[test]
fn the_size_of_pictures_may_be_left_open() {
    let folder = photos();
    let data = "cnn --set data.source=image-folder --set data.path=photos";
    let note = "pictures are resized to 64x64; `--set data.size=N` chooses another side";
    let plan = folder.run(&format!("plan {data} --json")).succeeded().json();
    assert!(plan["notes"].as_array().unwrap().contains(&note.into()), "{plan}");
    let train = format!("train {data} --max-steps 1 --progress plain --run-dir run");
    let trained = folder.run(&train).succeeded();
    assert!(trained.stderr.contains(note), "{trained:#?}");
    assert_eq!(folder.json("run/environment.json")["chosen"]["data.size"], 64);
}

#[test]
fn neither_workers_nor_residency_change_the_result() {
    let folder = Folder::new();
    let augment = "--set augment.rotate=10 --set augment.crop_padding=2 --set augment.mixup=0.2";
    for (run, settings) in [
        ("resident", "--set data.residency=device"),
        ("alone", "--set data.residency=host --set data.workers=0"),
        ("four", "--set data.residency=host --set data.workers=4"),
    ] {
        folder.run(&format!("{DIGITS} {augment} {settings} --run-dir {run}")).succeeded();
    }
    assert_eq!(weights(&folder, "resident"), weights(&folder, "alone"));
    assert_eq!(weights(&folder, "resident"), weights(&folder, "four"));

    // So a run may also go on with the images elsewhere.
    for resume in ["resident", "alone --set data.residency=device"] {
        folder.run(&format!("resume {resume} --set training.max_steps=12")).succeeded();
    }
    assert_eq!(weights(&folder, "resident"), weights(&folder, "alone"));
}

#[test]
fn micro_batches_give_the_same_update() {
    let folder = Folder::new();
    let loss = |settings: &str, run: &str| {
        let ran = folder.run(&format!("{DIGITS} {settings} --json --run-dir {run}")).succeeded();
        ran.json()["validation"]["loss"].as_f64().unwrap()
    };
    let (whole, parts) = (loss("", "whole"), loss("--set training.micro_batch=12", "parts"));
    assert!((whole - parts).abs() < 1e-4 * whole, "{whole} and {parts}");
}

#[test]
fn exact_arithmetic_is_a_setting_and_repeats_bit_for_bit() {
    let folder = Folder::new();
    let loss = |setting: &str, run: &str| {
        let train = format!("{DIGITS} --set training.arithmetic={setting} --json --run-dir {run}");
        folder.run(&train).succeeded().json()["validation"]["loss"].as_f64().unwrap()
    };
    let (fast, exact) = (loss("fast", "fast"), loss("exact", "exact"));
    loss("exact", "again");
    assert!((fast - exact).abs() < 1e-3 * exact, "{fast} and {exact}");
    assert_eq!(weights(&folder, "exact"), weights(&folder, "again"));
    assert_ne!(weights(&folder, "exact"), weights(&folder, "fast"));
}

#[test]
fn every_recipe_for_pictures_trains_and_predicts() {
    let folder = Folder::new();
    folder.write("grey.bmp", bmp(40, [128, 128, 128]));
    for recipe in ["cnn", "simplenet", "resnet"] {
        let train = format!(
            "train {recipe} --set data.samples=100 --set training.batch_size=16 --max-steps 2 \
             --json --progress quiet --run-dir {recipe}"
        );
        let summary = folder.run(&train).succeeded().json();
        assert_eq!(summary["steps"], 2, "{recipe}");
        assert!(summary["test"]["accuracy"].is_number(), "{recipe}");
        let predicted = folder.run(&format!("predict {recipe} grey.bmp --json")).succeeded().json();
        assert_eq!(predicted["top"].as_array().unwrap().len(), 10, "{recipe}");
    }
}

#[test]
fn mnist_is_learnt_from_its_own_files() {
    let Some(data) = shared_data() else { return };
    let folder = Folder::new();
    let train = format!(
        "train cnn --set data.source=idx --set data.path={} --max-steps 150 --json --progress quiet",
        data.join("mnist").display()
    );
    let summary = folder.run(&train).succeeded().json();
    let accuracy = summary["test"]["accuracy"].as_f64().unwrap();
    assert!(accuracy > 0.95, "{accuracy}");
}

#[test]
fn a_folder_that_changed_since_is_neither_measured_nor_trained_on() {
    let folder = photos();
    folder.run(&format!("train cnn {PHOTOS} --max-steps 3 --run-dir run")).succeeded();
    folder.run("eval run").succeeded();
    let refused = |change: &str| {
        for command in ["eval run", "resume run --set training.max_steps=5"] {
            let ran = folder.run(command);
            assert_eq!(ran.code, Some(3), "{change}: {ran:#?}");
            let (_, told) = ran.stderr.split_once("data").expect(change);
            assert!(told.contains("has changed") || told.contains("have changed"), "{ran:#?}");
        }
    };
    // The same number of pictures, the same classes, and nothing that was measured of them.
    folder.write("photos/dark/7.bmp", bmp(24, [1, 2, 3]));
    refused("another picture");
    folder.write("photos/dark/7.bmp", bmp(24, [7, 14, 0]));
    folder.run("eval run").succeeded();
    // One more moves others from one split to the other.
    folder.write("photos/dark/20.bmp", bmp(24, [7, 14, 0]));
    refused("one more");
}

#[test]
fn a_folder_that_moved_or_is_cached_is_the_same_data() {
    let folder = photos();
    folder.run(&format!("train cnn {PHOTOS} --max-steps 3 --run-dir run")).succeeded();
    fs::rename(folder.path("photos"), folder.path("moved")).unwrap();
    let resume = "resume run --set data.path=moved --set data.cache=decoded --progress quiet";
    folder.run(&format!("{resume} --set training.max_steps=5")).succeeded();
    // Other pictures do not belong into the run's cache.
    let cached = || fs::read_dir(folder.path("decoded")).unwrap().count();
    let before = cached();
    fs::create_dir_all(folder.path("other/dark")).unwrap();
    folder.write("other/dark/1.bmp", bmp(24, [9; 3]));
    folder.run("eval run --data other").succeeded();
    assert_eq!(cached(), before);
    // Nor is another one made where a command is given.
    let elsewhere = folder.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let ran = folder.command().current_dir(&elsewhere).args(["eval", "../run"]).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    folder.run(&format!("{resume} --set data.cache= --set training.max_steps=7")).succeeded();
}

/// A folder `photos` with the splits `train` and `test`.
fn split_photos() -> Folder {
    let folder = photos();
    for (class, base) in [("dark", 0), ("bright", 200)] {
        let train = folder.path("photos/train").join(class);
        fs::create_dir_all(train.parent().unwrap()).unwrap();
        fs::rename(folder.path("photos").join(class), train).unwrap();
        fs::create_dir_all(folder.path("photos/test").join(class)).unwrap();
        folder.write(&format!("photos/test/{class}/0.bmp"), bmp(24, [base + 5; 3]));
    }
    folder
}

#[test]
fn a_split_under_another_name_is_other_data() {
    let folder = split_photos();
    folder.run(&format!("train cnn {PHOTOS} --max-steps 3 --run-dir run")).succeeded();
    let measured = folder.run("eval run").succeeded().stdout;
    assert!(measured.contains("2 samples"), "{measured}");
    fs::rename(folder.path("photos/test"), folder.path("photos/val")).unwrap();
    folder.run("eval run").refused(3, "has changed since it was trained");
}

#[test]
fn a_share_to_hold_out_is_noted_beside_a_validation_split() {
    let folder = split_photos();
    fs::rename(folder.path("photos/test"), folder.path("photos/val")).unwrap();
    let noted = |settings: &str| {
        let ran = folder.run(&format!("train {settings} --max-steps 2")).succeeded();
        ran.stderr.contains("note: `data.validation` has no effect: the data have their own")
    };
    assert!(noted(&format!("cnn {PHOTOS} --set data.validation=0.1 --run-dir given")));
    assert!(!noted(&format!("cnn {PHOTOS} --run-dir open")));
    // A run's own settings say whether it was given.
    assert!(noted("given/config.toml --run-dir given-again"));
    assert!(!noted("open/config.toml --run-dir open-again"));
}

#[test]
fn a_damaged_picture_of_another_split_does_not_prevent_an_evaluation() {
    let folder = split_photos();
    folder.run(&format!("train cnn {PHOTOS} --max-steps 3 --run-dir run")).succeeded();
    folder.write("photos/train/dark/7.bmp", "this is text");
    folder.write("photos/loose.bmp", "this is text");
    let measured = folder.run("eval run --data photos").succeeded().stdout;
    assert!(measured.contains("2 samples"), "{measured}");
}

#[test]
fn pictures_that_are_passed_over_are_told_of_alike_by_train_and_inspect() {
    let folder = photos();
    folder.write("photos/dark/notes.txt", "this is text");
    folder.write("photos/loose.bmp", bmp(24, [1; 3]));
    let trained = folder.run(&format!("train cnn {PHOTOS} --max-steps 1 --run-dir run"));
    let inspected = folder.run("data inspect image-folder photos").succeeded().stdout;
    for note in [
        "note: passed over the file `photos/dark/notes.txt`: only files named as images are read\n",
        "note: passed over the file `photos/loose.bmp`: images are read from class folders only\n",
    ] {
        assert!(trained.stderr.contains(note), "{}", trained.stderr);
        assert!(inspected.contains(note), "{inspected}");
    }
}

#[test]
fn one_may_train_in_the_folder_of_the_pictures() {
    let folder = photos();
    for class in ["dark", "bright"] {
        fs::rename(folder.path("photos").join(class), folder.path(class)).unwrap();
    }
    fs::remove_dir(folder.path("photos")).unwrap();
    let here = PHOTOS.replace("data.path=photos", "data.path=.");
    let train = format!("train cnn {here} --set data.cache=decoded --max-steps 1");
    folder.run(&train).succeeded();
    folder.run(&format!("{train} --run-dir mine")).succeeded();
    folder.run("resume mine --set training.max_steps=2").succeeded();
    let classes = || {
        let found = folder.run("data inspect image-folder . --json").succeeded().json();
        found["classes"].as_object().map(|classes| classes.len())
    };
    assert_eq!(classes(), Some(2));
    folder.write("runs/a.bmp", bmp(24, [1; 3]));
    assert_eq!(classes(), Some(3), "a folder with a picture is a class, whatever its name");
}

#[test]
fn a_class_of_one_picture_is_not_validated_and_told_of() {
    let folder = photos();
    fs::create_dir(folder.path("photos/rare")).unwrap();
    folder.write("photos/rare/1.bmp", bmp(24, [1; 3]));
    let ran = folder.run(&format!("train cnn {PHOTOS} --max-steps 1 --run-dir run")).succeeded();
    let note = "note: class `rare` has 1 sample to train on, none to validate on\n";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
}

#[test]
fn all_pictures_may_be_trained_on() {
    let folder = photos();
    let all = "--set data.validation=0 --json";
    for recipe in ["cnn", "simplenet", "resnet", "vgg", "vgg-pretrain"] {
        let size = if recipe.starts_with("vgg") { "--set data.size=32" } else { "" };
        let run = format!("train {recipe} {PHOTOS} {size} {all} --max-steps 2 --run-dir {recipe}");
        let ran = folder.run(&run).succeeded();
        let summary = ran.json();
        assert_eq!((&summary["validation"], &summary["best"]), (&Value::Null, &Value::Null));
        let read = folder.json(&format!("{recipe}/summary.json"));
        assert_eq!(read["samples"], 16, "{read}");
        let nothing = "the run held nothing out to measure on";
        folder.run(&format!("eval {recipe}")).refused(2, nothing);
        let measured = folder.run(&format!("eval {recipe} --data photos")).succeeded().stdout;
        assert!(measured.contains("40 samples"), "{measured}");
    }
    // What the data keep for the end is still measured.
    let summary = folder.run(&format!("{DIGITS} {all} --run-dir digits")).succeeded().json();
    assert!(summary["test"]["accuracy"].is_number(), "{summary}");
    assert!(folder.run("eval digits").succeeded().stdout.contains("40 samples"));
    let planned = folder.run(&format!("plan cnn {PHOTOS} --set data.validation=0 --json"));
    assert_eq!(planned.succeeded().json()["steps"], 50);
}

#[test]
fn a_signal_while_pictures_are_decoded_ends_that() {
    let folder = photos();
    let train = format!("train cnn {PHOTOS} --set data.cache=decoded --max-steps 1");
    folder.run(&format!("{train} --run-dir first")).succeeded();
    // The next run waits for the cache as if another process were building it.
    let cache = fs::read_dir(folder.path("decoded")).unwrap().next().unwrap().unwrap().path();
    let _held = FileLock::take(&cache.join(".lock")).unwrap().unwrap();
    fs::remove_file(cache.join("manifest.json")).unwrap();
    let train = train.replace("quiet", "plain");
    let mut command = folder.command();
    command.args(train.split_whitespace()).args(["--run-dir", "second"]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("decoding images") && stderr.read_line(&mut said).unwrap() > 0 {}
    signal(&child, "INT");
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    assert!(
        said.contains("error: interrupted before the first step\nhelp: run the command again"),
        "{said}"
    );
    assert!(!folder.path("second").exists());
}
