//! A log that grows by whole lines or records.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use crate::{
    StoreError, fault,
    whole::{folder_of, sync_directory},
};

/// A file that grows by one line or record at a time.
///
/// They are handed to the system one by one, so a killed process loses none that was appended; a
/// loss of power may cost the last ones, which is why checkpoints do not rely on logs. There may be one
/// writer at a time: the file is opened for writing, since Windows cannot truncate one opened only for
/// appending.
#[derive(Debug)]
pub struct AppendLog {
    file: File,
    path: PathBuf,
    length: u64,
}

impl AppendLog {
    /// Starts a new log.
    ///
    /// # Errors
    ///
    /// Where the file exists already or the system refuses.
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        let file = fault::point()
            .and_then(|()| OpenOptions::new().write(true).create_new(true).open(path))
            .map_err(StoreError::io("create", path))?;
        sync_directory(folder_of(path))?;
        Ok(Self { file, path: path.to_owned(), length: 0 })
    }

    /// Opens an existing log, truncated to its first `length` bytes.
    ///
    /// # Errors
    ///
    /// Where there is none, it is shorter, or the system refuses.
    pub fn reopen(path: &Path, length: u64) -> Result<Self, StoreError> {
        let truncate = || {
            fault::point()?;
            let mut file = OpenOptions::new().write(true).open(path)?;
            let found = file.metadata()?.len();
            if found < length {
                let lost = format!("it has {found} bytes, and had {length}");
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, lost));
            }
            cut(&mut file, length)?;
            Ok(file)
        };
        let file = truncate().map_err(StoreError::io("truncate", path))?;
        Ok(Self { file, path: path.to_owned(), length })
    }

    /// Makes sure that what was appended survives a loss of power; returns the length in bytes.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn sync(&mut self) -> Result<u64, StoreError> {
        fault::point()
            .and_then(|()| self.file.sync_all())
            .and_then(|()| Ok(self.file.metadata()?.len()))
            .map_err(StoreError::io("sync", &self.path))
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
        self.append_record(&bytes)
    }

    /// Appends bytes as they are.
    ///
    /// # Errors
    ///
    /// Where the system refuses; then the log is as it was, if the system allows that much.
    pub fn append_record(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        // A fault at the second point stands for a partial write.
        let appended =
            fault::point().and_then(|()| self.file.write_all(bytes)).and_then(|()| fault::point());
        match appended {
            Ok(()) => self.length += bytes.len() as u64,
            Err(_) => {
                // The first error is the one to report.
                let _ = cut(&mut self.file, self.length);
            }
        }
        appended.map_err(StoreError::io("append to", &self.path))
    }
}

/// Cuts a file to its first `length` bytes, behind which it is written to from now on.
fn cut(file: &mut File, length: u64) -> io::Result<()> {
    file.set_len(length)?;
    file.seek(SeekFrom::Start(length)).map(drop)
}

/// The bytes of a log's whole lines among its first `length`; 0 where there is no log.
///
/// # Errors
///
/// Where it cannot be read.
pub fn whole_lines(path: &Path, length: u64) -> Result<u64, StoreError> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        read => read.map_err(StoreError::io("read", path))?,
    };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let kept = &bytes[..bytes.len().min(length)];
    Ok(kept.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last as u64 + 1))
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

    #[test]
    fn what_cannot_be_appended_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = AppendLog::create(&path).unwrap();
        log.append("one").unwrap();
        for failing in [0, 1] {
            fault::arm(failing);
            assert!(log.append("two").unwrap_err().to_string().contains("injected"));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n");
        }
        log.append("three").unwrap();
        let mut log = AppendLog::reopen(&path, 4).unwrap();
        fault::arm(1);
        assert!(log.append("four").is_err());
        log.append("five").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\nfive\n");
    }

    #[test]
    fn a_log_goes_on_where_it_was_synced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        assert!(AppendLog::reopen(&path, 0).is_err(), "there is none yet");
        let mut log = AppendLog::create(&path).unwrap();
        log.append("one").unwrap();
        let length = log.sync().unwrap();
        log.append("lost").unwrap();
        AppendLog::reopen(&path, length).unwrap().append("two").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        let error = AppendLog::reopen(&path, 9).unwrap_err().to_string();
        assert!(error.ends_with("log`: it has 8 bytes, and had 9"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn what_is_left_of_a_log_ends_with_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        assert_eq!(whole_lines(&path, 9).unwrap(), 0);
        for (left, length, expected) in [
            ("1,10\n2,20\n", 10, 10),
            ("1,10\n2,20\n3,30\n", 10, 10),
            ("1,10\n2,20", 10, 5),
            // It grew from another end than the checkpoint knows.
            ("1,10\n2,20\n3,30\n", 12, 10),
            ("1,", 10, 0),
            ("", 10, 0),
        ] {
            fs::write(&path, left).unwrap();
            assert_eq!(whole_lines(&path, length).unwrap(), expected, "{left:?}");
        }
    }
}
