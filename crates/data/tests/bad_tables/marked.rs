//! What marks a missing value besides the usual.

use super::*;

#[test]
fn what_the_user_names_is_missing_where_it_is_trained_on_and_where_it_is_predicted() {
    let row = |i: usize| match i % 7 {
        3 => format!("-999,unknown,{}\n", i % 2),
        _ => format!("{}.5,{},{}\n", i, ["u", "v"][i % 3 % 2], i % 2),
    };
    let text = format!("x,word,y\n{}", (0..42).map(row).collect::<String>());
    let missing = ["-999", "unknown"].map(str::to_owned).to_vec();
    let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, options| {
        options.missing = missing.clone();
    });
    let splits = result.unwrap();
    let notes = splits.notes.join("\n");
    assert!(notes.contains("column `x`: 6 missing values are replaced by the mean"), "{notes}");
    assert!(notes.contains("column `word`: 6 missing values are replaced by"), "{notes}");
    assert_eq!(splits.preprocessing.feature_names(), ["x", "word=u", "word=v"]);

    let rows = |text: &str| {
        let mut reader = RowReader::new(text.as_bytes(), "b.csv", &splits.preprocessing).unwrap();
        reader.keep(&["x".to_owned()]).unwrap();
        reader.next_rows(9).unwrap().unwrap()
    };
    let (marked, empty) = (rows("x,word\n-999,unknown\n"), rows("x,word,z\n,,1\n"));
    assert_eq!(marked.features, empty.features);
    assert_eq!(marked.kept, [["-999"]]);
    assert_eq!(marked.notes, [""; 0]);
}

#[test]
fn a_mark_that_nobody_named_is_pointed_out() {
    let row = |i: usize| match i % 7 {
        3 => format!("-999.0,{}\n", i % 2),
        _ => format!("{i}.5,{}\n", i % 2),
    };
    let text = format!("x,y\n{}", (0..42).map(row).collect::<String>());
    let told = |missing: &[&str]| {
        let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, options| {
            options.missing = missing.iter().map(|mark| (*mark).to_owned()).collect();
        });
        result.unwrap().notes.join("\n")
    };
    let note = "column `x`: 6 cells hold -999, far from all others; if that marks a missing value, \
                name it in `data.missing`";
    assert!(told(&[]).contains(note), "{}", told(&[]));
    assert!(!told(&["-999"]).contains("far from all others"), "{}", told(&["-999"]));
}

/// Which pandas writes for -999 where it writes decimal commas.
#[test]
fn marks_among_decimal_commas() {
    let row = |i: usize| match i % 5 {
        1 => format!("{i}.999;{}\n", i % 2), // thousands, and not the mark `1.9990`
        2 => format!("k.A.;{}\n", i % 2),
        3 => format!("-999,0;{}\n", i % 2),
        _ => format!("{},25;{}\n", i, i % 2),
    };
    let text = format!("x;y\n{}", (0..20).map(row).collect::<String>());
    let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, options| {
        options.missing = ["k.A.", "-999,0", "1.9990"].map(str::to_owned).to_vec();
    });
    let splits = result.unwrap();
    let notes = splits.notes.join("\n");
    assert!(notes.contains("column `x`: 8 missing values are replaced by the mean"), "{notes}");
    assert!(notes.contains("no cell is `1.9990`"), "{notes}");
    let rows = "x;z\nk.A.;1\n3,25;2\n-999,00;3\n";
    let mut reader = RowReader::new(rows.as_bytes(), "b.csv", &splits.preprocessing).unwrap();
    reader.keep(&["x".to_owned()]).unwrap();
    let rows = reader.next_rows(9).unwrap().unwrap();
    assert_eq!(rows.kept, [["k.A."], ["3,25"], ["-999,00"]]);
    assert_eq!([rows.features[0], rows.features[2]], [0.0; 2], "the mean");
}

#[test]
fn a_mark_is_neither_a_name_nor_another_number() {
    // pandas' names of columns without one, and its way to write a whole number among others.
    let row = |i: usize| match i % 5 {
        2 => format!("-1.0,0,{}\n", i % 2),
        _ => format!("{}.5,{},{}\n", i, i % 3, i % 2),
    };
    let text = format!("0,1,y\n{}", (0..20).map(row).collect::<String>());
    let (_folder, result) =
        read(&[("a.csv", text.as_bytes()), ("v.csv", text.as_bytes())], |at, options| {
            options.missing = ["-1", "0", "none"].map(str::to_owned).to_vec();
            (options.header, options.target) = (Some(true), TargetColumn::Name("y".to_owned()));
            options.on_missing_target = OnMissingTarget::Skip;
            options.validation_path = Some(at.join("v.csv"));
        });
    let Err(error) = result else { panic!("the class 0 is gone, so there is one left") };
    assert_eq!(
        error.to_string().rsplit_once("`: ").unwrap().1,
        "the target `y` is `1` in every row"
    );

    let text = text.replace(",1\n", ",b\n").replace(",0\n", ",a\n").replace(",y\n", ",none\n");
    let (_folder, result) =
        read(&[("a.csv", text.as_bytes()), ("v.csv", text.as_bytes())], |at, options| {
            options.missing = ["-1", "0", "none"].map(str::to_owned).to_vec();
            options.header = Some(true);
            options.validation_path = Some(at.join("v.csv"));
        });
    let splits = result.unwrap();
    assert_eq!(splits.preprocessing.feature_names(), ["0", "1"]);
    assert_eq!(splits.train, splits.validation.unwrap());
    let notes = splits.notes.join("\n");
    assert!(notes.contains("column `0`: 4 missing values"), "{notes}");
    let unused = "no cell is `none`, which `data.missing` takes for a missing value";
    assert!(notes.contains(unused) && !notes.contains("no cell is `-1`"), "{notes}");
}
