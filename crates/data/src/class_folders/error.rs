//! What can be wrong with folders of classes, where, and what to do about it.

use std::{io, path::PathBuf};

use super::FileKind;
use crate::{count::grouped, names::list};

/// What is wrong with a folder that should have a folder for each class.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ClassFolderError {
    /// The contents of a folder cannot be listed.
    #[error("`{}` cannot be listed: {reason}", path.display())]
    List { path: PathBuf, reason: io::Error },
    /// The system does not say whether an entry of a folder is itself a folder.
    #[error("`{}` cannot be read: {reason}", path.display())]
    Entry { path: PathBuf, reason: io::Error, kind: FileKind },
    /// There are no folders in the folder.
    #[error("`{}` has no class folders", path.display())]
    NoClasses { path: PathBuf, kind: FileKind },
    /// There is nothing to tell apart.
    #[error("`{}` has one class folder only, `{class}`", path.display())]
    SingleClass { path: PathBuf, class: String, kind: FileKind },
    /// The name of a class cannot be written down.
    #[error("the name of the class folder `{}` is not UTF-8", path.display())]
    ClassName { path: PathBuf },
    /// Class folders in which there is no file of the kind.
    #[error("{}", without_files(paths, *kind))]
    EmptyClasses {
        paths: Vec<PathBuf>,
        kind: FileKind,
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
        kind: FileKind,
    },
    /// There is a folder to validate or to test, and none to train.
    #[error("`{}` has a folder `{split}` and no folder `train`", path.display())]
    NoTrain { path: PathBuf, split: String },
    /// Two folders claim to be the same split.
    #[error("`{}` has both a folder `{first}` and a folder `{second}` to {purpose}", path.display())]
    TwoSplits { path: PathBuf, first: String, second: String, purpose: &'static str },
    /// Where the class folders should be are folders of folders.
    #[error(
        "the folders in `{}` hold folders and no {}, as `{}`",
        path.display(), kind.plural(), inner.display()
    )]
    TooFarUp { path: PathBuf, inner: PathBuf, kind: FileKind },
    /// A folder to train on that has files and no class folders.
    #[error("the {} in `{}` are in no class folders", kind.plural(), path.display())]
    UnsortedSplit { path: PathBuf, kind: FileKind },
    /// A folder named like a split that holds both classes and a stray image.
    #[error("`{}` has class folders and an image beside them, `{}`", path.display(), image.display())]
    StrayImage { path: PathBuf, image: PathBuf },
}

impl ClassFolderError {
    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::List { reason, .. } => return list_help(reason),
            Self::Entry { kind, .. } => {
                format!("if it is a link, point it to a folder of {} or delete it", kind.plural())
            }
            Self::NoClasses { kind, .. }
            | Self::SingleClass { kind, .. }
            | Self::UnsortedSplit { kind, .. } => format!(
                "put the {} of each class in a folder of their own, at least two of them",
                kind.plural()
            ),
            Self::ClassName { .. } => "rename the folder".into(),
            Self::EmptyClasses { kind, are_skipped: true, .. } => {
                format!(
                    "add {} ({}): too few other folders have any",
                    kind.plural(),
                    kind.endings()
                )
            }
            Self::EmptyClasses { kind, .. } => {
                let (files, endings) = (kind.plural(), kind.endings());
                match kind {
                    FileKind::Image => format!(
                        "add {files} ({endings}), delete what has none, or leave it out by \
                         `data.on_bad_image = \"skip\"`"
                    ),
                    FileKind::Text => format!("add {files} ({endings}), or delete what has none"),
                }
            }
            Self::UnknownClass { train, is_empty: true, kind, .. } => format!(
                "add {} to train on to `{}`, which has none",
                kind.plural(),
                train.display()
            ),
            Self::UnknownClass { train, .. } => {
                format!("check its spelling against the folders in `{}`", train.display())
            }
            Self::NoTrain { .. } => {
                "rename the folder to train on, or the classes if these are classes".into()
            }
            Self::TwoSplits { .. } => "keep one of them".into(),
            Self::TooFarUp { kind, .. } => format!(
                "name the folder in which each class has a folder of {}, or \
                 call its splits `train`, `val` and `test`",
                kind.plural()
            ),
            Self::StrayImage { path, image } => format!(
                "move `{}` away; if `{}` is a class, rename it",
                image.display(),
                path.display()
            ),
        })
    }
}

/// That these class folders have no files of the kind.
pub(crate) fn without_files(paths: &[PathBuf], kind: FileKind) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let files = kind.plural();
    match names.len() {
        1 => format!("the class folder {} has no {files}", list(&names)),
        count => format!("{} class folders have no {files}: {}", grouped(count), list(&names)),
    }
}

fn list_help(reason: &io::Error) -> Option<String> {
    (reason.kind() == io::ErrorKind::PermissionDenied)
        .then(|| "let the user who runs this list it, as `chmod u+rx` does".into())
}
