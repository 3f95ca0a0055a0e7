//! Measuring a finished run, from the outside.

use std::fs;

use serde_json::Value;

use crate::{
    folder::Folder,
    pictures::{PHOTOS, bmp, photos},
};

/// What a run wrote at its end about a split, and what measuring it again says.
fn check_again(folder: &Folder, run: &str, split: &str) -> Value {
    let mut report = folder.run(&format!("eval {run} --json")).succeeded().json();
    let summary = folder.json(&format!("{run}/summary.json"));
    assert_eq!(report["split"], split, "{report}");
    let metrics = report["metrics"].as_object_mut().unwrap();
    // A run measures the first where it monitors it, and the others never.
    let more = ["macro_f1", "roc_auc", "top5_accuracy"];
    let more = more.map(|name| (name, metrics.get(name).cloned()));
    metrics.retain(|name, _| summary[split][name].is_f64());
    assert_eq!(report["metrics"], summary[split], "{report}");
    more.into_iter().for_each(|(name, value)| report[name] = value.into());
    report
}

/// The header of the measured samples of a run, and a row for each: its name, the truth, the prediction.
fn each_sample(folder: &Folder, arguments: &str) -> (String, Vec<[String; 3]>) {
    let csv = folder.run(&format!("eval {arguments} --csv")).succeeded().stdout;
    let (head, rows) = csv.split_once('\n').unwrap();
    let row = |row: &str| {
        let mut cells = row.split(',').map(str::to_owned);
        [(); 3].map(|()| cells.next().unwrap())
    };
    (head.to_owned(), rows.lines().map(row).collect())
}

#[test]
fn a_table_is_measured_with_its_classes() {
    let folder = Folder::new();
    let row = |row: usize| {
        let class = ["left", "right"][usize::from(row % 5 > 1)];
        format!("{},{},{class}\n", row % 5, row % 3)
    };
    let rows: String = (0..150).map(row).collect();
    folder.write("table.csv", format!("a,b,class\n{rows}"));
    let data = "--set data.source=csv --set data.path=table.csv --set data.target=class";
    folder
        .run(&format!(
            "train mlp {data} --set training.epochs=40 --set training.monitor=macro_f1 --progress quiet \
             --run-dir run"
        ))
        .succeeded();
    let summary = folder.json("run/summary.json");
    assert_eq!(summary["best"]["metric"], "macro_f1");
    assert!(summary["validation"]["macro_f1"].is_f64(), "{summary}");
    assert!(folder.read("run/metrics.csv").contains("macro_f1"));

    let report = check_again(&folder, "run", "validation");
    assert_eq!(report["samples"], 30);
    let counts = |row: usize| -> Vec<u64> {
        serde_json::from_value(report["confusion"][row].clone()).unwrap()
    };
    assert_eq!(counts(0).iter().sum::<u64>() + counts(1).iter().sum::<u64>(), 30);
    assert_eq!(report["per_class"][1]["class"], "right");
    let recall = counts(1)[1] as f64 / counts(1).iter().sum::<u64>() as f64;
    assert_eq!(report["per_class"][1]["recall"], recall);

    let f1 = |class: usize| {
        let others = counts(0)[class] + counts(1)[class] + counts(class)[0] + counts(class)[1];
        2.0 * counts(class)[class] as f64 / others as f64
    };
    assert_eq!(
        (&report["per_class"][0]["f1"], &report["per_class"][1]["f1"]),
        (&f1(0).into(), &f1(1).into())
    );
    assert_eq!(report["macro_f1"], (f1(0) + f1(1)) / 2.0);
    assert!(report["roc_auc"].as_f64().is_some_and(|area| area > 0.9), "{report}");

    let text = folder.run("eval run --data table.csv").succeeded().stdout;
    let note = "note: the run was trained on `table.csv`, so this is not its performance on new data; \
                to measure it on what it held out: recipes eval run\n`table.csv`, 150 samples\n";
    assert!(text.starts_with(note), "{text}");
    assert!(text.contains(" samples\n  loss ") && text.contains("\n  accuracy "), "{text}");
    assert!(text.contains("  F1\n") && text.contains("\n  macro_f1   "), "{text}");
    assert!(text.contains("precision") && text.contains("predicted as"), "{text}");

    let train = "train mlp --set data.source=csv --set data.path=table.csv --set data.target=class";
    let all = "--set data.validation=0 --max-steps 5 --run-dir all --progress quiet";
    folder.run(&format!("{train} {all}")).succeeded();
    let text = folder.run("eval all --data table.csv").succeeded().stdout;
    assert!(text.starts_with(&format!("{}\n", note.split_once("; to").unwrap().0)), "{text}");

    folder.write("other.csv", "a,b,class\n1,2,left\n3,,right\n");
    let report = folder.run("eval run --data other.csv --json").succeeded().json();
    assert_eq!(report["notes"], serde_json::json!([]));
    folder.write("other.csv", "a,b,class\n1,2,left\n3,1,\n");
    let report = folder.run("eval run --data other.csv --json").succeeded().json();
    let note = "`other.csv`: the row in line 3 has no target and is left out";
    assert_eq!((&report["samples"], &report["notes"]), (&1.into(), &[note].into()));

    fs::write(folder.path("table.csv"), format!("a,b,class\n9,9,left\n{rows}")).unwrap();
    folder.run("eval run").refused(3, ", has changed since it was trained");
    folder.write("run/environment.json", "{");
    folder.run("eval run").refused(3, "`run/environment.json` cannot be read: EOF");
    fs::remove_file(folder.path("run/environment.json")).unwrap();
    folder.run("eval run").refused(3, "`run/environment.json` is missing");
}

