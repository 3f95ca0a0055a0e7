//! What can be wrong with the files of CIFAR-10.

use std::path::PathBuf;

/// What is wrong with the files of CIFAR-10. Records count from 0 in each file.
#[derive(Debug, thiserror::Error)]
pub enum Cifar10Error {
    /// A batch that does not consist of records.
    #[error("`{}` has {bytes} bytes, whole records of {record_bytes} are expected", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Its length, unpacked.
        bytes: usize,
        /// The length of a record.
        record_bytes: usize,
    },
    /// A label that is that of no class.
    #[error("`{}`: the label of record {record} is {label}, expected at most {most}", path.display())]
    Label {
        /// The file.
        path: PathBuf,
        /// The record.
        record: usize,
        /// Its label.
        label: u8,
        /// The last class.
        most: u8,
    },
    /// A batch of the Python version.
    #[error("`{}` is a batch of the Python version", path.display())]
    Pickle {
        /// The file.
        path: PathBuf,
    },
    /// A file of class names that has more or fewer than there are classes.
    #[error("`{}` names {found} classes, {expected} are expected", path.display())]
    Names {
        /// The file.
        path: PathBuf,
        /// Its names.
        found: usize,
        /// The classes.
        expected: usize,
    },
}

impl Cifar10Error {
    /// What the user can do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Length { .. } | Self::Label { .. } | Self::Pickle { .. } => {
                "use the binary version, `cifar-10-binary.tar.gz`, not the one for Python or Matlab; \
                 if it is the binary version, download it again"
                    .into()
            }
            Self::Names { .. } => {
                "write one name a line, or delete the file for the usual names".into()
            }
        }
    }
}
