//! VGG networks that were trained on ImageNet, as torchvision publishes them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ureq::Agent;

use super::{DownloadError, DownloadProgress, catalogue::RemoteFile, fetch, lock};

/// Where PyTorch keeps the weights of torchvision.
pub(crate) const BASE: &str = "https://download.pytorch.org/models/";

/// A network's name and its file. torchvision pins a file by the first eight digits of its SHA-256,
/// which are part of its name.
static FILES: [(&str, RemoteFile); 8] = [
    ("vgg11", pinned("vgg11-8a719046.pth", "8a719046")),
    ("vgg11-bn", pinned("vgg11_bn-6002323d.pth", "6002323d")),
    ("vgg13", pinned("vgg13-19584684.pth", "19584684")),
    ("vgg13-bn", pinned("vgg13_bn-abd245e5.pth", "abd245e5")),
    ("vgg16", pinned("vgg16-397923af.pth", "397923af")),
    ("vgg16-bn", pinned("vgg16_bn-6c64b313.pth", "6c64b313")),
    ("vgg19", pinned("vgg19-dcbb9e9d.pth", "dcbb9e9d")),
    ("vgg19-bn", pinned("vgg19_bn-c79401a0.pth", "c79401a0")),
];

const fn pinned(name: &'static str, sha256: &'static str) -> RemoteFile {
    RemoteFile { name, bytes: None, sha256 }
}

/// The file of a network such as `vgg16-bn`, if there is one.
pub(crate) fn file_of(network: &str) -> Option<&'static RemoteFile> {
    FILES.iter().find(|(name, _)| *name == network).map(|(_, file)| file)
}

/// Downloads a file into a folder, unless it is there, and returns its path.
///
/// - `base`: the address that the file's name is appended to; [`BASE`] except in tests
pub(crate) fn get(
    file: &RemoteFile,
    base: &str,
    folder: &Path,
    agent: &Agent,
    progress: &mut DownloadProgress<'_>,
) -> Result<PathBuf, DownloadError> {
    fs::create_dir_all(folder).map_err(DownloadError::file(folder))?;
    let path = folder.join(file.name);
    let _lock = if path.exists() { None } else { Some(lock(folder, file.name)?) };
    let url = format!("{base}{}", file.name);
    fetch::fetch(agent, &url, file, folder, progress)?;
    Ok(path)
}
