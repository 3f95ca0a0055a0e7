//! A log that grows by whole lines.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use crate::{StoreError, fault};

/// A text file that grows by one line at a time.
///
/// Lines are handed to the system one by one, so a killed process loses none that was appended; a
/// loss of power may cost the last ones, which is why checkpoints do not rely on logs.
#[derive(Debug)]
pub struct AppendLog {
    file: File,
    path: PathBuf,
}

impl AppendLog {
    /// Starts a new log.
    ///
    /// # Errors
    ///
    /// Where the file exists already or the system refuses.
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        let file = fault::point()
            .and_then(|()| OpenOptions::new().append(true).create_new(true).open(path))
            .map_err(StoreError::io("create", path))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Appends `line` and a line feed.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn append(&mut self, line: &str) -> Result<(), StoreError> {
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        fault::point()
            .and_then(|()| self.file.write_all(&bytes))
            .map_err(StoreError::io("append to", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_there_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = AppendLog::create(&path).unwrap();
        log.append("one").unwrap();
        log.append("two").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        assert!(AppendLog::create(&path).is_err(), "a log is never started over another");
    }
}
