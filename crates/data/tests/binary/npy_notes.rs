//! What is told of arrays.

use data::npy::{read_npy, read_npy_rows};

use crate::{
    npy::{floats, integers, options},
    support::folder,
};

/// As of a CSV file with the same rows.
#[test]
fn what_is_suspicious_is_told() {
    let rows: Vec<f32> =
        (0..40u16).flat_map(|i| [f32::from(i * 7 % 40), f32::from(i % 2), 3.0]).collect();
    let labels: Vec<i64> = (0..40).map(|i| i % 2).collect();
    let files = [
        ("features.npy", floats(&rows, 3)),
        ("targets.npy", integers(&labels)),
        ("test_features.npy", floats(&rows[..60], 3)),
        ("test_targets.npy", integers(&labels[..20])),
    ];
    let place = folder(&files);
    let splits = read_npy(&options(place.path()), 0).unwrap();
    let notes = splits.notes.join("\n");
    for note in [
        "column `x1` alone tells the target of every row to train on: if it is not known before the \
         target is, leave it out of the arrays",
        "column `x2` has the same value in every row to train on",
        "20 of 20 rows to test on are the same as rows to train on",
    ] {
        assert!(notes.contains(note), "{notes}");
    }

    let far = folder(&[("rows.npy", floats(&[1.0, 0.0, 3.0, 1e30, 1.0, 3.0], 3))]);
    let rows = read_npy_rows(&far.path().join("rows.npy"), &splits.preprocessing).unwrap();
    let [note] = &rows.notes[..] else { panic!("{:?}", rows.notes) };
    assert!(
        note.ends_with("column 0: the value `1e30` is far from all in the training rows"),
        "{note}"
    );
    let below = folder(&[("rows.npy", floats(&[-1e30, 0.0, 3.0], 3))]);
    let rows = read_npy_rows(&below.path().join("rows.npy"), &splits.preprocessing).unwrap();
    assert!(rows.notes[0].contains("the value `-1e30` is far from all"), "{:?}", rows.notes);
}

#[test]
fn many_columns_are_told_in_one_note() {
    let rows: Vec<f32> =
        (0..30u16).flat_map(|i| [[0.0; 20], [f32::from(i); 20]].concat()).collect();
    let labels: Vec<i64> = (0..30).map(|i| i % 2).collect();
    let place = folder(&[("features.npy", floats(&rows, 40)), ("targets.npy", integers(&labels))]);
    let splits = read_npy(&options(place.path()), 0).unwrap();
    let notes = splits.notes.join("\n");
    let constant = "20 columns have the same value in every row to train on, such as `x0`";
    assert!(notes.contains(constant), "{notes}");

    let far = folder(&[("rows.npy", floats(&[1e30; 40], 40))]);
    let rows = read_npy_rows(&far.path().join("rows.npy"), &splits.preprocessing).unwrap();
    let [note] = &rows.notes[..] else { panic!("{:?}", rows.notes) };
    let expected =
        "20 columns have values far from all in the training rows, such as `1e30` in column 20";
    assert!(note.ends_with(expected), "{note}");
}
