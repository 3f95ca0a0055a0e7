//! A lock between processes, released when its holder ends.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::Path,
};

use crate::{StoreError, fault};

/// A lock file, held by one process at a time. The system releases the lock when the process ends,
/// however it ends; the file stays, since removing it could break the lock of the next holder.
#[derive(Debug)]
pub struct FileLock {
    _file: File, // held as long as it is open
}

impl FileLock {
    /// Takes the lock on the file at `path`, creating the file if needed; `None` if it is held
    /// already. On a file system without locks this always succeeds.
    ///
    /// # Errors
    ///
    /// Where the file cannot be opened or created.
    pub fn take(path: &Path) -> Result<Option<Self>, StoreError> {
        let file = open(path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(None),
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(Self { _file: file })),
        }
    }

    /// As [`take`](Self::take), but waits while another process holds it.
    ///
    /// # Errors
    ///
    /// As [`take`](Self::take).
    pub fn wait(path: &Path) -> Result<Self, StoreError> {
        let file = open(path)?;
        while file.lock().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {}
        Ok(Self { _file: file })
    }
}

/// For writing: Windows cannot lock a file opened only for appending.
fn open(path: &Path) -> Result<File, StoreError> {
    fault::point()
        .and_then(|()| OpenOptions::new().write(true).create(true).truncate(false).open(path))
        .map_err(StoreError::io("open", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_by_one_and_free_once_that_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = FileLock::take(&path).unwrap();
        assert!(held.is_some());
        assert!(FileLock::take(&path).unwrap().is_none());
        drop(held);
        let waited = FileLock::wait(&path).unwrap();
        assert!(FileLock::take(&path).unwrap().is_none());
        drop(waited);
        assert!(FileLock::take(&path).unwrap().is_some());
        assert!(FileLock::take(&path.join("below")).is_err());
        assert!(FileLock::wait(&path.join("below")).is_err());
    }
}
