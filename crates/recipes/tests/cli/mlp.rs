//! The recipe `mlp` as a user runs it, on the tutorial's data and on tables.

use std::{
    io::Write,
    process::{Child, Stdio},
};

use flate2::{Compression, write::GzEncoder};

use crate::folder::{Folder, shared_data};

fn epoch_losses(stderr: &str) -> Vec<f64> {
    stderr
        .lines()
        .filter_map(|line| line.strip_prefix("Epoch [")?.split_once("], Loss: ")?.1.parse().ok())
        .collect()
}

/// PyTorch's own losses from 64 seeds, by `golden/mlp/generate.py`; the tutorial printed 0.4765.
#[test]
fn the_tutorials_run_ends_where_pytorchs_does() {
    let pytorch: serde_json::Value =
        serde_json::from_str(include_str!("../golden/mlp/fixture.json")).unwrap();
    let [lowest, mean, highest] =
        ["lowest", "mean", "highest"].map(|key| pytorch[key].as_f64().unwrap());
    let last_loss = |seed: u64| {
        let folder = Folder::new();
        let ran = folder.run(&format!("train mlp --seed {seed} --run-dir run")).succeeded();
        let losses = epoch_losses(&ran.stderr);
        assert_eq!(losses.len(), 500, "one line an epoch");
        assert!(ran.stderr.contains("Epoch [500/500], Loss: "));

        let summary = folder.json("run/summary.json");
        assert_eq!((&summary["steps"], &summary["parameters"]), (&12_500.into(), &221.into()));
        assert_eq!(summary["status"], "finished");
        assert!(summary.get("validation").is_none());
        losses[499]
    };
    let losses: Vec<f64> = (0..8).map(last_loss).collect();
    assert!((0.40..0.52).contains(&losses[0]), "the default seed: {}", losses[0]);
    assert!(losses.iter().all(|loss| (lowest..=highest).contains(loss)), "{losses:?}");
    let our_mean = losses.iter().sum::<f64>() / 8.0;
    let standard_error = pytorch["deviation"].as_f64().unwrap() / 8f64.sqrt();
    assert!((our_mean - mean).abs() < 3.0 * standard_error, "{our_mean} against {mean}");
}

#[test]
fn without_arguments_the_default_recipe_trains_and_says_what_to_try_next() {
    let folder = Folder::new();
    let ran = folder.run("").succeeded();
    assert!(ran.stdout.contains("next, try:"), "{}", ran.stdout);
    assert_eq!(folder.entries(), ["runs"]);
}

#[test]
fn a_run_leaves_its_files_and_its_config_repeats_it() {
    let folder = Folder::new();
    let options = "--set data.labels=linear --set training.epochs=20 --seed 18446744073709551615";
    folder.run(&format!("train mlp {options} --run-dir first")).succeeded();
    folder.run("train first/config.toml --run-dir second").succeeded();

    for name in ["config.toml", "environment.json", "events.jsonl", "summary.json"] {
        assert!(folder.path("first").join(name).is_file(), "{name}");
    }
    let bytes = |run: &str| std::fs::read(folder.path(run).join("model.safetensors")).unwrap();
    assert_eq!(bytes("first"), bytes("second"));
    assert_eq!(folder.read("first/config.toml"), folder.read("second/config.toml"));

    let columns = "epoch,step,train_loss,train_accuracy,validation_loss,validation_accuracy,\
                   learning_rate,seconds,samples_per_second,data_wait";
    let (first, second) = (folder.read("first/metrics.csv"), folder.read("second/metrics.csv"));
    assert_eq!(first.lines().next(), Some(columns));
    assert_eq!(first.lines().count(), 21);
    for (first, second) in first.lines().zip(second.lines()) {
        // The last three columns are times.
        let fixed = |line: &str| line.rsplitn(4, ',').last().map(str::to_owned);
        assert_eq!(fixed(first), fixed(second));
    }
    let last = folder.read("first/events.jsonl");
    let last: serde_json::Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
    assert_eq!((&last["kind"], &last["status"]), (&"end".into(), &"finished".into()));
    assert!(last["time"].as_str().is_some_and(|time| time.ends_with('Z')));
}

