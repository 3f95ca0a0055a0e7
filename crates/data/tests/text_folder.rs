//! Folders of texts: what is read of them, and what is told of those that are wrong.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests too")]

#[path = "common/folders.rs"]
mod folders;

use std::{fs, path::Path};

use data::{
    ColumnKind, DataError, Fractions, Origins, TableSplits, Targets, TextColumns,
    text_folder::{
        TextFolderOptions, decode_text, fingerprint, read_labelled_texts, read_text_folder,
        text_files_in,
    },
};
use folders::{folder, refused};

/// Two classes, of which `a` has words that `b` has not.
const TEXTS: [(&str, &str); 4] = [
    ("a/1.txt", "The red sun\nrose."),
    ("a/2.txt", "A red sun."),
    ("b/1.TXT", "The blue moon."),
    ("b/2", "a blue moon"),
];

fn read(folder: &Path) -> Result<TableSplits, DataError> {
    read_text_folder(&TextFolderOptions::new(folder), 0)
}

/// The paths of rows within a folder.
fn files(origins: &Origins, folder: &Path) -> Vec<String> {
    let Origins::Files(files) = origins else { panic!("{origins:?}") };
    let within =
        |path: &std::path::PathBuf| path.strip_prefix(folder).unwrap().display().to_string();
    files.iter().map(|path| within(path).replace('\\', "/")).collect()
}

#[test]
fn each_file_is_a_row_and_each_folder_a_class() {
    let root = folder(&TEXTS);
    let splits = read(root.path()).unwrap();
    let expected = ["a/1.txt", "a/2.txt", "b/1.TXT", "b/2"];
    assert_eq!(files(&splits.train.origins, root.path()), expected);
    assert_eq!(splits.train.targets, Targets::Classes(vec![0, 0, 1, 1]));
    assert_eq!(splits.preprocessing.target.classes(), ["a", "b"]);
    let [ColumnKind::Text { vocabulary, length }] =
        &splits.preprocessing.columns.iter().map(|column| column.kind.clone()).collect::<Vec<_>>()
            [..]
    else {
        panic!("{:?}", splits.preprocessing)
    };
    let words: Vec<String> =
        (0..vocabulary.len() as u32).map(|id| vocabulary.token(id).unwrap()).collect();
    assert_eq!(words, ["<unknown>", ".", "a", "blue", "moon", "red", "sun", "the"]);
    // The longest text has five tokens, of which `rose` is in no other.
    assert_eq!(*length, 5);
    assert_eq!(splits.train.features[..5], [8.0, 6.0, 7.0, 1.0, 2.0]);
    assert_eq!(splits.train.features[15..], [0.0, 0.0, 3.0, 4.0, 5.0]);
    assert_eq!((splits.validation, splits.test, splits.skipped), (None, None, 0));
}

#[test]
fn splits_are_folders_or_held_out() {
    let root = folder(
        &TEXTS
            .map(|(path, text)| (format!("train/{path}"), text))
            .each_ref()
            .map(|(p, t)| (&p[..], *t)),
    );
    for (path, text) in
        [("test/a/1.txt", "red sun"), ("val/b/1.txt", "green moon"), ("notes.txt", "")]
    {
        fs::create_dir_all(root.path().join(path).parent().unwrap()).unwrap();
        fs::write(root.path().join(path), text).unwrap();
    }
    fs::write(root.path().join("train/urls.txt"), "beside the classes").unwrap();
    let splits = read(root.path()).unwrap();
    let (validation, test) = (splits.validation.unwrap(), splits.test.unwrap());
    assert_eq!(files(&validation.origins, root.path()), ["val/b/1.txt"]);
    assert_eq!(validation.features, [0.0, 0.0, 0.0, 1.0, 5.0]);
    assert_eq!(
        (test.targets, test.features),
        (Targets::Classes(vec![0]), vec![0.0, 0.0, 0.0, 6.0, 7.0])
    );
    let notes = splits.notes.join("\n").replace('\\', "/");
    for expected in [
        "train/urls.txt`: texts are read from class folders only",
        "test` has no texts of the class `b`: if that is no class, move its folder out of `",
        "% of the words are in a single text to train on",
    ] {
        assert!(notes.contains(expected), "{notes}");
    }

    let mut options = TextFolderOptions::new(root.path().join("train"));
    options.fractions.validation = 0.5;
    let held_out = read_text_folder(&options, 3).unwrap();
    assert_eq!(held_out.validation.unwrap().targets, Targets::Classes(vec![0, 1]));
    assert_eq!(held_out.train.targets, Targets::Classes(vec![0, 1]));
}

