//! The files of a data set that comes as one archive.

use std::{fs, io::Read, path::Path};

use flate2::read::GzDecoder;
use tar::Archive;

use super::{DataSet, DownloadError};

/// Whether a data set that comes as an archive is there, unpacked.
pub(super) fn is_complete(set: &DataSet, folder: &Path) -> bool {
    let is_there = |&(name, bytes): &(&str, u64)| {
        fs::metadata(folder.join(name)).is_ok_and(|file| file.is_file() && file.len() == bytes)
    };
    !set.unpacked.is_empty() && set.unpacked.iter().all(is_there)
}

/// Extracts the files of a data set from its archive, which is then deleted.
///
/// Only file names count, so no path in the archive leads out of the folder.
pub(super) fn unpack(set: &DataSet, folder: &Path) -> Result<(), DownloadError> {
    let [file] = set.files else { return Ok(()) };
    if set.unpacked.is_empty() {
        return Ok(());
    }
    let path = folder.join(file.name);
    let damaged = |reason: String| DownloadError::Archive { path: path.clone(), reason };
    let archive = fs::File::open(&path).map_err(DownloadError::file(&path))?;
    let mut archive = Archive::new(GzDecoder::new(archive));
    let entries = archive.entries().map_err(|error| damaged(error.to_string()))?;
    for entry in entries {
        let entry = entry.map_err(|error| damaged(error.to_string()))?;
        let name = entry.path().ok().and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
        let wanted = set.unpacked.iter().find(|(wanted, _)| name.as_deref() == Some(wanted));
        let Some(&(name, bytes)) = wanted else { continue };
        let mut content = Vec::new();
        let read = entry.take(bytes + 1).read_to_end(&mut content);
        read.map_err(|error| damaged(error.to_string()))?;
        let destination = folder.join(name);
        store::write_whole(&destination, &content)?;
    }
    if !is_complete(set, folder) {
        return Err(damaged("it lacks files of the data set".to_owned()));
    }
    fs::remove_file(&path).map_err(DownloadError::file(&path))
}
