//! The CSV source on what is no good table: an error that says what, where and what to do.

mod decimal_commas;
#[path = "../common/folders.rs"]
mod folders;
mod formatted;
mod held_out;
mod marked;
mod open_quotes;
mod shared_files;
mod telling;
mod texts;
mod told;
mod without_values;

use std::{fs, path::Path};

use data::{
    CategoryEncoding, ColumnKind, DataError, TableSplits, Task,
    csv_table::{
        ColumnOverride, CsvOptions, OnMissingTarget, RefusedRow, RowReader, TargetColumn, read_csv,
        read_rows, read_table,
    },
};
use folders::{folder, refused};
use proptest::prelude::*;
use tempfile::TempDir;

/// Writes `files` and reads the first, with the last column as target unless `set` says else.
fn read(
    files: &[(&str, &[u8])],
    set: impl FnOnce(&Path, &mut CsvOptions),
) -> (TempDir, Result<TableSplits, DataError>) {
    let folder = folder(files);
    let path = folder.path().join(files.first().map_or("absent.csv", |(name, _)| name));
    let mut options = CsvOptions::new(path, TargetColumn::Index(-1));
    set(folder.path(), &mut options);
    (folder, read_csv(&options, 0))
}

/// Expects an error whose paths are given without their folder, and a part of its help.
fn check(
    files: &[(&str, &[u8])],
    set: impl FnOnce(&Path, &mut CsvOptions),
    error: &str,
    help: &str,
) {
    let (folder, result) = read(files, set);
    refused(folder.path(), result, error, help);
}

fn check_text(text: &str, error: &str, help: &str) {
    check(&[("a.csv", text.as_bytes())], |_, _| {}, error, help);
}

/// The features of rows to predict, which are all read.
fn encoded(text: &str, splits: &TableSplits) -> Vec<f32> {
    let rows = read_rows(text.as_bytes(), "b.csv", &splits.preprocessing).expect("a table");
    assert!(rows.refused.is_empty(), "{:?}", rows.refused);
    rows.features
}

/// A header, 30 good rows of a number, a word and a class, and `last`.
fn rows_and(last: &str) -> String {
    let rows: String =
        (0..30).map(|i| format!("{i}.5,{},{}\n", ["u", "v"][i % 2], i % 3)).collect();
    format!("x,word,y\n{rows}{last}\n")
}

#[test]
fn files_that_cannot_be_read() {
    check(&[], |_, _| {}, "`absent.csv` does not exist", "check the path");
    check(
        &[],
        |folder, options| {
            options.path = folder.join("sub.csv");
            fs::create_dir(&options.path).unwrap();
        },
        "`sub.csv` is a directory, a file is expected",
        "CSV file",
    );
    check(
        &[],
        |folder, options| {
            options.path = folder.join("arrays");
            fs::create_dir(&options.path).unwrap();
            fs::write(options.path.join("features.npy"), "").unwrap();
        },
        "`arrays` is a directory, a file is expected",
        "name one of its arrays",
    );
    check_text("", "`a.csv` is empty", "at least one row");
    // With another delimiter the only column holds whole rows.
    let error = "`a.csv` has no column to learn from beside the target `column_0`";
    check_text("a b\n1 2\nNA\n3 4\n", error, "the delimiter is a comma");
    check_text("x,y\n", "`a.csv` has a header and no rows", "at least one row");
    check(
        &[("a.csv", b"x,y\n1,2\n\xe4,3\n")],
        |_, _| {},
        "a.csv:3: the text is not UTF-8",
        "iconv",
    );
}

#[cfg(unix)]
#[test]
fn streams_are_no_files_to_train_on() {
    let (_folder, result) = read(&[("a.csv", b"x,y\n1,0\n2,1\n")], |_, _| {});
    let preprocessing = result.unwrap().preprocessing;
    for stream in ["/dev/null", "/dev/zero"] {
        let check = |set: &dyn Fn(&mut CsvOptions)| {
            check(
                &[("a.csv", b"x,y\n1,0\n2,1\n")],
                |_, options| set(options),
                &format!("`{stream}` is a pipe or a device, a file is expected"),
                "write it to a file",
            );
        };
        check(&|options| options.path = stream.into());
        check(&|options| options.validation_path = Some(stream.into()));
        check(&|options| options.test_path = Some(stream.into()));
    }
    // What is read once may be a stream.
    let error = read_table(Path::new("/dev/null"), &preprocessing, None, OnMissingTarget::Error)
        .unwrap_err();
    assert_eq!(error.to_string(), "`/dev/null` is empty");
    let rows = read_rows(&b"x\n1\n"[..], "stdin", &preprocessing).unwrap();
    assert_eq!(rows.len(), 1);
}

