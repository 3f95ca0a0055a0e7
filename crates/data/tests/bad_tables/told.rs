//! What is told of a table that can be read.

use super::*;

/// The notes of a table whose target is the last column, joined.
fn notes(text: &str) -> (TableSplits, String) {
    let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, _| {});
    let splits = result.expect("a good table");
    let notes = splits.notes.join("\n");
    (splits, notes)
}

#[test]
fn a_text_that_names_the_target_makes_a_header() {
    let check = |header: &str, row: &dyn Fn(usize) -> String, expected: bool| {
        let rows: String = (0..150).map(|index| row(index) + "\n").collect();
        let (splits, notes) = notes(&format!("{header}\n{rows}"));
        assert_eq!(splits.preprocessing.header, expected, "{header}");
        assert_eq!(splits.train.rows(), 151 - usize::from(expected), "{header}");
        let told = match expected {
            true => format!("the first line, `{header}`, is the header"),
            false => format!("there is no header: the first line, `{header}`, is a sample"),
        };
        assert!(notes.starts_with(&told), "{notes}");
    };
    let letter = |index: usize| ["x", "y", "z"][index % 3];
    let letters = |i: usize| format!("{},{},{}", letter(i), letter(i / 2), ["p", "e"][i / 3 % 2]);
    check("cap,odor,class", &letters, true);
    check("x,y,p", &letters, false);
    let years = |i: usize| format!("{i}.5,{},{}", 2 * i, letter(i));
    check("2022,2023,label", &years, true);
    check("2022,2023,z", &years, false);
    check("2022,2023,2024", &|i| format!("{i},{},{}", 2 * i, i % 4), false);
    check("2022,2023,price", &|i| format!("{i},{},{}.5", 2 * i, 3 * i), true);
}

#[test]
fn the_first_line_is_shown_as_it_is_written() {
    let rows = |delimiter: &str| {
        let rows = (0..30).map(|i| format!("{i}{delimiter}{}\n", i % 2));
        format!("x{delimiter}y\n{}", rows.collect::<String>())
    };
    for (delimiter, shown) in [(",", "x,y"), (";", "x;y"), ("\t", r"x\ty")] {
        let (_, notes) = notes(&rows(delimiter));
        assert!(notes.starts_with(&format!("the first line, `{shown}`, is the header")), "{notes}");
    }
}

#[test]
fn names_and_classes_of_several_lines_are_read_as_one() {
    let rows = "0.5,\"not\nsold\"\n1.5,sold\n2.5,not sold\n".repeat(10);
    let text = format!("\"price\r\n(thousand)\",\"state \n at the end\"\n{rows}");
    let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, options| {
        options.target = TargetColumn::Name("state at the end".into());
    });
    let preprocessing = result.unwrap().preprocessing;
    assert_eq!(preprocessing.columns[0].name, "price (thousand)");
    assert_eq!(preprocessing.target.classes(), ["not sold", "sold"]);
}

#[test]
fn a_class_that_comes_again_far_below_is_no_header() {
    let rows = "1,a\n2,b\n".repeat(200);
    let (splits, _) = notes(&format!("3,rare\n{rows}4,rare\n"));
    assert_eq!((splits.preprocessing.header, splits.train.rows()), (false, 402));
}

#[test]
fn what_separates_cells_is_found_or_told() {
    let rows = |separator: char| {
        let rows = (0..30).map(|i| format!("{i}{separator}{}\n", i % 2));
        format!("x{separator}t\n{}", rows.collect::<String>())
    };
    let (_folder, result) = read(&[("a.csv", rows('|').as_bytes())], |_, options| {
        options.target = TargetColumn::Name("t".into());
    });
    assert_eq!(result.unwrap().preprocessing.feature_names(), ["x"]);
    check(
        &[("a.csv", rows(' ').as_bytes())],
        |_, options| options.target = TargetColumn::Name("t".into()),
        "`a.csv` has no column `t`",
        "tr -s ' ' ,",
    );
    let error = "`a.csv` has no column to learn from beside the target `column_0`";
    check_text(&rows(' '), error, "tr -s ' ' ,");
}

