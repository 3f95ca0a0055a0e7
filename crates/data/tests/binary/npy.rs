//! The NPY source: arrays as NumPy saves them, the same table as CSV, and what is no array.

use std::{
    fmt::Write,
    fs,
    path::{MAIN_SEPARATOR, Path},
};

use data::{
    ColumnKind, DataError, Fractions, Origins, TableSplits, TargetKind, Targets, Task,
    csv_table::{CsvOptions, TargetColumn, read_csv, read_rows},
    npy::{NpyOptions, read_npy, read_npy_rows, read_npy_table},
    refuse_shared,
};
use proptest::prelude::*;

use crate::support::{Files, arbitrary_or_mutated, check, folder, value_or_helpful_error};

pub(crate) fn options(path: &Path) -> NpyOptions {
    NpyOptions::new(path)
}

pub(crate) fn read(path: &Path) -> Result<TableSplits, DataError> {
    read_npy(&options(path), 0)
}

/// A file that `golden/npy/generate.py` wrote.
fn golden(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/npy");
    fs::read(folder.join(name).with_extension("npy")).unwrap()
}

fn npy(dtype: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\0", &length[..], header.as_bytes(), values].concat()
}

pub(crate) fn floats(values: &[f32], width: usize) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npy("<f4", &format!("({}, {width})", values.len() / width), &bytes)
}

fn wide_floats(values: &[f64]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npy("<f8", &format!("({},)", values.len()), &bytes)
}

pub(crate) fn integers(values: &[i64]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npy("<i8", &format!("({},)", values.len()), &bytes)
}

/// Two samples to train on, whose file of features or of targets is replaced.
fn with(name: &'static str, content: Vec<u8>) -> [(&'static str, Vec<u8>); 2] {
    let mut files = [("features.npy", golden("f4")), ("targets.npy", golden("targets"))];
    files.iter_mut().filter(|file| file.0 == name).for_each(|file| file.1 = content.clone());
    files
}

#[test]
fn a_copy_of_the_samples_is_no_other_split() {
    let files = [
        ("features.npy", golden("f4")),
        ("targets.npy", golden("targets")),
        ("test_features.npy", golden("f4")),
        ("test_targets.npy", golden("targets")),
    ];
    let folder = folder(&files);
    let shared = read(folder.path()).unwrap().shared;
    let error = refuse_shared(&shared).unwrap_err();
    let told =
        error.to_string().replace(&format!("{}{MAIN_SEPARATOR}", folder.path().display()), "");
    let expected = "`test_features.npy`, read for the test split, is a copy of `features.npy`, \
                    read for the training split";
    assert_eq!(told, expected);
    assert_eq!(error.help().unwrap(), "put other samples into the test split, or remove it");
}

#[test]
fn arrays_are_read_as_numpy_saves_them() {
    for name in [
        "u1",
        "i4",
        "i8",
        "f4",
        "f8",
        "version_2",
        "version_3",
        "three_dimensions",
        "fortran_order",
    ] {
        let splits = read(folder(&with("features.npy", golden(name))).path()).unwrap();
        assert_eq!(splits.preprocessing.feature_names(), ["x0", "x1"], "{name}");
        assert_eq!(splits.preprocessing.target.classes(), ["-1", "7"], "{name}");
        assert_eq!(splits.notes, ["target `target`: binary, 2 classes"], "{name}");
        assert_eq!(splits.train.targets, Targets::Classes(vec![1, 0, 1]), "{name}");
        let rows = read_rows(&b"x0,x1\n0,1\n5,3\n2,250\n"[..], "rows", &splits.preprocessing);
        assert_eq!(splits.train.features, rows.unwrap().features, "{name}");
    }
}