#[test]
fn rows_that_are_wrong() {
    let check = |last: &str, error: &str, help: &str| check_text(&rows_and(last), error, help);
    check("1,u", "a.csv:32: the row has 2 cells, the first has 3", "quote");
    check("1,u,2,3", "a.csv:32: the row has 4 cells, the first has 3", "quote");
    check("1,\"u,0", "a.csv:32: a quote that opens in this row is never closed", "close");
    check(
        "one,u,0",
        "a.csv:32: column `x`: `one` is not a number",
        "use `--set data.columns.x=categorical`",
    );
    for literal in ["inf", "-Infinity"] {
        // Among words it is one, such as the code of an airport.
        let (_folder, result) =
            read(&[("a.csv", rows_and(&format!("1,{literal},0")).as_bytes())], |_, _| {});
        let kind = result.unwrap().preprocessing.columns.remove(1).kind;
        let ColumnKind::Categorical { categories, .. } = kind else { panic!("{kind:?}") };
        assert!(categories.iter().any(|category| category == literal), "{categories:?}");
        let number = format!("a.csv:32: column `x`: `{literal}` is not a finite number");
        check(&format!("{literal},u,0"), &number, "empty");
        let target = format!("a.csv:32: column `y`: `{literal}` is not a finite number");
        check(&format!("1,u,{literal}"), &target, "empty");
    }
    check("1e39,u,0", "a.csv:32: column `x`: `1e39` is too large for a 32-bit float", "unit");
    check("1,u,", "a.csv:32: the target `y` is missing", "data.on_missing_target=skip");
    check("1,u,?", "a.csv:32: the target `y` is missing", "data.on_missing_target=skip");
    let error = "a.csv:32: the target `y` is missing, and in 2 rows below";
    check("1,u,\n1,u,1\n1,v,None\n1,u,NaN", error, "`None`");
    check("1,u,zero", "a.csv:32: column `y`: `zero` is not a number", "number");
}

#[test]
fn a_quote_that_is_left_open_above_others() {
    let row = |i: usize| match i {
        9 => "9.5,\"u,0\n".to_owned(),
        _ => format!("{i}.5,\"{}\",{}\n", ["u", "v"][i % 2], i % 3),
    };
    let rows = |count: usize| (0..count).map(row).collect::<String>();
    let error = "a.csv:11: the quote that opens a cell here is closed in line 12, in front of text";
    check_text(&format!("x,word,y\n{}", rows(40)), error, "close the quote in line 11");

    // What a cell with line breaks looks like.
    let lines = "10.5,\"u\nv\",0\n11.5,\"\nsays \"\"w\"\",\n\",1\n".repeat(9);
    let (_folder, result) =
        read(&[("a.csv", format!("x,word,y\n{}{lines}", rows(9)).as_bytes())], |_, _| {});
    assert_eq!(result.unwrap().train.rows(), 27);
}

#[test]
fn a_stray_text_in_the_first_row_is_no_header() {
    let rows: String = (0..30).map(|i| format!("{i},{}\n", i % 2)).collect();
    let text = format!("x,1\n{rows}");
    let error = "column `column_0`: `x` is not a number";
    check_text(
        &text,
        &format!("a.csv:1: {error}"),
        "if line 1 is a header, set `data.header = true`",
    );
    let text = format!("\n\n{text}");
    check_text(
        &text,
        &format!("a.csv:3: {error}"),
        "if line 3 is a header, set `data.header = true`",
    );
    let rows: String = (0..60).map(|i| format!("1,{i}.5\n")).collect();
    let text = format!("\n1,x\n{rows}1,x\n");
    let error = "a.csv:2: column `column_1`: `x` is not a number";
    check_text(&text, error, "if line 2 is a header");
}

#[test]
fn columns_that_change_their_type() {
    let rows: String =
        (0..20).map(|i| format!("{},{}\n", if i < 10 { "7" } else { "seven" }, i % 2)).collect();
    let (text, key) = (format!("x,y\n{rows}"), "`--set data.columns.x=categorical`");
    check_text(
        &text,
        "a.csv:12: column `x` changes between numbers and text here, at `seven`",
        key,
    );
    let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, options| {
        options.columns.insert("x".into(), ColumnOverride::Categorical);
    });
    assert_eq!(result.unwrap().preprocessing.feature_names(), ["x=7", "x=seven"]);
}