/// Of forty patients, each with a ward and a class that tell nothing of others.
#[test]
fn rows_that_are_held_out_together_or_last_are_measured_again() {
    let folder = Folder::new();
    let row = |row: usize| {
        let patient = row % 40;
        let class = ["ill", "well"][(patient * 31 + 17) * patient / 5 % 2];
        format!("p{patient},ward {patient},{},{class}\n", row / 40)
    };
    folder.write(
        "visits.csv",
        format!("patient,ward,day,y\n{}", (0..480).map(row).collect::<String>()),
    );
    let accuracy = |run: &str, settings: &str| {
        let data = "--set data.source=csv --set data.path=visits.csv --set data.target=y";
        let train = "--set optimizer.learning_rate=0.02 --set training.epochs=40 --progress quiet";
        folder.run(&format!("train mlp {data} {settings} {train} --run-dir {run}")).succeeded();
        check_again(&folder, run, "validation")["metrics"]["accuracy"].as_f64().unwrap()
    };
    let known = accuracy("known", "--set data.columns.patient=drop");
    let unknown = accuracy("unknown", "--set data.group=patient");
    assert!(known > 0.9 && unknown < 0.8, "{known} {unknown}");
    let later = accuracy("later", "--set data.columns.patient=drop --set data.hold_out=last");
    assert!(later > 0.9, "the last rows are of known patients: {later}");
    let (head, rows) = each_sample(&folder, "later");
    assert_eq!(head, "input,target,class,probability_ill,probability_well");
    let inputs: Vec<&str> = rows.iter().map(|[input, ..]| input.as_str()).collect();
    let last: Vec<String> = (386..482).map(|line| format!("visits.csv:{line}")).collect();
    assert_eq!(inputs, last);
    let right = rows.iter().filter(|[_, target, class]| target == class).count();
    assert!((right as f64 / 96.0 - later).abs() < 1e-9, "{right} of 96, and {later}");
}

#[test]
fn a_share_is_held_out_to_test_on() {
    let folder = photos();
    let rows: String = (0..100).map(|row| format!("{row},{}\n", row % 2)).collect();
    folder.write("table.csv", format!("x,y\n{rows}"));
    folder.write("text.txt", "abcdefgh ".repeat(600));
    let table = "--set data.source=csv --set data.path=table.csv --set data.target=y";
    let last = format!("{table} --set data.hold_out=last");
    let text = "--set data.path=text.txt --set data.sequence_length=9 --set training.batch_size=2";
    let of_recipe = [
        ("rows", "mlp", table, 20),
        ("last", "mlp", &last, 20),
        ("pictures", "cnn", PHOTOS, 8),
        ("text", "lstm-char", text, 1072),
    ];
    for (run, recipe, data, tested) in of_recipe {
        let train =
            format!("train {recipe} {data} --set data.test=0.2 --max-steps 3 --run-dir {run}");
        folder.run(&train).succeeded();
        assert_eq!(check_again(&folder, run, "test")["samples"], tested, "{run}");
        assert!(folder.json(&format!("{run}/summary.json"))["validation"]["loss"].is_f64());
        let other = format!("resume {run} --set data.test=0.3 --set training.epochs=900");
        folder.run(&other).refused(2, "`data.test`");
    }
    let (_, tested) = each_sample(&folder, "last");
    let lines: Vec<String> = tested.into_iter().map(|[input, ..]| input).collect();
    assert_eq!(lines, Vec::from_iter((82..102).map(|line| format!("table.csv:{line}"))));
    folder
        .run(&format!("train mlp {table} --set data.validation=0.5 --set data.test=0.5"))
        .refused(2, "`data.validation` and `data.test` leave nothing to train on");
}

