//! The format since PyTorch 1.6: a ZIP archive of a pickle and one entry for each storage.

use std::{
    collections::BTreeMap,
    io::{BufRead, Read, Seek},
};

use store::StoredTensor;
use zip::{CompressionMethod, ZipArchive, result::ZipError};

use crate::pth::{Fault, pickle, storage};

/// The entry with the pickle, in the archive's only folder.
const PICKLE: &str = "/data.pkl";

pub(super) fn read<R: BufRead + Seek>(
    file: R,
    length: u64,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<BTreeMap<String, StoredTensor>, Fault> {
    let mut archive = ZipArchive::new(file).map_err(|error| match error {
        ZipError::Io(error) => error.into(),
        // The directory is at the end of an archive.
        _ => Fault::Truncated("its directory of entries is missing".to_owned()),
    })?;
    let folder = archive
        .file_names()
        .find_map(|name| name.strip_suffix(PICKLE))
        .ok_or_else(|| {
            Fault::Unsupported("it is a ZIP archive without PyTorch's pickle".to_owned())
        })?
        .to_owned();
    if let Some(order) = archive.index_for_name(&format!("{folder}/byteorder")) {
        let order = entry(&mut archive, order, length)?;
        if order != b"little" {
            return Err(Fault::Unsupported("its numbers are big-endian".to_owned()));
        }
    }
    let pickle = bytes(&mut archive, &format!("{folder}{PICKLE}"), length)?;
    let (values, root) = pickle::read(&mut pickle.as_slice())?;
    let views = storage::views(&values, root, wanted)?;
    storage::tensors(views, length, |storage| {
        bytes(&mut archive, &format!("{folder}/data/{}", storage.key), length)
    })
}

fn bytes<R: BufRead + Seek>(
    archive: &mut ZipArchive<R>,
    name: &str,
    length: u64,
) -> Result<Vec<u8>, Fault> {
    let index = archive
        .index_for_name(name)
        .ok_or_else(|| Fault::Damaged(format!("it has no entry `{name}`")))?;
    entry(archive, index, length)
}

fn entry<R: BufRead + Seek>(
    archive: &mut ZipArchive<R>,
    index: usize,
    length: u64,
) -> Result<Vec<u8>, Fault> {
    let mut entry = archive.by_index(index).map_err(|error| match error {
        ZipError::UnsupportedArchive(reason) => Fault::Unsupported(format!("an entry: {reason}")),
        other => Fault::Damaged(format!("an entry: {other}")),
    })?;
    let size = entry.size();
    if entry.compression() != CompressionMethod::Stored || size > length {
        let message =
            format!("its entry `{}` is compressed, or larger than the file", entry.name());
        return Err(Fault::Unsupported(message));
    }
    let mut bytes = Vec::with_capacity(size as usize); // at most the size of the file
    entry.read_to_end(&mut bytes)?;
    Ok(bytes)
}
