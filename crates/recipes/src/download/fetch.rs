//! Downloads one file, resuming where it broke off last time.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use ureq::{
    Agent,
    http::{StatusCode, header},
};

use super::{DownloadError, DownloadProgress, catalogue::RemoteFile};

/// The most connections for one file. Each but the last must bring something.
const MOST_CONNECTIONS: usize = 50;

/// Downloads a file into a folder, unless it is there. Only one process may do so at a time.
pub(super) fn fetch(
    agent: &Agent,
    url: &str,
    file: &RemoteFile,
    folder: &Path,
    progress: &mut DownloadProgress<'_>,
) -> Result<(), DownloadError> {
    let destination = folder.join(file.name);
    let expected = file.sha256;
    if destination.exists() {
        let found = hash(&destination)?;
        if found.starts_with(expected) {
            let bytes = destination.metadata().map_err(DownloadError::file(&destination))?.len();
            // It is there, so there is nothing to stop.
            let _ = progress(bytes, bytes);
            return Ok(());
        }
        return Err(DownloadError::Other { path: destination, found, expected });
    }

    let mut part = Part::open(folder.join(format!("{}.part", file.name)), file.bytes)?;
    for _ in 0..MOST_CONNECTIONS {
        if part.is_whole() {
            break;
        }
        let before = part.have;
        match part.go_on(agent, url, progress) {
            // A full disk stays full; a broken connection is retried if it brought anything.
            Err(error @ (DownloadError::File { .. } | DownloadError::Stopped)) => {
                return Err(error);
            }
            Err(error) if part.have == before => return Err(error),
            _ if part.have == before => break,
            _ => {}
        }
    }
    let Part { path, file, have, bytes } = part;
    if let Some(bytes) = bytes.filter(|&bytes| have < bytes) {
        return Err(DownloadError::BrokenOff { url: url.to_owned(), have, bytes });
    }
    file.sync_all().map_err(DownloadError::file(&path))?;

    let found = hash(&path)?;
    if !found.starts_with(expected) {
        fs::remove_file(&path).map_err(DownloadError::file(&path))?;
        return Err(DownloadError::Checksum { url: url.to_owned(), found, expected });
    }
    Ok(store::rename(&path, &destination)?)
}

/// What has arrived of a file.
struct Part {
    path: PathBuf,
    file: File, // at its end
    have: u64,
    /// Of the whole file, if known.
    bytes: Option<u64>,
}

impl Part {
    fn open(path: PathBuf, bytes: Option<u64>) -> Result<Self, DownloadError> {
        // Not for appending alone: Windows cuts no such file.
        let options = || File::options().create(true).write(true).truncate(false).open(&path);
        let mut file = options().map_err(DownloadError::file(&path))?;
        let have = file.seek(SeekFrom::End(0)).map_err(DownloadError::file(&path))?;
        Ok(Self { path, file, have, bytes })
    }

    fn is_whole(&self) -> bool {
        self.bytes.is_some_and(|bytes| self.have >= bytes)
    }

    fn clear(&mut self) -> Result<(), DownloadError> {
        self.have = 0;
        let cleared = self.file.set_len(0).and_then(|()| self.file.rewind());
        cleared.map_err(DownloadError::file(&self.path))
    }

    /// Appends what one connection brings. If the total is not known, the server tells it. A server that
    /// cannot resume starts over.
    fn go_on(
        &mut self,
        agent: &Agent,
        url: &str,
        progress: &mut DownloadProgress<'_>,
    ) -> Result<(), DownloadError> {
        let unreachable =
            |reason: String| DownloadError::Unreachable { url: url.to_owned(), reason };
        let mut request = agent.get(url);
        if self.have > 0 {
            request = request.header(header::RANGE, format!("bytes={}-", self.have));
        }
        let response = request.call().map_err(|error| unreachable(error.to_string()))?;
        match response.status() {
            StatusCode::PARTIAL_CONTENT if begins_at(&response, self.have) => {}
            // The server has no more, so the file may be complete; the checksum decides.
            StatusCode::RANGE_NOT_SATISFIABLE if self.have > 0 => return Ok(()),
            StatusCode::OK => self.clear()?,
            StatusCode::PARTIAL_CONTENT => return self.clear(), // of another place
            status => {
                let status = status.as_u16();
                return Err(DownloadError::Refused { url: url.to_owned(), status });
            }
        }
        let announced = || response.body().content_length().map(|rest| self.have + rest);
        let Some(bytes) = self.bytes.or_else(announced) else {
            return Err(unreachable("the server does not report the file's size".to_owned()));
        };
        self.bytes = Some(bytes);
        // One byte too many is enough to detect another file.
        let mut body = response.into_body().into_reader().take(bytes + 1 - self.have);
        let mut buffer = vec![0; 1 << 16];
        loop {
            if progress(self.have, bytes).is_break() {
                return Err(DownloadError::Stopped);
            }
            let count = match body.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(unreachable(error.to_string())),
            };
            let written = self.file.write_all(&buffer[..count]);
            written.map_err(DownloadError::file(&self.path))?;
            self.have += count as u64;
        }
    }
}

/// Whether a partial response starts where it was asked to.
fn begins_at<T>(response: &ureq::http::Response<T>, position: u64) -> bool {
    let range = response.headers().get(header::CONTENT_RANGE);
    range
        .and_then(|range| range.to_str().ok()?.strip_prefix("bytes ")?.split('-').next())
        .is_some_and(|start| start.trim() == position.to_string())
}

fn hash(path: &Path) -> Result<String, DownloadError> {
    File::open(path).and_then(store::sha256_hex_of).map_err(DownloadError::file(path))
}
