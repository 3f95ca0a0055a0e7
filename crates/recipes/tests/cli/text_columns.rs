//! Tables with a column of texts, from the outside.

use std::fs;

use crate::folder::Folder;

/// Reviews whose verdict depends on a `not` before it, and on no number.
fn reviews() -> Folder {
    let folder = Folder::new();
    let row = |index: usize| {
        let subject = ["film", "cast", "music", "end", "plot"][index % 5];
        let manner = ["really", "quite", "surely"][index / 5 % 3];
        let (verdict, is_good) = [("good", true), ("bad", false)][index % 2];
        let not = (index / 2).is_multiple_of(2);
        let text = format!(
            "The {subject}, said he, was {}{manner} {verdict}.",
            if not { "not " } else { "" }
        );
        // One in fifty is labelled wrong.
        let liked = (is_good != not) != (index % 50 == 7);
        format!("{},\"{text}\",{}\n", index * 7 % 10, if liked { "yes" } else { "no" })
    };
    folder.write(
        "reviews.csv",
        format!("day,review,liked\n{}", (0..400).map(row).collect::<String>()),
    );
    folder
}

const DATA: &str = "--set data.source=csv --set data.path=reviews.csv --set data.target=liked \
     --set data.columns.review=text --set model.text_embedding=16 --set model.text_hidden=16";

#[test]
fn texts_are_classified() {
    let folder = reviews();
    let train = format!(
        "train mlp {DATA} --set training.epochs=12 --set optimizer.learning_rate=0.01 --progress quiet \
         --json --run-dir run"
    );
    let summary = folder.run(&train).succeeded().json();
    let accuracy = summary["validation"]["accuracy"].as_f64().unwrap();
    assert!((0.9..1.0).contains(&accuracy), "{accuracy}");

    let text = |subject, verdict| format!("the {subject}, said he, was {verdict}.");
    let new = [
        text("music", "really good"),
        text("music", "not really good"),
        text("plot", "not quite bad"),
    ];
    let rows: String = new.iter().map(|text| format!("\"{text}\",1\n")).collect();
    folder.write("new.csv", format!("review,day\n{rows}"));
    let predicted = folder.run("predict run new.csv --csv --keep review").succeeded().stdout;
    let classes: Vec<&str> =
        predicted.lines().skip(1).map(|line| line.rsplit(',').nth(1).unwrap()).collect();
    assert_eq!(classes, ["yes", "no", "yes"], "{predicted}");

    let texts = [text("end", "really bad"), text("plot", "quite good")];
    let words = ["predict", "run", "--text", &texts[0], "--text", &texts[1]];
    let told = folder.run_words(&words).succeeded();
    for ((line, text), class) in told.stdout.lines().zip(&texts).zip(["no", "yes"]) {
        assert!(line.starts_with(&format!("{text}: {class} (")), "{told:?}");
    }
    assert_eq!(told.stdout.lines().count(), 2);
    assert!(told.stderr.contains("the other columns of the table count as missing"), "{told:?}");
    let unknown = folder.run("predict run --text -1/10 --json").succeeded();
    assert!(unknown.stderr.contains("`-1/10` has no word that the model knows"), "{unknown:?}");
    assert_eq!(unknown.json()["input"], "-1/10");
    folder.run("predict run new.csv --text a").refused(2, "cannot be used with");
    folder.write("other.csv", "message,when\nreally good,1\n");
    folder.run("predict run other.csv").refused(3, "`other.csv` has no column `day`");

    let evaluated = folder.run("eval run --json").succeeded().json();
    assert_eq!(evaluated["metrics"]["accuracy"], accuracy);
    let report = folder.read("run/report.html");
    assert!(report.contains(", said he, was "), "no mistake is shown");
    let model = folder.run("export run --format onnx").succeeded();
    assert!(model.stdout.contains("model.onnx"), "{model:?}");
}

#[test]
fn a_run_on_texts_resumes_where_it_was() {
    let folder = reviews();
    let train = format!("train mlp {DATA} --set training.epochs=3 --progress quiet");
    folder.run(&format!("{train} --run-dir whole")).succeeded();
    folder.run(&format!("{train} --max-steps 11 --run-dir parts")).succeeded();
    folder.run("resume parts --set training.max_steps= --progress quiet").succeeded();
    let model = |run: &str| fs::read(folder.path(&format!("{run}/model.safetensors"))).unwrap();
    assert_eq!(model("whole"), model("parts"));
}

#[test]
fn what_reads_a_text_is_planned_and_told() {
    let folder = reviews();
    let plan = folder.run(&format!("plan mlp {DATA} --set data.text_length=4 --json")).succeeded();
    let names: Vec<String> = plan.json()["layers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|layer| format!("{} {}", layer["name"].as_str().unwrap(), layer["output"]))
        .collect();
    let expected =
        ["texts.0.embedding [4,16]", "texts.0.lstm.0 [4,16]", "layers.0 [64]", "layers.1 [1]"];
    assert_eq!(names, expected);
    let inspected =
        folder.run("data inspect csv reviews.csv --set data.columns.review=text").succeeded();
    let column =
        "column review            text, of which up to 11 tokens are read; 17 words are told";
    assert!(inspected.stdout.contains(column), "{inspected:?}");

    let without =
        "train mlp --set data.source=csv --set data.path=reviews.csv --set data.target=liked";
    folder
        .run(&format!("{without} --set data.text_length=4"))
        .refused(2, "`data.text_length` has no effect: `data.columns` names no column of texts");
    folder
        .run(&format!("train mlp {DATA} --set data.text_vocabulary=1 --set data.text_length=0"))
        .refused(2, "`data.text_vocabulary` must be 2 to 1,000,000 words, found `1`");
    let long = folder.run(&format!("plan mlp {DATA}")).succeeded();
    assert!(long.stdout.contains("texts need far fewer than 500 epochs"), "{long:?}");
    let dropout = "--set model.hidden=[] --set model.dropout=0.5";
    let note = "`model.dropout` has no effect: there is neither a hidden layer nor a text";
    let of_texts = folder.run(&format!("plan mlp {DATA} {dropout}")).succeeded().stdout;
    assert!(!of_texts.contains(note), "{of_texts}");
    let of_numbers = folder.run(&format!("plan mlp --set data.labels=linear {dropout}"));
    assert!(of_numbers.succeeded().stdout.contains(note));
    folder.run("train mlp --set data.labels=linear --max-steps 3 --run-dir numbers").succeeded();
    let none =
        "`--text` is for a model that reads one column of texts, and this one reads 0 columns";
    folder.run("predict numbers --text a").refused(2, none);
    folder
        .run("train mlp --set model.text_hidden=4")
        .refused(2, "`model.text_hidden` has no effect with `data.source = \"synthetic\"`");
}
