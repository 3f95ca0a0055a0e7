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
