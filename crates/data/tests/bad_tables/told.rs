//! What is told of a table that can be read.

use data::HoldOut;

use super::{decimal_commas::table, *};

/// The notes of a table whose target is the last column, joined.
pub(crate) fn notes(text: &str) -> (TableSplits, String) {
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
    let help = "`--set \"data.target='2021'\"`";
    check(&[("a.csv", text.as_bytes())], set(TargetColumn::Index(2021)), error, help);
    let (_folder, result) =
        read(&[("a.csv", text.as_bytes())], set(TargetColumn::Name("2021".into())));
    assert_eq!(result.unwrap().preprocessing.feature_names(), ["2019", "2020"]);
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

/// Of a code and a number, or of a code whose zeros a spreadsheet took.
#[test]
fn a_class_with_and_without_leading_zeros_is_told() {
    let told = |classes: [&str; 4], task: Option<Task>| {
        let row = |i: usize| format!("{i}.5,{}\n", classes[i % 4]);
        let text = format!("x,code\n{}", (0..40).map(row).collect::<String>());
        let (_folder, result) =
            read(&[("a.csv", text.as_bytes())], |_, options| options.task = task);
        let splits = result.unwrap();
        let told = splits.notes.into_iter().find(|note| note.contains("is read as the class"));
        (splits.preprocessing.target.classes().to_vec(), told)
    };
    let note = |text: &str, class: &str| {
        Some(format!(
            "target `code`: `{text}` is read as the class `{class}`, which other rows write \
             differently; if these are different classes, put a letter before them, such as `c{text}`"
        ))
    };
    let classes = |names: [&str; 2]| names.map(str::to_owned).to_vec();
    assert_eq!(told(["01", "1", "02", "2"], None), (classes(["1", "2"]), note("01", "1")));
    assert_eq!(told(["3", "1.0", "3", "01"], None), (classes(["1", "3"]), note("01", "1")));
    assert_eq!(told(["1", "1.0", "2", "2.0"], None), (classes(["1", "2"]), None));
    assert_eq!(told(["007", "008", "007", "008"], None), (classes(["007", "008"]), None));
    assert_eq!(told(["01", "1", "02", "2"], Some(Task::Regression)), (Vec::new(), None));
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
        format!("`{name}`: column `word`: 2 values, such as `new`, are not in the training rows")
    };
    let path = folder.path().join("b.csv");
    let path_note = told(&path.display().to_string());
    assert!(splits.notes.contains(&path_note), "{:?}", splits.notes);
    let (_, notes) =
        read_table(&path, &splits.preprocessing, None, OnMissingTarget::Error).unwrap();
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
    check(["$1000", "$1100", "2400"], None, &format!("{classes}{told}"));
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
            read(&[("a.csv", text.as_bytes())], |_, o| o.fractions.validation = validation);
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
        let names = if others.is_empty() { "day,y" } else { "day,x,y" };
        format!("{names}\n{}", rows.collect::<String>())
    };
    let dropped =
        "column `day` is dropped: it numbers the rows; `--set data.columns.day=numeric` uses it";
    let numbers = "column `day` numbers the rows; `--set data.columns.day=drop` leaves it out";
    for (first, others, names, told) in [
        (0, ",7.5", &["x"][..], dropped),
        (1, ",7.5", &["x"], dropped),
        (1990, ",7.5", &["day", "x"], numbers),
        (0, "", &["day"], numbers),
    ] {
        let (splits, notes) = notes(&rows(first, others));
        assert_eq!(splits.preprocessing.feature_names(), names);
        assert!(notes.contains(told), "{notes}");
    }
    let text = rows(0, ",7.5");
    let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, options| {
        options.columns.insert("day".into(), ColumnOverride::Numeric);
    });
    assert_eq!(result.unwrap().preprocessing.feature_names(), ["day", "x"]);
}

