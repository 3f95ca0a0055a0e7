//! What errors say.

use std::path::Path;

use super::*;

#[test]
fn errors_of_the_system_are_told_apart() {
    let check = |kind: io::ErrorKind, expected: &str| {
        let error = DataError::io(Path::new("a.csv"), kind.into());
        assert_eq!(error.to_string(), expected);
    };
    check(io::ErrorKind::NotFound, "`a.csv` does not exist");
    check(io::ErrorKind::PermissionDenied, "no permission to read `a.csv`");
    check(io::ErrorKind::IsADirectory, "`a.csv` is a directory, a file is expected");
}

#[test]
fn a_source_of_ones_own_speaks_for_itself() {
    let error = DataError::Source("the database is asleep".into());
    assert_eq!(error.to_string(), "the database is asleep");
    assert!(error.help().is_some());
}