#[test]
fn a_column_that_is_called_as_an_index_is_named() {
    let rows: String = (0..30).map(|i| format!("{},{},{}\n", 3 * i, 2 * i, i % 2)).collect();
    let text = format!("2019,2020,2021\n{rows}");
    let set =
        |target: TargetColumn| move |_: &Path, options: &mut CsvOptions| options.target = target;
    let error = "`a.csv` has 3 columns, none of index 2021";
    let help = "`--set 'data.target=\"2021\"'`";
    check(&[("a.csv", text.as_bytes())], set(TargetColumn::Index(2021)), error, help);
    let (_folder, result) =
        read(&[("a.csv", text.as_bytes())], set(TargetColumn::Name("2021".into())));
    assert_eq!(result.unwrap().preprocessing.feature_names(), ["2019", "2020"]);
}

#[test]
fn numbers_that_are_written_for_people_are_told() {
    let rows: String = (0..30).map(|i| format!("${i}.5;{}%;{}\n", i % 3, i % 2)).collect();
    let (splits, notes) = notes(&format!("price;rate;y\n{rows}"));
    assert_eq!(splits.preprocessing.width(), 3);
    let expected = "column `price` is dropped: its numbers are written as `$0.5` in line 2 and \
                    read as text; write numbers with a point";
    assert!(notes.contains(expected), "{notes}");
    let expected = "column `rate` is read as categories: its numbers are written as `0%` in line 2";
    assert!(notes.contains(expected), "{notes}");

    let rows: String = (0..30).map(|i| format!("{i};{},300\n", 1 + i % 15)).collect();
    let error = "a.csv:2: column `price`: `1,300` is not a number";
    check_text(&format!("x;price\n{rows}"), error, "write numbers with a point");
}

#[test]
fn codes_with_zeros_before_them() {
    let row = |i: usize| format!("0703{},00{}\n", i % 7, 1 + 6 * (i % 2));
    let text = format!("zip,class\n{}", (0..40).map(row).collect::<String>());
    let (splits, notes) = notes(&text);
    assert_eq!(splits.preprocessing.target.classes(), ["001", "007"]);
    assert_eq!(splits.train.targets.labels()[..3], [0, 1, 0]);
    let expected = "column `zip` is read as numbers, such as `07030` in line 2; if these are codes, \
                    `--set data.columns.zip=categorical` tells them apart";
    assert!(notes.contains(expected), "{notes}");

    // However the classes of another file are written.
    let files: [(&str, &[u8]); 2] =
        [("a.csv", text.as_bytes()), ("b.csv", b"zip,class\n07030,7\n07031,001\n")];
    let (_folder, result) =
        read(&files, |folder, options| options.test_path = Some(folder.join("b.csv")));
    assert_eq!(result.unwrap().test.unwrap().targets.labels(), [1, 0]);
}

#[test]
fn categories_that_the_training_rows_lack_are_told() {
    let text = rows_and("1,u,0");
    let other = "x,word,y\n1,new,0\n2,u,0\n3,newer,1\n4,,1\n";
    let files: [(&str, &[u8]); 2] = [("a.csv", text.as_bytes()), ("b.csv", other.as_bytes())];
    let (folder, result) =
        read(&files, |folder, options| options.validation_path = Some(folder.join("b.csv")));
    let splits = result.unwrap();
    let told = |name: &str| {
        format!("`{name}`: column `word`: 2 values are not in the training rows, such as `new`")
    };
    let path = folder.path().join("b.csv");
    let path_note = told(&path.display().to_string());
    assert!(splits.notes.contains(&path_note), "{:?}", splits.notes);
    let (_, notes) = read_table(&path, &splits.preprocessing, None).unwrap();
    assert_eq!(notes, [path_note]);
    let rows = read_rows(other.as_bytes(), "stdin", &splits.preprocessing).unwrap();
    assert_eq!(rows.notes, [told("stdin")]);
    let rows = read_rows(&b"x,word\n1,u\n2,v\n"[..], "stdin", &splits.preprocessing).unwrap();
    assert!(rows.notes.is_empty());
}