/// As in a file that was shuffled, or is a part of another.
#[test]
fn a_column_that_tells_rows_apart_by_its_name_and_numbers_is_dropped() {
    let check = |name: &str, step: usize, is_dropped: bool| {
        let rows = (0..1500).map(|i| format!("{},{}.5,{}\n", i * step % 3001, i % 9, i % 2));
        let (splits, notes) = notes(&format!("{name},x,y\n{}", rows.collect::<String>()));
        assert_eq!(splits.preprocessing.feature_names().len(), if is_dropped { 1 } else { 2 });
        let shown = if name.is_empty() { "column_0" } else { name };
        let told =
            format!("column `{shown}` is dropped: by its name, and since all its numbers differ");
        assert_eq!(notes.contains(&told), is_dropped, "{notes}");
    };
    for name in ["PassengerId", "customer_id", ""] {
        check(name, 7, true);
    }
    check("price", 7, false);
    check("customer_id", 3001, false);
}

#[test]
fn numbers_with_a_unit_and_spellings_of_a_category_are_told() {
    let rows = (0..40).map(|i| format!("{} kg,{},{}\n", i % 15, ["red", "Red"][i % 2], i % 2));
    let (_, notes) = notes(&format!("weight,colour,y\n{}", rows.collect::<String>()));
    let units =
        "column `weight` is read as categories: its numbers are written as `0 kg` in line 2";
    assert!(notes.contains(units), "{notes}");
    assert!(notes.contains("column `colour`: `Red` and `red` are two categories"), "{notes}");
}

#[test]
fn numbers_far_from_those_trained_on_are_told() {
    let (splits, _) = notes(&rows_and(""));
    let told = |rows: &str| {
        let rows = format!("x,word\n{rows}");
        read_rows(rows.as_bytes(), "b.csv", &splits.preprocessing).unwrap().notes.join("\n")
    };
    let one = "`b.csv`: column `x`: the value `3000` is far from all in the training rows";
    assert_eq!(told("3000,u\n7,v\n"), one);
    let several = one.replace("the value `3000` is", "2 values, such as `3000`, are");
    assert_eq!(told("3000,u\n-1e5,u\n"), several);
    assert_eq!(told("100,u\n"), "");

    // Not those of a row that is refused.
    let text = table("x,z,y", 30, |i| format!("{i}.5,{i}.25,{}", i % 2));
    let (splits, _) = notes(&text);
    let rows = read_rows(&b"x,z\n1e9,oops\n1,2\n"[..], "b.csv", &splits.preprocessing).unwrap();
    assert_eq!((rows.refused.len(), rows.notes), (1, Vec::new()));
}

#[test]
fn columns_in_another_order_without_names_are_told() {
    let rows: String = (0..30).map(|i| format!("{},{}.5,{}.25\n", i % 3, 10 + i % 7, i)).collect();
    let (_folder, result) = read(&[("a.csv", rows.as_bytes())], |_, options| {
        options.target = TargetColumn::Index(0);
    });
    let preprocessing = result.unwrap().preprocessing;
    let told = |rows: &str| read_rows(rows.as_bytes(), "b.csv", &preprocessing).unwrap().notes;
    let expected = "`b.csv`: no cell is a class where the training file has the target `column_0`, \
                    such as `11.5`: are the columns in another order?";
    assert_eq!(told("11.5,7.25,1\n12.5,8.25,2\n"), [expected]);
    assert_eq!(told("11.5,7.25,1\n2.0,11.5,7.25\n"), [""; 0]);
    assert_eq!(told("11.5,7.25\n"), [""; 0]);
}

