//! What can be wrong with a folder of images, where, and what to do about it.

use std::{io, path::PathBuf};

use store::StoreError;

use crate::{count::grouped, names::list};

/// What is wrong with a folder of images, or with the way it is to be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ImageFolderError {
    /// No image has this size.
    #[error("images of {height} rows and {width} columns cannot be made")]
    Size { height: usize, width: usize, longest: usize },
    /// Neither grey nor colour.
    #[error("images of {channels} channels cannot be made")]
    Channels { channels: usize },
    /// The contents of a folder cannot be listed.
    #[error("`{}` cannot be listed: {reason}", path.display())]
    List { path: PathBuf, reason: io::Error },
    /// The system does not say whether an entry of a folder is itself a folder.
    #[error("`{}` cannot be read: {reason}", path.display())]
    Entry { path: PathBuf, reason: io::Error },
    /// There are no folders in the folder.
    #[error("`{}` has no class folders", path.display())]
    NoClasses { path: PathBuf },
    /// There is nothing to tell apart.
    #[error("`{}` has one class folder only, `{class}`", path.display())]
    SingleClass { path: PathBuf, class: String },
    /// The name of a class cannot be written down.
    #[error("the name of the class folder `{}` is not UTF-8", path.display())]
    ClassName { path: PathBuf },
    /// Class folders in which there are no images.
    #[error("{}", without_images(paths))]
    EmptyClasses {
        paths: Vec<PathBuf>,
        /// Whether such folders are left out, and too few are left.
        are_skipped: bool,
    },
    /// A class to validate or test that training never sees.
    #[error("the class folder `{}` has no counterpart to train on", path.display())]
    UnknownClass {
        path: PathBuf,
        /// The folder to train on, or in it the class folder of this name, if that is empty.
        train: PathBuf,
        is_empty: bool,
    },
    /// There is a folder to validate or to test, and none to train.
    #[error("`{}` has a folder `{split}` and no folder `train`", path.display())]
    NoTrain { path: PathBuf, split: String },
    /// Two folders claim to be the same split.
    #[error("`{}` has both a folder `{first}` and a folder `{second}` to {purpose}", path.display())]
    TwoSplits { path: PathBuf, first: String, second: String, purpose: &'static str },
    /// Where the class folders should be are folders of folders.
    #[error("the folders in `{}` hold folders and no images, as `{}`", path.display(), inner.display())]
    TooFarUp { path: PathBuf, inner: PathBuf },
    /// A folder to train on that has images and no class folders.
    #[error("the images in `{}` are in no class folders", path.display())]
    UnsortedSplit { path: PathBuf },
    /// A folder named like a split that holds both classes and a stray image.
    #[error("`{}` has class folders and an image beside them, `{}`", path.display(), image.display())]
    StrayImage { path: PathBuf, image: PathBuf },
    /// A file that cannot become an image.
    #[error("`{}` {reason}", path.display())]
    BadImage { path: PathBuf, reason: BadImage },
    /// A file beside any source that cannot become an image.
    #[error("`{}` {reason}", path.display())]
    NotRead { path: PathBuf, reason: BadImage },
    /// All images of a class were skipped.
    #[error("no image of `{}` can be read; `{}` {reason}", path.display(), file.display())]
    ClassLost { path: PathBuf, file: PathBuf, reason: String },
    /// The cache cannot be written.
    #[error("the image cache fails: {0}")]
    CacheWrite(StoreError),
    /// The cache was whole when it was opened, and cannot be read now.
    #[error("the image cache `{}` cannot be read: {reason}", path.display())]
    CacheRead { path: PathBuf, reason: io::Error },
}