#[test]
fn classes_that_may_be_quantities_are_told() {
    let check = |values: [&str; 3], task: Option<Task>, expected: &str| {
        let rows: String = (0..30).map(|i| format!("{i}.5,{}\n", values[i % 3])).collect();
        let text = format!("x,price\n{rows}");
        let (_folder, result) =
            read(&[("a.csv", text.as_bytes())], |_, options| options.task = task);
        let splits = result.unwrap();
        assert_eq!(splits.notes.last().map(String::as_str), Some(expected), "{values:?}");
    };
    let classes = "target `price`: multiclass, 3 classes";
    let told = "; if these are quantities, `--set data.task=regression` predicts a number";
    check(["1000", "1100", "2400"], None, &format!("{classes}{told}"));
    check(["1000", "1100", "2400"], Some(Task::Multiclass), classes);
    check(["1000", "1000", "2400"], None, "target `price`: binary, 2 classes");
    check(["001", "002", "010"], None, classes);
    check(["low", "mid", "high"], None, classes);
}

#[test]
fn quantities_that_may_be_classes_are_told() {
    let check = |rows: usize, fraction: &str, task: Option<Task>, expected: &str| {
        let row = |i: usize| format!("{i}.5,{}{fraction}\n", i % 21);
        let text = format!("x,letter\n{}", (0..rows).map(row).collect::<String>());
        let (_folder, result) =
            read(&[("a.csv", text.as_bytes())], |_, options| options.task = task);
        let splits = result.unwrap();
        assert_eq!(splits.notes.last().map(String::as_str), Some(expected), "{rows} {fraction}");
    };
    let values = "target `letter`: regression";
    let told = "; if its numbers are classes, `--set data.task=multiclass` tells them apart";
    check(210, "", None, &format!("{values}{told}"));
    check(210, ".0", None, &format!("{values}{told}"));
    check(210, "", Some(Task::Regression), values);
    check(210, ".5", None, values);
    check(209, "", None, values);
    check(210, "", Some(Task::Multiclass), "target `letter`: multiclass, 21 classes");
}

#[test]
fn a_class_of_which_nothing_is_held_out_is_told() {
    let rows: String = (0..40).map(|i| format!("{i}.5,{}\n", ["a", "b"][i % 2])).collect();
    let text = format!("x,y\n{rows}0.5,unique\n");
    let check = |validation: f64, expected: bool| {
        let (_folder, result) =
            read(&[("a.csv", text.as_bytes())], |_, options| options.validation = validation);
        let note = "class `unique` has 1 sample to train on, none to validate on".to_owned();
        assert_eq!(result.unwrap().notes.contains(&note), expected);
    };
    check(0.2, true);
    check(0.0, false);
}

#[test]
fn a_column_that_numbers_the_rows_is_dropped_unless_it_is_all_there_is() {
    let rows = |first: usize, others: &str| {
        let rows = (0..30).map(|i| format!("{}{others},{}\n", first + i, i % 2));
        let names = if others.is_empty() { "id,y" } else { "id,x,y" };
        format!("{names}\n{}", rows.collect::<String>())
    };
    let dropped = "column `id` is dropped: it numbers the rows";
    let numbers = "column `id` numbers the rows; `--set data.columns.id=drop` leaves it out";
    for (first, others, names, told) in [
        (0, ",7.5", &["x"][..], dropped),
        (1, ",7.5", &["x"], dropped),
        (1990, ",7.5", &["id", "x"], numbers),
        (0, "", &["id"], numbers),
    ] {
        let (splits, notes) = notes(&rows(first, others));
        assert_eq!(splits.preprocessing.feature_names(), names);
        assert!(notes.contains(told), "{notes}");
    }
    let text = rows(0, ",7.5");
    let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, options| {
        options.columns.insert("id".into(), ColumnOverride::Numeric);
    });
    assert_eq!(result.unwrap().preprocessing.feature_names(), ["id", "x"]);
}