#[test]
fn a_model_reads_other_arrays_as_it_learnt() {
    let files = [("features.npy", golden("f4")), ("targets.npy", golden("targets"))];
    let trained = folder(&files);
    let splits = read(trained.path()).unwrap();
    let of = |path: &Path| read_npy_table(path, &splits.preprocessing);
    assert_eq!(of(trained.path()).unwrap(), (None, splits.train.clone()));
    let rows = read_npy_rows(&trained.path().join("features.npy"), &splits.preprocessing);
    assert_eq!(rows.unwrap().features, splits.train.features);
    let wrong = [("rows.npy", floats(&[2.0, 250.0, f32::NAN, 1.0, 0.0, 1.0], 2))];
    let wrong = read_npy_rows(&folder(&wrong).path().join("rows.npy"), &splits.preprocessing);
    let wrong = wrong.unwrap();
    assert_eq!((&wrong.rows[..], wrong.features.len()), (&[0, 2][..], 2 * 2));
    assert_eq!(wrong.features[..2], splits.train.features[4..]);
    let [(1, error)] = &wrong.refused[..] else { panic!("{:?}", wrong.refused) };
    assert!(error.to_string().contains("row 1, column 0 is NaN"), "{error}");

    // The class alone would be the first of its own file.
    let test =
        [("test_features.npy", floats(&[2.0, 250.0], 2)), ("test_targets.npy", integers(&[7]))];
    let (split, table) = of(folder(&[files.to_vec(), test.to_vec()].concat()).path()).unwrap();
    assert_eq!((split, table.targets), (Some("test"), Targets::Classes(vec![1])));
    assert_eq!(table.features, splits.train.features[4..]);

    let width = "`features.npy` has shape (3, 3), the features to train on have the width 2";
    check(of, &with("features.npy", floats(&[0.0; 9], 3)), width, "a.shape");
    let class = "`targets.npy`: row 2 is 5, which is not among the targets to train on";
    check(of, &with("targets.npy", integers(&[7, -1, 5])), class, "correct the row");
    check(of, &[], "`FOLDER` has no file `features.npy`", "put the file there");
    let mut mixed = splits.preprocessing.clone();
    mixed.columns[1].kind = ColumnKind::Dropped { reason: "a text".into() };
    let text = "`features.npy` holds numbers, but the column `x1` of the model is not numeric";
    check(|path| read_npy_table(path, &mixed), &files, text, "a CSV file");
    let mut named = splits.preprocessing.clone();
    named.target.kind = TargetKind::Binary { classes: ["no".into(), "yes".into()] };
    let text = "`targets.npy` holds numbers, but the class `no` of the model is not numeric";
    check(|path| read_npy_table(path, &named), &files, text, "a CSV file");
}

/// Pseudo-random numbers of a few digits, which a CSV file holds exactly.
fn numbers(count: usize) -> Vec<f32> {
    (0..count as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 50) as f32 / 64.0).collect()
}

/// Reads one table of 40 rows as NPY and as CSV, and expects the same of both.
fn check_like_csv(targets: Vec<u8>, texts: &[String], task: Option<Task>) -> TableSplits {
    let features = numbers(40 * 3);
    let mut csv = String::from("x0,x1,x2,target\n");
    for (row, target) in features.chunks(3).zip(texts) {
        // As f64 all digits are written, and not only as many as tell one f32 from another.
        let [a, b, c] = [0, 1, 2].map(|column| f64::from(row[column]));
        writeln!(csv, "{a},{b},{c},{target}").unwrap();
    }
    let folder = folder(&[
        ("features.npy", floats(&features, 3)),
        ("targets.npy", targets),
        ("table.csv", csv.into_bytes()),
    ]);
    let fractions = Fractions { validation: 0.25, ..Fractions::default() };
    let found = read_npy(&NpyOptions { task, fractions, ..options(folder.path()) }, 3);
    let table = CsvOptions::new(folder.path().join("table.csv"), TargetColumn::Index(-1));
    let mut expected = read_csv(&CsvOptions { task, fractions, ..table }, 3).unwrap();
    assert_eq!(expected.notes.remove(0), "the first line, `x0,x1,x2,target`, is the header");
    // An array has no lines; those of the splits are all that there are but the header.
    let splits = [Some(&mut expected.train), expected.validation.as_mut()];
    let origins = splits.into_iter().flatten().map(|table| std::mem::take(&mut table.origins));
    let lines = origins.flat_map(|origins| match origins {
        Origins::Lines(lines) => lines,
        _ => panic!("{origins:?}"),
    });
    let mut lines: Vec<u64> = lines.collect();
    lines.sort_unstable();
    assert!(lines.into_iter().eq(2..42));
    let found = found.unwrap();
    assert_eq!(found, expected);
    found
}

#[test]
fn arrays_and_csv_make_the_same_table() {
    let check = |values: Vec<i64>, task, expected| {
        let texts: Vec<String> = values.iter().map(i64::to_string).collect();
        let splits = check_like_csv(integers(&values), &texts, task);
        assert_eq!(splits.preprocessing.task(), expected);
        assert_eq!(splits.validation.unwrap().rows(), 10);
    };
    check((0..40).map(|i| i % 2).collect(), None, Task::Binary);
    check((0..40).map(|i| i % 2).collect(), Some(Task::Multiclass), Task::Multiclass);
    check((0..40).map(|i| i % 20 - 5).collect(), None, Task::Multiclass);
    check((0..40).map(|i| i % 20).collect(), Some(Task::Regression), Task::Regression);
    check((0..40).map(|i| i % 21).collect(), None, Task::Regression);
    check((0..40).map(|i| i % 21).collect(), Some(Task::Multiclass), Task::Multiclass);

    let values: Vec<i64> = (0..12).map(|i| 5 * i).collect();
    let folder =
        folder(&[("features.npy", floats(&numbers(12), 1)), ("targets.npy", integers(&values))]);
    let task = read(folder.path()).unwrap().preprocessing.task();
    assert_eq!(task, Task::Regression, "few whole numbers that are there once each");

    let values = &numbers(200)[160..];
    let texts: Vec<String> = values.iter().map(|&value| f64::from(value).to_string()).collect();
    check_like_csv(floats(values, 1), &texts, None);
}

