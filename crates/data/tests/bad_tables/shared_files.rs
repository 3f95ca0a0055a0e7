//! Files that two splits would read.

use super::*;

#[test]
fn a_file_is_of_one_split_only() {
    let rows: &[u8] = b"x,y\n1,0\n2,1\n3,0\n";
    let files = [("a.csv", rows), ("b.csv", rows), ("c.csv", rows)];
    let set = |[validation, test]: [&'static str; 2]| {
        move |folder: &Path, options: &mut CsvOptions| {
            let path = |name: &str| (!name.is_empty()).then(|| folder.join(name));
            (options.validation_path, options.test_path) = (path(validation), path(test));
        }
    };
    let error = "`a.csv` is read for both `data.path` and `data.validation_path`";
    let help = "leave `data.validation_path` out to hold out a part of `data.path`";
    check(&files, set(["a.csv", "b.csv"]), error, help);
    let error = "`./a.csv` is read for both `data.path` and `data.test_path`";
    check(&files, set(["b.csv", "./a.csv"]), error, "or leave `data.test_path` out");
    let error = "`b.csv` is read for both `data.validation_path` and `data.test_path`";
    check(&files, set(["b.csv", "b.csv"]), error, "or leave `data.test_path` out");

    let (_folder, result) = read(&files, set(["b.csv", "c.csv"]));
    assert_eq!(result.unwrap().test.unwrap().rows(), 3);
}

#[cfg(unix)]
#[test]
fn a_link_is_the_file_that_it_leads_to() {
    check(
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
