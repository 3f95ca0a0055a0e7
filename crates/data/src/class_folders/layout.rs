//! Which folders are splits and which are classes.

use std::path::{Path, PathBuf};

use super::{ClassFolderError, FileKind, listing};
use crate::count::such_as;

/// What folders of splits are called, in whatever case.
const TRAIN: [&str; 2] = ["train", "training"];
const VALIDATION: [&str; 4] = ["val", "valid", "validation", "dev"];
const TEST: [&str; 2] = ["test", "testing"];

/// The folders that hold class folders.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SplitFolders {
    pub(super) train: PathBuf,
    pub(super) validation: Option<PathBuf>,
    pub(super) test: Option<PathBuf>,
    /// Folders beside those of the splits, which are not read, by name.
    pub(super) passed_over: Vec<PathBuf>,
}

/// What the user should know of folders beside those of splits, if there are any.
pub(crate) fn note_on_passed_over(folders: &[PathBuf], kind: FileKind) -> Option<String> {
    let first = folders.first()?;
    let why = match is_called_split(first) {
        true => format!(
            "the {} of a split lie in class folders; without, they can only be predicted",
            kind.plural()
        ),
        false => "beside splits no other folders are read".to_owned(),
    };
    let folders = such_as(folders.len(), "folder", first.display());
    Some(format!("passed over {folders}: {why}"))
}

/// Finds the splits in a folder; without any the folder itself is what there is to train on.
pub(super) fn find_splits(path: &Path, kind: FileKind) -> Result<SplitFolders, ClassFolderError> {
    let mut folders = folders_of(path, kind)?;
    let validation = split(&folders, &VALIDATION, "validate", kind)?;
    let train = split(&folders, &TRAIN, "train on", kind)?;
    let test = split(&folders, &TEST, "test", kind)?;
    let train = match (train, validation.as_ref().or(test.as_ref())) {
        (Some(train), _) => train,
        (None, None) => {
            check_classes(path, &folders, kind)?;
            let (train, passed_over) = (path.to_owned(), Vec::new());
            return Ok(SplitFolders { train, validation, test, passed_over });
        }
        (None, Some(held_out)) => {
            let split = name(held_out);
            return Err(ClassFolderError::NoTrain { path: path.to_owned(), split });
        }
    };
    let splits = [Some(&train), validation.as_ref(), test.as_ref()];
    folders.retain(|folder| !splits.contains(&Some(folder)));
    Ok(SplitFolders { train, validation, test, passed_over: folders })
}

/// The folder of those to measure a model on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MeasuredFolder {
    pub(super) folder: PathBuf,
    /// Which split it is, if the folder is one that others are not trained on.
    pub(super) split: Option<&'static str>,
    /// Folders beside the splits, which are not read, by name.
    pub(super) passed_over: Vec<PathBuf>,
}

/// Finds in a folder the test split, else the validation split, else what there is to train on, whatever else is
/// there.
pub(super) fn find_measured(
    path: &Path,
    kind: FileKind,
) -> Result<MeasuredFolder, ClassFolderError> {
    let mut folders = folders_of(path, kind)?;
    let in_turn = [
        (&TEST[..], "test", Some("test")),
        (&VALIDATION, "validate", Some("validation")),
        (&TRAIN, "train on", None),
    ];
    for (names, purpose, measured) in in_turn {
        if let Some(folder) = split(&folders, names, purpose, kind)? {
            folders.retain(|folder| !is_called_split(folder));
            return Ok(MeasuredFolder { folder, split: measured, passed_over: folders });
        }
    }
    check_classes(path, &folders, kind)?;
    Ok(MeasuredFolder { folder: path.to_owned(), split: None, passed_over: Vec::new() })
}

/// The folders in a folder, by name.
fn folders_of(path: &Path, kind: FileKind) -> Result<Vec<PathBuf>, ClassFolderError> {
    let mut folders = Vec::new();
    for entry in listing::data_in(path, kind)? {
        if listing::is_folder(&entry, kind)? {
            folders.push(entry);
        }
    }
    folders.sort_unstable();
    Ok(folders)
}

/// Refuses folders none of which is a split, where they cannot be classes either.
fn check_classes(path: &Path, folders: &[PathBuf], kind: FileKind) -> Result<(), ClassFolderError> {
    match (outermost(folders, kind), unsorted_split(folders)) {
        (Some(inner), _) => Err(ClassFolderError::TooFarUp { path: path.to_owned(), inner, kind }),
        (None, Some(split)) => Err(ClassFolderError::UnsortedSplit { path: split, kind }),
        (None, None) => Ok(()),
    }
}

