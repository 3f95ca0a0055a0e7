//! Training on a text and letting the network write, from the outside.

use serde_json::Value;

use crate::folder::Folder;

/// A text that is learnt at once.
fn alphabet() -> Folder {
    let folder = Folder::new();
    folder.write("text.txt", "abcdefgh ".repeat(600));
    folder
}

const TRAIN: &str = "train lstm-char --set data.path=text.txt --set data.sequence_length=16 \
     --set training.batch_size=8 --set model.hidden=32 --set training.epochs=4 --progress quiet";

#[test]
fn a_text_is_learnt_and_continued() {
    let folder = alphabet();
    let summary = folder.run(&format!("{TRAIN} --json --run-dir run")).succeeded().json();
    let perplexity = summary["validation"]["perplexity"].as_f64().unwrap();
    assert!(perplexity < 1.2, "{perplexity}");

    // What it writes is kept from epoch to epoch.
    let events = folder.read("run/events.jsonl");
    let samples: Vec<Value> = events
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|event: &Value| event["kind"] == "sample")
        .collect();
    let epochs: Vec<u64> = samples.iter().map(|sample| sample["epoch"].as_u64().unwrap()).collect();
    assert_eq!(epochs, [1, 2, 3, 4]);
    let last = samples[3]["text"].as_str().unwrap();
    assert!(last.contains("abcdefgh abcdefgh"), "{last}");
    let report = folder.read("run/report.html");
    assert!(report.contains("Generated text, epoch by epoch") && report.contains(last));

    let written = folder.run("generate run --prompt abc --length 15 --temperature 0").succeeded();
    assert_eq!(written.stdout, "abcdefgh abcdefgh \n");
    let json =
        folder.run("generate run --prompt abc --length 6 --temperature 0 --json").succeeded();
    assert_eq!(json.json(), serde_json::json!({"prompt": "abc", "text": "defgh "}));
}

#[test]
fn other_texts_validate_and_test() {
    let folder = alphabet();
    folder.write("other.txt", "abcdefgh ".repeat(40));
    folder.write("reversed.txt", "hgfedcba ".repeat(40));
    let texts = "--set data.validation_path=other.txt --set data.test_path=reversed.txt";
    let summary = folder.run(&format!("{TRAIN} {texts} --json --run-dir run")).succeeded().json();
    let perplexity = |split: &str| summary[split]["perplexity"].as_f64().unwrap();
    assert!(perplexity("validation") < 1.5, "{summary}");
    assert!(perplexity("test") > 10.0, "{summary}");

    // The same text, but for its mark and line ends.
    folder.write("copy.txt", format!("\u{feff}{}\r\n", "abcdefgh ".repeat(600)));
    let copy = "`copy.txt`, read for `data.validation_path`, is a copy of `text.txt`";
    folder.run(&format!("{TRAIN} --set data.validation_path=copy.txt")).refused(3, copy);
}

#[test]
fn a_whole_text_may_be_trained_on() {
    let folder = alphabet();
    let all = "--set data.validation=0 --json --run-dir run";
    let summary = folder.run(&format!("{TRAIN} {all}")).succeeded().json();
    assert!(summary["validation"].is_null() && summary["best"].is_null(), "{summary}");
    folder.run("eval run").refused(2, "the run held nothing out to measure on");
    assert!(folder.run("eval run --data text.txt").succeeded().stdout.contains("perplexity"));
}

#[test]
fn the_seed_decides_what_is_written() {
    let folder = alphabet();
    folder.run(&format!("{TRAIN} --max-steps 3 --run-dir run")).succeeded();
    let write = |seed: u32| {
        let command = format!("generate run --prompt a --temperature 1.5 --seed {seed}");
        folder.run(&command).succeeded().stdout
    };
    assert_eq!(write(1), write(1));
    assert_ne!(write(1), write(2));
}

