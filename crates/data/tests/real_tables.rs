//! The CSV source on real tables: each is read as a person would read it.

mod common;

use common::shared_data;
use data::{
    ColumnKind, Table, TableSplits, TargetKind, TargetScores, Targets, Task,
    csv_table::{ColumnOverride, CsvOptions, TargetColumn, read_csv, read_rows},
};

fn index(index: i64) -> TargetColumn {
    TargetColumn::Index(index)
}

fn name(name: &str) -> TargetColumn {
    TargetColumn::Name(name.into())
}

/// Reads a shared table, or `None` where the test skips.
fn read(
    file: &str,
    target: TargetColumn,
    set: impl FnOnce(&mut CsvOptions),
) -> Option<TableSplits> {
    let mut options = CsvOptions::new(shared_data(&format!("tabular/{file}"))?, target);
    set(&mut options);
    Some(read_csv(&options, 1).expect("a good table"))
}

fn counts(table: &Table) -> Vec<usize> {
    let labels = table.targets.labels();
    let classes = labels.iter().max().map_or(0, |&label| label + 1);
    (0..classes).map(|class| labels.iter().filter(|&&label| label == class).count()).collect()
}

fn dropped(splits: &TableSplits) -> Vec<&str> {
    let columns = splits.preprocessing.columns.iter();
    columns
        .filter(|column| matches!(column.kind, ColumnKind::Dropped { .. }))
        .map(|column| column.name.as_str())
        .collect()
}

/// Each feature of the training split has mean 0 and deviation 1, or is 0 throughout.
fn assert_standardised(table: &Table) {
    let width = table.features.len() / table.rows();
    for feature in 0..width {
        let values = || table.features.iter().skip(feature).step_by(width).map(|&x| f64::from(x));
        let mean = values().sum::<f64>() / table.rows() as f64;
        let variance = values().map(|x| (x - mean).powi(2)).sum::<f64>() / table.rows() as f64;
        assert!(mean.abs() < 1e-5, "feature {feature}: mean {mean}");
        assert!((variance - 1.0).abs() < 1e-4 || variance == 0.0, "feature {feature}: {variance}");
    }
}

#[test]
fn pima_has_no_header_and_two_classes() {
    let Some(splits) = read("pima-indians-diabetes.csv", index(-1), |_| {}) else { return };
    assert_eq!((splits.train.rows(), splits.preprocessing.width()), (768, 8));
    assert_eq!(counts(&splits.train), [500, 268]);
    assert_eq!(splits.preprocessing.task(), Task::Binary);
    assert_eq!(splits.preprocessing.target.name, "column_8");
    assert_standardised(&splits.train);
}

#[test]
fn pima_splits_alike_in_both_classes() {
    let Some(splits) =
        read("pima-indians-diabetes.csv", index(-1), |o| o.fractions.validation = 0.2)
    else {
        return;
    };
    assert_eq!(counts(&splits.train), [400, 214]);
    assert_eq!(counts(&splits.validation.unwrap()), [100, 54]);
    assert_standardised(&splits.train);
}

#[test]
fn iris_has_a_header_and_classes_of_text() {
    let Some(splits) = read("iris.csv", name("species"), |_| {}) else { return };
    assert_eq!(counts(&splits.train), [50, 50, 50]);
    let preprocessing = &splits.preprocessing;
    assert_eq!(preprocessing.target.classes(), ["setosa", "versicolor", "virginica"]);
    assert_eq!(
        preprocessing.feature_names(),
        ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    );
    let by_index = read("iris.csv", index(4), |_| {}).unwrap();
    assert_eq!(by_index, splits);
}

#[test]
fn wine_has_its_class_first() {
    let Some(splits) = read("wine.csv", index(0), |_| {}) else { return };
    assert_eq!(counts(&splits.train), [59, 71, 48]);
    assert_eq!(splits.preprocessing.target.classes(), ["1", "2", "3"]);
    assert_eq!(splits.preprocessing.width(), 13);
    assert_standardised(&splits.train);
}