#[test]
fn a_text_among_numbers_is_no_category() {
    let text = |missing: &str| {
        let row = |i: usize| match i % 10 {
            0 => format!("{missing},{},{}\n", 3 * i, i % 2),
            _ => format!("{},{},{}\n", 2 * i, 3 * i, i % 2),
        };
        let rows: String = (1..=200).map(row).collect();
        format!("income,x,y\n{rows}")
    };
    let help = "leave the cells empty if their values are missing, or name the text in \
                `data.missing`, or use `--set data.columns.income=categorical`";
    check_text(&text("-"), "a.csv:11: column `income` is 90 % numbers, and `-` here", help);

    let columns = |text: String, set: Option<ColumnOverride>| {
        let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, options| {
            options.columns.extend(set.map(|set| ("income".into(), set)));
        });
        result.unwrap().preprocessing.width()
    };
    for missing in ["", "N/A", "NaN"] {
        assert_eq!(columns(text(missing), None), 2, "{missing}");
    }
    assert_eq!(columns(text("-"), Some(ColumnOverride::Categorical)), 182);
    assert_eq!(columns(text("-"), Some(ColumnOverride::Drop)), 1);
}

#[test]
fn columns_that_are_not_there() {
    let text = rows_and("1,u,0");
    let check = |set: &dyn Fn(&mut CsvOptions), error: &str, help: &str| {
        check(&[("a.csv", text.as_bytes())], |_, options| set(options), error, help);
    };
    let by_name =
        |name: &'static str| move |o: &mut CsvOptions| o.target = TargetColumn::Name(name.into());
    check(&by_name("words"), "`a.csv` has no column `words`", "did you mean `word`?");
    check(&by_name("class"), "`a.csv` has no column `class`", "`x`, `word`, `y`");
    for index in [3, -4] {
        let error = format!("`a.csv` has 3 columns, none of index {index}");
        check(
            &|o| o.target = TargetColumn::Index(index),
            &error,
            "from 0 to 2, or from -1 (the last) to -3",
        );
    }
    let set = |name: &'static str| {
        move |o: &mut CsvOptions| o.columns.extend([(name.into(), ColumnOverride::Drop)])
    };
    check(&set("wrod"), "`a.csv` has no column `wrod`", "did you mean `word`?");
    check(&set("y"), "`y` is the target of `a.csv`, so `data.columns` cannot set it", "data.task");
    check(
        &|o| ["x", "word"].into_iter().for_each(|name| set(name)(o)),
        "`a.csv` has no column to learn from beside the target `y`",
        "column `x` is dropped (and 1 other column): `data.columns` says so; to keep a column",
    );
    check_text(
        "y\n0\n1\n0\n",
        "`a.csv` has no column to learn from beside the target `y`",
        "the delimiter is a comma",
    );
    check_text("x,x,y\n1,2,0\n1,2,1\n", "a.csv:1: two columns are called `x`", "rename");
}

#[test]
fn targets_far_from_those_trained_on() {
    let rows: String = (0..100).map(|i| format!("{i},{}.{}\n", i / 10, i % 10)).collect();
    let train = format!("x,y\n{rows}");
    let files: [(&str, &[u8]); 2] =
        [("a.csv", train.as_bytes()), ("b.csv", b"x,y\n1,1000000000\n2,4.5\n")];
    let (_folder, result) =
        read(&files, |folder, options| options.validation_path = Some(folder.join("b.csv")));
    let splits = result.unwrap();
    let validation = splits.validation.unwrap();
    let value = splits.preprocessing.target.restore(validation.targets.values()[0]);
    assert!((value - 1e9).abs() < 100.0, "not cut: {value}");

    let rows: String = (0..100).map(|i| format!("{i},{}e-20\n", i + 1)).collect();
    let train = format!("x,y\n{rows}");
    check(
        &[("a.csv", train.as_bytes()), ("b.csv", b"x,y\n1,1e-20\n2,1e30\n")],
        |folder, options| options.validation_path = Some(folder.join("b.csv")),
        "`b.csv`: the target of line 3 is 1e30, too far from those to train on for a 32-bit \
         float",
        "correct the target",
    );
}

