//! What can be wrong with the files of CIFAR-10.

use std::path::PathBuf;

/// What is wrong with the files of CIFAR-10. Records count from 0 in each file.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Cifar10Error {
    /// A batch that does not consist of records.
    #[error("`{}` has {bytes} bytes, whole records of {record_bytes} are expected", path.display())]
    Length {
        path: PathBuf,
        /// Its length, unpacked.
        bytes: usize,
        record_bytes: usize,
    },
    /// A label that is that of no class.
    #[error("`{}`: the label of record {record} is {label}, expected at most {most}", path.display())]
    Label { path: PathBuf, record: usize, label: u8, most: u8 },
    /// A batch of the Python version.
    #[error("`{}` is a batch of the Python version", path.display())]
    Pickle { path: PathBuf },
    /// A file of class names that has more or fewer than there are classes.
    #[error("`{}` names {found} classes, {expected} are expected", path.display())]
    Names { path: PathBuf, found: usize, expected: usize },
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
