//! Folders of texts, a folder for each class, from the outside.

use std::fs;

use crate::folder::Folder;

const DATA: &str =
    "--set data.source=text-folder --set data.path=reviews --set model.text_embedding=16";

/// Reviews that are good or bad by one word, to train on and to test on.
fn reviews() -> Folder {
    let folder = Folder::new();
    for (split, count) in [("train", 100), ("test", 20)] {
        for index in 0..count {
            let subject = ["film", "cast", "music", "end", "plot"][index % 5];
            let manner = ["really", "quite", "surely"][index / 5 % 3];
            let (class, verdict) = [("pos", "fine"), ("neg", "dull")][index % 2];
            let text = format!("{index}: the {subject} of {split} was {manner} {verdict}.\n");
            folder.write(&format!("reviews/{split}/{class}/{index}.txt"), text);
        }
    }
    folder.write("reviews/README", "what this is");
    folder
}

#[test]
fn texts_in_class_folders_are_classified() {
    let folder = reviews();
    let train = format!(
        "train mlp {DATA} --set training.epochs=30 --set optimizer.learning_rate=0.02 --progress quiet \
         --json --run-dir run"
    );
    let summary = folder.run(&train).succeeded().json();
    assert_eq!(summary["test"]["accuracy"], 1.0, "{summary}");
    assert!(summary["validation"]["accuracy"].as_f64().unwrap() > 0.9, "{summary}");

    folder.write("new/a.txt", "A fine plot.");
    folder.write("new/below/b", "A dull plot.");
    folder.write("new/c.txt", [0xff, 0, 1]);
    folder.write("new/d.txt", "");
    let predicted = folder.run("predict run new --csv");
    let rows: Vec<String> = predicted.stdout.lines().map(|line| line.replace('\\', "/")).collect();
    let begins =
        ["input,class,", "new/a.txt,pos,", "new/below/b,neg,", "new/c.txt,,", "new/d.txt,"];
    assert_eq!(rows.len(), begins.len(), "{rows:?}");
    assert!(rows.iter().zip(begins).all(|(row, begin)| row.starts_with(begin)), "{rows:?}");
    let predicted = predicted.refused(3, "not UTF-8");
    assert!(predicted.stderr.contains("d.txt` has no word that the model knows"), "{predicted:?}");
    let alone = folder.run("predict run new/a.txt").succeeded().stdout;
    assert!(alone.starts_with("new/a.txt: pos ("), "{alone}");
    let given = folder.run("predict run --text dull").succeeded().stdout;
    assert!(given.starts_with("dull: neg ("), "{given}");
    folder.write("rows.csv", "text\nfine\ndull\n");
    let rows = folder.run("predict run rows.csv --json").succeeded().stdout;
    assert_eq!(rows.lines().count(), 2, "{rows}");
    folder.write("empty/readme.md", "");
    folder.run("predict run empty").refused(3, "the folder `empty` has no texts");
    folder.run("predict run new/a.txt --csv --keep id").refused(2, "a text has none");

    let evaluated = folder.run("eval run --json").succeeded().json();
    assert_eq!(evaluated["metrics"]["accuracy"], 1.0);
    for index in 0..20 {
        let file = format!("{}/{index}.txt", ["pos", "neg"][index % 2]);
        folder.write(&format!("other/{file}"), folder.read(&format!("reviews/train/{file}")));
    }
    let other = folder.run("eval run --data other --csv").succeeded();
    assert_eq!(other.stdout.lines().count(), 21);
    assert!(other.stdout.replace('\\', "/").contains("\nother/neg/1.txt,neg,neg,"), "{other:?}");
    assert!(other.stderr.contains("are the same as rows to train on"), "{other:?}");
    folder
        .run("eval run --data new/a.txt")
        .refused(3, "`new/a.txt` is a file, a folder is expected");
    fs::create_dir(folder.path("models")).unwrap();
    fs::copy(folder.path("run/model.safetensors"), folder.path("models/a.safetensors")).unwrap();
    let exported = folder.run("export models/a.safetensors --format onnx").succeeded();
    assert!(exported.stdout.replace('\\', "/").contains("models/model.onnx"), "{exported:?}");
    let no_model = "`run/config.toml` is neither a run directory nor named as a model";
    folder.run("export run/config.toml --format onnx").refused(3, no_model);
    folder.write("latin.txt", b"tr\xe8s fine");
    let latin = folder.run("predict run latin.txt").succeeded();
    assert!(latin.stderr.contains("`latin.txt` is not UTF-8, and read as Latin-1"), "{latin:?}");
}

#[test]
fn a_run_on_files_of_texts_resumes_unless_one_has_changed() {
    let folder = reviews();
    let train = format!("train mlp {DATA} --set training.epochs=3 --progress quiet");
    folder.run(&format!("{train} --run-dir whole")).succeeded();
    folder.run(&format!("{train} --max-steps 3 --run-dir parts")).succeeded();
    folder.run("resume parts --set training.max_steps= --progress quiet").succeeded();
    let model = |run: &str| fs::read(folder.path(&format!("{run}/model.safetensors"))).unwrap();
    assert_eq!(model("whole"), model("parts"));

    folder.write("reviews/test/pos/0.txt", "quite another dull text");
    folder
        .run("resume parts --set training.epochs=4")
        .refused(3, "the data of `parts` have changed since it began");
}

#[test]
fn a_folder_of_texts_is_planned_and_inspected() {
    let folder = reviews();
    let plan = folder.run(&format!("plan mlp {DATA} --json")).succeeded().json();
    assert_eq!(plan["layers"][0]["name"], "texts.0.embedding");
    let inspected = folder.run("data inspect text-folder reviews").succeeded().stdout;
    for expected in
        ["train              100 samples", "test                20 samples", "class neg"]
    {
        assert!(inspected.contains(expected), "{inspected}");
    }
    let wrong = [
        ("data.target=class", "`data.target` has no effect"),
        ("data.task=binary", "`data.task` has no effect"),
        ("data.hold_out=last", "`data.hold_out` has no effect"),
        ("data.text_length=0", "`data.text_length` must be 1 to 16,777,216"),
    ];
    for (setting, error) in wrong {
        folder.run(&format!("plan mlp {DATA} --set {setting}")).refused(2, error);
    }
    folder.run("plan mlp --set data.source=text-folder").refused(2, "needs `data.path`");
    folder.run("train reviews").refused(2, "recipes train mlp --set data.source=text-folder");
    folder.run("train lstm --set data.path=reviews").refused(3, "data.source=text-folder");
}