#[test]
fn a_linear_rule_is_learnt_and_random_labels_are_not() {
    let accuracy = |labels: &str| {
        let options = format!("--set data.labels={labels} --set data.validation=0.2");
        let ran = Folder::new().run(&format!("train mlp {options} --json")).succeeded();
        ran.json()["validation"]["accuracy"].as_f64().unwrap()
    };
    assert!(accuracy("linear") > 0.8);
    assert!(accuracy("random") < 0.62, "labels without a rule cannot be predicted");
}

#[test]
fn real_tables_reach_what_a_small_network_reaches_there() {
    let Some(data) = shared_data() else { return };
    let tables = data.join("tabular");
    let tables = tables.display();
    let check = |file: &str, target: &str, more: &str, metric: &str, least: f64| {
        let options = format!("--set data.path={tables}/{file} --set data.target={target} {more}");
        let ran = Folder::new().run(&format!("train mlp --set data.source=csv {options} --json"));
        let reached = ran.succeeded().json()["validation"][metric].as_f64().unwrap();
        assert!(reached >= least, "{file}: {metric} {reached}");
    };
    check("pima-indians-diabetes.csv", "-1", "", "accuracy", 0.74);
    check("iris.csv", "species", "", "accuracy", 0.86);
    check("wine.csv", "0", "", "accuracy", 0.94);
    check("titanic.csv", "Survived", "", "accuracy", 0.76);
    let tes = format!("--set data.validation_path={tables}/optdigits.tes");
    check("optdigits.tra", "-1", &tes, "accuracy", 0.96);
    let few = "--set training.epochs=20";
    check("california_housing.csv", "median_house_value", few, "r2", 0.7);
}

#[test]
fn rows_are_predicted_as_they_were_trained() {
    let folder = Folder::new();
    // The class follows from the first column; the second is a category, the third sometimes empty.
    let mut table = "size,colour,weight,kind\n".to_owned();
    for row in 0..200 {
        let (size, kind) = if row % 2 == 0 { (row, "small") } else { (1000 + row, "large") };
        let colour = ["red", "green", "blue"][row % 3];
        let weight = if row % 7 == 0 { String::new() } else { row.to_string() };
        table += &format!("{size},{colour},{weight},{kind}\n");
    }
    folder.write("table.csv", &table);
    let options = "--set data.source=csv --set data.path=table.csv --set data.target=kind \
                   --set training.epochs=30 --run-dir run";
    let ran = folder.run(&format!("train mlp {options}")).succeeded();
    assert!(ran.stderr.contains("note: column `weight`: "), "{}", ran.stderr);

    // With a header in another order and without the target; a category never seen; from stdin.
    let rows = "colour,weight,size\nred,5,10\npurple,,1100\n";
    let ran = folder.run_with("predict run - --json", rows).succeeded();
    let told = "note: `standard input`: column `colour`: the value `purple` is \
                not in the training rows";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    let lines: Vec<serde_json::Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["class"], &lines[1]["class"]), (&"small".into(), &"large".into()));
    assert_eq!(lines[0]["input"], "standard input:2");
    let top = lines[0]["top"].as_array().unwrap();
    let total: f64 = top.iter().map(|class| class["probability"].as_f64().unwrap()).sum();
    assert!(top.len() == 2 && (total - 1.0).abs() < 1e-6);

    // The training file itself: every row, all right.
    let ran = folder.run("predict run table.csv --json").succeeded();
    for (line, row) in ran.stdout.lines().zip(table.lines().skip(1)) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(row.ends_with(line["class"].as_str().unwrap()), "{line} for {row}");
    }
    assert_eq!(ran.stdout.lines().count(), 200);

    // Wrong rows cost themselves alone, and the exit code.
    let rows = "colour,weight,size\nred,5,10\nred,five,10\nred,5\nred,5,1100\n";
    let ran = folder.run_with("predict run -", rows);
    assert_eq!(ran.code, Some(3), "{ran:#?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("standard input:2: small"), "{lines:?}");
    assert!(lines[1].starts_with("standard input:5: large") && lines.len() == 2, "{lines:?}");
    for error in ["standard input:3: column `weight`: `five`", "standard input:4: the row has 2"] {
        assert!(ran.stderr.contains(error), "{}", ran.stderr);
    }
    assert!(!ran.stderr.contains("data.columns"), "{}", ran.stderr);
}

