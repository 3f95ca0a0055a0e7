//! A value whose logarithm is learnt.

use crate::folder::Folder;

const DATA: &str = "--set data.source=csv --set data.path=sales.csv --set data.target=sales";
const LOG: &str = "--set data.target_scale=log";

/// Values from 1 to a million that double from row to row, with a feature that tells the exponent.
fn sales() -> Folder {
    let folder = Folder::new();
    let row = |row: usize| {
        let exponent = row * 7 % 20;
        format!("{exponent},{},{}\n", row % 3, 1.5 * f64::from(1 << exponent))
    };
    folder.write("sales.csv", format!("size,day,sales\n{}", (0..200).map(row).collect::<String>()));
    folder
}

#[test]
fn predictions_and_errors_are_in_the_value_s_units() {
    let folder = sales();
    let train = format!("train mlp {DATA} {LOG} --max-steps 400 --progress quiet --run-dir run");
    folder.run(&train).succeeded();

    let measured = folder.run("eval run --csv").succeeded().stdout;
    let mut lines = measured.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let (truth, prediction) = (column("target"), column("value"));
    let rows: Vec<[f64; 2]> = lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            [truth, prediction].map(|column| cells[column].parse().unwrap())
        })
        .collect();
    assert!(rows.iter().all(|[_, prediction]| *prediction > 0.0), "{measured}");
    // Of values that are powers of two, times 1.5, as in the file.
    assert!(rows.iter().all(|[truth, _]| (truth / 1.5).log2().fract() == 0.0), "{measured}");
    let within = rows.iter().filter(|[truth, prediction]| (prediction / truth).ln().abs() < 0.5);
    assert!(within.count() > rows.len() / 2, "in proportion, small values are as near: {measured}");

    let count = rows.len() as f64;
    let errors = || rows.iter().map(|[truth, prediction]| prediction - truth);
    let mae = errors().map(f64::abs).sum::<f64>() / count;
    let rmse = (errors().map(|error| error * error).sum::<f64>() / count).sqrt();
    let metrics = folder.run("eval run --json").succeeded().json()["metrics"].clone();
    for (name, expected) in [("mae", mae), ("rmse", rmse)] {
        let found = metrics[name].as_f64().unwrap();
        assert!((found / expected - 1.0).abs() < 1e-3, "{name}: {found}, {expected} by the rows");
    }
    // Far from all to train on, where predictions are beyond what an f32 holds.
    folder.write("far.csv", "size,day,sales\n3000,1,1.5\n3,1,12\n");
    let far = folder.run("eval run --data far.csv --json").succeeded().json();
    assert!(far["metrics"]["rmse"].as_f64().is_some_and(|rmse| rmse > 1e9), "{far}");
    let summary = folder.json("run/summary.json");
    assert_eq!(summary["validation"]["rmse"], metrics["rmse"]);

    folder.run("resume run --set training.max_steps=420").succeeded();
    let changed = "resume run --set data.target_scale=linear";
    folder.run(changed).refused(2, "`data.target_scale`");
}

#[test]
fn a_skewed_target_is_told_unless_its_logarithm_is_learnt() {
    let folder = sales();
    let inspect = "data inspect csv sales.csv --target sales --set data.task=regression";
    let note = "`data.target_scale=log` may predict them better";
    assert!(folder.run(inspect).succeeded().stdout.contains(note));
    let told = folder.run(&format!("{inspect} {LOG}")).succeeded().stdout;
    assert!(told.contains("target `sales`: regression, of its logarithm"), "{told}");
    assert!(!told.contains(note), "{told}");
}

#[test]
fn what_has_no_logarithm_is_refused() {
    let folder = sales();
    let plan = format!("plan mlp {DATA} {LOG}");
    for (value, shown) in [("0", "0"), ("-2.5", "-2.5")] {
        folder.write("sales.csv", format!("size,sales\n1,2\n2,{value}\n{}", "3,4\n".repeat(30)));
        let error = format!("the target of line 3 is {shown}, which has no logarithm");
        let ran = folder.run(&format!("{plan} --set data.validation=0"));
        ran.refused(3, &error);
    }
    folder.write("new.csv", "size,sales\n1,2\n2,-1\n");
    folder.write("sales.csv", format!("size,sales\n{}", "1,2\n2,3.5\n3,4\n".repeat(30)));
    folder.run(&format!("{plan} --set data.test_path=new.csv")).refused(3, "`new.csv`");

    folder.write("classes.csv", format!("size,kind\n{}", "1,a\n2,b\n".repeat(30)));
    let of_classes =
        "plan mlp --set data.source=csv --set data.path=classes.csv --set data.target=1";
    folder
        .run(&format!("{of_classes} {LOG}"))
        .refused(3, "the target `kind` is text, not a number");
    let log_of_classes = format!("{of_classes} {LOG} --set data.task=binary");
    folder.run(&log_of_classes).refused(2, "is for a value, and `kind` has classes");
    folder.run(&format!("plan mlp {LOG}")).refused(2, "`data.target_scale`");
    folder.run(&format!("plan mlp {DATA} --set data.target_scale=lg")).refused(2, "log");
}
