//! Well-known data sets and weights from the net, each file held against its published checksum.
//!
//! A file arrives beside its name, as `NAME.part`, and gets its name once it is whole. A download
//! that was cut off goes on where it ended, in the same command or in the next one.
//! Of several commands that want the same one downloads, and the others wait for it.

mod catalogue;
mod error;
mod fetch;
pub(crate) mod imagenet;
#[cfg(test)]
mod tests;
mod unpack;

use std::{
    fs,
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

/// The folder that data sets are kept in.
pub(crate) fn folder() -> Result<PathBuf, DownloadError> {
    cache_folder().ok_or(DownloadError::NoFolder)
}

/// What speaks to servers, by the proxy that the environment names, if it does.
pub(crate) fn agent() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .timeout_connect(Some(Duration::from_secs(20)))
        .timeout_recv_response(Some(Duration::from_secs(30)))
        // What takes longer goes on where it stopped, so this is how long a stalled one is waited for.
        .timeout_recv_body(Some(Duration::from_secs(120)))
        .build()
        .into()
}

/// Waits for another process that downloads the same into `folder`, and keeps others waiting.
fn lock(folder: &Path, name: &str) -> Result<FileLock, DownloadError> {
    Ok(FileLock::wait(&folder.join(format!("{name}.lock")))?)
}

/// Brings a data set into a folder of its own below `folder`, which is returned; what is there
/// already stays.
///
/// - `base`: the address that the names of files are added to, [`DataSet::base`] but in tests
/// - `progress`: is told the bytes that are there, and how many there are to be
pub(crate) fn get(
    set: &DataSet,
    base: &str,
    folder: &Path,
    agent: &Agent,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<PathBuf, DownloadError> {
    let above = folder;
    let folder = above.join(set.name);
    fs::create_dir_all(&folder).map_err(DownloadError::file(&folder))?;
    let is_there = || set.files.iter().all(|file| folder.join(file.name).exists());
    // What is there is only read, as by those who may not write.
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
