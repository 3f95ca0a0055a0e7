//! Numbers with a currency or percent sign, or with their thousands separated.

use data::NumberFormat;

use super::{told::notes, *};

/// Prices in dollars and classes.
fn priced() -> String {
    let rows = (0..30).map(|i| format!("\"${},{:03}.50\",{}\n", i + 1, 7 * i, i % 2));
    format!("price,y\n{}", rows.collect::<String>())
}

/// The only refused row, and what to do about it.
fn refusal(text: &str, splits: &TableSplits) -> (String, String) {
    let rows = read_rows(text.as_bytes(), "b.csv", &splits.preprocessing).expect("a table");
    let [RefusedRow { error, .. }] = &rows.refused[..] else { panic!("{:?}", rows.refused) };
    (error.to_string(), error.help().expect("each has a help"))
}

#[test]
fn a_table_with_formatted_numbers_is_the_plain_table() {
    let row = |i: usize, [percent, dollar, comma]: [&str; 3]| {
        let (rate, price) = (i * 7 % 101, i + 1);
        format!("{rate}{percent},\"{dollar}{price}{comma}{:03}.25\",{i}.5\n", i * 7)
    };
    let table = |format| {
        let rows: String = (0..60).map(|i| row(i, format)).collect();
        notes(&format!("rate,price,y\n{rows}"))
    };
    let (plain, _) = table(["", "", ""]);
    let (formatted, told) = table([" %", "$", ","]);
    assert_eq!(formatted.train, plain.train);
    assert_eq!(formatted.preprocessing.target, plain.preprocessing.target);
    let names = formatted.preprocessing.feature_names();
    assert_eq!(names, ["rate", "price"]);
    for note in [
        "column `rate` is read as numbers, `0 %` in line 2 as 0",
        "column `price` is read as numbers, `$1,000.25` in line 2 as 1000.25",
    ] {
        assert_eq!(told.matches(note).count(), 1, "{told}");
    }
    let format = |column: usize| formatted.preprocessing.columns[column].format;
    assert_eq!([format(0), format(1)].map(|format| format.unwrap().sign), [Some('%'), Some('$')]);
}

#[test]
fn rows_to_predict_may_be_formatted_or_plain() {
    let train = priced();
    let (splits, _) = notes(&train);
    assert_eq!(
        splits.preprocessing.columns[0].format,
        Some(NumberFormat { sign: Some('$'), point: None })
    );
    let plain = encoded("price\n12345.5\n-3\n", &splits);
    assert_eq!(encoded("price\n\"12,345.50 $\"\n-$3\n", &splits), plain);
    assert_eq!(encoded("price;x\n$ 12.345,50;1\n$ -3,0;1\n", &splits), plain);

    let (error, help) = refusal("price\n5\n€5\n", &splits);
    let other = "column `price`: `€5` is not in `$`, as the column's numbers are";
    assert_eq!(error, format!("b.csv:3: {other}"));
    assert!(help.contains("write it with `$` or without a sign"), "{help}");
    let (error, help) = refusal("price\n5\n($5)\n", &splits);
    assert_eq!(error, "b.csv:3: column `price`: `($5)` is not a number");
    assert!(help.contains("write numbers as -1234.5"), "{help}");

    check(
        &[("a.csv", train.as_bytes()), ("b.csv", b"price,y\n5 %,1\n")],
        |folder, options| options.test_path = Some(folder.join("b.csv")),
        "b.csv:2: column `price`: `5 %` is not in `$`, as the column's numbers are",
        "convert it",
    );
}

#[test]
fn a_price_to_predict_is_a_plain_number() {
    let text = |point: char, price: &dyn Fn(usize) -> String| {
        let rows = (0..60).map(|i| format!("{i}{point}5;{}\n", price(i)));
        format!("x;price\n{}", rows.collect::<String>())
    };
    let (plain, _) = notes(&text('.', &|i| format!("{}.25", 1000 * i + 7)));
    let (splits, told) =
        notes(&text(',', &|i| format!("{i}.007,25 €").trim_start_matches("0.00").into()));
    assert_eq!(splits.train.targets, plain.train.targets);
    assert_eq!(splits.preprocessing.target.kind, plain.preprocessing.target.kind);
    assert!(
        told.contains("column `price` is read as numbers, `7,25 €` in line 2 as 7.25"),
        "{told}"
    );
    assert!(
        told.contains("numbers are read with a decimal comma, such as `0,5` in line 2"),
        "{told}"
    );

    let folder = folder(&[("b.csv", b"x;price\n1,5;\"1.007,25 \xe2\x82\xac\"\n1,5;1007,25\n")]);
    let read = |name: &str| {
        read_table(&folder.path().join(name), &splits.preprocessing, None, OnMissingTarget::Error)
    };
    let targets = read("b.csv").unwrap().0.targets;
    assert_eq!(targets.values(), [plain.train.targets.values()[1]; 2]);
}

