//! Weights from elsewhere: safetensors of any origin, and PyTorch's checkpoints.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufReader, Read, Seek},
    path::{Path, PathBuf},
};

use serde::de::IgnoredAny;
use store::{StoreError, TensorFile};

use crate::pth::{self, Fault, Format};

/// A file that holds no usable weights.
#[derive(Debug, thiserror::Error)]
#[error("`{}` {fault}", path.display())]
pub struct ImportError {
    path: PathBuf,
    fault: Fault,
}

impl ImportError {
    /// What to do about it.
    pub fn help(&self) -> String {
        match &self.fault {
            Fault::Io(_) => "check the path and its permissions",
            Fault::Checkpoint => "name the run, or the `model.safetensors` beside `checkpoints`",
            Fault::Unknown => "give a `.safetensors` file, or a `.pth` with a `state_dict`",
            Fault::Truncated(_) | Fault::Damaged(_) => "download or copy the file again",
            Fault::Unsupported(_) => {
                "load it in PyTorch, and save `{name: tensor.float().contiguous() for name, tensor \
                 in model.state_dict().items()}` with safetensors' `save_file`"
            }
            Fault::Refused(_) => {
                "if you trust the file, load it in PyTorch and save only `model.state_dict()`"
            }
        }
        .to_owned()
    }
}

/// Reads all tensors of a file as f32; see [`read_where`].
///
/// # Errors
///
/// As [`read_where`].
pub fn read(path: &Path) -> Result<TensorFile, ImportError> {
    read_where(path, |_| true)
}

/// Reads a file's tensors whose names are `wanted`, as f32, and the metadata of this project's files. The
/// kind of file is recognised by its content, not by its name. PyTorch's counters `num_batches_tracked` are
/// left out, and so are prefixes that wrappers such as `torch.compile` add to all names.
///
/// # Errors
///
/// Where the file is not what it should be; then nothing is returned.
pub fn read_where(path: &Path, wanted: impl Fn(&str) -> bool) -> Result<TensorFile, ImportError> {
    read_file(path, wanted).map_err(|fault| ImportError { path: path.to_owned(), fault })
}

/// As [`read`], of the content of a safetensors file that lies, or lay, at `path`.
///
/// # Errors
///
/// As [`read_where`].
pub fn of_safetensors(bytes: &[u8], path: &Path) -> Result<TensorFile, ImportError> {
    safetensors(path, bytes, |_| true).map_err(|fault| ImportError { path: path.to_owned(), fault })
}

fn read_file(path: &Path, wanted: impl Fn(&str) -> bool) -> Result<TensorFile, Fault> {
    let file = File::open(path).map_err(Fault::Io)?;
    let length = file.metadata().map_err(Fault::Io)?.len();
    let mut file = BufReader::new(file);
    let mut first_bytes = Vec::new();
    file.by_ref().take(9).read_to_end(&mut first_bytes).map_err(Fault::Io)?;
    file.rewind().map_err(Fault::Io)?;
    match first_bytes.as_slice() {
        [] => return Err(Fault::Truncated("it is empty".to_owned())),
        // First, since the length at the start of a header may look like the start of a checkpoint, none of
        // which has a brace there.
        [size @ .., b'{'] if size.len() == 8 => {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(Fault::Io)?;
            return safetensors(path, &bytes, wanted);
        }
        _ => {}
    }
    let format = Format::of(&first_bytes).ok_or(Fault::Unknown)?;
    let tensors = pth::read(file, length, format, &wanted)?;
    Ok(TensorFile { tensors, ..TensorFile::default() })
}

fn safetensors(
    path: &Path,
    bytes: &[u8],
    wanted: impl Fn(&str) -> bool,
) -> Result<TensorFile, Fault> {
    let header =
        header(bytes).ok_or_else(|| Fault::Truncated("it ends in its header".to_owned()))?;
    // Of a damaged one there are no names; it is refused below.
    let entries: BTreeMap<String, IgnoredAny> = serde_json::from_slice(header).unwrap_or_default();
    let names = || entries.keys().map(String::as_str).filter(|&name| name != "__metadata__");
    let prefix = prefix_of_wrappers(names);
    let bare = |name: &str| name.strip_prefix(&prefix).unwrap_or(name).to_owned();
    let counter = |name: &str| name.ends_with("num_batches_tracked"); // integers that nothing needs
    let is_wanted = |name: &str| wanted(&bare(name)) && !counter(name);
    let file =
        TensorFile::from_bytes_where(bytes, path, is_wanted).map_err(|error| match error {
            StoreError::Truncated { .. } => {
                Fault::Truncated("its tensors are not all there".to_owned())
            }
            StoreError::Unsupported { reason, .. } => Fault::Unsupported(reason),
            StoreError::Format { reason, .. } => Fault::Damaged(reason),
            error => Fault::Damaged(error.to_string()),
        })?;
    if file.is_of_checkpoint() {
        return Err(Fault::Checkpoint);
    }
    let tensors = file.tensors.into_iter().map(|(name, tensor)| (bare(&name), tensor)).collect();
    Ok(TensorFile { tensors, ..file })
}

/// The header of a safetensors file, before which its size stands; none where the file is shorter.
fn header(bytes: &[u8]) -> Option<&[u8]> {
    let (size, rest) = bytes.split_first_chunk()?;
    rest.get(..usize::try_from(u64::from_le_bytes(*size)).ok()?)
}

/// What `DataParallel`, `DistributedDataParallel` and `torch.compile` put before all names.
const WRAPPERS: [&str; 2] = ["module.", "_orig_mod."];

/// What wrappers, perhaps one in another, put before all of these names.
pub(crate) fn prefix_of_wrappers<'a, N: Iterator<Item = &'a str>>(names: impl Fn() -> N) -> String {
    let mut prefix = String::new();
    while let Some(wrapper) = WRAPPERS.into_iter().find(|wrapper| {
        let is_wrapped =
            |name: &str| name.strip_prefix(&prefix).is_some_and(|rest| rest.starts_with(wrapper));
        names().next().is_some() && names().all(is_wrapped)
    }) {
        prefix += wrapper;
    }
    prefix
}

/// Whether a name is one of a VGG network's features, in torchvision's files and in timm's.
pub fn is_vgg_feature(name: &str) -> bool {
    name.starts_with("features.")
}
