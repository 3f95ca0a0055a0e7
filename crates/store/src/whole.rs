//! Files that are whole or absent.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

use crate::{StoreError, fault};

/// Writes a file so that a reader, even after a loss of power, sees the old one or the new one.
///
/// The bytes go to `<path>.partial`, which is synced and renamed; then the directory is synced,
/// without which the new name itself could be lost.
///
/// # Errors
///
/// Where the system refuses; then `path` is as it was, and no partial file is left.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let partial = partial_name(path);
    let written = write_synced(&partial, bytes)
        .and_then(|()| fault::point().and_then(|()| fs::rename(&partial, path)))
        .map_err(StoreError::io("write", path));
    if written.is_err() {
        // The first error is the one to report; a partial file that stays harms nobody.
        let _ = fs::remove_file(&partial);
    }
    written?;
    sync_directory(parent(path))
}

/// Creates a directory and those above it, durably.
///
/// # Errors
///
/// Where the system refuses.
pub fn create_directory(path: &Path) -> Result<(), StoreError> {
    fault::point()
        .and_then(|()| fs::create_dir_all(path))
        .map_err(StoreError::io("create the directory", path))?;
    sync_directory(parent(path))
}

fn write_synced(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    fault::point()?;
    let mut file = File::create(path)?;
    fault::point()?;
    file.write_all(bytes)?;
    fault::point()?;
    file.sync_all()
}

fn sync_directory(path: &Path) -> Result<(), StoreError> {
    fault::point()
        .and_then(|()| File::open(path)?.sync_all())
        .map_err(StoreError::io("sync the directory", path))
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

fn partial_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_fails_anywhere_leaves_the_old_or_the_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut faults = 0;
        loop {
            fs::write(&path, "old").unwrap();
            fault::arm(faults);
            let result = write_whole(&path, b"new");
            let fault_is_past_the_end = fault::disarm();
            let content = fs::read_to_string(&path).unwrap();
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "fault {faults}");
            if fault_is_past_the_end {
                assert_eq!(content, "new");
                break;
            }
            assert!(result.unwrap_err().to_string().contains("injected"), "fault {faults}");
            assert!(["old", "new"].contains(&content.as_str()));
            faults += 1;
        }
        assert_eq!(faults, 5, "create, write, sync, rename, sync the directory");
    }

    #[test]
    fn an_error_names_the_file() {
        let error = write_whole(Path::new("/nonexistent/folder/file"), b"").unwrap_err();
        assert!(error.to_string().contains("`/nonexistent/folder/file`"), "{error}");
        assert_eq!(error.help().as_deref(), Some("check the path"));
    }
}
