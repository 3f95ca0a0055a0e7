//! Folders of small files, and the errors of what reads them.

use std::{
    fmt::Debug,
    fs,
    path::{MAIN_SEPARATOR, Path},
};

use data::DataError;
use tempfile::TempDir;

/// A folder of these files.
pub(crate) fn folder<C: AsRef<[u8]>>(files: &[(&str, C)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder in it");
        fs::write(path, content).expect("a file in it");
    }
    folder
}

/// Expects an error, given without the folder of its paths, and a part of its help.
pub(crate) fn refused<T: Debug>(
    folder: &Path,
    result: Result<T, DataError>,
    error: &str,
    help: &str,
) {
    let found = result.expect_err(error);
    let path = folder.display().to_string();
    let inside = format!("{path}{MAIN_SEPARATOR}");
    let found_error = found.to_string().replace(&inside, "").replace(&path, "FOLDER");
    let on_unix = |text: &str| text.replace(MAIN_SEPARATOR, "/");
    assert_eq!(on_unix(&found_error), on_unix(error));
    let found_help = found.help().unwrap_or_default();
    assert!(found_help.contains(help), "{error}: {found_help}");
}