#[test]
fn targets_that_teach_nothing() {
    let rows: String = (0..200).map(|i| format!("{i},name {i}\n")).collect();
    check(
        &[("a.csv", format!("x,y\n{rows}").as_bytes())],
        |_, options| options.fractions.validation = 0.2,
        "`a.csv`: the text of the target `y` hardly recurs: 200 different ones in 200 rows",
        "such text is hardly a class",
    );
    check_text("x,y\n1,a\n2,a\n", "`a.csv`: the target `y` is `a` in every row", "data.target");
    let text = rows_and("1,u,0");
    check(
        &[("a.csv", text.as_bytes())],
        |_, options| options.task = Some(Task::Binary),
        "`a.csv`: the task is binary, the target `y` has 3 classes",
        "multiclass",
    );
    check(
        &[("a.csv", text.as_bytes())],
        |_, options| {
            options.target = TargetColumn::Name("word".into());
            options.task = Some(Task::Regression);
        },
        "`a.csv`: the target `word` is text, not a number, such as `u` in line 2",
        "predict a class",
    );
    let many: String = (0..2000).map(|i| format!("{},{i}.5\n", i % 2)).collect();
    check(
        &[("a.csv", many.as_bytes())],
        |_, options| options.task = Some(Task::Multiclass),
        "`a.csv`: column `column_1` has more than 1,000 different values",
        "data.task",
    );
}

#[test]
fn other_files_that_do_not_fit() {
    let text = rows_and("1,u,0");
    let check = |other: &str, error: &str, help: &str| {
        check(
            &[("a.csv", text.as_bytes()), ("b.csv", other.as_bytes())],
            |folder, options| options.validation_path = Some(folder.join("b.csv")),
            error,
            help,
        );
    };
    check(
        "x,word,y\n1,u,0\n1,u,7\n",
        "b.csv:3: class `7` is not in the training file",
        "`0`, `1`, `2`",
    );
    check(
        "x,word,y\n1,u,0\n1,u,\n",
        "b.csv:3: the target `y` is missing",
        "data.on_missing_target=skip",
    );
    let error = "b.csv:2: the target `y` is missing, and in 1 row below";
    check("x,word,y\n1,u,?\n1,u,1\n1,u,\n", error, "fill in the cells");
    check("x,words,y\n1,u,0\n", "`b.csv` has no column `word`", "rename `words`, if it is meant");
    check("x,word\n1,u\n", "`b.csv` has no target column `y`", "predict");
    check("1,u\n", "`b.csv` has no target column `y`", "predict");
    check("1\n2\n", "`b.csv` has 1 column, the training file has 3", "header");
    check("x,word,y\none,u,0\n", "b.csv:2: column `x`: `one` is not a number", "number");
    check("y,word,x\n0,u,inf\n", "b.csv:2: column `x`: `inf` is not a finite number", "empty");
    check("x,word,y\n", "`b.csv` has a header and no rows", "at least");
    check("", "`b.csv` is empty", "at least");
}

#[test]
fn other_files_in_another_order_are_read_by_name() {
    let text = rows_and("1,u,0");
    let files: [(&str, &[u8]); 2] =
        [("a.csv", text.as_bytes()), ("b.csv", b"y;extra;word;x\n2;9;new;\n0;9;v;0.5\n")];
    let (_folder, result) =
        read(&files, |folder, options| options.test_path = Some(folder.join("b.csv")));
    let splits = result.unwrap();
    let test = splits.test.unwrap();
    assert_eq!(test.targets.labels(), [2, 0]);
    assert_eq!(test.features[..3], [0.0, 0.0, 0.0]); // the mean, and a category not in training
    assert_eq!(test.features[4..], [0.0, 1.0]);

    let rows = read_rows(&b"\"word\",x\n\nv,0.5\n"[..], "rows", &splits.preprocessing).unwrap();
    assert_eq!((&rows.features[..], &rows.lines[..]), (&test.features[3..], &[3][..]));
}

#[test]
fn rows_to_predict_that_are_wrong() {
    let text = rows_and("1,u,0");
    let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, _| {});
    let preprocessing = result.unwrap().preprocessing;
    let check = |rows: &str, expected: &str| {
        let error = read_rows(rows.as_bytes(), "stdin", &preprocessing).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check("", "`stdin` is empty");
    check("x,words\n1,u\n", "`stdin` has no column `word`");
    check("1,u,0,9\n", "`stdin` has 4 columns, the training file has 3");
    check("1,u\n1,\0\n", "stdin:2: the text has a zero byte");
}

