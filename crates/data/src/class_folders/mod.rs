//! Folders of files that have a folder for each class: which are splits, which are classes, and whose the
//! files are.
//!
//! ```text
//! photos/cat/*.jpg          or      photos/train/cat/*.jpg
//! photos/dog/*.png                  photos/train/dog/*.png
//!                                   photos/val/cat/*.jpg
//!                                   photos/test/dog/*.jpg
//! ```
//!
//! The classes are those of the training split, sorted as torchvision's `ImageFolder` sorts them.

mod error;
mod layout;
mod listing;
mod splits;

use std::path::{Path, PathBuf};

pub use self::error::ClassFolderError;
pub(crate) use self::{
    error::without_files,
    layout::note_on_passed_over,
    listing::{CACHE_MANIFEST, Listing, files_in},
    splits::{Listings, Measured},
};

/// What the files of a class are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Pictures.
    Image,
    /// Texts.
    Text,
}

/// Extensions of the images that are read.
const IMAGES_READ: [&str; 6] = ["bmp", "jfif", "jpeg", "jpg", "png", "webp"];

/// Extensions of images that are not read. They are listed, and then found to be bad: passing over
/// them would lose part of the data silently.
const IMAGES_NOT_READ: [&str; 12] =
    ["avif", "gif", "heic", "heif", "j2k", "jp2", "jxl", "pgm", "pnm", "ppm", "tif", "tiff"];

impl FileKind {
    /// Whether a file is named like one of this kind. Only its content tells what it is.
    pub fn is_name_of(self, path: &Path) -> bool {
        let is = |name: &&str| {
            path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(name))
        };
        match self {
            Self::Image => IMAGES_READ.iter().chain(&IMAGES_NOT_READ).any(is),
            // Collections of messages, such as 20 Newsgroups, only number them.
            Self::Text => path.extension().is_none() || is(&"txt"),
        }
    }

    /// What files of this kind are called.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Image => "images",
            Self::Text => "texts",
        }
    }

    /// How files of this kind end that are read.
    pub fn endings(self) -> &'static str {
        match self {
            Self::Image => ".jpg, .jpeg, .png, .bmp or .webp",
            Self::Text => ".txt, or no ending",
        }
    }
}

/// The folder with the classes to train on of a folder that may have splits; none where that cannot be
/// told.
pub fn training_folder(folder: &Path, kind: FileKind) -> Option<PathBuf> {
    layout::find_splits(folder, kind).ok().map(|splits| splits.train)
}

/// The folder with the classes to measure a model on; none where it cannot be told.
pub(crate) fn measured_folder(folder: &Path, kind: FileKind) -> Option<PathBuf> {
    layout::find_measured(folder, kind).ok().map(|measured| measured.folder)
}