#[test]
fn many_classes_are_told_apart_and_their_matrix_is_found() {
    let folder = Folder::new();
    let class = |class: usize| format!("class with a rather long descriptive name {class:02}");
    for (classes, matrix) in [(31, "<svg class=\"matrix-drawn\""), (30, "<table class=\"matrix")] {
        let row = |row: usize| format!("{},{}\n", row % classes, class(row % classes));
        let rows: String = (0..20 * classes).map(row).collect();
        folder.write("table.csv", format!("a,class\n{rows}"));
        let data = "--set data.source=csv --set data.path=table.csv --set data.target=class";
        let run = format!("run{classes}");
        folder
            .run(&format!(
                "train mlp {data} --set training.monitor=macro_f1 --max-steps 2 --progress quiet \
                 --run-dir {run}"
            ))
            .succeeded();
        let report = check_again(&folder, &run, "validation");
        assert!(report["top5_accuracy"].as_f64() >= report["metrics"]["accuracy"].as_f64());
        let text = folder.run(&format!("eval {run}")).succeeded().stdout;
        for number in 0..classes {
            let name = format!("  class with a rather …descriptive name {number:02}  ");
            assert_eq!(text.matches(&name).count(), 1, "{name}\n{text}");
        }
        let told = format!(
            "\n  the confusion matrix of {classes} classes is not printed: `recipes report {run}` \
             shows it, and `--json` has it whole\n"
        );
        assert!(text.ends_with(&told), "{text}");
        folder.run(&format!("report {run}")).succeeded();
        let page = folder.read(&format!("{run}/report.html"));
        assert_eq!(page.matches(matrix).count(), 1);
        let report = folder.run(&format!("eval {run} --json")).succeeded().json();
        assert_eq!(report["confusion"].as_array().unwrap().len(), classes);
    }
    // A report measures neither other data nor a rounded model.
    for other in ["--data table.csv", "--precision f16"] {
        let text = folder.run(&format!("eval run30 {other}")).succeeded().stdout;
        assert!(text.ends_with("classes is not printed: `--json` has it whole\n"), "{text}");
    }
}

/// The bytes of an IDX file.
fn idx(dimensions: &[u32], values: Vec<u8>) -> Vec<u8> {
    let sizes = dimensions.iter().flat_map(|size| size.to_be_bytes());
    [0, 0, 8, dimensions.len() as u8].into_iter().chain(sizes).chain(values).collect()
}

#[test]
fn images_that_were_trained_on_are_not_measured_in_silence() {
    let folder = Folder::new();
    let write = |place: &str, stem: &str, first: u32| {
        let pixels = (0..400 * 60).map(|index| (index / 400 * 3 + index % 7 + first) as u8);
        folder.write(
            &format!("{place}/{stem}-images-idx3-ubyte"),
            idx(&[60, 20, 20], pixels.collect()),
        );
        let labels = (0..60).map(|index| index % 2).collect();
        folder.write(&format!("{place}/{stem}-labels-idx1-ubyte"), idx(&[60], labels));
    };
    for place in ["set", "other"] {
        fs::create_dir(folder.path(place)).unwrap();
    }
    write("set", "train", 0);
    write("set", "t10k", 0);
    let train = "train cnn --set data.source=idx --set data.path=set --set data.size=24 --max-steps 2 \
                 --progress quiet --run-dir run";
    let told = "60 of the 60 images read for the test split are the same as images read for the training \
                split, such as number 0";
    folder.run(train).refused(3, told);
    write("set", "t10k", 1);
    let trained = folder.run(train).succeeded();
    assert!(!trained.stderr.contains("the same as"), "{}", trained.stderr);
    assert_eq!(folder.run("eval run").succeeded().stdout.matches("the same").count(), 0);
    write("other", "t10k", 0);
    let measured = folder.run("eval run --data other").succeeded().stdout;
    let told = "60 of 60 images are the same as images of the run";
    assert!(measured.contains(told), "{measured}");

    for class in ["0", "1"] {
        let place = format!("pictures/{class}");
        fs::create_dir_all(folder.path(&place)).unwrap();
        folder.write(&format!("{place}/a.bmp"), bmp(24, [90; 3]));
    }
    let report = folder.run("eval run --data pictures --json").succeeded().json();
    assert_eq!(report["samples"], 2, "{report}");
    fs::create_dir(folder.path("empty")).unwrap();
    folder.run("eval run --data empty").refused(3, "`train-images-idx3-ubyte`");
}

