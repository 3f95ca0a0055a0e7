//! The files of each split of a folder.

use std::path::{Path, PathBuf};

use super::{
    FileKind, Listing,
    layout::{MeasuredFolder, find_measured, find_splits, note_on_passed_over},
    listing::{list_held_out, list_train},
};
use crate::{DataError, files::Folder};

/// The files of all splits.
pub(crate) struct Listings {
    pub(crate) train: Listing,
    pub(crate) validation: Option<Listing>,
    pub(crate) test: Option<Listing>,
    /// Folders beside those of the splits, which are not read, by name.
    pub(crate) passed_over: Vec<PathBuf>,
}

impl Listings {
    /// - `skips_empty`: whether class folders without files are left out, and no error
    pub(crate) fn of(path: &Path, kind: FileKind, skips_empty: bool) -> Result<Self, DataError> {
        Folder::open(path)?;
        let folders = find_splits(path, kind)?;
        let train = list_train(&folders.train, kind, false, skips_empty)?;
        let held_out = |folder: Option<PathBuf>| {
            let list = |folder: PathBuf| list_held_out(&folder, kind, &train, skips_empty);
            folder.map(list).transpose()
        };
        let (validation, test) = (held_out(folders.validation)?, held_out(folders.test)?);
        Ok(Self { train, validation, test, passed_over: folders.passed_over })
    }
}

/// The files to measure a model on: those of the test split, else of the validation split, else those to train
/// on.
pub(crate) struct Measured {
    pub(crate) listing: Listing,
    /// As [`MeasuredFolder::split`].
    pub(crate) split: Option<&'static str>,
    /// What the user should know of folders beside the splits, if there are any.
    pub(crate) note: Option<String>,
}

impl Measured {
    /// - `skips_empty`: as in [`Listings::of`]
    pub(crate) fn of(path: &Path, kind: FileKind, skips_empty: bool) -> Result<Self, DataError> {
        Folder::open(path)?;
        let MeasuredFolder { folder, split, passed_over } = find_measured(path, kind)?;
        let listing = list_train(&folder, kind, true, skips_empty)?;
        Ok(Self { listing, split, note: note_on_passed_over(&passed_over, kind) })
    }
}
