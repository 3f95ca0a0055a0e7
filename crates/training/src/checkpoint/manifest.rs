//! `manifest.json`: by what a checkpoint is known to be whole.

use std::{collections::BTreeMap, fs, path::Path};

use serde::{Deserialize, Serialize};
use store::sha256_hex;

use crate::parameters::Parameter;

/// The name of the file.
pub(super) const MANIFEST: &str = "manifest.json";
/// What this program writes, and the only format that it reads.
const FORMAT: u32 = 2;

/// What belongs to a checkpoint.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    format: u32,
    /// The SHA-256 over path, shape and trainability of each parameter, in order.
    pub(super) signature: String,
    files: BTreeMap<String, Entry>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    bytes: u64,
    sha256: String,
}

impl Manifest {
    /// The manifest of files that are about to be written.
    pub(super) fn of(files: &[(&str, Vec<u8>)], signature: &str) -> Self {
        let entry = |(name, bytes): &(&str, Vec<u8>)| {
            let entry = Entry { bytes: bytes.len() as u64, sha256: sha256_hex(bytes) };
            ((*name).to_owned(), entry)
        };
        let files = files.iter().map(entry).collect();
        Self { format: FORMAT, signature: signature.to_owned(), files }
    }

    /// Reads the manifest of a directory and all the files that it names.
    ///
    /// # Errors
    ///
    /// Says what is missing, of another size, or of other content.
    pub(super) fn verified(directory: &Path) -> Result<(Self, BTreeMap<String, Vec<u8>>), String> {
        let read = |name: &str| {
            fs::read(directory.join(name)).map_err(|error| format!("`{name}`: {error}"))
        };
        let manifest: Self = serde_json::from_slice(&read(MANIFEST)?)
            .map_err(|error| format!("`{MANIFEST}`: {error}"))?;
        if manifest.format != FORMAT {
            let found = manifest.format;
            return Err(format!("its format is {found}, and this program reads {FORMAT}"));
        }
        let mut files = BTreeMap::new();
        for (name, Entry { bytes, sha256 }) in &manifest.files {
            let content = read(name)?;
            if content.len() as u64 != *bytes {
                return Err(format!("`{name}` has {} bytes instead of {bytes}", content.len()));
            }
            if sha256_hex(&content) != *sha256 {
                return Err(format!("`{name}` is not what was written: its SHA-256 differs"));
            }
            files.insert(name.clone(), content);
        }
        Ok((manifest, files))
    }
}

/// The signature of a model: a checkpoint of another one does not fit.
pub(super) fn signature(parameters: &[Parameter]) -> String {
    let line = |parameter: &Parameter| {
        let Parameter { path, shape, trained, .. } = parameter;
        format!("{path} {shape:?} {}\n", if *trained { "trained" } else { "fixed" })
    };
    sha256_hex(parameters.iter().map(line).collect::<String>().as_bytes())
}
