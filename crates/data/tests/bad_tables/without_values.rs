//! Rows, targets and first rows with nothing in them, and blank lines in a file of one column.

use super::{held_out::lines, *};

#[test]
fn a_row_without_values_to_predict_is_reported() {
    let check = |training: &str, text: &str, lines: &[u64], refused: &[u64]| {
        let (_folder, result) = read(&[("a.csv", training.as_bytes())], |_, _| {});
        let preprocessing = result.unwrap().preprocessing;
        for text in [text.to_owned(), text.replace('\n', "\r\n")] {
            let rows = read_rows(text.as_bytes(), "stdin", &preprocessing).unwrap();
            let found: Vec<u64> = rows.refused.iter().map(|row| row.line).collect();
            assert_eq!((&rows.lines[..], &found[..]), (lines, refused), "{text:?}");
            let RefusedRow { line, error, .. } = &rows.refused[0];
            assert_eq!(error.to_string(), format!("stdin:{line}: the row has no values"));
            assert!(error.help().is_some());
        }
    };
    let two = rows_and("1,u,0");
    let text = ",\nx,word\n1,u\n,\n\n2,v\n , \n,\n3\n4,u\n,\n,\n";
    check(&two, text, &[3, 6, 10], &[4, 7, 8, 9]);
    check(&two, ",\n1,u\n", &[2], &[1]);
    let one: String = (0..30).map(|i| format!("{i}.5,{}\n", i % 2)).collect();
    check(&format!("x,y\n{one}"), "\nx\n\n1\n\n \n2\n\n\n", &[4, 7], &[3, 5, 6]);
}

#[test]
fn a_row_without_values_above_one_that_is_no_text_is_reported() {
    let (_folder, result) = read(&[("a.csv", rows_and("1,u,0").as_bytes())], |_, _| {});
    let text = b"x,word\n1,u\n,\n1,\xe9\n2,v\n,\n\xe9,u\n";
    let rows = read_rows(&text[..], "stdin", &result.unwrap().preprocessing).unwrap();
    let refused: Vec<u64> = rows.refused.iter().map(|row| row.line).collect();
    assert_eq!((rows.lines, refused), (vec![2, 5], vec![3, 4, 6, 7]));
}

#[test]
fn rows_without_values_are_counted() {
    let rows: String = (0..30).map(|i| format!("{i},{}\n", i % 2)).collect();
    let train = format!(",\nx,y\n,\n{rows} , \n\n{rows},\n");
    let files: [(&str, &[u8]); 2] =
        [("a.csv", train.as_bytes()), ("b.csv", b"x,y\n1,0\n,\n2,1\n,\n")];
    let (folder, result) =
        read(&files, |folder, options| options.test_path = Some(folder.join("b.csv")));
    let splits = result.unwrap();
    assert_eq!((splits.train.rows(), splits.test.unwrap().rows()), (60, 2));
    let told = "2 rows have no values and are left out, the first in line 3".to_owned();
    assert!(splits.notes.contains(&told), "{:?}", splits.notes);
    let path = folder.path().join("b.csv");
    let told = format!("`{}`: the row in line 3 has no values and is left out", path.display());
    assert!(splits.notes.contains(&told), "{:?}", splits.notes);
}

#[test]
fn a_target_without_any_value_is_an_empty_column() {
    let rows: String = (0..30).map(|i| format!("{i}.5,{},\n", i % 2)).collect();
    let text = format!("a,y,\n{rows}");
    check_text(&text, "`a.csv`: the target `column_2` has no values", "the last column is empty");
}

#[test]
fn rows_without_a_target_are_left_out_where_the_user_says_so() {
    let skip = |folder: &Path, options: &mut CsvOptions| {
        options.on_missing_target = OnMissingTarget::Skip;
        options.test_path = Some(folder.join("b.csv"));
    };
    let text = rows_and("1,u,\n2,v,?\n3,u,1");
    let files: [(&str, &[u8]); 2] =
        [("a.csv", text.as_bytes()), ("b.csv", b"x,word,y\n1,u,\n2,v,0\n")];
    let (folder, result) = read(&files, skip);
    let splits = result.unwrap();
    assert_eq!((splits.train.rows(), lines(&splits.train).last()), (31, Some(&34)));
    let test = splits.test.unwrap();
    assert_eq!((test.rows(), lines(&test)), (1, &[3][..]));
    let told = "2 rows have no target and are left out, the first in line 32".to_owned();
    assert!(splits.notes.contains(&told), "{:?}", splits.notes);
    let path = folder.path().join("b.csv");
    let told = format!("`{}`: the row in line 2 has no target and is left out", path.display());
    assert!(splits.notes.contains(&told), "{:?}", splits.notes);

    // As if they were not there.
    let (_folder, result) = read(&[("a.csv", rows_and("3,u,1").as_bytes())], |_, _| {});
    let other = result.unwrap();
    assert_eq!(splits.preprocessing, other.preprocessing);
    assert_eq!(splits.train.features, other.train.features);

    let rows = rows_and("1,u,0");
    let files: [(&str, &[u8]); 2] =
        [("a.csv", rows.as_bytes()), ("b.csv", b"x,word,y\n1,u,\n2,v,\n")];
    check(&files, skip, "`b.csv`: the target `y` has no values", "another `data.target`");
    check(
        &[("a.csv", b"x,y\n1,\n2,\n")],
        |_, options| options.on_missing_target = OnMissingTarget::Skip,
        "`a.csv`: the target `y` has no values",
        "another `data.target`",
    );
}

