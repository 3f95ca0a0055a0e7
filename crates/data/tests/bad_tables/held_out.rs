//! Which rows are held out.

use data::{HoldOut, Origins, Table};

use super::*;

/// The lines that the rows of a table come from.
pub(crate) fn lines(table: &Table) -> &[u64] {
    let Origins::Lines(lines) = &table.origins else { panic!("{:?}", table.origins) };
    lines
}

/// Sixty visits of ten patients, in the order of time.
fn visits() -> String {
    let row = |i: usize| format!("p{},{}.5,{}\n", i % 10, i * 7 % 60, i % 3 % 2);
    format!("patient,x,y\n{}", (0..60).map(row).collect::<String>())
}

#[test]
fn rows_of_a_group_are_on_one_side_and_its_name_is_no_feature() {
    let text = visits();
    let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, options| {
        (options.fractions.validation, options.group) = (0.2, Some("patient".to_owned()));
    });
    let splits = result.unwrap();
    assert_eq!(splits.preprocessing.feature_names(), ["x"]);
    let patients = |lines: &[u64]| -> Vec<u64> {
        let mut patients: Vec<u64> = lines.iter().map(|line| (line - 2) % 10).collect();
        patients.sort_unstable();
        patients.dedup();
        patients
    };
    let held_out = patients(lines(&splits.validation.unwrap()));
    let trained = patients(lines(&splits.train));
    assert_eq!((held_out.len(), trained.len()), (2, 8));
    assert!(held_out.iter().all(|patient| !trained.contains(patient)));
    let dropped = "column `patient` is dropped: it names the groups of `data.group`";
    assert!(splits.notes.iter().any(|note| note.starts_with(dropped)), "{:?}", splits.notes);
}

#[test]
fn groups_of_another_file_that_are_trained_on_are_told() {
    let others = "patient,x,y\np1,1.5,0\np1,2.5,1\np8,1.5,1\nq,2.5,0\n,3.5,1\np2,1.5,\n";
    let told = |test: f64| {
        let files = [("a.csv", visits()), ("b.csv", others.to_owned())];
        let files = files.each_ref().map(|(name, text)| (*name, text.as_bytes()));
        let (_folder, result) = read(&files, |folder, options| {
            options.group = Some("patient".to_owned());
            options.on_missing_target = OnMissingTarget::Skip;
            options.validation_path = Some(folder.join("b.csv"));
            options.fractions.test = test;
        });
        let notes = result.unwrap().notes;
        let told = notes.iter().filter_map(|note| note.split_once("b.csv`: "));
        let told = told.map(|(_, note)| note.to_owned());
        told.filter(|note| note.contains("it shares")).collect::<Vec<_>>()
    };
    let note = |shared: usize| {
        format!(
            "it shares {shared} of its 3 values of `patient` with the rows to train on, so the result on it \
             says nothing about new ones"
        )
    };
    assert_eq!(told(0.0), [note(2)]);
    assert_eq!(told(0.7), [note(1)], "one of the two is held out to test on");
}

#[test]
fn a_row_of_no_group_is_a_group_of_its_own() {
    let row =
        |i: usize| format!("{},{}.5,{}\n", if i < 20 { "NA" } else { "p" }, i * 7 % 40, i % 2);
    let text = format!("patient,x,y\n{}", (0..40).map(row).collect::<String>());
    let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, options| {
        (options.fractions.validation, options.group) = (0.25, Some("patient".to_owned()));
    });
    let splits = result.unwrap();
    let note =
        "20 rows without a value in `patient`, such as line 2: each counts as a group of its own";
    assert!(splits.notes.iter().any(|told| told.starts_with(note)), "{:?}", splits.notes);
    let validation = splits.validation.unwrap();
    let held_out = lines(&validation);
    assert_eq!(held_out.len(), 10);
    assert!(held_out.iter().all(|&line| line < 22), "{held_out:?}");
}