/// So many would each be a feature, and with an embedding are one.
#[test]
fn an_embedding_takes_more_categories() {
    let rows: String =
        (0..4000).map(|i| format!("s{},{}.5,{}\n", i % 2000, i % 7, i % 2)).collect();
    let text = format!("shop,x,y\n{rows}");
    let read = |encoding: CategoryEncoding| {
        read(&[("a.csv", text.as_bytes())], |_, options| {
            options.columns.insert("shop".into(), ColumnOverride::Categorical);
            options.categories = encoding;
        })
    };
    let (_folder, result) = read(CategoryEncoding::Index);
    assert_eq!(result.unwrap().preprocessing.indexed(), [(0, 2001)]);
    let (folder, result) = read(CategoryEncoding::OneHot);
    let error = "`a.csv`: column `shop` has more than 1,000 different values";
    refused(folder.path(), result, error, "set `model.embedding`");
}

/// Copies of rows are on both sides of a split at random.
#[test]
fn copies_among_the_rows_held_out_are_told() {
    let rows: String = (0..50).map(|i| format!("{i}.5,{},{}\n", i * i, i % 2)).collect();
    let told = |rows: String| {
        let text = format!("a,b,y\n{rows}");
        let (_folder, result) =
            self::read(&[("a.csv", text.as_bytes())], |_, o| o.fractions.validation = 0.2);
        result.unwrap().notes.join("\n")
    };
    assert!(!told(rows.clone()).contains("held-out rows"));
    let copied = told(rows.repeat(4));
    assert!(copied.contains(" of 40 held-out rows are the same as rows to train on"), "{copied}");
}

/// Nothing is known yet of the split that will be trained on.
#[test]
fn copies_are_told_where_nothing_is_held_out() {
    let row = |i: usize| format!("{i}.5,{},{}\n", i * i, i % 2);
    let told = |again: usize, validation: f64| {
        let rows: String = (0..50).chain(0..again).map(row).collect();
        let text = format!("a,b,y\n{rows}");
        let (_folder, result) =
            read(&[("a.csv", text.as_bytes())], |_, o| o.fractions.validation = validation);
        result.unwrap().note_on_copies()
    };
    let copied = told(50, 0.0).unwrap();
    let expected = "100 of 100 rows are the same as another one, targets included: rows held out of \
                    them may be copies of rows to train on";
    assert!(copied.starts_with(expected), "{copied}");
    assert!(told(8, 0.0).unwrap().starts_with("16 of 58 rows "), "{:?}", told(8, 0.0));
    assert_eq!(told(7, 0.0), None, "less than a quarter");
    assert_eq!(told(50, 0.2), None, "what is held out is known");

    let few_values = (0..140).map(|i| format!("{}.5,{}\n", i % 7, i % 2)).collect::<String>();
    assert_eq!(notes(&format!("a,y\n{few_values}")).0.note_on_copies(), None);
    let few_pairs = (0..400).map(|i| format!("{}.5,{}\n", i % 25, i % 2)).collect::<String>();
    assert_eq!(notes(&format!("a,y\n{few_pairs}")).0.note_on_copies(), None);
}

#[test]
fn rows_that_are_the_same_in_two_classes_are_told() {
    let features = |i: usize| format!("{i}.5,{}", i * i);
    let told = |rows: usize, again: usize| {
        let rows = (0..rows).map(|i| format!("{},{}\n", features(i), ["a", "b"][i % 2]));
        let relabelled = (0..again).map(|i| format!("{},b\n", features(i)));
        let (_, notes) = notes(&format!("x,z,y\n{}", rows.chain(relabelled).collect::<String>()));
        let told = notes.lines().find(|note| note.contains("of another class"));
        told.map(str::to_owned)
    };
    let expected = "100 of 200 rows to train on have the same features as a row of another class, from \
                    which nothing tells them: classes are wrong, a column is missing, or chance decides";
    assert_eq!(told(100, 100).as_deref(), Some(expected));
    assert!(told(100, 11).unwrap().starts_with("12 of 111 rows "), "{:?}", told(100, 11));
    assert_eq!(told(100, 9), None, "less than a tenth");
    assert_eq!(told(22, 3), None, "four rows");

    // The same hours of work, and another mark.
    let hours = (0..300).map(|i| format!("{}.25,0,{}\n", i % 60, i * 7 % 11 % 2));
    let (_, alike) = notes(&format!("hours,z,y\n{}", hours.collect::<String>()));
    assert!(!alike.contains("of another class"), "{alike}");

    // Of 25 ages and two sexes, each pair is there in both classes.
    let people = (0..400).map(|i| format!("{},{},{}\n", i % 25, i / 25 % 2, i / 50 % 2));
    let copies = (0..100).map(|i| format!("{},{}\n", features(i / 2), i / 2 % 2));
    let few_values = (0..140).map(|i| format!("{}.5,1,{}\n", i % 7, i % 2));
    let values = (0..140).map(|i| format!("{},{i}.25\n", features(i % 30)));
    for rows in
        [people.collect::<String>(), copies.collect(), few_values.collect(), values.collect()]
    {
        let (_, notes) = notes(&format!("x,z,y\n{rows}"));
        assert!(!notes.contains("of another class"), "{notes}");
    }
}

