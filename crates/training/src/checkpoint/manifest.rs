//! `manifest.json`, which tells whether a checkpoint is whole.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::Path,
};

use serde::{Deserialize, Serialize};
use store::{sha256_hex, sha256_hex_of};

use crate::parameters::Parameter;

/// The name of the file.
pub(super) const MANIFEST: &str = "manifest.json";
/// The format that this program writes, and the only one that it reads.
const FORMAT: u32 = 4;

/// The files of a checkpoint.
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

/// The part of a manifest that all formats have.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

/// Why the files of a checkpoint cannot be used.
#[derive(Debug)]
pub(super) enum Fault {
    /// They are not what was written.
    Damaged(String),
    /// The system refused to read them, so they may be intact.
    Unreadable(String),
    /// They are intact, but another version wrote them.
    OtherVersion(String),
}

impl Manifest {
    /// The manifest of files that are about to be written.
    pub(super) fn of(files: &[(&str, Vec<u8>)], signature: &str) -> Self {
        let entry = |(name, bytes): &(&str, Vec<u8>)| ((*name).to_owned(), Entry::of(bytes));
        let files = files.iter().map(entry).collect();
        Self { format: FORMAT, signature: signature.to_owned(), files }
    }

    /// Reads the manifest of a directory and all the files that it names.
    ///
    /// # Errors
    ///
    /// Names what is missing, differs in size or content, or cannot be read.
    pub(super) fn verified(directory: &Path) -> Result<(Self, BTreeMap<String, Vec<u8>>), Fault> {
        let manifest = Self::read(directory)?;
        let mut files = BTreeMap::new();
        for (name, expected) in &manifest.files {
            let content = fs::read(directory.join(name)).map_err(Fault::of(name))?;
            expected.check(name, &Entry::of(&content))?;
            files.insert(name.clone(), content);
        }
        Ok((manifest, files))
    }

    /// As [`verified`](Self::verified), without keeping files in memory.
    ///
    /// # Errors
    ///
    /// As [`verified`](Self::verified).
    pub(super) fn verify(directory: &Path) -> Result<(), Fault> {
        for (name, expected) in &Self::read(directory)?.files {
            let found = Entry::of_file(&directory.join(name)).map_err(Fault::of(name))?;
            expected.check(name, &found)?;
        }
        Ok(())
    }

    fn read(directory: &Path) -> Result<Self, Fault> {
        Self::parse(&fs::read(directory.join(MANIFEST)).map_err(Fault::of(MANIFEST))?)
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

impl Entry {
    fn of(bytes: &[u8]) -> Self {
        Self { bytes: bytes.len() as u64, sha256: sha256_hex(bytes) }
    }

    fn of_file(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        Ok(Self { bytes: file.metadata()?.len(), sha256: sha256_hex_of(file)? })
    }

    /// Checks that what was `found` under this name is what was written.
    fn check(&self, name: &str, found: &Self) -> Result<(), Fault> {
        if found.bytes != self.bytes {
            let reason = format!("`{name}` has {} bytes instead of {}", found.bytes, self.bytes);
            return Err(Fault::Damaged(reason));
        }
        if found.sha256 != self.sha256 {
            let reason = format!("`{name}` is not what was written: its SHA-256 differs");
            return Err(Fault::Damaged(reason));
        }
        Ok(())
    }
}

impl Fault {
    /// The fault of a file that could not be read.
    fn of(name: &str) -> impl Fn(io::Error) -> Self {
        move |error| {
            let reason = format!("`{name}`: {error}");
            match error.kind() {
                io::ErrorKind::NotFound => Self::Damaged(reason),
                _ => Self::Unreadable(reason),
            }
        }
    }
}

/// The signature of a model; a checkpoint fits only a model of the same one.
pub(super) fn signature(parameters: &[Parameter]) -> String {
    let line = |parameter: &Parameter| {
        let Parameter { path, shape, trained, .. } = parameter;
        format!("{path} {shape:?} {}\n", if *trained { "trained" } else { "fixed" })
    };
    sha256_hex(parameters.iter().map(line).collect::<String>().as_bytes())
}
