//! `manifest.json`: by what a checkpoint is known to be whole.

use std::{collections::BTreeMap, fs, io, path::Path};

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

/// Of a manifest of any format.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

/// Why the files of a checkpoint are of no use, in words.
#[derive(Debug)]
pub(super) enum Fault {
    /// They are not those that were written.
    Damaged(String),
    /// The system did not give them, so they may be as they were.
    Unreadable(String),
    /// They are as they were, but another version's.
    OtherVersion(String),
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
    /// Says what is missing, of another size or content, or cannot be read.
    pub(super) fn verified(directory: &Path) -> Result<(Self, BTreeMap<String, Vec<u8>>), Fault> {
        let read = |name: &str| {
            fs::read(directory.join(name)).map_err(|error| {
                let reason = format!("`{name}`: {error}");
                match error.kind() {
                    io::ErrorKind::NotFound => Fault::Damaged(reason),
                    _ => Fault::Unreadable(reason),
                }
            })
        };
        let manifest = Self::parse(&read(MANIFEST)?)?;
        let mut files = BTreeMap::new();
        for (name, Entry { bytes, sha256 }) in &manifest.files {
            let content = read(name)?;
            let length = content.len();
            if length as u64 != *bytes {
                let reason = format!("`{name}` has {length} bytes instead of {bytes}");
                return Err(Fault::Damaged(reason));
            }
            if sha256_hex(&content) != *sha256 {
                let reason = format!("`{name}` is not what was written: its SHA-256 differs");
                return Err(Fault::Damaged(reason));
            }
            files.insert(name.clone(), content);
        }
        Ok((manifest, files))
    }

    fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let damaged = |error| Fault::Damaged(format!("`{MANIFEST}`: {error}"));
        let Version { format } = serde_json::from_slice(bytes).map_err(damaged)?;
        if format != FORMAT {
            let reason = format!("its format is {format}, and this program reads {FORMAT}");
            return Err(Fault::OtherVersion(reason));
        }
        serde_json::from_slice(bytes).map_err(damaged)
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