#[test]
fn the_last_rows_are_held_out_where_rows_are_in_the_order_of_time() {
    let text = visits();
    let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, options| {
        (options.fractions.validation, options.hold_out) = (0.2, HoldOut::Last);
    });
    let splits = result.unwrap();
    let validation = splits.validation.unwrap();
    let held_out = lines(&validation);
    assert!(held_out.iter().copied().eq(50..62), "{held_out:?}");
}

/// Random rows among others of the same days would be told from these.
#[test]
fn rows_that_are_in_the_order_of_time_are_noticed() {
    let row =
        |i: usize| format!("2024-{:02}-{:02},{}.5,{}\n", 1 + i / 28, 1 + i % 28, i * 7 % 56, i % 2);
    let rows: Vec<String> = (0..56).map(row).collect();
    let told = |rows: &[String], hold_out| {
        let text = format!("day,x,y\n{}", rows.concat());
        let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, options| {
            (options.fractions.validation, options.hold_out) = (0.2, hold_out);
        });
        let notes = result.unwrap().notes;
        notes.iter().any(|note| note.starts_with("the rows are in the order of `day`, but"))
    };
    assert!(told(&rows, HoldOut::Random) && !told(&rows, HoldOut::Last));
    let mut shuffled = rows;
    shuffled.swap(3, 40);
    assert!(!told(&shuffled, HoldOut::Random));
}

#[test]
fn a_class_that_is_held_out_alone_is_told() {
    let row =
        |i: usize| format!("{}.5,{}\n", i * 7 % 30, if i < 26 { ["a", "b"][i % 2] } else { "c" });
    let text = format!("x,y\n{}", (0..30).map(row).collect::<String>());
    let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, options| {
        (options.fractions.validation, options.hold_out) = (0.2, HoldOut::Last);
    });
    let note = "class `c` has no rows to train on, so it is never predicted";
    let notes = result.unwrap().notes;
    assert!(notes.iter().any(|told| told == note), "{notes:?}");
}

#[test]
fn groups_that_cannot_be() {
    let text = visits();
    for (group, error, help) in [
        ("nobody", "`a.csv` has no column `nobody`", "patient"),
        ("y", "`y` is the target of `a.csv`, so it cannot name groups", "whose rows they are"),
    ] {
        let set = |_: &Path, options: &mut CsvOptions| options.group = Some(group.to_owned());
        check(&[("a.csv", text.as_bytes())], set, error, help);
    }
    let one = text.replace(['1', '2', '3', '4', '5', '6', '7', '8', '9'], "0");
    let one: String = one.lines().enumerate().map(|(i, row)| format!("{row}{}\n", i % 2)).collect();
    let one = one.replace("patient,x,y0", "patient,x,y");
    let set = |_: &Path, options: &mut CsvOptions| {
        (options.fractions.validation, options.group) = (0.2, Some("patient".to_owned()));
    };
    let error = "there are too few groups of rows to hold any out";
    check(&[("a.csv", one.as_bytes())], set, error, "data.group");
}

#[test]
fn splits_that_are_too_small() {
    let two = b"x,y\n1,0\n2,1\n";
    check(
        &[("a.csv", two)],
        |_, options| options.fractions.validation = 0.5,
        "no class has a sample to spare, so none can be held out",
        "data.validation",
    );
    // However many they are.
    let many: String = (0..900).map(|i| format!("{},c{i}\n", i % 7)).collect();
    check(
        &[("a.csv", format!("x,y\n{many}").as_bytes())],
        |_, options| (options.fractions.validation, options.task) = (0.2, Some(Task::Multiclass)),
        "no class has a sample to spare, so none can be held out",
        "data.validation",
    );
    for fraction in [1.0, -0.1, f64::NAN] {
        let error = format!(
            "the share to hold out is {fraction} in all, and must be at least 0 and below 1"
        );
        check(&[("a.csv", two)], |_, o| o.fractions.validation = fraction, &error, "0.1");
    }
}