/// As spreadsheets write it, in training and in what comes later.
#[test]
fn a_table_with_formatted_numbers_is_measured_and_predicted_as_the_plain_one() {
    let folder = Folder::new();
    let table = |dollar: &str, comma: &str, percent: &str| {
        let row = |row: usize| {
            let price = format!("{dollar}{}{comma}{:03}.50", 1 + row % 10, 7 * row);
            format!("\"{price}\",{}{percent},{}\n", row % 7, ["cheap", "dear"][row % 10 / 5])
        };
        format!("price,share,kind\n{}", (0..120).map(row).collect::<String>())
    };
    folder.write("formatted.csv", table("$", ",", " %"));
    folder.write("plain.csv", table("", "", ""));
    let data = "--set data.source=csv --set data.path=formatted.csv --set data.target=kind";
    let ran = folder.run(&format!("train mlp {data} --max-steps 40 --run-dir run")).succeeded();
    let inspected = folder.run("data inspect csv formatted.csv").succeeded().stdout;
    for note in [
        "note: column `price` is read as numbers, `$1,000.50` in line 2 as 1000.50\n",
        "note: column `share` is read as numbers, `0 %` in line 2 as 0\n",
    ] {
        assert_eq!(ran.stderr.matches(note).count(), 1, "{}", ran.stderr);
        assert_eq!(inspected.matches(note).count(), 1, "{inspected}");
    }

    let found = |name: &str| {
        let predicted = folder.run(&format!("predict run {name}.csv --csv")).succeeded().stdout;
        let report = folder.run(&format!("eval run --data {name}.csv --json")).succeeded().json();
        let predictions = predicted.replace(name, "table");
        (predictions, report["metrics"].clone(), report["confusion"].clone())
    };
    assert_eq!(found("formatted"), found("plain"));
    let ran = folder.run_with("predict run -", "price,share\n$7,3\n€7,3\n");
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(3), 1), "{ran:#?}");
    let error = "standard input:3: column `price`: `€7` is not in `$`, as the column's numbers are";
    assert!(ran.stderr.contains(error), "{}", ran.stderr);
}

#[test]
fn a_regression_has_errors_and_no_classes() {
    let folder = Folder::new();
    let rows: String = (0..100).map(|row| format!("{},{}\n", row % 10, 30 * (row % 10))).collect();
    folder.write("table.csv", format!("a,price\n{rows}"));
    let data = "--set data.source=csv --set data.path=table.csv --set data.target=price \
                --set data.task=regression";
    let train = format!("train mlp {data} --max-steps 20 --progress quiet --run-dir run");
    folder.run(&train).succeeded();
    let report = check_again(&folder, "run", "validation");
    assert!(report["metrics"]["rmse"].as_f64().unwrap() > 0.0, "{report}");
    assert_eq!(report["confusion"], serde_json::json!([]));
    assert_eq!([&report["macro_f1"], &report["roc_auc"]], [&Value::Null; 2]);
    let names: Vec<&String> = report["metrics"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["loss", "mae", "r2", "rmse"]);
    let page = folder.read("run/report.html");
    assert!(page.contains("Predicted and true values"));
    assert_eq!(page.matches("\"chart-loose").count() as u64, report["samples"].as_u64().unwrap());

    let (head, rows) = each_sample(&folder, "run");
    assert_eq!(head, "input,target,value");
    let off = |[_, target, value]: &[String; 3]| {
        assert!(target.parse::<u32>().is_ok_and(|target| target % 30 == 0), "{target}");
        (target.parse::<f64>().unwrap() - value.parse::<f64>().unwrap()).abs()
    };
    let mae = rows.iter().map(off).sum::<f64>() / rows.len() as f64;
    let measured = report["metrics"]["mae"].as_f64().unwrap();
    assert!((mae - measured).abs() < 1e-4 * measured, "{mae} and {measured}");

    // However far the values are from those trained on.
    folder.write("far.csv", "a,price\n1,1000000000\n2,60\n");
    let report = folder.run("eval run --data far.csv --json").succeeded().json();
    let rmse = report["metrics"]["rmse"].as_f64().unwrap();
    assert!((rmse - 1e9 / 2f64.sqrt()).abs() < 1e4, "{rmse}");
}

