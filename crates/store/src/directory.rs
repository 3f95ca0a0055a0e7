//! Directories that are whole or absent.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    StoreError, fault, remove, rename,
    whole::{PARTIAL, sync_directory, with_ending, write_synced},
};

/// The ending of a directory that another one is about to replace.
const PREVIOUS: &str = "previous";

/// Writes a directory of files so that a reader, even after a loss of power, sees all or nothing.
///
/// The files go to `<path>.partial` and are synced one by one; then the directory is synced and
/// renamed. A directory that exists already is renamed to [`previous_name`]; the caller removes it
/// once the new one is verified. If a previous one is still there, the last write was never verified:
/// it stays, and the directory at `path` is removed. There may be one writer of a path at a time.
///
/// # Errors
///
/// Where the system refuses; then the old directory is whole, at `path` or at [`previous_name`].
pub fn write_directory(path: &Path, files: &[(&str, Vec<u8>)]) -> Result<(), StoreError> {
    let (partial, previous) = (with_ending(path, PARTIAL), previous_name(path));
    if previous.exists() {
        remove(path)?;
    }
    remove(&partial)?;
    let written = write_files(&partial, files);
    if written.is_err() {
        // The disk may be full; if this fails too, the next write removes it.
        let _ = fs::remove_dir_all(&partial);
    }
    written?;
    if path.exists() {
        rename(path, &previous)?;
    }
    rename(&partial, path)
}

fn write_files(directory: &Path, files: &[(&str, Vec<u8>)]) -> Result<(), StoreError> {
    fault::point()
        .and_then(|()| fs::create_dir(directory))
        .map_err(StoreError::io("create the directory", directory))?;
    for (name, bytes) in files {
        let file = directory.join(name);
        write_synced(&file, bytes).map_err(StoreError::io("write", &file))?;
    }
    sync_directory(directory)
}

/// The name of a directory that [`write_directory`] has replaced.
pub fn previous_name(path: &Path) -> PathBuf {
    with_ending(path, PREVIOUS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The content of a directory's two files, if it is there.
    fn content(path: &Path) -> Option<[String; 2]> {
        path.exists()
            .then(|| ["a", "b"].map(|name| fs::read_to_string(path.join(name)).unwrap_or_default()))
    }

    fn both(text: &str) -> [String; 2] {
        [text, text].map(str::to_owned)
    }

    #[test]
    fn a_write_that_fails_anywhere_leaves_a_whole_directory_and_can_be_repeated() {
        let files = |text: &str| [("a", text.into()), ("b", text.into())];
        let mut faults = 0;
        loop {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("directory");
            write_directory(&path, &files("old")).unwrap();
            fault::arm(faults);
            let result = write_directory(&path, &files("new"));
            let fault_is_past_the_end = fault::disarm();
            let (now, previous) = (content(&path), content(&previous_name(&path)));
            if fault_is_past_the_end {
                assert_eq!((now, previous), (Some(both("new")), Some(both("old"))));
                break;
            }
            assert!(result.unwrap_err().to_string().contains("injected"), "fault {faults}");
            assert!(
                now.as_ref().or(previous.as_ref()) == Some(&both("old"))
                    || (now == Some(both("new")) && previous == Some(both("old"))),
                "fault {faults}: {now:?}, {previous:?}"
            );
            write_directory(&path, &files("again")).unwrap();
            assert_eq!(content(&path), Some(both("again")));
            assert_eq!(content(&previous_name(&path)), Some(both("old")), "fault {faults}");
            faults += 1;
        }
        assert_eq!(faults, 13);
    }
}