/// The one folder that is called as a split of this purpose.
fn split(
    folders: &[PathBuf],
    names: &[&str],
    purpose: &'static str,
    kind: FileKind,
) -> Result<Option<PathBuf>, ClassFolderError> {
    let mut found: Option<&PathBuf> = None;
    for folder in folders {
        if !is_called(folder, names) || !is_split(folder, kind)? {
            continue;
        }
        if let Some(first) = found {
            let path = folder.parent().unwrap_or(folder).to_owned();
            let first = name(first);
            let second = name(folder);
            return Err(ClassFolderError::TwoSplits { path, first, second, purpose });
        }
        found = Some(folder);
    }
    Ok(found.cloned())
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A folder that no class would hold, where what should be class folders has no file of its own:
/// the user named a folder too far up, or splits have names that are not known. A class whose files
/// lie in a single folder below it, as those of Tiny ImageNet do, is one nonetheless.
fn outermost(classes: &[PathBuf], kind: FileKind) -> Option<PathBuf> {
    if classes.len() < 2 {
        return None;
    }
    let (mut wrapped, mut inner) = (true, Vec::new());
    for class in classes {
        let folders = folders_without_files(class, kind);
        let holds_files =
            |folder: &Path| listing::entries(folder).is_ok_and(|entries| has_file(&entries, kind));
        wrapped &= folders.len() == 1 && holds_files(&folders[0]);
        inner.push((class, folders.into_iter().next()));
    }
    let all = inner.iter().all(|(_, folder)| folder.is_some());
    // `seg_train` and `seg_test` are no classes, whatever lies beside them.
    let is_split = |names: &[&str]| {
        inner.iter().any(|(class, folder)| folder.is_some() && is_named_after(class, names))
    };
    let splits = is_split(&TRAIN) && (is_split(&VALIDATION) || is_split(&TEST));
    let first = inner.into_iter().find_map(|(_, folder)| folder);
    first.filter(|_| splits || (all && !wrapped))
}

/// The folders in a folder that has no file of its own, in order; none if it has one.
pub(super) fn folders_without_files(folder: &Path, kind: FileKind) -> Vec<PathBuf> {
    let entries = listing::entries(folder).unwrap_or_default();
    if has_file(&entries, kind) {
        return Vec::new();
    }
    let mut folders: Vec<PathBuf> = entries.into_iter().filter(|entry| entry.is_dir()).collect();
    folders.sort_unstable();
    folders
}

/// A folder to train on whose files are in no class folders: called so, with none beside it but those
/// of other splits.
fn unsorted_split(folders: &[PathBuf]) -> Option<PathBuf> {
    let are_splits = folders.len() > 1 && folders.iter().all(|folder| is_called_split(folder));
    folders.iter().find(|folder| are_splits && is_called(folder, &TRAIN)).cloned()
}

/// Whether a folder has the name of a split.
fn is_called_split(folder: &Path) -> bool {
    [&TRAIN[..], &VALIDATION, &TEST].into_iter().any(|names| is_called(folder, names))
}

fn is_called(folder: &Path, names: &[&str]) -> bool {
    let called = name(folder);
    names.iter().any(|name| called.eq_ignore_ascii_case(name))
}

/// Whether one of these names is a word of a folder's own, as `train` is of `seg_train`.
fn is_named_after(folder: &Path, names: &[&str]) -> bool {
    let called = name(folder).to_ascii_lowercase();
    let mut words = called.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.any(|word| names.contains(&word))
}

fn has_file(entries: &[PathBuf], kind: FileKind) -> bool {
    files(entries, kind).next().is_some()
}

/// Those of the entries that are files of the kind.
fn files(entries: &[PathBuf], kind: FileKind) -> impl Iterator<Item = &PathBuf> {
    entries.iter().filter(move |entry| kind.is_name_of(entry) && entry.is_file())
}

/// Whether a folder with a split's name has folders in it, as a split does. A class may be called
/// `train` too: beside `bus` and `bicycle` that is a folder of images. One of both is refused:
/// either guess would train on other classes than the user has. Texts beside class folders only describe
/// them, as a `README` does: a class of texts that has folders as well must not be called as a split.
fn is_split(path: &Path, kind: FileKind) -> Result<bool, ClassFolderError> {
    let entries = listing::entries(path)?;
    let has_folder = entries.iter().any(|entry| entry.is_dir());
    match files(&entries, kind).min() {
        Some(image) if has_folder && kind == FileKind::Image => {
            Err(ClassFolderError::StrayImage { path: path.to_owned(), image: image.clone() })
        }
        _ => Ok(has_folder),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Makes the folders of `paths` (those with a dot as files) and looks for splits.
    fn find(paths: &[&str]) -> Result<[Option<String>; 3], String> {
        let root = tempfile::tempdir().unwrap();
        for path in paths {
            let path = root.path().join(path);
            if path.extension().is_some() {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            } else {
                fs::create_dir_all(path).unwrap();
            }
        }
        let name = |path: PathBuf| path.strip_prefix(root.path()).unwrap().display().to_string();
        let told = |error: ClassFolderError| {
            error.to_string().replace(root.path().to_str().unwrap(), "ROOT").replace('\\', "/")
        };
        let splits = find_splits(root.path(), FileKind::Image).map_err(told)?;
        Ok([Some(splits.train), splits.validation, splits.test].map(|path| path.map(name)))
    }

    #[test]
    fn splits_are_told_from_classes() {
        let check = |paths: &[&str], expected: [Option<&str>; 3]| {
            assert_eq!(
                find(paths).unwrap(),
                expected.map(|name| name.map(str::to_owned)),
                "{paths:?}"
            );
        };
        check(&["cat", "dog"], [Some(""), None, None]);
        check(&["train/cat", "train/dog"], [Some("train"), None, None]);
        check(&["train/cat", "validation/cat"], [Some("train"), Some("validation"), None]);
        check(
            &["train/a", "valid/a", "test/a", "notes"],
            [Some("train"), Some("valid"), Some("test")],
        );
        check(&["train/1.jpg", "bus/1.jpg"], [Some(""), None, None]);
        check(
            &["Training/a", "Validation/a", "TESTING/a"],
            [Some("Training"), Some("Validation"), Some("TESTING")],
        );
        check(&["train/a", "Dev/a"], [Some("train"), Some("Dev"), None]);
        check(&["a/images/1.png", "b/images/1.png"], [Some(""), None, None]);
        check(&["a/below/1.png", "a/beside/1.png", "b/1.png"], [Some(""), None, None]);
    }

    #[test]
    fn what_is_measured_needs_no_other_split() {
        let root = tempfile::tempdir().unwrap();
        let measured = |folder: &str| {
            fs::create_dir_all(root.path().join(folder)).unwrap();
            let MeasuredFolder { folder, split, .. } =
                find_measured(root.path(), FileKind::Image).unwrap();
            (folder.strip_prefix(root.path()).unwrap().to_owned(), split)
        };
        assert_eq!(measured("cat"), (PathBuf::new(), None));
        assert_eq!(measured("train/cat"), ("train".into(), None));
        fs::remove_dir_all(root.path().join("train")).unwrap();
        assert_eq!(measured("dev/cat"), ("dev".into(), Some("validation")));
        assert_eq!(measured("testing/cat"), ("testing".into(), Some("test")));
    }

    #[test]
    fn folders_beside_splits_are_named() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["train/a", "dogs/1", "cats", "test"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("readme.md"), "").unwrap();
        let beside = find_splits(root.path(), FileKind::Image).unwrap().passed_over;
        assert_eq!(beside, ["cats", "dogs", "test"].map(|name| root.path().join(name)));
    }

    #[test]
    fn splits_without_sense_are_refused() {
        let check = |paths: &[&str], expected: &str| assert_eq!(find(paths).unwrap_err(), expected);
        check(&["val/a", "test/a"], "`ROOT` has a folder `val` and no folder `train`");
        check(&["test/a", "train/1.png"], "`ROOT` has a folder `test` and no folder `train`");
        check(
            &["train/a", "val/a", "valid/a"],
            "`ROOT` has both a folder `val` and a folder `valid` to validate",
        );
        check(
            &["train/a", "training/a"],
            "`ROOT` has both a folder `train` and a folder `training` to train on",
        );
        let no_class = "the folders in `ROOT` hold folders and no images, as `ROOT/";
        check(&["fold1/a/1.png", "fold1/b/1.png", "fold2/a/1.png"], &format!("{no_class}fold1/a`"));
        check(
            &["seg_train/seg_train/a/1.png", "seg_pred/seg_pred/1.png"],
            &format!("{no_class}seg_pred/seg_pred`"),
        );
        check(
            &["seg_train/seg_train/a/1.png", "seg_test/seg_test/a/1.png", "seg_pred/1.png"],
            &format!("{no_class}seg_test/seg_test`"),
        );
        let unsorted = "the images in `ROOT/train` are in no class folders";
        check(&["train/1.jpg", "test/1.jpg"], unsorted);
        check(&["Train/cat.1.jpg", "test/1.jpg", "val"], &unsorted.replace("train", "Train"));
        let stray = |image: &str, split: &str| {
            format!("`ROOT/{split}` has class folders and an image beside them, `ROOT/{image}`")
        };
        let photos = ["train/a/1.png", "train/b/1.png", "val/a/1.png", "val/b/1.png"];
        let with = |images: &[&'static str]| [&photos[..], images].concat();
        check(&with(&["train/over.png"]), &stray("train/over.png", "train"));
        check(&with(&["train/over.png", "val/over.png"]), &stray("val/over.png", "val"));
        check(&["bus/1.png", "test/2.png", "test/1.png", "test/a"], &stray("test/1.png", "test"));
    }
}