#[test]
fn a_header_alone_has_no_rows_to_predict() {
    let text = rows_and("1,u,0");
    let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, _| {});
    let preprocessing = result.unwrap().preprocessing;
    let rows = read_rows(&b"word,x,more\n"[..], "stdin", &preprocessing).unwrap();
    assert!(rows.is_empty() && rows.refused.is_empty(), "{rows:?}");
    assert_eq!(rows.notes, ["`stdin` has a header and no rows"]);
    let lacking = read_rows(&b"word,more\n"[..], "stdin", &preprocessing).unwrap_err();
    assert_eq!(lacking.to_string(), "`stdin` has no column `x`");

    // Without names a header may be a row whose texts are new.
    let without = data::TablePreprocessing { header: false, ..preprocessing };
    let rows = read_rows(&b"1,new\n"[..], "stdin", &without).unwrap();
    assert_eq!(rows.lines, [1]);
}

#[test]
fn a_wrong_row_to_predict_costs_itself_alone() {
    let text = rows_and("1,u,0");
    let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, _| {});
    let text = b"x,word\n1,u\nx,u\n2\n\n1,u\n1,u,0\n1e39,u\n1,\xe9\n1,u\n";
    let rows = read_rows(&text[..], "stdin", &result.unwrap().preprocessing).unwrap();
    assert_eq!((&rows.lines[..], rows.features.len()), (&[2, 6, 10][..], 3 * 3));
    assert_eq!(rows.features[..3], rows.features[3..6]);
    let refused: Vec<(u64, String)> =
        rows.refused.iter().map(|row| (row.line, row.error.to_string())).collect();
    let expected = [
        (3, "stdin:3: column `x`: `x` is not a number"),
        (4, "stdin:4: the row has 1 cell, the first has 2"),
        (7, "stdin:7: the row has 3 cells, the first has 2"),
        (8, "stdin:8: column `x`: `1e39` is too large for a 32-bit float"),
        (9, "stdin:9: the text is not UTF-8"),
    ];
    assert_eq!(refused, expected.map(|(line, error)| (line, error.to_owned())));
    let help = rows.refused[0].error.help().unwrap();
    assert!(!help.contains("data."), "there are no settings where rows are predicted: {help}");
}

/// Bytes that look like a table, more or less.
fn table_bytes() -> impl Strategy<Value = Vec<u8>> {
    let cell = prop_oneof![
        4 => (-9i32..99).prop_map(|number| number.to_string()),
        2 => prop::sample::select(vec!["a", "b", "\"q,\n\"", "", "?", "NA", "1e999", "nan", "3e38"])
            .prop_map(str::to_owned),
        1 => prop::sample::select(vec!["$5", "€ 6", "7 %", "\"1,234.5\"", "1.234,5", "(8)"])
            .prop_map(str::to_owned),
        1 => "\\PC{0,4}",
    ];
    let separator = prop_oneof![8 => Just(","), 1 => Just(";"), 1 => Just("\n"), 1 => Just("\"")];
    let row = prop::collection::vec((cell, separator), 1..4)
        .prop_map(|cells| cells.into_iter().map(|(cell, separator)| cell + separator).collect());
    prop::collection::vec(row, 0..30).prop_map(|rows: Vec<String>| rows.join("\n").into_bytes())
}

proptest! {
    #[test]
    fn any_bytes_are_a_table_or_an_error(
        bytes in prop_oneof![prop::collection::vec(any::<u8>(), 0..400), table_bytes()],
        target in -3i64..3,
        validation in prop_oneof![Just(0.0), 0.0..1.0],
        header: Option<bool>,
    ) {
        let (_folder, result) = read(&[("a.csv", &bytes)], |_, options| {
            options.target = TargetColumn::Index(target);
            options.fractions.validation = validation;
            options.header = header;
        });
        match result {
            Err(error) => prop_assert!(error.help().is_some() && !error.to_string().contains('\n')),
            Ok(splits) => {
                let width = splits.preprocessing.width();
                for table in [Some(&splits.train), splits.validation.as_ref()].into_iter().flatten() {
                    prop_assert!(table.rows() > 0);
                    prop_assert_eq!(table.features.len(), table.rows() * width);
                    prop_assert!(table.features.iter().all(|feature| feature.is_finite()));
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_rows_to_predict_or_an_error(
        bytes in prop_oneof![prop::collection::vec(any::<u8>(), 0..400), table_bytes()],
    ) {
        let text = rows_and("1,u,0");
        let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, _| {});
        let preprocessing = result.unwrap().preprocessing;
        if let Ok(rows) = read_rows(&bytes[..], "stdin", &preprocessing) {
            prop_assert_eq!(rows.features.len(), rows.len() * preprocessing.width());
            prop_assert!(rows.features.iter().all(|feature| feature.is_finite()));
        }
    }
}
