//! Numbers with a decimal comma in some columns, some rows, or only in the rows to predict.

use data::csv_table::RowReader;

use super::{told::notes, *};

/// A header and `count` rows.
pub(super) fn table(header: &str, count: usize, row: impl Fn(usize) -> String) -> String {
    let rows = (0..count).map(|index| row(index) + "\n");
    format!("{header}\n{}", rows.collect::<String>())
}

/// The mean of each column of numbers.
fn means(splits: &TableSplits) -> Vec<f64> {
    let columns = splits.preprocessing.columns.iter();
    let mean = |kind: &ColumnKind| match kind {
        ColumnKind::Numeric { mean, .. } => Some(*mean),
        _ => None,
    };
    columns.filter_map(|column| mean(&column.kind)).collect()
}

/// As much of Europe writes numbers; the file to predict may leave open what its commas mean.
#[test]
fn decimal_commas_are_read_where_another_delimiter_divides_the_cells() {
    let rows = |size: &str, price: &str| {
        table("size;price;y", 30, |i| format!("{size};{price}{i};{}", i % 2))
    };
    let (splits, told) = notes(&rows("2.030", "-1,5"));
    let note = "numbers are read with a decimal comma, such as `-1,50` in line 2";
    assert!(told.contains(note), "{told}");
    let [size, price] = means(&splits)[..] else { panic!("{told}") };
    assert!(size == 2030.0 && (-1.6..-1.5).contains(&price), "{size} {price}");
    assert_eq!(encoded("2.030;-1,500\n", &splits), encoded("2030;-1.5\n", &splits));
    assert_eq!(encoded("2.030;-2\n", &splits), encoded("2030;-2.0\n", &splits));

    let (_, told) = notes(&rows("5,125", "1,5"));
    assert!(!told.contains("the point in"), "{told}");
    let (_, told) = notes(&rows("2.030", "1"));
    let note = "column `size`: the point in `2.030`, line 2, is read as a decimal one";
    assert!(told.contains(note), "{told}");
}

/// Where numbers have a decimal point, `1,500` is another category than `1.5`.
#[test]
fn a_comma_is_no_point_in_the_names_of_a_file_without_decimal_commas() {
    let text = table("litres,x,y", 60, |i| format!("{},{i}.5,{}", ["1.5", "0.75"][i % 2], i % 2));
    let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, options| {
        options.columns = [("litres".to_owned(), ColumnOverride::Categorical)].into();
    });
    let preprocessing = result.unwrap().preprocessing;
    let notes = |cell: &str| {
        let rows = format!("litres,x\n\"{cell}\",1\n");
        read_rows(rows.as_bytes(), "b.csv", &preprocessing).unwrap().notes.join("\n")
    };
    assert_eq!(notes("1.5"), "");
    let unseen = "`b.csv`: column `litres`: the value `1,500` is not in the training rows";
    assert_eq!(notes("1,500"), unseen);
}

#[test]
fn cells_that_are_kept_are_as_they_were_written() {
    let text = table("size;price;y", 30, |i| format!("2.030;1,5{i};{}", i % 2));
    let (splits, _) = notes(&text);
    let mut reader = RowReader::new(text.as_bytes(), "a.csv", &splits.preprocessing).unwrap();
    reader.keep(&["price".to_owned(), "size".to_owned()]).unwrap();
    let rows = reader.next_rows(1).unwrap().unwrap();
    assert_eq!(rows.kept, [["1,50", "2.030"]]);
}

#[test]
fn a_number_is_the_same_whatever_rows_stand_beside_it() {
    let litres = ["0,5", "0,75", "1,5"];
    let weight = |row: usize| format!("{}.{:03}", row % 3, 100 + 7 * row % 900);
    let text =
        table("litres;weight;y", 60, |row| format!("{};{};{row}.5", litres[row % 3], weight(row)));
    for kind in [None, Some(ColumnOverride::Categorical), Some(ColumnOverride::Drop)] {
        let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, options| {
            options.columns.extend(kind.map(|kind| ("litres".to_owned(), kind)));
        });
        let splits = result.unwrap();
        let width = splits.preprocessing.width();
        let alone = encoded("litres;weight\n1,5;1.977\n", &splits);
        let beside = encoded("litres;weight\n1,5;1.977\n0,5;0.712\n", &splits);
        assert_eq!(alone, beside[..width]);
        assert!(alone.iter().all(|score| score.abs() < 3.0), "{alone:?}");
    }
}

#[test]
fn rows_to_predict_may_be_written_otherwise_than_the_training_file() {
    let words = ["0.5", "x"];
    let text = table("a,word,y", 40, |row| format!("{row}.25,{},{}", words[row % 2], row % 2));
    let (splits, _) = notes(&text);
    let plain = encoded("a,word\n1.5,0.5\n", &splits);
    assert_eq!(encoded("a;word\n1,5;0,5\n", &splits), plain);
    assert_eq!(encoded("1,5;0,5\n7,5;x\n", &splits)[..plain.len()], plain);

    let folder = folder(&[("b.csv", b"a;word;y\n1,5;0,5;1\n")]);
    let (table, told) = read_table(
        &folder.path().join("b.csv"),
        &splits.preprocessing,
        None,
        OnMissingTarget::Error,
    )
    .unwrap();
    assert_eq!((table.features, told.len()), (plain, 0), "{told:?}");
}