#[test]
fn other_texts_are_measured_as_the_model_reads_them() {
    let root = folder(&TEXTS);
    let preprocessing = read(root.path()).unwrap().preprocessing;
    let (split, table, notes) = read_labelled_texts(root.path(), &preprocessing).unwrap();
    assert_eq!((split, &table), (None, &read(root.path()).unwrap().train));
    assert_eq!(notes, Vec::<String>::new());

    let other = folder(&[("test/b/1.txt", "blue moon"), ("train/c/1.txt", "not read")]);
    let (split, table, _) = read_labelled_texts(other.path(), &preprocessing).unwrap();
    assert_eq!((split, table.targets), (Some("test"), Targets::Classes(vec![1])));

    let unknown = folder(&[("a/1.txt", "red"), ("c/1.txt", "green")]);
    refused(
        unknown.path(),
        read_labelled_texts(unknown.path(), &preprocessing),
        "the model does not know the class `c`",
        "the classes are `a`, `b`",
    );
    let rows = data::TablePreprocessing { rows_are_files: false, ..preprocessing };
    let error = "`FOLDER` is a folder, and each row of the model is not one text";
    refused(root.path(), read_labelled_texts(root.path(), &rows), error, "name a file of rows");
}

#[test]
fn what_is_not_utf8_is_latin_1_and_told() {
    let latin: &[u8] = b"a na\xefve caf\xe9";
    let root = folder(&[
        ("a/1.txt", latin),
        ("a/2.txt", "naïve".as_bytes()),
        ("b/1.txt", b"\n "),
        ("b/2.txt", latin),
    ]);
    let splits = read(root.path()).unwrap();
    let [first, second] = [0, 1].map(|row| splits.train.features[row * 3..][..3].to_vec());
    assert_eq!(first[1], second[2], "one word in both encodings");
    let notes = splits.notes.join("\n").replace('\\', "/");
    let path = root.path().display().to_string().replace('\\', "/");
    for expected in [
        format!("2 texts, such as `{path}/a/1.txt`, are not UTF-8, and read as Latin-1"),
        format!("the text `{path}/b/1.txt` is without a word"),
    ] {
        assert!(notes.contains(&expected), "{notes}");
    }
    let decoded = decode_text(latin.to_vec(), Path::new("x")).unwrap();
    assert_eq!(decoded, ("a naïve café".to_owned(), false));
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let check = |files: &[(&str, &[u8])], error: &str, help: &str| {
        let root = folder(files);
        refused(root.path(), read(root.path()), error, help);
    };
    let a: (&str, &[u8]) = ("a/1.txt", b"red sun");
    let b: (&str, &[u8]) = ("b/1.txt", b"red moon");
    check(
        &[a],
        "`FOLDER` has one class folder only, `a`",
        "put the texts of each class in a folder",
    );
    check(&[("1.txt", b"red")], "`FOLDER` has no class folders", "put the texts of each class");
    let unsorted = "the texts in `train` are in no class folders";
    check(
        &[("train/1.txt", b"red"), ("test/1.txt", b"red")],
        unsorted,
        "put the texts of each class",
    );
    check(
        &[a, ("b/1.pdf", b"")],
        "the class folder `b` has no texts",
        "add texts (.txt, or no ending), or delete what has none",
    );
    check(
        &[a, ("b/1.txt", b"blue")],
        "`FOLDER`: no word is in two of the texts to train on",
        "add texts",
    );
    check(
        &[a, b, ("b/2.txt", b"a\0b")],
        "`b/2.txt`: the text has a zero byte at byte 1",
        "move it away",
    );
    check(
        &[a, b, ("b/2", b"%PDF-1.4 \xff")],
        "`b/2` is a PDF document, plain text is expected",
        "pdftotext",
    );
    check(
        &[a, b, ("b/2.txt", b"\xffa\0b")],
        "`b/2.txt`: the text is not UTF-8 at byte 0",
        "move it away, if it is no text",
    );
    check(
        &[a, b, ("b/2", b"\xff\xfer\0e\0d\0")],
        "`b/2`: the text is not UTF-8 at byte 0",
        "iconv -f utf-16",
    );
    let known = [("train/a/1.txt", a.1), ("train/b/1.txt", b.1), ("test/c/1.txt", a.1)];
    let unknown = "the class folder `test/c` has no counterpart to train on";
    check(&known, unknown, "check its spelling against the folders in");
    check(
        &[("x/a/1.txt", a.1), ("x/b/1.txt", b.1), ("y/a/1.txt", a.1), ("y/b/1.txt", b.1)],
        "the folders in `FOLDER` hold folders and no texts, as `x/a`",
        "each class has a folder of texts",
    );
    let root = folder(&TEXTS);
    let file = root.path().join("a/1.txt");
    refused(
        root.path(),
        read(&file),
        "`a/1.txt` is a file, a folder is expected",
        "name the folder",
    );
    let none = root.path().join("none");
    refused(root.path(), read(&none), "`none` does not exist", "check the path");
    let texts = TextColumns { vocabulary: 1, length: 5 };
    let options = TextFolderOptions { texts, ..TextFolderOptions::new(root.path()) };
    let error = "texts cannot be read as 5 tokens with a vocabulary of 1 words";
    refused(root.path(), read_text_folder(&options, 0), error, "from 2 to 1,000,000");
}

