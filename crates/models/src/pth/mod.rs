//! PyTorch's checkpoints (`.pth`, `.pt`): the ZIP archives of today, and the format before 1.6.
//!
//! Both consist of a pickle that describes tensors, and storages that these are views of. A pickle is
//! a program; here it is read by a machine with only the operations that a dictionary of tensors needs
//! ([`pickle`]), so nothing in a file can be executed. Strides are followed, and a storage of another
//! length than the pickle says is an error.

mod archive;
mod legacy;
mod opcode;
mod pickle;
mod storage;
mod value;

use std::{
    collections::BTreeMap,
    io::{self, BufRead, Seek},
};

use store::StoredTensor;

/// Why a file holds no usable weights; the text follows its name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The system refused.
    #[error("cannot be read: {0}")]
    Io(io::Error),
    /// It is another kind of file.
    #[error("holds no weights: it is neither safetensors nor a PyTorch checkpoint")]
    Unknown,
    /// It ends too soon.
    #[error("is truncated: {0}")]
    Truncated(String),
    /// It contradicts itself.
    #[error("is damaged: {0}")]
    Damaged(String),
    /// It is of a checkpoint of this project.
    #[error("is part of a checkpoint, and has its tensors as they are in memory")]
    Checkpoint,
    /// It holds something else than weights, or weights in another form.
    #[error("cannot be used: {0}")]
    Unsupported(String),
    /// It names something that weights do not need, and would run it.
    #[error("asks Python for `{0}`, which weights do not need; nothing was executed")]
    Refused(String),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Truncated("it ends in the middle".to_owned()),
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                Self::Damaged(error.to_string())
            }
            _ => Self::Io(error),
        }
    }
}

/// How a checkpoint begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// A ZIP archive.
    Archive,
    /// Pickles and storages one after the other.
    Legacy,
}

impl Format {
    /// The format of a file with these first bytes, if it may be a checkpoint.
    pub(crate) fn of(first_bytes: &[u8]) -> Option<Self> {
        match first_bytes {
            [b'P', b'K', 3, 4, ..] => Some(Self::Archive),
            [0x80, 2..=5, ..] => Some(Self::Legacy),
            _ => None,
        }
    }
}

/// The tensors of a checkpoint whose names are `wanted`, in f32.
///
/// `length` is that of the file, in bytes; no tensor or storage may be larger.
pub(crate) fn read<R: BufRead + Seek>(
    mut file: R,
    length: u64,
    format: Format,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<BTreeMap<String, StoredTensor>, Fault> {
    match format {
        Format::Archive => archive::read(file, length, wanted),
        Format::Legacy => legacy::read(&mut file, length, wanted),
    }
}