#[test]
fn a_packed_table_is_read_as_the_plain_one() {
    let folder = Folder::new();
    let rows: String = (0..100).map(|row| format!("{row},{}\n", ["a", "b"][row % 2])).collect();
    let table = format!("x,kind\n{rows}");
    folder.write("plain.csv", &table);
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(table.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    folder.write("cut.csv.gz", &packed[..packed.len() - 9]);
    folder.write("packed.csv.gz", packed);
    let train = |table: &str, run: &str| {
        folder.run(&format!(
            "train mlp --set data.source=csv --set data.path={table} --set data.target=kind --max-steps 3 \
             --run-dir {run}"
        ))
    };
    train("plain.csv", "plain").succeeded();
    train("packed.csv.gz", "packed").succeeded();
    let compared = folder.run("compare plain packed").succeeded().stdout;
    assert!(compared.contains("plain, packed (equal)"), "{compared}");
    let predicted = |table: &str| {
        let printed = folder.run(&format!("predict plain {table}")).succeeded().stdout;
        printed.replace(table, "table")
    };
    assert_eq!(predicted("packed.csv.gz"), predicted("plain.csv"));
    train("cut.csv.gz", "cut").refused(3, "`cut.csv.gz` ends within its gzip data");
    folder.run("train packed.csv.gz").refused(2, "recipes train mlp --set data.source=csv");
}

#[test]
fn a_value_is_predicted_in_the_units_of_the_table() {
    let folder = Folder::new();
    let rows: String = (0..300).map(|x| format!("{x},{}\n", 1000 + 50 * x)).collect();
    folder.write("table.csv", format!("x,price\n{rows}"));
    let options = "--set data.source=csv --set data.path=table.csv --set data.target=price";
    let ran = folder.run(&format!("train mlp {options} --run-dir run --json")).succeeded();
    assert!(ran.json()["validation"]["r2"].as_f64().unwrap() > 0.99);

    let ran = folder.run_with("predict run - --json", "x\n100\n").succeeded();
    let value = ran.json()["value"].as_f64().unwrap();
    assert!((value - 6000.0).abs() < 300.0, "{value}");
    // For a person: no thousands are marked, and nothing is rounded away.
    let text = folder.run_with("predict run -", "x\n100\n").succeeded().stdout;
    let shown: f64 = text.trim_end().rsplit(' ').next().unwrap().parse().unwrap();
    assert!((shown - value).abs() < 0.006, "{text} {value}");
}

/// They have more digits in common than an f32 has.
#[test]
fn values_that_lie_close_together_are_told_apart() {
    for (first, step) in [(1.7e9, 1.0), (100.0, 1e-7)] {
        let folder = Folder::new();
        let truths: Vec<f64> = (0..200).map(|x| first + step * f64::from(x)).collect();
        let rows = truths.iter().enumerate().map(|(x, value)| format!("{x},{value}\n"));
        folder.write("table.csv", format!("x,y\n{}", rows.collect::<String>()));
        let data = "--set data.source=csv --set data.path=table.csv --set data.target=y \
                    --set data.task=regression --set training.epochs=20 --progress quiet";
        folder.run(&format!("train mlp {data} --run-dir run")).succeeded();

        // The values are those that are measured.
        let lines = folder.run("predict run table.csv --json").succeeded().stdout;
        let value =
            |line| serde_json::from_str::<serde_json::Value>(line).unwrap()["value"].as_f64();
        let values: Vec<f64> = lines.lines().map(|line| value(line).unwrap()).collect();
        assert_eq!(values.len(), truths.len());
        let squares: f64 = values.iter().zip(&truths).map(|(a, b)| (a - b).powi(2)).sum();
        let error = (squares / truths.len() as f64).sqrt();
        let measured = folder.run("eval run --data table.csv --json").succeeded().json();
        let measured = |name: &str| measured["metrics"][name].as_f64().unwrap();
        assert!((error / measured("rmse") - 1.0).abs() < 1e-3, "{error} {}", measured("rmse"));
        let distances: f64 = values.iter().zip(&truths).map(|(a, b)| (a - b).abs()).sum();
        let error = distances / truths.len() as f64;
        assert!((error / measured("mae") - 1.0).abs() < 1e-3, "{error} {}", measured("mae"));

        let last = |line: &str, before: char| -> f64 {
            line.rsplit(before).next().unwrap().parse().unwrap()
        };
        let rows = folder.run("predict run table.csv --csv").succeeded().stdout;
        assert!(rows.lines().skip(1).map(|row| last(row, ',')).eq(values.iter().copied()));
        let text = folder.run("predict run table.csv").succeeded().stdout;
        for (line, value) in text.lines().zip(&values) {
            assert!((last(line, ' ') - value).abs() < 0.1 * step, "{line} {value}");
        }
    }
}

#[test]
fn small_values_are_told_from_0() {
    let folder = Folder::new();
    let rows: String = (0..300).map(|x| format!("{x},{}e-8\n", 1000 + 50 * x)).collect();
    folder.write("table.csv", format!("x,current\n{rows}"));
    let options = "--set data.source=csv --set data.path=table.csv --set data.target=current";
    folder.run(&format!("train mlp {options} --run-dir run")).succeeded();
    let text = folder.run_with("predict run -", "x\n100\n").succeeded().stdout;
    let value: f64 = text.trim_end().rsplit(' ').next().unwrap().parse().unwrap();
    assert!((value - 6e-5).abs() < 1e-5, "{text}");
    let text = folder.run("eval run").succeeded().stdout;
    let error = text.lines().find_map(|line| line.trim().strip_prefix("rmse")).unwrap();
    assert!(error.trim().parse::<f64>().unwrap() > 0.0, "{text}");
}

/// The explained share of a variance that is zero would have no form in JSON.
#[test]
fn values_that_are_all_the_same_may_be_held_out() {
    let folder = Folder::new();
    let rows: String = (0..50).map(|x| format!("{x},{}\n", 1000 + 50 * x)).collect();
    folder.write("table.csv", format!("x,price\n{rows}"));
    folder.write("held-out.csv", "x,price\n1,1200\n2,1200\n");
    let data = "--set data.source=csv --set data.path=table.csv --set data.target=price \
                --set data.task=regression --set data.validation_path=held-out.csv";
    for run in ["first", "second"] {
        let ran =
            folder.run(&format!("train mlp {data} --max-steps 4 --run-dir {run}")).succeeded();
        assert!(!ran.stderr.contains("could not be written"), "{}", ran.stderr);
        let measured = &folder.json(&format!("{run}/summary.json"))["validation"];
        assert!(measured["rmse"].as_f64().unwrap() > 0.0, "{measured}");
        assert!(measured.get("r2").is_none(), "{measured}");
    }
    for command in ["resume first", "report first", "eval first", "compare first second"] {
        folder.run(command).succeeded();
    }
}

#[test]
fn runs_that_begin_at_once_have_directories_of_their_own() {
    let folder = Folder::new();
    let train = |seed: u64| {
        let arguments = format!("train mlp --max-steps 2 --progress quiet --json --seed {seed}");
        let mut command = folder.command();
        command.args(arguments.split_whitespace()).stdout(Stdio::null()).spawn().unwrap()
    };
    let children: Vec<Child> = (0..4).map(train).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let runs = std::fs::read_dir(folder.path("runs")).unwrap();
    let seed = |run: std::fs::DirEntry| {
        let name = run.file_name().into_string().unwrap();
        folder.json(&format!("runs/{name}/summary.json"))["seed"].as_u64().unwrap()
    };
    let mut seeds: Vec<u64> = runs.map(|run| seed(run.unwrap())).collect();
    seeds.sort_unstable();
    assert_eq!(seeds, [0, 1, 2, 3]);
}

#[test]
fn a_table_smaller_than_a_batch_trains() {
    let folder = Folder::new();
    folder.write("table.csv", "x,y\n1,a\n2,b\n3,a\n4,b\n5,a\n6,b\n");
    let options = "--set data.source=csv --set data.path=table.csv --set data.target=y";
    let ran = folder.run(&format!("train mlp {options} --set training.epochs=3 --json"));
    assert_eq!(ran.succeeded().json()["steps"], 3);
}

#[test]
fn rows_without_a_target_may_be_left_out() {
    let folder = Folder::new();
    let target = |row: usize| ["", "a", "b"][if row < 2 { 0 } else { 1 + row % 2 }];
    let rows: String = (0..40).map(|row| format!("{row}.5,{}\n", target(row))).collect();
    folder.write("table.csv", format!("x,y\n{rows}"));
    let train = "train mlp --set data.source=csv --set data.path=table.csv --set data.target=y \
                 --max-steps 1 --run-dir run --json";
    folder.run(train).refused(3, "table.csv:2: the target `y` is missing, and in 1 row below");
    let ran = folder.run(&format!("{train} --set data.on_missing_target=skip")).succeeded();
    assert_eq!(ran.json()["skipped_records"], 2);
    let note = "2 rows have no target and are left out, the first in line 2";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
}

#[test]
fn categories_are_embedded_and_an_unseen_one_is_predicted_too() {
    let folder = Folder::new();
    let mut table = "city,size,rich\n".to_owned();
    for row in 0..200 {
        let city = ["bonn", "kyoto", "lima", "oslo"][row % 4];
        table += &format!("{city},{},{}\n", row % 7, if row % 4 < 2 { "yes" } else { "no" });
    }
    folder.write("table.csv", table);
    let train = "train mlp --set data.source=csv --set data.path=table.csv --set data.target=rich \
                 --set model.embedding=3 --set training.epochs=60 \
                 --set optimizer.learning_rate=0.01 --progress quiet --json --run-dir run";
    let summary = folder.run(train).succeeded().json();
    assert_eq!(summary["test"], serde_json::Value::Null);
    assert_eq!(summary["validation"]["accuracy"], 1.0);
    // Four cities and one that is not known, three numbers each; then 3 + 1 features.
    assert_eq!(summary["parameters"], 5 * 3 + 4 * 64 + 64 + 64 + 1);

    folder.write("new.csv", "city,size\nkyoto,1\noslo,1\ntimbuktu,1\n");
    let predicted = folder.run("predict run new.csv").succeeded().stdout;
    let lines: Vec<&str> = predicted.lines().collect();
    assert!(lines[0].contains("yes") && lines[1].contains("no") && lines.len() == 3, "{predicted}");

    folder.write("ids.csv", "id,city,size\n\"7, a\",kyoto,1\n8,oslo,x\n9,oslo,1\n");
    let kept = folder.run("predict run ids.csv --csv --keep id --keep size");
    let rows: Vec<&str> = kept.stdout.lines().collect();
    assert_eq!(rows[0], "input,id,size,class,probability", "{kept:?}");
    assert!(rows[1].starts_with("ids.csv:2,\"7, a\",1,yes,"), "{kept:?}");
    assert_eq!(rows[2], "ids.csv:3,8,x,,", "{kept:?}");
    assert!(rows[3].starts_with("ids.csv:4,9,1,no,"), "{kept:?}");
    let unknown = folder.run("predict run ids.csv --csv --keep ide");
    unknown.refused(2, "`ids.csv` has no column `ide`");
    folder.write("none.csv", "size,city\n");
    let none = folder.run("predict run/model.safetensors none.csv --csv").succeeded();
    assert_eq!(none.stdout, "input,class,probability\n");
    assert!(none.stderr.contains("`none.csv` has a header and no rows"), "{none:?}");

    let predicted = folder.run("predict run new.csv --csv --probabilities").succeeded().stdout;
    let rows: Vec<Vec<&str>> = predicted.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0], ["input", "class", "probability_no", "probability_yes"]);
    for (row, class) in rows[1..].iter().zip(["yes", "no"]) {
        let [no, yes] = [row[2], row[3]].map(|cell| cell.parse::<f64>().unwrap());
        assert!((no + yes - 1.0).abs() < 1e-6 && (yes > no) == (class == "yes"), "{predicted}");
        assert_eq!(row[1], class);
    }

    folder.run("train mlp --set model.embedding=3").refused(2, "`model.embedding` has no effect");
}