/// As binary cross-entropy takes them elsewhere.
#[test]
fn whole_floats_are_classes_as_integers_are() {
    let check = |of: usize, task, expected| {
        let values: Vec<f64> = (0..40).map(|row| (row % of) as f64).collect();
        let texts: Vec<String> = values.iter().map(f64::to_string).collect();
        let narrow: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        let splits = check_like_csv(floats(&narrow, 1), &texts, task);
        assert_eq!(splits.preprocessing.task(), expected);
        assert_eq!(check_like_csv(wide_floats(&values), &texts, task), splits);
    };
    check(2, None, Task::Binary);
    check(2, Some(Task::Binary), Task::Binary);
    check(2, Some(Task::Regression), Task::Regression);
    check(20, None, Task::Multiclass);
    check(21, None, Task::Regression);
}

#[test]
fn many_integers_that_recur_may_be_classes() {
    let check = |rows: i64, task, expected: &str| {
        let values: Vec<i64> = (0..rows).map(|row| row % 21).collect();
        let features = floats(&numbers(values.len()), 1);
        let folder = folder(&[("features.npy", features), ("targets.npy", integers(&values))]);
        let splits = read_npy(&NpyOptions { task, ..options(folder.path()) }, 0).unwrap();
        assert_eq!(splits.notes, [expected]);
    };
    let values = "target `target`: regression";
    let told = "; if its numbers are classes, `--set data.task=multiclass` tells them apart";
    check(210, None, &format!("{values}{told}"));
    check(210, Some(Task::Regression), values);
    check(209, None, values);
}

/// Times in milliseconds, a second apart: 32-bit floats would be the same for two minutes.
#[test]
fn large_numbers_that_differ_by_little_stay_apart() {
    let times: Vec<i64> = (0..40).map(|i| 1_700_000_000_000 + 1000 * i).collect();
    let bytes = |values: &[i64]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let rows: Vec<String> = times.iter().map(|time| format!("{time},{}\n", time + 7)).collect();
    let later: Vec<u8> = times.iter().flat_map(|&v| ((v + 7) as f64).to_le_bytes()).collect();
    let folder = folder(&[
        ("features.npy", npy("<i8", "(40, 1)", &bytes(&times))),
        ("targets.npy", npy("<f8", "(40,)", &later)),
        ("table.csv", format!("x0,target\n{}", rows.concat()).into_bytes()),
    ]);
    let arrays = read(folder.path()).unwrap();
    let table = CsvOptions::new(folder.path().join("table.csv"), TargetColumn::Index(-1));
    let table = read_csv(&table, 0).unwrap();

    let deviation = (1599.0f64 / 12.0).sqrt(); // of 0 to 39
    for splits in [&arrays, &table] {
        assert_eq!(splits.train.rows(), 40);
        let values = splits.train.features.iter().zip(splits.train.targets.values());
        for (row, (&feature, &target)) in values.enumerate() {
            let expected = (row as f64 - 19.5) / deviation;
            assert!((f64::from(feature) - expected).abs() < 1e-6, "{feature} in row {row}");
            assert!((f64::from(target) - expected).abs() < 1e-6, "{target} in row {row}");
        }
        let text = rows.concat();
        let predicted = read_rows(text.as_bytes(), "rows", &splits.preprocessing).unwrap();
        assert_eq!(predicted.features, splits.train.features);
    }
}

