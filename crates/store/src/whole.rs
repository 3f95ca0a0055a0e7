//! Files that are whole or absent.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::{StoreError, fault};

/// The ending of what is not complete.
pub(crate) const PARTIAL: &str = "partial";

/// Writes a file so that a reader, even after a loss of power, sees the old one or the new one.
///
/// The bytes go to `<path>.partial`, which is synced and renamed; then the directory is synced,
/// without which the new name itself could be lost.
///
/// # Errors
///
/// Where the system refuses; then `path` is as it was, and no partial file is left.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let partial = with_ending(path, PARTIAL);
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

/// Gives a file another name in its directory, durably; a file that has the name already goes.
///
/// # Errors
///
/// Where the system refuses.
pub fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    fault::point().and_then(|()| fs::rename(from, to)).map_err(StoreError::io("rename", from))?;
    sync_directory(parent(to))
}

/// Creates a directory and those above it, durably.
///
/// # Errors
///
/// Where the system refuses.
pub fn create_directory(path: &Path) -> Result<(), StoreError> {
    let named = |above: &&Path| !above.as_os_str().is_empty() && !above.exists();
    let new_above: Vec<&Path> = path.ancestors().skip(1).take_while(named).collect();
    fault::point()
        .and_then(|()| fs::create_dir_all(path))
        .map_err(StoreError::io("create the directory", path))?;
    // Each new name stands in the directory above it.
    std::iter::once(path).chain(new_above).try_for_each(|new| sync_directory(parent(new)))
}

/// Creates a directory, and those above it, where there is nothing of its name yet; returns whether
/// that was so. Of several processes that ask for one name, one gets it.
///
/// # Errors
///
/// Where the system refuses.
pub fn create_new_directory(path: &Path) -> Result<bool, StoreError> {
    let failed = |error| StoreError::io("create the directory", path)(error);
    fault::point().and_then(|()| fs::create_dir_all(parent(path))).map_err(failed)?;
    match fs::create_dir(path) {
        Ok(()) => sync_directory(parent(path)).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(error)),
    }
}

/// Removes a file or a directory with all that is in it; what is not there needs no removing.
///
/// A directory gets the name `<path>.partial` first, so that no half of it is taken for the whole.
///
/// # Errors
///
/// Where the system refuses.
pub fn remove(path: &Path) -> Result<(), StoreError> {
    let removed = fault::point().and_then(|()| match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(metadata) if !metadata.is_dir() => fs::remove_file(path),
        Ok(_) if path.extension().is_some_and(|extension| extension == PARTIAL) => {
            fs::remove_dir_all(path)
        }
        Ok(_) => {
            let partial = with_ending(path, PARTIAL);
            if partial.exists() {
                fs::remove_dir_all(&partial)?;
            }
            fs::rename(path, &partial)?;
            fault::point()?;
            fs::remove_dir_all(&partial)
        }
    });
    removed.map_err(StoreError::io("remove", path))
}

pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fault::point()?;
    let mut file = File::create(path)?;
    fault::point()?;
    file.write_all(bytes)?;
    fault::point()?;
    file.sync_all()
}

pub(crate) fn sync_directory(path: &Path) -> Result<(), StoreError> {
    fault::point()
        .and_then(|()| File::open(path)?.sync_all())
        .map_err(StoreError::io("sync the directory", path))
}

pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// The path with `.` and `ending` after its name.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
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
    fn a_name_is_changed_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for faults in 0.. {
            fs::write(&from, "new").unwrap();
            fs::write(&to, "old").unwrap();
            fault::arm(faults);
            let result = rename(&from, &to);
            if fault::disarm() {
                result.unwrap();
                assert_eq!(faults, 2, "rename, sync the directory");
                break;
            }
            assert!(result.unwrap_err().to_string().contains("injected"), "fault {faults}");
            assert_eq!(from.exists(), fs::read_to_string(&to).unwrap() == "old");
        }
        assert_eq!((from.exists(), fs::read_to_string(&to).unwrap().as_str()), (false, "new"));
    }

    #[test]
    fn each_new_directory_is_synced_in_the_one_above() {
        let mut faults = 0;
        loop {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a/b/c");
            fault::arm(faults);
            let result = create_directory(&path);
            if fault::disarm() {
                assert!(path.is_dir());
                break;
            }
            assert!(result.unwrap_err().to_string().contains("injected"), "fault {faults}");
            faults += 1;
        }
        assert_eq!(faults, 4, "create, and sync three directories");
    }

    #[test]
    fn what_is_removed_is_whole_or_marked_as_partial() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("directory");
        for fault_at in 0.. {
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("file"), "content").unwrap();
            fault::arm(fault_at);
            let result = remove(&path);
            if fault::disarm() {
                result.unwrap();
                assert_eq!(fault_at, 2, "rename, remove");
                break;
            }
            assert!(result.unwrap_err().to_string().contains("injected"));
            assert!(path.join("file").exists() != with_ending(&path, PARTIAL).exists());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        remove(&path).unwrap();
    }

    #[test]
    fn a_directory_is_new_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("above/directory");
        assert!(create_new_directory(&path).unwrap());
        assert!(!create_new_directory(&path).unwrap());
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(!create_new_directory(&folder.path().join("file")).unwrap());
        assert!(create_new_directory(&folder.path().join("file/directory")).is_err());
    }

    #[test]
    fn an_error_names_the_file() {
        let error = write_whole(Path::new("/nonexistent/folder/file"), b"").unwrap_err();
        assert!(error.to_string().contains("`/nonexistent/folder/file`"), "{error}");
        assert_eq!(error.help().as_deref(), Some("check the path"));
    }
}