/// As much of Europe writes numbers; the file to predict may leave open what its commas mean.
#[test]
fn decimal_commas_are_read_where_another_delimiter_divides_the_cells() {
    let rows = |size: &str, price: &str| {
        let rows = (0..30).map(|i| format!("{size};{price}{i};{}\n", i % 2));
        format!("size;price;y\n{}", rows.collect::<String>())
    };
    let (splits, notes) = notes(&rows("2.030", "-1,5"));
    let told = "numbers are read with a decimal comma, such as `-1,50` in line 2";
    assert!(notes.contains(told), "{notes}");
    let means: Vec<&ColumnKind> =
        splits.preprocessing.columns.iter().map(|column| &column.kind).collect();
    let mean = |kind: &ColumnKind| match kind {
        ColumnKind::Numeric { mean, .. } => *mean,
        other => panic!("{other:?}"),
    };
    assert!(mean(means[0]) == 2030.0 && (-1.6..-1.5).contains(&mean(means[1])), "{means:?}");
    let encoded = |text: &str| {
        let rows = read_rows(text.as_bytes(), "b.csv", &splits.preprocessing).unwrap();
        assert!(rows.refused.is_empty(), "{:?}", rows.refused);
        rows.features
    };
    assert_eq!(encoded("2.030;-1,500\n"), encoded("2030;-1.5\n"));
    assert_eq!(encoded("2.030;-2\n"), encoded("2030;-2.0\n"));

    let (_, notes) = self::notes(&rows("5,125", "1,5"));
    assert!(!notes.contains("the point in"), "{notes}");
    let (_, notes) = self::notes(&rows("2.030", "1"));
    let told = "column `size`: the point in `2.030`, line 2, is read as a decimal one";
    assert!(notes.contains(told), "{notes}");
}

#[test]
fn rows_that_are_trained_on_too_are_counted() {
    let row = |index: usize| format!("{index},{},{}\n", index * index, index % 2);
    let table = |rows: std::ops::Range<usize>| {
        format!("a,b,y\n{}", rows.map(row).collect::<String>()).into_bytes()
    };
    let told = |validation: std::ops::Range<usize>| {
        let files = [("a.csv", &table(5..45)[..]), ("v.csv", &table(validation)[..])];
        let (_folder, result) = read(&files, |folder, options| {
            options.validation_path = Some(folder.join("v.csv"));
        });
        result.unwrap().notes.join("\n")
    };
    assert!(told(34..54).contains("11 of 20 rows of `"), "{}", told(34..54));
    assert!(!told(35..55).contains(" rows of `"), "{}", told(35..55));
}

/// `1.721` beside `925` is not one point seven.
#[test]
fn points_that_separate_thousands_are_refused() {
    let rows = |size: [&str; 2], price: [&str; 2]| {
        let row = |i: usize| format!("{};{}{}\n", size[i % 2], price[i % 2], 10 + i);
        format!("size;price\n{}", (0..60).map(row).collect::<String>())
    };
    let refused = |text: &str, column: &str, number: &str, help: &str| {
        let error = format!(
            "a.csv:3: column `{column}`: the point in `{number}` seems to separate thousands, as in all \
             numbers with a point here, and those without one are below 1000"
        );
        check_text(text, &error, help);
    };
    let feature = rows(["925", "1.721"], ["1", "2"]);
    refused(&feature, "size", "1.721", "write `1721` and so on, without points");
    let target = rows(["1", "2"], ["9", "1.7"]);
    refused(&target, "price", "1.711", "write `1711` and so on, without points");

    let (_folder, result) = read(&[("a.csv", feature.as_bytes())], |_, options| {
        options.columns.insert("size".into(), ColumnOverride::Numeric);
    });
    let notes = result.unwrap().notes.join("\n");
    assert!(notes.contains("the point in `1.721`, line 3, is read as a decimal one"), "{notes}");
}

#[test]
fn what_makes_a_column_useless_is_told() {
    let table = |last: &str, classes: [&str; 3]| {
        let row = |i: usize| format!("{i}.5,2024-01-{:02},{}\n", 1 + i % 28, classes[i % 3]);
        format!(
            "x,day,y\n{}{last},2024-02-01,{}\n",
            (0..24).map(row).collect::<String>(),
            classes[0]
        )
    };
    let (_, notes) = notes(&table("99999999", ["a", "b", "c"]));
    let told =
        "column `x`: `99999999`, line 26, is so far from the other numbers that these hardly";
    assert!(notes.contains(told), "{notes}");
    assert!(notes.contains("column `day` is dropped: it holds dates"), "{notes}");
    let (_, notes) = self::notes(&table("7", ["Yes", "No", "YES"]));
    assert!(!notes.contains("so far from"), "{notes}");
    assert!(notes.contains("3 classes; `YES` and `Yes` are two of them"), "{notes}");
}