#[test]
fn other_splits_are_encoded_as_the_first() {
    let mut files = with("", vec![]).to_vec();
    files.push(("validation_features.npy", floats(&[0.0, 1.0, 5.0, 3.0], 2)));
    files.push(("validation_targets.npy", integers(&[-1, 7])));
    files.push(("test_features.npy", floats(&[2.0, 250.0], 2)));
    files.push(("test_targets.npy", integers(&[7])));
    let place = folder(&files);
    let mut options = options(place.path());
    options.fractions.validation = 0.5;
    let splits = read_npy(&options, 0).unwrap();
    let (validation, test) = (splits.validation.unwrap(), splits.test.unwrap());
    assert_eq!(splits.train.rows(), 3);
    assert_eq!(validation.features, splits.train.features[..4]);
    assert_eq!(test.features, splits.train.features[4..]);
    assert_eq!(validation.targets.labels(), [0, 1]);

    let mut replaced = |name: &'static str, content: Vec<u8>, error: &str, help: &str| {
        let index = files.iter().position(|file| file.0 == name).unwrap();
        let before = std::mem::replace(&mut files[index].1, content);
        check(read, &files, error, help);
        files[index].1 = before;
    };
    let error = "`test_features.npy` has shape (1, 1), the features to train on have the width 2";
    replaced("test_features.npy", floats(&[2.0], 1), error, "a.shape");
    let error = "`test_targets.npy`: row 0 is 3, which is not among the targets to train on";
    replaced("test_targets.npy", integers(&[3]), error, "each class");
    let error = "`validation_targets.npy` has values that are not whole, classes are expected";
    replaced("validation_targets.npy", floats(&[7.0, -0.5], 1), error, "np.int64");
    files.pop();
    check(read, &files, "`FOLDER` has no file `test_targets.npy`", "name the folder");
}

#[test]
fn a_target_too_far_from_those_to_train_on_is_named() {
    let files = [
        ("features.npy", floats(&[1.0, 2.0, 3.0], 1)),
        ("targets.npy", floats(&[1e-20, 2e-20, 3e-20], 1)),
        ("test_features.npy", floats(&[1.0, 2.0], 1)),
        ("test_targets.npy", floats(&[1e-20, 2f32.powi(100)], 1)),
    ];
    let error = "`test_targets.npy`: the target of row 1 is 1.2676506002282294e30, too far from \
                 those to train on for a 32-bit float";
    check(read, &files, error, "correct the target");
}

#[test]
fn booleans_are_zeros_and_ones() {
    let folder = folder(&with("features.npy", golden("bool")));
    let train = read(folder.path()).unwrap().train;
    let whole = |number: &f32| number.to_bits();
    let [first, second] = [0, 2].map(|place| whole(&train.features[place]));
    assert_ne!(first, second);
    assert_eq!(whole(&train.features[4]), second);
}

#[test]
fn more_classes_than_a_network_could_tell_apart_are_refused() {
    let many: Vec<i64> = (0..1001).flat_map(|class| [class, class]).collect();
    let numbers: Vec<f32> = (0..2002u16).map(f32::from).collect();
    let files = [("features.npy", floats(&numbers, 1)), ("targets.npy", integers(&many))];
    let place = folder(&files);
    let options = NpyOptions { task: Some(Task::Multiclass), ..options(place.path()) };
    let error = read_npy(&options, 0).unwrap_err().to_string();
    assert!(
        error.ends_with("has 1,001 different values, and there may be 1,000 classes"),
        "{error}"
    );
}

#[test]
fn arrays_that_are_not_read() {
    let check = |content: Vec<u8>, error: &str, help: &str| {
        check(read, &with("features.npy", content), &format!("`features.npy` {error}"), help);
    };
    let dtype = |dtype| format!("has values of type `{dtype}`, expected b1, u1, i4, i8, f4 or f8");
    check(golden("objects"), &dtype("|O"), "np.float32");
    check(golden("big_endian"), &dtype(">f4"), "newbyteorder");
    check(golden("records"), &dtype("[('a', '<i4'), ('b', '<f4')], 'fortran_o…"), "np.float32");
    let empty = "expected at least one row and one value a row";
    check(golden("scalar"), &format!("has shape (), {empty}"), "a.shape");
    check(
        npy("<f4", "(0, 99999999999)", &[]),
        &format!("has shape (0, 99999999999), {empty}"),
        "a.shape",
    );
    check(npy("<f4", "(3, 0)", &[]), &format!("has shape (3, 0), {empty}"), "a.shape");

    check(
        b"PK\x03\x04zip".to_vec(),
        "is not an NPY file, it begins with `PK\\x03\\x04zi`",
        "np.savez",
    );
    let mut version = golden("f4");
    version[6] = 9;
    check(version, "has version 9 of the format, expected 1 to 3", "np.save");
}