#[test]
fn a_title_is_neither_a_header_nor_a_row() {
    let rows: String = (0..30).map(|i| format!("{i}.5,{},{}\n", i * i, i % 2)).collect();
    let error =
        "`a.csv`: only the first cell of the first row is filled, `Sales 2024`, as in a title";
    for text in [format!("Sales 2024,,\n{rows}"), format!("Sales 2024,,\n,,\na,b,y\n{rows}")] {
        check_text(&text, error, "remove titles and comments above it");
    }
    let header = |header| move |_: &Path, options: &mut CsvOptions| options.header = Some(header);
    let file = |text: &'static str| [("a.csv", text.as_bytes())];
    let (_folder, result) = read(&file("word,,\nx,1,0\ny,2,1\nx,3,0\ny,4,1\n"), header(true));
    assert_eq!(result.unwrap().preprocessing.columns[1].name, "column_1");
}

/// As R writes tables.
#[test]
fn a_header_may_lack_the_name_of_the_first_column() {
    check_text(
        "x;y\n1;2.5;a\n2;3.5;b\n",
        "a.csv:2: the row has 3 cells, the first has 2",
        "`sed '1s/^/row;/' IN > OUT`",
    );
}

#[test]
fn a_comment_of_one_cell_hides_the_columns_however_the_target_is_given() {
    let rows: String = (0..30).map(|i| format!("{i}.5,{},{}\n", i * i, i % 2)).collect();
    let read = |above: &str, set: &dyn Fn(&mut CsvOptions), line: usize| {
        let text = format!("{above}\na,b,y\n{rows}");
        let error = format!("a.csv:{line}: the row has 3 cells, the first has 1");
        let help = "remove titles and comments above it";
        check(&[("a.csv", text.as_bytes())], |_, options| set(options), &error, help);
    };
    let named =
        |name: &'static str| move |o: &mut CsvOptions| o.target = TargetColumn::Name(name.into());
    for above in ["# of y", "Sales 2024", "30", "y"] {
        read(above, &|_| {}, 2);
        read(above, &|options| options.target = TargetColumn::Index(2), 2);
        read(above, &|options| options.header = Some(true), 2);
        read(above, &named("y"), 2);
        read(above, &named("slip"), 2);
    }
    read("# of y\n\n# and of b", &named("y"), 4);

    // Blanks between cells, and commas in these.
    check(
        &[("a.csv", b"x b t\n1,5 2,5 0\n2,5 3,5 1\n")],
        |_, options| named("t")(options),
        "`a.csv` has no column `t`",
        "tr -s ' ' ,",
    );
    // As R writes rows that have names.
    check(
        &[("a.csv", b"x b t\n1 1,5 2,25 0\n2 2,5 3,25 1\n")],
        |_, options| named("t")(options),
        "`a.csv` has no column `t`",
        "tr -s ' ' ,",
    );
    check(
        &[("a.csv", b"Table 5\na;b;t\n1;2;0\n2;3;1\n")],
        |_, options| named("t")(options),
        "`a.csv`: only the first cell of the first row is filled, `Table 5`, as in a title",
        "remove titles and comments above it",
    );
}

/// Nothing but the file's other rows tells a class that occurs once from the column's name.
#[test]
fn a_row_of_decimals_with_a_rare_class_is_no_header() {
    let read = |first: &str, point: &str| {
        let rows: String =
            (0..40).map(|i| format!("0.{i};1.{i};{}\n", ["a", "b"][i % 2])).collect();
        let text = format!("{first};y\n{rows}").replace('.', point);
        let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, _| {});
        let splits = result.unwrap();
        (splits.preprocessing.header, splits.train.rows())
    };
    for point in [".", ","] {
        assert_eq!(read("0.13;0.85", point), (false, 41));
        assert_eq!(read("2019;2020", point), (true, 40));
    }
}
