//! Files that are in two splits.

use std::path::MAIN_SEPARATOR;

use data::refuse_shared;

use super::*;

/// Expects that a run on the first of these files cannot begin.
fn check_refused(
    files: &[(&str, &[u8])],
    set: impl FnOnce(&Path, &mut CsvOptions),
    error: &str,
    help: &str,
) {
    let (folder, result) = read(files, set);
    let splits = result.expect("the files can be read");
    let note = splits.shared[0].note();
    assert_eq!(splits.notes[0], note);
    assert_eq!(
        note.replace(&format!("{}{MAIN_SEPARATOR}", folder.path().display()), "").find(error),
        Some(0)
    );
    refused(folder.path(), refuse_shared(&splits.shared), error, help);
}

#[test]
fn a_file_is_of_one_split_only() {
    let [a, b, c]: [&[u8]; 3] =
        [b"x,y\n1,0\n2,1\n3,0\n", b"x,y\n4,0\n2,1\n3,0\n", b"x,y\n5,0\n2,1\n3,0\n"];
    let files = [("a.csv", a), ("b.csv", b), ("c.csv", c), ("copy.csv", a)];
    let set = |[validation, test]: [&'static str; 2]| {
        move |folder: &Path, options: &mut CsvOptions| {
            let path = |name: &str| (!name.is_empty()).then(|| folder.join(name));
            (options.validation_path, options.test_path) = (path(validation), path(test));
        }
    };
    let error = "`a.csv` is read for both `data.path` and `data.validation_path`";
    let help = "leave `data.validation_path` out to hold out a part of `data.path`";
    check_refused(&files, set(["a.csv", "b.csv"]), error, help);
    let error = "`./a.csv` is read for both `data.path` and `data.test_path`";
    check_refused(&files, set(["b.csv", "./a.csv"]), error, "or leave `data.test_path` out");
    let error = "`b.csv` is read for both `data.validation_path` and `data.test_path`";
    check_refused(&files, set(["b.csv", "b.csv"]), error, "or leave `data.test_path` out");
    let error = "`copy.csv`, read for `data.test_path`, is a copy of `a.csv`, read for `data.path`";
    check_refused(&files, set(["", "copy.csv"]), error, "or leave `data.test_path` out");

    let (_folder, result) = read(&files, set(["b.csv", "c.csv"]));
    let splits = result.unwrap();
    assert_eq!(splits.test.unwrap().rows(), 3);
    assert_eq!(splits.shared, []);
}

#[cfg(unix)]
#[test]
fn a_link_is_the_file_that_it_leads_to() {
    check_refused(
        &[("a.csv", b"x,y\n1,0\n2,1\n")],
        |folder, options| {
            let link = folder.join("link.csv");
            std::os::unix::fs::symlink(&options.path, &link).unwrap();
            options.test_path = Some(link);
        },
        "`link.csv` is read for both `data.path` and `data.test_path`",
        "name other samples",
    );
}