#[test]
fn what_cannot_be_written_is_explained() {
    let folder = alphabet();
    folder.run(&format!("{TRAIN} --max-steps 2 --run-dir run")).succeeded();
    folder.run_words(&["generate", "run", "--prompt", ""]).refused(3, "the prompt is empty");
    let check = |arguments: &str, code: i32, message: &str| {
        folder.run(arguments).refused(code, message);
    };
    check("generate run --prompt xyz", 3, "the prompt");
    check("generate nowhere --prompt a", 3, "there is no run directory `nowhere`");
    check("generate run --prompt a --temperature -1", 2, "`--temperature` is -1, and must be");
    check("generate run --prompt a --top-p 1.5", 2, "`--top-p` is 1.5, and must be");
    check(
        "generate run --prompt a --top-k 0",
        2,
        "for '--top-k <N>': it is not a whole number of at least 1",
    );
    check("generate run --prompt a --length -1", 2, "'-1' for '--length <N>'");
    check("predict run text.txt", 3, "the model reads text, not rows of a table");
    check(
        "train lstm --set data.validation_path=text.txt --set data.validation=0.3",
        2,
        "`data.validation` has no effect with `data.validation_path = \"text.txt\"`",
    );
    let dropout = "`model.dropout` has no effect with `model.layers = 1`";
    check("train lstm-char --set model.dropout=0.2", 2, dropout);
    let long = "--set data.path=text.txt --set data.sequence_length=5000";
    check(&format!("train lstm-char {long}"), 3, "tokens");
}

#[test]
fn texts_that_hold_nothing_to_learn_are_explained() {
    let folder = Folder::new();
    for class in ["pos", "neg"] {
        std::fs::create_dir_all(folder.path("reviews").join(class)).unwrap();
        folder.write(&format!("reviews/{class}/1.txt"), "It was a film. ".repeat(80));
    }
    let within = "`reviews` has no file whose name ends in `.txt`, and folders within it, such as";
    let ran = folder.run("train lstm --set data.path=reviews").refused(3, within);
    assert!(ran.stderr.contains("to classify texts in folders of their classes"), "{}", ran.stderr);
    folder.run("train lstm --set data.path=reviews/pos --max-steps 2 --run-dir run").succeeded();
    folder.write("reviews.csv", "It was a film.\n".repeat(80));
    let train = "train lstm --set data.path=reviews.csv --max-steps 2 --run-dir table";
    let told = folder.run(train).succeeded().stderr;
    assert!(told.contains("`reviews.csv` is read as one text to be continued"), "{told}");

    folder.write("hi.txt", "hi");
    let short = "`hi.txt` has 1 word, too few to divide";
    let ran = folder.run("train lstm --set data.path=hi.txt").refused(3, short);
    assert!(!ran.stderr.contains("no word"), "{}", ran.stderr);
    folder.write("blank.txt", "  ");
    folder.run("train lstm --set data.path=blank.txt").refused(3, "the text has no word");
}

#[test]
fn words_are_learnt_from_the_primer_and_unknown_ones_are_named() {
    let folder = Folder::new();
    let train = "train lstm --max-steps 4 --json --progress quiet --run-dir run";
    let summary = folder.run(train).succeeded().json();
    assert!(summary["validation"]["perplexity"].as_f64().unwrap() < 1100.0);
    // embedding 1000 x 128, four gates of (128 + 128 + 1) x 128, dense 128 x 1000 + 1000
    assert_eq!(summary["parameters"], 128_000 + 131_584 + 129_000);

    let unknown = ["generate", "run", "--prompt", "the zyzzyva", "--length", "5"];
    let written = folder.run_words(&unknown).succeeded();
    assert!(written.stdout.starts_with("the zyzzyva"), "{written:#?}");
    assert!(written.stderr.contains("note: the prompt has words outside the 999 "), "{written:#?}");
    assert!(written.stderr.contains("unknown word: zyzzyva; for more"), "{written:#?}");
    let words = ["generate", "run", "--prompt", "the gpu", "--length", "5"];
    assert!(folder.run_words(&words).succeeded().stdout.starts_with("the gpu"));
}