#[test]
fn pictures_are_measured_and_classes_found_by_their_names() {
    let folder = Folder::new();
    let train = "train cnn --set data.samples=200 --max-steps 4 --progress quiet --run-dir";
    folder.run(&format!("{train} exact --set training.arithmetic=exact")).succeeded();
    check_again(&folder, "exact", "test");
    folder.run(&format!("{train} run")).succeeded();
    let report = check_again(&folder, "run", "test");
    assert_eq!((&report["samples"], &report["classes"][3]), (&40.into(), &"3".into()));

    folder.run("report run").succeeded();
    let page = folder.read("run/report.html");
    assert_eq!(page.matches("src=\"data:image/png;base64,iVBORw0KGgo").count(), 12, "{page}");

    // Two classes out of ten, grey pictures of one brightness.
    for (class, brightness) in [("7", 0), ("9", 200)] {
        fs::create_dir_all(folder.path("photos").join(class)).unwrap();
        folder.write(&format!("photos/{class}/a.bmp"), bmp(28, [brightness; 3]));
    }
    let report = folder.run("eval run --data photos --json").succeeded().json();
    assert_eq!((&report["split"], &report["samples"]), (&"given".into(), &2.into()));
    let samples = |class: usize| report["per_class"][class]["samples"].as_u64();
    assert_eq!((samples(7), samples(9), samples(0)), (Some(1), Some(1), Some(0)));

    let own = each_sample(&folder, "run").1;
    let right = own.iter().filter(|[_, target, class]| target == class).count();
    let accuracy = check_again(&folder, "run", "test")["metrics"]["accuracy"].as_f64().unwrap();
    assert!((right as f64 / 40.0 - accuracy).abs() < 1e-9, "{right} of 40, and {accuracy}");

    // Of those that were trained on, nothing is told but that.
    let classes = |name: &str| {
        for (class, brightness) in [("a", 0), ("b", 9)] {
            fs::create_dir_all(folder.path(name).join(class)).unwrap();
            for picture in 0..6 {
                let pixels = bmp(28, [brightness + 10 * picture, 7, 9]);
                folder.write(&format!("{name}/{class}/{picture}.bmp"), pixels);
            }
        }
    };
    ["own", "copy"].into_iter().for_each(classes);
    let data = "--set data.source=image-folder --set data.path=own --set data.size=28";
    folder
        .run(&format!("train cnn {data} --max-steps 2 --progress quiet --run-dir of-own"))
        .succeeded();
    let copied = folder.run("eval of-own --data copy").succeeded().stdout;
    let note = "note: 12 of 12 images are the same as images of the run, such as ";
    assert!(copied.starts_with(note), "{copied}");
    fs::rename(folder.path("copy/a/0.bmp"), folder.path("copy/a/c.bmp")).unwrap();
    (0..6).for_each(|picture| folder.write(&format!("copy/b/{picture}.bmp"), bmp(28, [1; 3])));
    let copied = folder.run("eval of-own --data copy").succeeded().stdout;
    assert!(copied.starts_with("note: 6 of 12 images"), "{copied}");
    fs::remove_dir_all(folder.path("copy/a")).unwrap();
    assert!(folder.run("eval of-own --data copy").succeeded().stdout.starts_with("`copy`, 6 "));

    fs::rename(folder.path("photos/9"), folder.path("photos/cat")).unwrap();
    folder.run("eval run --data photos").refused(3, "does not know the class `cat`");
}