#[test]
fn the_mean_of_small_numbers_has_digits() {
    let rows: String = (0..30).map(|i| format!("{}e-9,{}\n", i + 1, i % 2)).collect();
    let (_, notes) = notes(&format!("a,y\n{rows},1\n"));
    let told = "column `a`: 1 missing value is replaced by the mean, 1.55e-8";
    assert!(notes.contains(told), "{notes}");
}

#[test]
fn a_held_out_target_that_is_far_is_named_by_its_line() {
    let refused = (2..42).filter(|&far| {
        let target = |line| if line == far { "1e30".into() } else { format!("{line}e-20") };
        let rows: String = (2..42).map(|line| format!("{line},{}\n", target(line))).collect();
        let text = format!("x,y\n{rows}");
        let (_folder, result) =
            self::read(&[("a.csv", text.as_bytes())], |_, o| o.fractions.validation = 0.2);
        let error = result.err().map(|error| error.to_string());
        error
            .inspect(|error| assert!(error.contains(&format!("of line {far} is")), "{error}"))
            .is_some()
    });
    assert_eq!(refused.count(), 8, "the rows held out");
}

/// Passengers of one class and sex with as many siblings are not one passenger.
#[test]
fn rows_of_few_different_values_coincide_by_chance() {
    let row = |i: usize| format!("{i},{},{},{}\n", ["m", "f"][i % 2], i % 21 % 20, i % 3 % 2);
    let rows: String = (0..400).map(row).collect();
    let told = |column: &str, rows: &str| {
        let text = format!("{column},sex,siblings,y\n{rows}");
        let (_folder, result) =
            self::read(&[("a.csv", text.as_bytes())], |_, o| o.fractions.validation = 0.2);
        result.unwrap().notes.join("\n")
    };
    let note = "held-out rows are the same as rows to train on";
    assert!(!told("id", &rows).contains(note), "{}", told("id", &rows));
    let priced = rows.replace(",m,", ".5,m,").repeat(4);
    assert!(told("price", &priced).contains(note), "{}", told("price", &priced));
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
    assert!(told(39..59).contains("6 of 20 rows of `"), "{}", told(39..59));
    assert!(!told(40..60).contains(" rows of `"), "{}", told(40..60));
}

/// It makes up two fifths of the variance of all, and more than half beside the training rows alone.
#[test]
fn a_held_out_number_is_an_outlier_beside_all_others() {
    let row = |i: usize| format!("{},{}\n", if i == 99 { 300 } else { i }, i % 3);
    let text = format!("x,y\n{}", (0..100).map(row).collect::<String>());
    let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, options| {
        (options.fractions.validation, options.hold_out) = (0.2, HoldOut::Last);
    });
    let notes = result.unwrap().notes.join("\n");
    assert!(!notes.contains("so far from"), "{notes}");
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