#[test]
fn lengths_that_do_not_fit() {
    let check = |content: Vec<u8>, error: &str| {
        check(read, &with("features.npy", content), &format!("`features.npy` {error}"), "again");
    };
    check(vec![], "has 0 bytes, 6 are expected");
    check([&golden("f4")[..], b"x"].concat(), "goes on after the 152 bytes that are expected");

    // A header of 4 GB, and an array of many.
    let header = b"\x93NUMPY\x02\0\xff\xff\xff\xff{'descr'".to_vec();
    check(header, "has 20 bytes, 4294967307 are expected");
    let array = npy("<f8", "(99999999999, 99999999999)", &[0; 8]);
    let error = format!("has {} bytes, {} are expected", array.len(), u64::MAX);
    check(array, &error);
}

#[test]
fn targets_and_values_that_are_wrong() {
    let check = |name, content, error: &str, help| check(read, &with(name, content), error, help);
    let error = "`targets.npy` has shape (3, 2), expected one target a row";
    check("targets.npy", floats(&[0.0; 6], 2), error, "argmax");
    let error = "`features.npy` has 3 rows, `targets.npy` has 2";
    check("targets.npy", integers(&[0, 1]), error, "a.shape");
    check("targets.npy", integers(&[4; 3]), "`targets.npy` is 4 in every row", "nothing to learn");
    check(
        "targets.npy",
        floats(&[0.5; 3], 1),
        "`targets.npy` is 0.5 in every row",
        "nothing to learn",
    );

    let finite = "expected a finite 32-bit float";
    let values = [0.0, 1.0, 2.0, f32::NAN, 4.0, 5.0];
    let error = format!("`features.npy`: row 1, column 1 is NaN, {finite}");
    check("features.npy", floats(&values, 2), &error, "np.nan_to_num");
    let error = format!("`targets.npy`: row 2, column 0 is inf, {finite}");
    check("targets.npy", floats(&[0.0, 1.0, f32::INFINITY], 1), &error, "np.isfinite");
    let large = npy("<f8", "(3,)", &[0.0f64, 1.0, 2e39].map(f64::to_le_bytes).concat());
    let error = format!("`features.npy`: row 2, column 0 is 2e39, {finite}");
    check("features.npy", large, &error, "np.nan_to_num");
}

#[test]
fn options_that_do_not_fit() {
    let check = |targets: Vec<u8>, set: fn(&mut NpyOptions), error: &str, help: &str| {
        let read = |folder: &Path| {
            let mut options = options(folder);
            set(&mut options);
            read_npy(&options, 0)
        };
        check(read, &with("targets.npy", targets), error, help);
    };
    let two = || integers(&[0, 1, 0]);
    let fraction = "the share to hold out is 1 in all, and must be at least 0 and below 1";
    check(two(), |options| options.fractions.validation = 1.0, fraction, "data.validation");
    check(
        integers(&[0, 1, 2]),
        |options| (options.fractions.validation, options.task) = (0.5, Some(Task::Multiclass)),
        "no class has a sample to spare, so none can be held out",
        "data.validation",
    );
    check(
        integers(&[0, 1, 2]),
        |options| options.task = Some(Task::Binary),
        "`targets.npy`: the task is binary, the target `target` has 3 classes",
        "multiclass",
    );
    check(
        floats(&[0.0, 1.0, 0.5], 1),
        |options| options.task = Some(Task::Binary),
        "`targets.npy` has values that are not whole, classes are expected",
        "data.task",
    );
}

#[test]
fn files_that_are_missing() {
    let features = [("features.npy", golden("f4"))];
    let check = |files: Files, error: &str| check(read, files, error, "name the folder");
    check(&[], "`FOLDER` has no file `features.npy`");
    check(&features, "`FOLDER` has no file `targets.npy`");
}

proptest! {
    #[test]
    fn any_bytes_are_arrays_or_an_error(
        features in arbitrary_or_mutated(golden("f4")),
        targets in prop_oneof![
            Just(golden("targets")),
            Just(floats(&[0.5, 1.5, 2.5], 1)),
            arbitrary_or_mutated(golden("targets")),
        ],
        validation in prop_oneof![Just(0.0), 0.0..1.0],
    ) {
        let folder = folder(&[("features.npy", features), ("targets.npy", targets)]);
        let fractions = Fractions { validation, ..Fractions::default() };
        let result = read_npy(&NpyOptions { fractions, ..options(folder.path()) }, 0);
        let Some(splits) = value_or_helpful_error(result) else { return Ok(()) };
        let width = splits.preprocessing.width();
        for table in [Some(&splits.train), splits.validation.as_ref()].into_iter().flatten() {
            prop_assert!(table.rows() > 0);
            prop_assert_eq!(table.features.len(), table.rows() * width);
            prop_assert!(table.features.iter().all(|feature| feature.is_finite()));
        }
    }
}
