//! What can be wrong with a folder of images, where, and what to do about it.

use std::{io, path::PathBuf};

use store::StoreError;

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
    pub fn help(&self) -> String {
        match self {
            Self::Size { longest, .. } => {
                format!("each side of `data.size` is 1 to {longest} pixels")
            }
            Self::Channels { .. } => "set `data.channels` to 1 for grey or 3 for colour".into(),
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
        }
    }
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