#[test]
fn what_is_not_formatted_alike_is_told() {
    let table = |cells: [&str; 3]| {
        let rows = (0..30).map(|i| format!("{i}.5,\"{}\",{}\n", cells[i % 3], i % 2));
        format!("x,a,y\n{}", rows.collect::<String>())
    };
    for (cells, shown, unread) in [
        (["$5", "$6", "€7"], "`$5` in line 2 and `€7` in line 4", 2),
        (["5 %", "6 %", "0.7"], "`5 %` in line 2 and `0.7` in line 4", 0),
        (["1,234", "5,678", "1,5"], "`1,234` in line 2 and `1,5` in line 4", 2),
        (["(12)", "7", "5"], "`(12)` in line 2", 0),
        (["12-", "7", "5"], "`12-` in line 2", 0),
    ] {
        let (splits, told) = notes(&table(cells));
        let expected = format!(
            "column `a` is read as categories: its numbers are written as {shown} and read as text; \
             write numbers as -1234.5"
        );
        assert!(told.contains(&expected), "{told}");
        assert_eq!(splits.preprocessing.columns[1].format, None);
        let target = table(cells).replace("x,a,y", "x,y,a");
        check(
            &[("a.csv", target.as_bytes())],
            |_, options| options.target = TargetColumn::Name("y".into()),
            &format!("a.csv:{}: column `y`: `{}` is not a number", 2 + unread, cells[unread]),
            "write numbers as -1234.5",
        );
    }
    let rows: String = (0..30).map(|i| format!("({i}.5),{}\n", i % 2)).collect();
    check_text(
        &format!("price,y\n{rows}"),
        "`a.csv` has no column to learn from beside the target `y`",
        "column `price` is dropped: its numbers are written as `(0.5)` in line 2 and read as text",
    );
    let rows: String = (0..60).map(|i| format!("{i}.5,{}.5\n", 3 * i)).collect();
    for target in ["a", "b"] {
        check(
            &[("a.csv", format!("a,b\n{rows}$7,1.5\n\"1,5\",1.5\n").as_bytes())],
            |_, options| options.target = TargetColumn::Name(target.into()),
            "a.csv:63: column `a`: `1,5` is not a number",
            "write numbers as -1234.5",
        );
    }
    let rows: String = (0..30).map(|i| format!("{i};{},300\n", 1 + i % 15)).collect();
    let error = "a.csv:2: column `price`: `1,300` is not a number";
    check_text(&format!("x;price\n{rows}"), error, "if other numbers, such as 0.5 or 0,5, tell");
}

#[test]
fn a_column_that_is_set_to_numbers_may_be_formatted() {
    let numeric = |cells: [&str; 3]| {
        let rows = (0..30).map(|i| format!("{},{}\n", cells[i % 3], i % 2));
        format!("a,y\n{}", rows.collect::<String>())
    };
    let set = |_: &Path, options: &mut CsvOptions| {
        options.columns.insert("a".into(), ColumnOverride::Numeric);
    };
    let (_folder, result) = read(&[("a.csv", numeric(["$5", "6", "$7"]).as_bytes())], set);
    let ColumnKind::Numeric { mean, .. } = result.unwrap().preprocessing.columns[0].kind else {
        panic!("no numbers")
    };
    assert_eq!(mean, 6.0);
    let refused = |cells, error: &str| {
        let error = format!("a.csv:{error}");
        check(&[("a.csv", numeric(cells).as_bytes())], set, &error, "write");
    };
    refused(["$5", "6", "€7"], "4: column `a`: `€7` is not a number");
    check(
        &[("a.csv", b"a;y\n$5;0\n$1,234;1\n")],
        set,
        "a.csv:3: column `a`: `$1,234` is not a number",
        "if other numbers, such as 0.5 or 0,5, tell",
    );
    refused(["5 %", "6 %", "0.7"], "2: column `a`: `5 %` is not a number");
    refused(["5", "6 %", "x"], "3: column `a`: `6 %` is not a number");
    refused(["$5", "6", "x"], "4: column `a`: `x` is not a number");

    let (_folder, result) =
        read(&[("a.csv", numeric(["5%", "6%", "7%"]).as_bytes())], |_, options| {
            options.columns.insert("a".into(), ColumnOverride::Categorical);
        });
    assert_eq!(result.unwrap().preprocessing.feature_names(), ["a=5%", "a=6%", "a=7%"]);
}

#[test]
fn classes_and_categories_keep_their_names() {
    let table = |cells: [&str; 2], delimiter: &str| {
        let row = |i: usize| [format!("{i},5"), cells[i % 2].into(), cells[i / 2 % 2].into()];
        let rows: String = (0..30).map(|i| row(i).join(delimiter) + "\n").collect();
        format!("{}\n{rows}", ["x", "band", "y"].join(delimiter))
    };
    let (splits, _) = notes(&table(["50%", "100%"], ";"));
    assert_eq!(splits.preprocessing.target.classes(), ["100%", "50%"]);
    assert_eq!(splits.preprocessing.target.format, None);
    assert_eq!(splits.preprocessing.feature_names(), ["x", "band"]);
    let (splits, told) = notes(&table(["0,5-1,5 %", "10-20%"], ";"));
    assert_eq!(splits.preprocessing.feature_names(), ["x", "band=0,5-1,5 %", "band=10-20%"]);
    assert!(!told.contains("column `band`"), "{told}");
    let set = |_: &Path, options: &mut CsvOptions| {
        options.columns.insert("band".into(), ColumnOverride::Categorical);
    };
    let (_folder, result) = read(&[("a.csv", table(["0,5 %", "1.000 %"], ";").as_bytes())], set);
    let splits = result.unwrap();
    assert_eq!(splits.preprocessing.target.classes(), ["0,5 %", "1.000 %"]);
    assert_eq!(splits.preprocessing.feature_names(), ["x", "band=0,5 %", "band=1.000 %"]);
    assert_eq!(encoded("1,5;0,5 %\n", &splits)[1..], [1.0, 0.0]);
}

#[test]
fn a_first_row_with_formatted_numbers_is_a_row() {
    let rows: String = (1..=30).map(|i| format!("${i}.5,{}%\n", 3 * i)).collect();
    let (splits, told) = notes(&rows);
    assert_eq!((splits.preprocessing.header, splits.train.rows()), (false, 30), "{told}");
    let (splits, told) = notes(&format!("price,rate\n{rows}"));
    assert_eq!((splits.preprocessing.header, splits.train.rows()), (true, 30), "{told}");
    assert_eq!(encoded("$3,5%\n", &splits), encoded("price,rate\n3,5\n", &splits));
}
