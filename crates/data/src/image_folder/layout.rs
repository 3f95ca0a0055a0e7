//! Which folders are splits and which are classes.

use std::path::{Path, PathBuf};

use super::{ImageFolderError, listing};

const TRAIN: &str = "train";
const VALIDATION: [&str; 3] = ["val", "validation", "valid"];
const TEST: &str = "test";

/// The folders that hold class folders.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SplitFolders {
    pub(super) train: PathBuf,
    pub(super) validation: Option<PathBuf>,
    pub(super) test: Option<PathBuf>,
}

/// Finds the splits in a folder; without any the folder itself is what there is to train on.
pub(super) fn find_splits(path: &Path) -> Result<SplitFolders, ImageFolderError> {
    listing::entries(path)?; // errors of the path itself come first
    let split =
        |name: &'static str| Ok::<_, ImageFolderError>(is_split(&path.join(name))?.then_some(name));

    let validations = VALIDATION.into_iter().filter_map(|name| split(name).transpose());
    let validations = validations.collect::<Result<Vec<_>, _>>()?;
    if let [first, second, ..] = validations[..] {
        let (first, second) = (first.to_owned(), second.to_owned());
        return Err(ImageFolderError::TwoValidations { path: path.to_owned(), first, second });
    }
    let (train, validation, test) = (split(TRAIN)?, validations.first().copied(), split(TEST)?);
    match (train, validation.or(test)) {
        (Some(train), _) => Ok(SplitFolders {
            train: path.join(train),
            validation: validation.map(|name| path.join(name)),
            test: test.map(|name| path.join(name)),
        }),
        (None, None) => Ok(SplitFolders { train: path.to_owned(), validation: None, test: None }),
        (None, Some(name)) => {
            Err(ImageFolderError::NoTrain { path: path.to_owned(), split: name.to_owned() })
        }
    }
}

/// Whether a folder with a split's name has folders in it, as a split does. A class may be called
/// `train` too: beside `bus` and `bicycle` that is a folder of images. One of both is refused:
/// either guess would train on other classes than the user has.
fn is_split(path: &Path) -> Result<bool, ImageFolderError> {
    let Ok(entries) = listing::entries(path) else { return Ok(false) };
    let has_folder = entries.iter().any(|entry| entry.is_dir());
    let is_image = |entry: &&PathBuf| listing::is_image_name(entry) && entry.is_file();
    match entries.iter().filter(is_image).min() {
        Some(image) if has_folder => {
            Err(ImageFolderError::StrayImage { path: path.to_owned(), image: image.clone() })
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
        let splits = find_splits(root.path())
            .map_err(|error| error.to_string().replace(root.path().to_str().unwrap(), "ROOT"))?;
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
        check(&["train/1.jpg", "test/1.jpg", "val"], [Some(""), None, None]);
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
