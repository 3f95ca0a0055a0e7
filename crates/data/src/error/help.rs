//! What the user can do about each error.

use std::{fs, path::Path};

use super::DataError;
use crate::{
    Shared,
    names::list,
    npy::is_npy,
    shared::{OF_A_FOLDER, OPTIONS},
};

impl DataError {
    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Csv(error) => error.help(),
            Self::File(error) => error.help(),
            Self::Cifar10(error) => error.help(),
            Self::Idx(error) => error.help(),
            Self::ClassFolder(error) => error.help()?,
            Self::ImageFolder(error) => error.help(),
            Self::TextFolder(error) => error.help(),
            Self::Npy(error) => error.help(),
            Self::Text(error) => error.help(),
            Self::Stopped => return None,
            Self::Source(_) => "this comes from the program's own source of data".into(),
            Self::NotFound { path } if path.starts_with("~") => {
                "write the whole path: a shell replaces `~`, and only at the beginning of a word"
                    .into()
            }
            Self::NotFound { path } if is_address(path) => {
                "download it, and name the file: `curl -LO ADDRESS`, for example".into()
            }
            Self::NotFound { path } | Self::Read { path, .. } if has_escapes(path) => {
                "in a file of settings `\\n`, `\\t` and the like are other characters: put a path in single \
                 quotes, as in 'C:\\table.csv'"
                    .into()
            }
            Self::NotFound { .. } => {
                "check the path; a relative one starts at the current directory".into()
            }
            Self::Directory { path } => match has_arrays(path) {
                true => "name one of its arrays, such as `features.npy`".into(),
                false => "name a CSV file in it".into(),
            },
            Self::Stream { .. } => {
                "it is read more than once, and again by a resumed run; write it to a file".into()
            }
            Self::Permission { .. } => {
                "let the user who runs this read it, as `chmod u+r` does".into()
            }
            Self::Read { .. } => {
                "check the path and the disk, and whether another program can read it".into()
            }
            Self::Changed { .. } => "run again once nothing else writes the file".into(),
            Self::Shared(shared) => shared_help(shared),
            Self::NotUtf8 { utf16, .. } => format!(
                "save the file as UTF-8, for example `iconv -f {} -t utf-8 IN > OUT`",
                if *utf16 { "utf-16" } else { "windows-1252" }
            ),
            Self::NotBinary { .. } => "set `data.task` to \"multiclass\" or leave it out".into(),
            Self::FarTarget { .. } => "correct the target, or train on rows like this one".into(),
            Self::NoLogarithm { .. } => {
                "correct the target, or leave out `data.target_scale=log`, which is for positive values".into()
            }
            Self::OneSampleEach => "add samples, or hold none out: `data.validation=0`, and likewise `data.test`".into(),
            Self::NotFinite { .. } => "leave such rows out, or put a number in its place".into(),
            Self::OneGroup => {
                "name another column by `data.group`, or hold none out: `data.validation=0`, and \
                 likewise `data.test`"
                    .into()
            }
            Self::TrainFraction { .. } => "train on 0.1, for example, or 1 for all".into(),
            Self::NothingHeldOut => "hold out 0.1, for example".into(),
            Self::Fraction { .. } => {
                "lower `data.validation` or `data.test`, for example to 0.1 or to 0: some samples must be \
                 left to train on"
                    .into()
            }
            Self::TextColumns { .. } => {
                "the length must be from 1 to 16,777,216, and the vocabulary from 2 to 1,000,000".into()
            }
            Self::NothingToMake { .. } => "ask for at least one of each".into(),
            Self::LabelOutOfRange { classes, .. } => {
                format!("labels run from 0 to {}", classes.saturating_sub(1))
            }
            Self::UnknownClass { classes, .. } => {
                format!("the classes are {}; move samples of others away", list(classes))
            }
            Self::FeatureCount { .. } => "give each row equally many features, and a target".into(),
            Self::PixelCount { .. } => {
                "give a label for each image, and `channels * height * width` bytes".into()
            }
            Self::TargetsOfTask { .. } => {
                "give values for a regression, and labels for other tasks".into()
            }
            Self::Worker { .. } => "lower `data.workers`, 0 needs no thread".into(),
            Self::Panic { .. } => {
                "correct the source that reads the images, where it is your own; otherwise this is \
                 a bug of this program, please report it"
                    .into()
            }
            Self::NoBatch { .. } => "count samples: an update of one is the smallest".into(),
            Self::NoImages => {
                "`ImageSource::labels` has a label for each image: give at least one".into()
            }
            Self::NoPixels(_) => {
                "`ImageSource::shape` is channels, height and width, each at least 1".into()
            }
            Self::OutOfMemory { .. } => {
                "drop columns with many categories by `data.columns`, or use fewer samples".into()
            }
            Self::ImagesOutOfMemory { .. } => {
                "lower `data.size` or use fewer images, or set `data.residency = \"host\"`, for a \
                 folder of images with `data.cache`"
                    .into()
            }
        })
    }
}

fn shared_help(shared: &Shared) -> String {
    let [first, second] = shared.splits;
    let hold_out = match second == OPTIONS[1] || second == OF_A_FOLDER[1] {
        true => format!(" to hold out a part of {first}"),
        false => String::new(),
    };
    match OPTIONS.contains(&second) {
        true => format!("name other samples, or leave {second} out{hold_out}"),
        false => format!("put other samples into {second}, or remove it{hold_out}"),
    }
}

/// Whether a path is the address of something on the network.
fn is_address(path: &Path) -> bool {
    let schemes = ["http:", "https:", "ftp:", "s3:", "gs:"];
    path.to_str().is_some_and(|path| schemes.iter().any(|scheme| path.starts_with(scheme)))
}

/// Whether a path is one of Windows whose backslashes were read as TOML's escapes: `C:\new\table.csv`.
fn has_escapes(path: &Path) -> bool {
    path.to_string_lossy().contains(char::is_control)
}

/// Whether there are NumPy's arrays in a folder.
fn has_arrays(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|entries| entries.flatten().any(|entry| is_npy(&entry.path())))
}