/// `1.000` is a thousand there, whatever it is called.
#[test]
fn categories_and_classes_are_read_as_in_the_training_file() {
    let names = ["1", "10", "1.000", "Palette"];
    let amounts = ["1,5", "10", "1.000", "Palette"];
    for other in ["0,5", "0.5"] {
        let text = table("price;weight;version;amount;y", 80, |row| {
            format!("{row},25;{row},5;{other};{};{}", amounts[row % 4], names[row % 3])
        });
        let (folder, result) = read(&[("a.csv", text.as_bytes())], |_, options| {
            for column in ["version", "amount"] {
                options.columns.insert(column.to_owned(), ColumnOverride::Categorical);
            }
        });
        let splits = result.unwrap();
        assert_eq!(splits.preprocessing.target.classes(), ["1", "10", "1000"]);
        assert_eq!(encoded(&text, &splits), splits.train.features);
        let by_commas = table("price,weight,version,amount", 80, |row| {
            let amount = ["\"1,5\"", "10", "1000", "Palette"][row % 4];
            format!("{row}.25,{row}.5,0.5,{amount}")
        });
        assert_eq!(encoded(&by_commas, &splits), splits.train.features);
        let path = folder.path().join("a.csv");
        let (table, _) =
            read_table(&path, &splits.preprocessing, None, OnMissingTarget::Error).unwrap();
        assert_eq!(table.targets, splits.train.targets);
    }
}

#[test]
fn each_column_tells_how_its_numbers_are_written() {
    let text = table("version;weight;price;y", 60, |row| {
        let version = ["2.0", "2.125"][row % 2];
        format!("{version};{},5;{}.{:03};{}", row % 7, row % 9 + 1, row, ["ja", "nein"][row % 2])
    });
    let (splits, told) = notes(&text);
    let [version, weight, price] = means(&splits)[..] else { panic!("{told}") };
    assert!(version < 2.2 && weight < 8.0, "{version} {weight}");
    assert!(price < 11.0, "as many columns have points as commas: {price}");
    let note = "numbers are read with a decimal comma, such as `0,5` in line 2, but with a decimal \
                point in `version`";
    assert!(told.contains(note), "{told}");
    let row = encoded("2.125;3,5;4.021\n2.0;3,5;4.5\n", &splits);
    assert_eq!(encoded("2.125;3,5;4.021\n", &splits), row[..3]);
    assert_eq!(encoded("2,1250;3,5;4,0210\n", &splits), row[..3]);
    let rows = read_rows(&b"2,125;3,5;4,0210\n"[..], "b.csv", &splits.preprocessing).unwrap();
    let error = rows.refused[0].error.to_string();
    assert_eq!(error, "b.csv:1: column `version`: `2,125` is not a number");

    let (splits, _) =
        notes(&text.replace(";y\n", ";z\n").replace("ja", "0,5").replace("nein", "0,25"));
    assert!(means(&splits)[2] > 1000.0, "as most columns");
    let row = encoded("2.125;3,5;4.021\n2.0;3,5;4.021\n", &splits);
    let alone = encoded("2.125;3;4.021\n", &splits);
    assert_eq!([alone[0], alone[2]], [row[0], row[2]]);
}

/// Of columns that differ, each keeps how it is written, also those behind the target.
#[test]
fn a_column_is_written_as_itself_wherever_the_target_stands() {
    for header in ["y;version;price", "version;y;price", "version;price;y"] {
        let text = table(header, 60, |row| {
            let cell = |name| match name {
                "version" => format!("{}.25", row % 3),
                "price" => format!("{row},5"),
                _ => ["ja", "nein"][row % 2].to_owned(),
            };
            header.split(';').map(cell).collect::<Vec<_>>().join(";")
        });
        let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, options| {
            options.target = TargetColumn::Name("y".into());
        });
        let splits = result.unwrap();
        let point = |column: &data::Column| column.format.and_then(|format| format.point);
        let points: Vec<_> = splits.preprocessing.columns.iter().map(point).collect();
        assert_eq!(points, [Some('.'), Some(',')], "{header}");
    }
}

#[test]
fn one_point_costs_a_column_with_commas_nothing() {
    let price = |row: usize| if row == 40 { "2.0".into() } else { format!("{row},5") };
    let text = table("price;y", 60, |row| format!("{};{}", price(row), row % 2));
    let (splits, told) = notes(&text);
    assert_eq!(splits.preprocessing.feature_names(), ["price"], "{told}");
    let expected = (0..60).map(|row| row as f64 + 0.5).sum::<f64>() - 38.5;
    assert!((means(&splits)[0] - expected / 60.0).abs() < 1e-9, "{:?}", means(&splits));
}

#[test]
fn the_first_comma_may_stand_far_below() {
    let cell = |row: usize| if row < 120 { "0".into() } else { format!("{row},1") };
    let text = table("rain;y", 200, |row| format!("{};{}", cell(row), row % 2));
    let (splits, told) = notes(&text);
    assert_eq!(splits.preprocessing.feature_names(), ["rain"]);
    let note = "numbers are read with a decimal comma, such as `120,1` in line 122";
    assert!(told.contains(note), "{told}");
    let (splits, _) = notes(&table("a;y", 200, |row| format!("{row};{}", cell(row))));
    assert_eq!(splits.preprocessing.task(), Task::Regression);
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