#[test]
fn texts_in_two_splits_are_told() {
    let in_both =
        [("train/a/1.txt", "red sun"), ("train/b/1.txt", "red moon"), ("test/a/7.txt", "red sun")];
    let root = folder(&in_both);
    let splits = read(root.path()).unwrap();
    assert_eq!(splits.shared.len(), 1);
    assert!(data::refuse_shared(&splits.shared).is_err());
}

/// What stands for a missing value in a table does so in a file, since it does when the text is predicted.
#[test]
fn texts_are_learnt_from_as_they_are_predicted() {
    let files = [
        ("a/1.txt", "NA"),
        ("a/2.txt", " red,\n\u{feff}don’t "),
        ("b/1.txt", "?"),
        ("b/2.txt", "red don't"),
    ];
    let root = folder(&files);
    let splits = read(root.path()).unwrap();
    let mut predicted = Vec::new();
    for (_, text) in files {
        splits.preprocessing.encode(&[text], &mut predicted).unwrap();
    }
    assert_eq!(splits.train.features, predicted);
    assert!(predicted.contains(&0.0) && predicted.contains(&2.0));
}

#[test]
fn what_the_program_wrote_among_the_data_is_no_class() {
    let root = folder(&TEXTS);
    let same = fingerprint(root.path()).unwrap();
    let written = [
        "runs/first/config.toml",
        "runs/first/environment.json",
        "runs/first/out.txt",
        "runs/out.txt",
        "notes/second/config.toml",
        "notes/second/environment.json",
        "README",
    ];
    for file in written {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "red").unwrap();
    }
    assert_eq!(read(root.path()).unwrap().preprocessing.target.classes(), ["a", "b"]);
    assert_eq!(fingerprint(root.path()).unwrap(), same);

    // Of texts these tell nothing.
    for file in
        ["a/manifest.json", "b/config.toml", "b/more/config.toml", "a/more/environment.json"]
    {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "{}").unwrap();
    }
    assert_eq!(fingerprint(root.path()).unwrap(), same);
}

#[cfg(unix)]
#[test]
fn class_folders_may_be_links() {
    let elsewhere = folder(&TEXTS);
    let root = folder(&[("train/b/1.txt", "a blue moon"), ("docs/1.txt", "not read")]);
    std::os::unix::fs::symlink(elsewhere.path().join("a"), root.path().join("train/a")).unwrap();
    let splits = read(root.path()).unwrap();
    assert_eq!(splits.train.rows(), 3);
    assert!(splits.notes.iter().any(|note| note.contains("docs`")), "{:?}", splits.notes);
    let before = fingerprint(root.path()).unwrap();
    fs::write(elsewhere.path().join("a/1.txt"), "another text").unwrap();
    assert_ne!(fingerprint(root.path()).unwrap(), before);
}

#[test]
fn a_part_of_what_is_not_held_out_can_be_trained_on() {
    let texts: Vec<(String, &str)> =
        (0..40).map(|i| (format!("{}/{i}.txt", ["a", "b"][i % 2]), "one text of many")).collect();
    let texts: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (&**path, *text)).collect();
    let root = folder(&texts);
    let fractions = Fractions { train: 0.5, validation: 0.25, test: 0.25 };
    let options = TextFolderOptions { fractions, ..TextFolderOptions::new(root.path()) };
    let splits = read_text_folder(&options, 1).unwrap();
    let rows =
        [Some(splits.train), splits.validation, splits.test].map(|table| table.unwrap().rows());
    assert_eq!(rows, [10, 10, 10]);
}

#[test]
fn a_fingerprint_is_of_names_and_contents() {
    let of = |files: &[(&str, &str)]| fingerprint(folder(files).path()).unwrap();
    let same = of(&TEXTS);
    assert_eq!(of(&TEXTS), same);
    let [first, rest @ ..] = TEXTS;
    let with = |other: (&'static str, &'static str)| of(&[&[other], &rest[..]].concat());
    assert_ne!(with(("a/1.txt", "The red sun\nrose")), same);
    assert_ne!(with(("b/0.txt", first.1)), same);
}

#[test]
fn texts_to_predict_lie_at_any_depth() {
    let root = folder(&[("b.txt", ""), ("a/c/d", ""), ("a/e.png", ""), (".f.txt", "")]);
    let found: Vec<_> = text_files_in(root.path()).unwrap();
    assert_eq!(found, ["a/c/d", "b.txt"].map(|name| root.path().join(name)));
}