#[test]
fn optdigits_is_validated_on_its_other_file() {
    let Some(other) = shared_data("tabular/optdigits.tes") else { return };
    let Some(splits) = read("optdigits.tra", index(-1), |options| {
        options.fractions.validation = 0.3; // the file comes first
        options.validation_path = Some(other.clone());
    }) else {
        return;
    };
    let tested = read("optdigits.tra", index(-1), |options| options.test_path = Some(other));
    assert_eq!((splits.train.rows(), splits.preprocessing.width()), (3823, 64));
    assert_eq!(splits.preprocessing.target.classes().len(), 10);
    assert_eq!(splits.validation.as_ref().unwrap().rows(), 1797);
    assert_eq!(splits.validation, tested.unwrap().test);
    assert_standardised(&splits.train); // some pixels are 0 in every picture
}

#[test]
fn titanic_has_missing_values_and_text() {
    let Some(splits) = read("titanic.csv", name("Survived"), |options| {
        options.columns.insert("PassengerId".into(), ColumnOverride::Drop);
        options.columns.insert("Pclass".into(), ColumnOverride::Categorical);
    }) else {
        return;
    };
    assert_eq!(counts(&splits.train), [549, 342]);
    assert_eq!(dropped(&splits), ["PassengerId", "Name", "Ticket", "Cabin"]);
    assert_eq!(
        splits.preprocessing.feature_names(),
        [
            "Pclass=1",
            "Pclass=2",
            "Pclass=3",
            "Sex=female",
            "Sex=male",
            "Age",
            "SibSp",
            "Parch",
            "Fare",
            "Embarked=C",
            "Embarked=Q",
            "Embarked=S",
        ]
    );
    let notes = splits.notes.join("\n");
    assert!(notes.contains("`Age`: 177 missing values are replaced by the mean, 29.69"), "{notes}");
    assert!(notes.contains("`Embarked`: 2 missing values"), "{notes}");
    assert!(notes.contains("by the most frequent, `S`"), "{notes}");
    assert!(notes.contains("`Name` is dropped: its text hardly recurs"), "{notes}");
}

#[test]
fn titanic_s_row_numbers_are_dropped() {
    let Some(splits) = read("titanic.csv", name("Survived"), |_| {}) else { return };
    let notes = splits.notes.join("\n");
    assert!(notes.contains("column `PassengerId` is dropped: it numbers the rows"), "{notes}");
}

#[test]
fn california_housing_is_a_regression() {
    let Some(splits) = read("california_housing.csv", name("median_house_value"), |_| {}) else {
        return;
    };
    assert_eq!((splits.train.rows(), splits.preprocessing.width()), (20_640, 13));
    let TargetKind::Regression(TargetScores { mean, .. }) = splits.preprocessing.target.kind else {
        panic!("{:?}", splits.preprocessing.target)
    };
    assert!((mean - 206_855.816_909).abs() < 1e-3, "{mean}");
    let Targets::Values(values) = &splits.train.targets else { panic!("{:?}", splits.train) };
    let first = splits.preprocessing.target.restore(values[0]);
    assert!((first - 452_600.0).abs() < 1.0, "{first}");
    assert!(splits.notes.iter().any(|note| note.contains("`total_bedrooms`: 207 missing values")));
}

/// The file that a model was trained on, given to it to predict, has the very features that it was
/// trained on.
#[test]
fn prediction_encodes_as_training_did() {
    let tables = [
        ("pima-indians-diabetes.csv", index(-1)),
        ("iris.csv", name("species")),
        ("titanic.csv", name("Survived")),
        ("california_housing.csv", name("median_house_value")),
    ];
    for (file, target) in tables {
        let Some(splits) = read(file, target, |_| {}) else { return };
        let path = shared_data(&format!("tabular/{file}")).unwrap();
        let rows =
            read_rows(std::fs::File::open(path).unwrap(), file, &splits.preprocessing).unwrap();
        assert_eq!(rows.features, splits.train.features, "{file}");
        assert_eq!(rows.len(), splits.train.rows());
        let header = u64::from(splits.preprocessing.header);
        assert_eq!(rows.lines, (1..=rows.len() as u64).map(|row| row + header).collect::<Vec<_>>());
    }
}