#[test]
fn training_in_bf16_or_f16_comes_to_nearly_the_same() {
    let folder = Folder::new();
    let train = |precision: &str| {
        let options = "--set data.labels=linear --set training.epochs=100 --progress quiet";
        let chosen = format!("--set training.precision={precision} --run-dir {precision}");
        let ran = folder.run(&format!("train mlp {options} {chosen}"));
        if ran.code == Some(4) {
            let missing = format!("does not support {precision}");
            assert!(ran.stderr.contains(&missing) && ran.stderr.contains("help: "));
            return None;
        }
        ran.succeeded();
        folder.json(&format!("{precision}/summary.json"))["validation"]["loss"].as_f64()
    };
    let full = train("f32").unwrap();
    for (precision, error) in [("bf16", 0.02), ("f16", 0.003)] {
        let Some(rounded) = train(precision) else { continue };
        let close = (rounded - full).abs() < error * full;
        assert!(rounded != full && close, "{precision}: {rounded} {full}");
    }
}

/// Two classes that overlap, of which one is rare: its samples are found only if they count more.
#[test]
fn rare_classes_are_found_where_classes_count_alike() {
    let folder = Folder::new();
    let row = |index: usize| {
        let (rare, place) = (index.is_multiple_of(16), (index * 37 % 101) as f64 / 50.0);
        let (x, class) = if rare { (place + 0.8, "rare") } else { (place, "frequent") };
        format!("{x},{class}\n")
    };
    let rows: String = (0..960).map(row).collect();
    folder.write("table.csv", format!("x,class\n{rows}"));
    let train = "train mlp --set data.source=csv --set data.path=table.csv \
                 --set data.target=class --set training.epochs=40 --progress plain";
    let recall = |run: &str, settings: &str| {
        let ran = folder.run(&format!("{train} {settings} --run-dir {run}")).succeeded();
        let classes = folder.run(&format!("eval {run} --json")).succeeded().json();
        let rare = classes["per_class"].as_array().unwrap().iter();
        let rare = rare.into_iter().find(|class| class["class"] == "rare").unwrap();
        (rare["recall"].as_f64().unwrap(), ran.stderr)
    };
    let note = "class `frequent` has 15 times as many samples as class `rare`";
    let (found, told) = recall("equal", "");
    assert!(found < 0.3 && told.contains(note), "{found}: {told}");
    let (found, told) = recall("balanced", "--set data.class_weights=balanced");
    assert!(found > 0.6 && !told.contains(note), "{found}: {told}");
}