impl ImageFolderError {
    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Size { longest, .. } => {
                format!("each side of `data.size` is 1 to {longest} pixels")
            }
            Self::Channels { .. } => "set `data.channels` to 1 for grey or 3 for colour".into(),
            Self::List { reason, .. } => return list_help(reason),
            Self::Entry { .. } => {
                "if it is a link, point it to a folder of images or delete it".into()
            }
            Self::NoClasses { .. } | Self::SingleClass { .. } | Self::UnsortedSplit { .. } => {
                "put the images of each class in a folder of their own, at least two of them".into()
            }
            Self::ClassName { .. } => "rename the folder".into(),
            Self::EmptyClasses { are_skipped: true, .. } => {
                "add images (.jpg, .png, .bmp or .webp): too few other folders have any".into()
            }
            Self::EmptyClasses { .. } => {
                "add images (.jpg, .png, .bmp or .webp), delete what has none, or leave it out by \
                 `data.on_bad_image = \"skip\"`"
                    .into()
            }
            Self::UnknownClass { train, is_empty: true, .. } => {
                format!("add images to train on to `{}`, which has none", train.display())
            }
            Self::UnknownClass { train, .. } => {
                format!("check its spelling against the folders in `{}`", train.display())
            }
            Self::NoTrain { .. } => {
                "rename the folder to train on, or the classes if these are classes".into()
            }
            Self::TwoSplits { .. } => "keep one of them".into(),
            Self::TooFarUp { .. } => {
                "name the folder in which each class has a folder of images, or \
                 call its splits `train`, `val` and `test`"
                    .into()
            }
            Self::StrayImage { path, image } => format!(
                "move `{}` away; if `{}` is a class, rename it",
                image.display(),
                path.display()
            ),
            Self::BadImage { reason, .. } => {
                format!("{}, or train with `data.on_bad_image = \"skip\"`", reason.help())
            }
            Self::NotRead { reason, .. } => match reason {
                BadImage::NotAnImage => "the model reads pictures: JPEG, PNG, BMP or WebP files",
                BadImage::NoPixels { .. } | BadImage::Decode(_) | BadImage::Panic => {
                    "save the picture again, as PNG or JPEG"
                }
                _ => reason.help(),
            }
            .into(),
            Self::ClassLost { .. } => "replace the images or delete the class folder".into(),
            Self::CacheWrite(error) => {
                error.help().unwrap_or_else(|| "set `data.cache` to another directory".into())
            }
            Self::CacheRead { path, .. } => format!(
                "let the file be read, or delete `{}`; a run that starts or resumes builds the cache anew",
                path.parent().unwrap_or(path).display()
            ),
        })
    }
}

/// That these class folders have no images.
pub(super) fn without_images(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    match names.len() {
        1 => format!("the class folder {} has no images", list(&names)),
        count => format!("{} class folders have no images: {}", grouped(count), list(&names)),
    }
}

fn list_help(reason: &io::Error) -> Option<String> {
    (reason.kind() == io::ErrorKind::PermissionDenied)
        .then(|| "let the user who runs this list it, as `chmod u+rx` does".into())
}

/// What is wrong with a file that should be an image; follows the file's name.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum BadImage {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Read(io::Error),
    /// There are no bytes.
    #[error("is empty")]
    Empty,
    /// There are more bytes than an image has.
    #[error("has {bytes} bytes, too many for an image")]
    TooLong { bytes: u64 },
    /// The content is not an image.
    #[error("is not an image")]
    NotAnImage,
    /// The content is of a format that is not read.
    #[error("is an image of the format `{format}`, which is not read")]
    Format { format: &'static str },
    /// The end is missing.
    #[error("is truncated")]
    Truncated,
    /// The header declares no pixels.
    #[error("has no pixels: {width}x{height}")]
    NoPixels { width: u64, height: u64 },
    /// The header declares more than is decoded.
    #[error("declares {width}x{height} pixels in {bytes} bytes")]
    TooLarge { width: u64, height: u64, bytes: usize },
    /// The pixels are to be neither grey nor colour.
    #[error("cannot become an image of {channels} channels: grey has 1, colour has 3")]
    Channels { channels: usize },
    /// The decoder refuses it.
    #[error("cannot be decoded: {0}")]
    Decode(String),
    /// The decoder gives up on it.
    #[error("cannot be decoded: the decoder panicked")]
    Panic,
}

impl BadImage {
    /// The refusal of a library, on one line.
    pub(super) fn decode(error: impl std::fmt::Display) -> Self {
        let text = error.to_string();
        Self::Decode(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// What the user can do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Read(_) => "check that the file exists and may be read",
            Self::Format { .. } => "convert it to PNG or JPEG",
            Self::Channels { .. } => "decode it by other means, or use 1 or 3 channels",
            Self::TooLarge { .. } | Self::TooLong { .. } => "scale it down",
            Self::Empty | Self::Truncated => "copy the file again from where it came",
            Self::NotAnImage | Self::NoPixels { .. } | Self::Decode(_) | Self::Panic => {
                "replace or delete it"
            }
        }
    }
}
