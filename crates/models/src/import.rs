//! Weights from elsewhere: safetensors of any origin, and PyTorch's checkpoints.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufReader, Read, Seek},
    path::{Path, PathBuf},
};

use store::{StoreError, StoredTensor, TensorFile};

use crate::pth::{self, Fault, Format};

/// A file that holds no usable weights.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The system refused.
    #[error("cannot read `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// It is another kind of file.
    #[error("`{}` holds no weights: it is neither safetensors nor a PyTorch checkpoint", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// It ends too soon.
    #[error("`{}` is truncated: {what}", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Where that shows.
        what: String,
    },
    /// It contradicts itself.
    #[error("`{}` is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// It holds something else than weights, or weights in another form.
    #[error("`{}` cannot be used: {what}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What cannot be read.
        what: String,
    },
    /// It would run code.
    #[error("`{}` asks Python for `{name}`, which weights do not need; nothing was executed", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What is asked for.
        name: String,
    },
}

impl ImportError {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Io { .. } => "check the path and its permissions",
            Self::Unknown { .. } => "give a `.safetensors` file, or a `.pth` with a `state_dict`",
            Self::Truncated { .. } | Self::Damaged { .. } => "download or copy the file again",
            Self::Unsupported { .. } => {
                "load it in PyTorch, and save `{name: tensor.float().contiguous() for name, tensor \
                 in model.state_dict().items()}` with safetensors' `save_file`"
            }
            Self::Refused { .. } => {
                "if you trust the file, load it in PyTorch and save only `model.state_dict()`"
            }
        }
        .to_owned()
    }
}

/// Reads those tensors of a file as f32 whose names are `wanted`, and the metadata of this project's
/// files. The kind of file is recognised by its content, not by its name.
///
/// # Errors
///
/// Where the file is not what it should be; then nothing is returned.
pub fn read_where(path: &Path, wanted: impl Fn(&str) -> bool) -> Result<TensorFile, ImportError> {
    let io = |source| ImportError::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    let mut file = BufReader::new(file);
    let mut first_bytes = Vec::new();
    file.by_ref().take(9).read_to_end(&mut first_bytes).map_err(io)?;
    file.rewind().map_err(io)?;
    if let Some(format) = Format::of(&first_bytes) {
        let tensors = pth::read(file, length, format, &wanted).map_err(|fault| at(path, fault))?;
        return Ok(TensorFile { tensors, ..TensorFile::default() });
    }
    match first_bytes.as_slice() {
        [] => Err(at(path, Fault::Truncated("it is empty".to_owned()))),
        [header @ .., b'{'] if header.len() == 8 => safetensors(path, header, length, wanted),
        _ => Err(ImportError::Unknown { path: path.to_owned() }),
    }
}

fn safetensors(
    path: &Path,
    header: &[u8],
    length: u64,
    wanted: impl Fn(&str) -> bool,
) -> Result<TensorFile, ImportError> {
    let size = header.iter().rev().fold(0u64, |size, &byte| (size << 8) | u64::from(byte));
    if size.checked_add(8).is_none_or(|end| end > length) {
        return Err(at(path, Fault::Truncated("it ends in its header".to_owned())));
    }
    let counter = |name: &str| name.ends_with("num_batches_tracked"); // integers that nothing needs
    match TensorFile::read_where(path, |name| wanted(name) && !counter(name)) {
        Ok(file) => Ok(file),
        Err(StoreError::Io { source, .. }) => {
            Err(ImportError::Io { path: path.to_owned(), source })
        }
        Err(StoreError::Truncated { .. }) => {
            Err(at(path, Fault::Truncated("its tensors are not all there".to_owned())))
        }
        Err(StoreError::Unsupported { reason, .. }) => Err(at(path, Fault::Unsupported(reason))),
        Err(StoreError::Format { reason, .. }) => Err(at(path, Fault::Damaged(reason))),
        Err(error) => Err(at(path, Fault::Damaged(error.to_string()))),
    }
}

fn at(path: &Path, fault: Fault) -> ImportError {
    let path = path.to_owned();
    match fault {
        Fault::Io(source) => ImportError::Io { path, source },
        Fault::Truncated(what) => ImportError::Truncated { path, what },
        Fault::Damaged(what) => ImportError::Damaged { path, what },
        Fault::Unsupported(what) => ImportError::Unsupported { path, what },
        Fault::Refused(name) => ImportError::Refused { path, name },
    }
}

/// Whether a name is one of a VGG network's features, in torchvision's files and in timm's.
pub fn is_vgg_feature(name: &str) -> bool {
    name.starts_with("features.")
}

/// A whole VGG network's weights under torchvision's names, from those or timm's.
///
/// timm stores the dense layers as convolutions over the last feature map: `pre_logits.fc1`,
/// `pre_logits.fc2`, and `head.fc`. The order of their values is the same.
pub fn vgg_by_torchvisions_names(
    tensors: BTreeMap<String, StoredTensor>,
) -> BTreeMap<String, StoredTensor> {
    const LAYERS: [(&str, &str); 3] = [
        ("pre_logits.fc1.", "classifier.0."),
        ("pre_logits.fc2.", "classifier.3."),
        ("head.fc.", "classifier.6."),
    ];
    let rename = |(name, tensor): (String, StoredTensor)| {
        let renamed = LAYERS.iter().find_map(|(timm, torchvision)| {
            name.strip_prefix(timm).map(|rest| format!("{torchvision}{rest}"))
        });
        match renamed {
            None => (name, tensor),
            Some(renamed) => (renamed, dense(tensor)),
        }
    };
    tensors.into_iter().map(rename).collect()
}

/// The weight of a convolution over a whole map, as that of a dense layer.
fn dense(tensor: StoredTensor) -> StoredTensor {
    match tensor.shape() {
        &[outputs, inputs, height, width] => {
            let (_, values) = tensor.into_parts();
            StoredTensor::new(vec![outputs, inputs * height * width], values)
                .expect("the same number of values")
        }
        _ => tensor,
    }
}
