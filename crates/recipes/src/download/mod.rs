//! Downloads well-known data sets and weights, each file checked against its published checksum.
//!
//! A file is downloaded as `NAME.part` and renamed once it is complete. A download that was cut off
//! resumes where it ended, in the same command or in the next one. Of several commands that want the
//! same file one downloads it, and the others wait.

mod catalogue;
mod error;
mod fetch;
pub(crate) mod imagenet;
#[cfg(test)]
mod tests;
mod unpack;

use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use store::FileLock;
use ureq::Agent;

use crate::cache_folder::cache_folder;

pub(crate) use self::{
    catalogue::{DataSet, find, names},
    error::DownloadError,
};

/// Receives the bytes downloaded and the total, and answers whether to go on.
pub(crate) type DownloadProgress<'a> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'a;

/// The folder that data sets are kept in.
pub(crate) fn folder() -> Result<PathBuf, DownloadError> {
    cache_folder().ok_or(DownloadError::NoFolder)
}

/// The HTTP client; uses the environment's proxy, if any.
pub(crate) fn agent() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .timeout_connect(Some(Duration::from_secs(20)))
        .timeout_recv_response(Some(Duration::from_secs(30)))
        // A download that takes longer is resumed, so this limits the wait for a stalled one.
        .timeout_recv_body(Some(Duration::from_secs(120)))
        .build()
        .into()
}

/// Waits for another process that downloads the same into `folder`, and makes others wait.
fn lock(folder: &Path, name: &str) -> Result<FileLock, DownloadError> {
    Ok(FileLock::wait(&folder.join(format!("{name}.lock")))?)
}

/// Downloads a data set into its own folder below `folder`, and returns that; existing files stay.
///
/// - `base`: the address that file names are appended to; [`DataSet::base`] except in tests
pub(crate) fn get(
    set: &DataSet,
    base: &str,
    folder: &Path,
    agent: &Agent,
    progress: &mut DownloadProgress<'_>,
) -> Result<PathBuf, DownloadError> {
    let above = folder;
    let folder = above.join(set.name);
    fs::create_dir_all(&folder).map_err(DownloadError::file(&folder))?;
    let is_there = || set.files.iter().all(|file| folder.join(file.name).exists());
    // A complete data set is only read, so that it may be read-only.
    let reads = unpack::is_complete(set, &folder) || (set.unpacked.is_empty() && is_there());
    let _lock = if reads { None } else { Some(lock(above, set.name)?) };
    if unpack::is_complete(set, &folder) {
        return Ok(folder);
    }
    let all = set.bytes();
    let mut before = 0;
    for file in set.files {
        let url = format!("{base}{}", file.name);
        fetch::fetch(agent, &url, file, &folder, &mut |bytes, _| progress(before + bytes, all))?;
        before += file.bytes.unwrap_or_default();
    }
    unpack::unpack(set, &folder)?;
    Ok(folder)
}