#[test]
fn a_table_that_cannot_be_read_leaves_the_others_predicted() {
    let folder = Folder::new();
    let rows = "1.5,a\n2.5,b\n".repeat(10);
    folder.write("table.csv", format!("size,kind\n{rows}"));
    folder.write("other.csv", format!("sizes,kind\n{rows}"));
    let train = "train mlp --set data.source=csv --set data.path=table.csv --set data.target=kind";
    folder.run(&format!("{train} --max-steps 2 --progress quiet --run-dir run")).succeeded();
    let ran = folder.run("predict run other.csv table.csv none.csv --csv");
    assert_eq!(ran.stdout.lines().last(), Some("none.csv,,"));
    let ran = ran.refused(3, "error: `other.csv` has no column `size`");
    assert!(ran.stderr.contains("help: rename `sizes`, if it is meant"), "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot read `none.csv`"), "{}", ran.stderr);
    assert_eq!(ran.stdout.lines().filter(|line| line.starts_with("table.csv:")).count(), 20);
}

#[test]
fn what_is_for_classes_is_refused_elsewhere() {
    let folder = Folder::new();
    folder.write("table.csv", "x,y\n".to_owned() + &"1,2.5\n3,4.25\n5,0.125\n".repeat(9));
    let train = "train mlp --set data.source=csv --set data.path=table.csv --set data.target=y";
    folder
        .run(&format!("{train} --set data.task=regression --set data.class_weights=balanced"))
        .refused(2, "`data.class_weights = \"balanced\"` is for classes, and `y` is a value");
    folder
        .run(&format!("{train} --set training.monitor=macro_f1"))
        .refused(2, "`training.monitor = \"macro_f1\"` is for classes, and `y` is a value");
    folder
        .run("plan lstm --set training.monitor=macro_f1")
        .refused(2, "`training.monitor = \"macro_f1\"` is for classes, and this recipe predicts");
    let typo = "did you mean `\"balanced\"`?";
    let ran = folder.run(&format!("{train} --set data.class_weights=balance"));
    assert!(ran.refused(2, "data.class_weights").stderr.contains(typo));
}

#[test]
fn units_are_dropped_while_training_only() {
    let folder = Folder::new();
    let train = "train mlp --set data.labels=linear --max-steps 40 --progress quiet";
    let loss = |run: &str, settings: &str| {
        folder.run(&format!("{train} {settings} --run-dir {run}")).succeeded();
        let report = folder.run(&format!("eval {run} --json")).succeeded().json();
        let summary = folder.json(&format!("{run}/summary.json"));
        assert_eq!(report["metrics"]["loss"], summary["validation"]["loss"]);
        summary["train"]["loss"].as_f64().unwrap()
    };
    assert_ne!(loss("without", ""), loss("with", "--set model.dropout=0.5"));
    folder
        .run(&format!("{train} --set model.dropout=1"))
        .refused(2, "`model.dropout` must be at least 0 and below 1");
}
