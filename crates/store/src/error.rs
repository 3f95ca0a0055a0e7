//! What can go wrong with a file, and where. As in all crates here, the text of an error has its cause,
//! which is then no `source`: a chain of errors tells nothing twice.

use std::{io, path::PathBuf};

use crate::NumberType;

/// A file that could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum StoreError {
    /// The system refused.
    #[error("cannot {action} `{}`: {reason}", path.display())]
    Io { action: &'static str, path: PathBuf, reason: io::Error },
    /// The file is there, but is not what it should be.
    #[error("`{}` is not a usable safetensors file: {reason}", path.display())]
    Format { path: PathBuf, reason: String },
    /// The file begins well, but does not hold all that its header names.
    #[error("`{}` is truncated: it does not hold all of its tensors", path.display())]
    Truncated { path: PathBuf },
    /// The file is whole, but what it holds cannot be read here.
    #[error("`{}` cannot be used: {reason}", path.display())]
    Unsupported { path: PathBuf, reason: String },
    /// A number that a smaller type does not hold.
    #[error("`{tensor}` has a number beyond the range of {numbers}")]
    Range { tensor: String, numbers: NumberType },
    /// A tensor whose values do not fill its shape.
    #[error("a tensor of shape {shape:?} cannot hold {values} values")]
    Shape { shape: Vec<usize>, values: usize },
}

impl StoreError {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Io { reason, .. } => match reason.kind() {
                io::ErrorKind::NotFound => Some("check the path".to_owned()),
                io::ErrorKind::PermissionDenied => {
                    Some("check who may read and write it".to_owned())
                }
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    Some("make room on the disk".to_owned())
                }
                io::ErrorKind::ReadOnlyFilesystem => {
                    Some("choose a place that can be written to".to_owned())
                }
                io::ErrorKind::FileTooLarge => {
                    Some("the system allows no larger file: see `ulimit -f`".to_owned())
                }
                _ => None,
            },
            Self::Format { .. } => {
                Some("the file may be truncated, or of another kind: write it again".to_owned())
            }
            Self::Truncated { .. } => Some("download, copy or write it again".to_owned()),
            Self::Unsupported { .. } => Some("write it again, with numbers of type f32".to_owned()),
            Self::Range { .. } => Some("write it as f32".to_owned()),
            Self::Shape { .. } => None,
        }
    }

    pub(crate) fn io(
        action: &'static str,
        path: &std::path::Path,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |reason| Self::Io { action, path, reason }
    }
}
