//! A lock between processes, released when its holder ends.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::Path,
};

use same_file::Handle;

use crate::{StoreError, fault};

/// A lock file, held by one process at a time. The system releases the lock when the process ends,
/// however it ends; the file stays, since removing it could break the lock of the next holder.
#[derive(Debug)]
pub struct FileLock {
    file: File, // held as long as it is open
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
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(Self { file })),
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
        Ok(Self { file })
    }

    /// Whether there is another file at `path` than this: one that was put there after this was moved or
    /// removed.
    pub fn is_replaced(&self, path: &Path) -> bool {
        let own = self.file.try_clone().and_then(Handle::from_file);
        matches!((own, Handle::from_path(path)), (Ok(own), Ok(there)) if own != there)
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
        let replaced = FileLock::take(&path).unwrap().unwrap();
        assert!(!replaced.is_replaced(&path));
        std::fs::rename(&path, folder.path().join("moved")).unwrap();
        assert!(!replaced.is_replaced(&path));
        std::fs::write(&path, "").unwrap();
        assert!(replaced.is_replaced(&path));
        drop(replaced);
        let waited = FileLock::wait(&path).unwrap();
        assert!(FileLock::take(&path).unwrap().is_none());
        drop(waited);
        assert!(FileLock::take(&path).unwrap().is_some());
        assert!(FileLock::take(&path.join("below")).is_err());
        assert!(FileLock::wait(&path.join("below")).is_err());
    }
}
