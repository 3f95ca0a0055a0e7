//! What can go wrong with a download.

use std::{
    io,
    path::{Path, PathBuf},
};

use store::StoreError;

use super::catalogue::RemoteFile;
use crate::{ExitCode, Failure};

/// What went wrong with a download.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DownloadError {
    #[error("`{url}` cannot be reached: {reason}")]
    Unreachable { url: String, reason: String },
    #[error("`{url}` was refused with status {status}")]
    Refused { url: String, status: u16 },
    #[error("`{url}` broke off after {have} of {bytes} bytes")]
    BrokenOff { url: String, have: u64, bytes: u64 },
    #[error("`{url}` is not the expected file: its SHA-256 is {found}, not {expected}")]
    Checksum { url: String, found: String, expected: &'static str },
    #[error("`{}` exists, but is not the expected file: its SHA-256 is {found}, not {expected}", path.display())]
    Other { path: PathBuf, found: String, expected: &'static str },
    #[error("`{}` cannot be unpacked: {reason}", path.display())]
    Archive { path: PathBuf, reason: String },
    #[error("`{}` cannot be read or written: {reason}", path.display())]
    File { path: PathBuf, reason: io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the platform has no cache folder")]
    NoFolder,
    #[error("stopped before all was downloaded")]
    Stopped,
}

impl DownloadError {
    /// The error of a file that cannot be read or written.
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |reason| Self::File { path, reason }
    }

    /// The failure of a command that needs files, with how to do without the network.
    ///
    /// - `base`: the address that their names are appended to
    /// - `folder`: where they belong
    pub(crate) fn failure(&self, files: &[RemoteFile], base: &str, folder: &Path) -> Failure {
        let by_hand = || {
            let names: Vec<String> = files.iter().map(|file| format!("`{}`", file.name)).collect();
            format!(
                "download {} from `{base}` by hand into `{}`, then run the command again",
                names.join(", "),
                folder.display()
            )
        };
        let exit_code = match self {
            Self::File { .. } | Self::Store(_) => ExitCode::UserData,
            Self::Stopped => ExitCode::Interrupted,
            _ => ExitCode::Unexpected,
        };
        Failure::new(exit_code, self.to_string(), self.help().unwrap_or_else(by_hand))
    }

    /// What to do, unless it is to download the files by hand.
    pub(super) fn help(&self) -> Option<String> {
        match self {
            Self::BrokenOff { .. } | Self::Stopped => {
                Some("run the command again to resume it".into())
            }
            Self::Other { path, .. } => {
                Some(format!("move `{}` away, then run the command again", path.display()))
            }
            Self::Archive { path, .. } => {
                Some(format!("delete `{}`, then run the command again", path.display()))
            }
            Self::File { .. } | Self::Store(_) => {
                Some("name another folder with `BURN_RECIPES_DATA`".into())
            }
            Self::NoFolder => Some("name a folder with `BURN_RECIPES_DATA`".into()),
            Self::Unreachable { .. } | Self::Refused { .. } | Self::Checksum { .. } => None,
        }
    }
}