#[test]
fn only_the_measured_split_of_a_folder_is_looked_at() {
    let folder = Folder::new();
    let train = "train cnn --set data.samples=200 --max-steps 4 --progress quiet --run-dir run";
    folder.run(train).succeeded();
    let picture = |path: &str, brightness| {
        let path_to = folder.path(path);
        fs::create_dir_all(path_to.parent().unwrap()).unwrap();
        folder.write(path, bmp(28, [brightness; 3]));
    };
    picture("one/7/a.bmp", 0);
    let text = folder.run("eval run --data one").succeeded().stdout;
    let absent = "has no sample here: in macro_f1 it counts as 0\n`one`, 1 sample\n";
    assert!(text.contains(absent), "{text}");

    let measured = "\nthe test split of `splits`, 2 samples\n";
    picture("splits/test/7/b.bmp", 9);
    picture("splits/test/7/c.bmp", 99);
    let text = folder.run("eval run --data splits").succeeded().stdout;
    assert!(text.contains(measured), "{text}");
    picture("splits/train/bird/a.bmp", 0);
    let text = folder.run("eval run --data splits").succeeded().stdout;
    assert!(text.contains(measured), "{text}");
    let report = folder.run("eval run --data splits --json").succeeded().json();
    assert_eq!((&report["split"], &report["given_split"]), (&"given".into(), &"test".into()));
    let (head, rows) = each_sample(&folder, "run --data splits");
    assert!(head.starts_with("input,target,class,probability_0,probability_1,"), "{head}");
    let named = rows.iter().map(|[input, target, _]| [input.as_str(), target]);
    assert!(named.eq([["splits/test/7/b.bmp", "7"], ["splits/test/7/c.bmp", "7"]]), "{rows:?}");
}

#[test]
fn a_text_has_its_perplexity() {
    let folder = Folder::new();
    folder.write("text.txt", "abcdefgh ".repeat(600));
    for recipe in ["lstm-char", "lstm"] {
        let words = if recipe == "lstm" { "--set data.vocabulary=2" } else { "" };
        folder
            .run(&format!(
                "train {recipe} --set data.path=text.txt --set data.sequence_length=16 {words} \
                 --set training.batch_size=8 --set model.hidden=16 --max-steps 5 \
                 --progress quiet --run-dir {recipe}"
            ))
            .succeeded();
        let report = check_again(&folder, recipe, "validation");
        assert!(report["metrics"]["perplexity"].as_f64().unwrap() > 1.0, "{report}");
        folder.run(&format!("report {recipe}")).succeeded();
        assert!(folder.read(&format!("{recipe}/report.html")).contains("Generated text"));
    }
    folder.write("other.txt", "hgfedcba ".repeat(50));
    let report = folder.run("eval lstm-char --data other.txt --json").succeeded().json();
    assert_eq!(report["samples"], 448); // 28 windows, all of which are measured
    let text = folder.run("eval lstm-char --data other.txt").succeeded().stdout;
    assert!(text.contains("\n`other.txt`, 448 tokens\n"), "{text}");
    // Part of what was trained on.
    let noted = |recipe: &str, file: &str, note: &str| {
        let report = folder.run(&format!("eval {recipe} --data {file} --json")).succeeded().json();
        report["notes"].to_string().contains(note)
    };
    folder.write("part.txt", "abcdefgh ".repeat(40));
    assert!(noted("lstm-char", "part.txt", "is part of `text.txt`, on which the run was trained"));
    assert!(!noted("lstm-char", "other.txt", "is part of"));
    let folder_of_texts = folder.path("texts");
    fs::create_dir(&folder_of_texts).unwrap();
    fs::copy(folder.path("part.txt"), folder_of_texts.join("copy.txt")).unwrap();
    assert!(noted("lstm-char", "texts", "`texts/copy.txt` is part of `text.txt`, on which"));
    let unknown = "100.0 % of the tokens are words that the vocabulary of 2 lacks";
    assert!(noted("lstm", "other.txt", unknown));
    assert!(!noted("lstm", "text.txt", "vocabulary of 2 lacks"));
    folder.write("other.txt", "hgfedcba? ".repeat(50));
    let report = folder.run("eval lstm-char --data other.txt --json").succeeded().json();
    let note = report["notes"][1].as_str().unwrap();
    assert!(note.contains("`other.txt` is read without 50 of its characters"), "{note}");
    folder.run("eval lstm --csv").refused(2, "predictions of samples, and a text has none");
}

#[test]
fn what_cannot_be_measured_is_explained() {
    let folder = Folder::new();
    folder.run("train mlp --max-steps 3 --progress quiet --run-dir run").succeeded();
    folder.run("eval run").refused(2, "the run held nothing out to measure on");
    folder.run("eval nowhere").refused(3, "there is no run directory `nowhere`");
    folder.run("eval run --data nowhere.csv").refused(3, "nowhere.csv");
}
