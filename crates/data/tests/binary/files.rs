//! What all sources of a folder do where it cannot be read.

use std::path::Path;

use data::{DataError, cifar10::read_cifar10, idx::read_idx};

use crate::{npy::read, support::folder};

fn error_of<T>(read: impl Fn(&Path) -> Result<T, DataError>, path: &Path) -> DataError {
    read(path).err().expect("this cannot be read")
}

#[test]
fn paths_that_are_no_folder() {
    let folder = folder(&[("file", vec![])]);
    let file = folder.path().join("file");
    for error in [error_of(read_idx, &file), error_of(read_cifar10, &file), error_of(read, &file)] {
        let expected = format!("`{}` is a file, a folder is expected", file.display());
        assert_eq!(error.to_string(), expected);
        let help = format!("name the folder, as `{}`", folder.path().display());
        assert_eq!(error.help(), Some(help));
    }
    let absent = folder.path().join("absent");
    let expected = format!("`{}` does not exist", absent.display());
    assert_eq!(error_of(read_idx, &absent).to_string(), expected);
}

#[cfg(unix)]
#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn files_without_permission() {
    use std::{
        fs::{self, File, Permissions},
        os::unix::fs::PermissionsExt,
    };

    let folder = folder(&[("features.npy", vec![]), ("targets.npy", vec![])]);
    let path = folder.path().join("features.npy");
    fs::set_permissions(&path, Permissions::from_mode(0o0)).unwrap();
    if File::open(&path).is_ok() {
        eprintln!("SKIPPED: this user may read every file");
        return;
    }
    let error = error_of(read, folder.path());
    assert_eq!(error.to_string(), format!("no permission to read `{}`", path.display()));
}
