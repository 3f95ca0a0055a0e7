//! Which files are the images of which class.

use std::{
    fs,
    path::{Path, PathBuf},
};

use store::sha256_hex;

use super::{ImageFolderError, layout};
use crate::count::counted;

/// Extensions of the formats that are read.
const READ: [&str; 6] = ["bmp", "jfif", "jpeg", "jpg", "png", "webp"];

/// Extensions of images that are not read. They are listed, and then found to be bad: passing over
/// them would lose part of the data silently.
const NOT_READ: [&str; 12] =
    ["avif", "gif", "heic", "heif", "j2k", "jp2", "jxl", "pgm", "pnm", "ppm", "tif", "tiff"];

/// The folders in which macOS packs what only it can read, under the names of the images, and in which
/// Synology's drives keep small copies of them.
const OF_SYSTEMS: [&str; 2] = ["__MACOSX", "@eaDir"];

/// Where runs lie unless the user names another folder. It may have no run yet.
const RUNS: &str = "runs";

/// The files by which a run and a cache of decoded images are known.
const WRITTEN: [&str; 2] = ["config.toml", super::cache::MANIFEST];

/// The images of a split, in the order of their paths.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) folder: PathBuf,
    pub(super) classes: Vec<String>,
    pub(super) files: Vec<PathBuf>,
    /// A label for each file.
    pub(super) labels: Vec<u32>,
    /// Files in class folders that are not named as images. Hidden files do not count.
    pub(super) ignored: Ignored,
    /// Images beside the class folders.
    pub(super) loose: Ignored,
    /// Class folders without images that are left out.
    pub(super) empty: Vec<PathBuf>,
}

impl Listing {
    /// A hash of the classes, the labels, the names of the files within the split, and the `hashes`
    /// of their contents.
    pub(super) fn fingerprint(&self, hashes: &[String]) -> String {
        let contents = sha256_hex(hashes.concat().as_bytes());
        let Self { folder, classes, files, labels, .. } = self;
        let name = |file: &'_ PathBuf| file.strip_prefix(folder).unwrap_or(file).to_owned();
        let names: Vec<PathBuf> = files.iter().map(name).collect();
        sha256_hex(format!("{classes:?}\n{labels:?}\n{names:?}\n{contents}").as_bytes())
    }
}

/// The files passed over.
#[derive(Debug, Default)]
pub(super) struct Ignored {
    pub(super) count: usize,
    /// The first of them by path.
    pub(super) first: Option<PathBuf>,
}

impl Ignored {
    fn add(&mut self, path: PathBuf) {
        self.count += 1;
        if self.first.as_ref().is_none_or(|first| path < *first) {
            self.first = Some(path);
        }
    }

    /// Which files these are, if there are any.
    pub(super) fn describe(&self) -> Option<String> {
        let first = self.first.as_ref()?.display();
        Some(match self.count {
            1 => format!("`{first}`"),
            count => format!("{}, such as `{first}`", counted(count, "file")),
        })
    }
}

/// Lists the images to train on: each folder is a class, of which there must be two unless
/// `one_class`.
///
/// - `skips_empty`: whether class folders without images are left out, and no error
pub(super) fn list_train(
    folder: &Path,
    one_class: bool,
    skips_empty: bool,
) -> Result<Listing, ImageFolderError> {
    let (classes, loose) = classes_in(folder)?;
    let (classes, empty) = without_empty(folder, classes, skips_empty)?;
    match classes.as_slice() {
        [] if !empty.is_empty() => Err(too_few(empty)),
        [_] if !one_class && !empty.is_empty() => Err(too_few(empty)),
        [] => Err(ImageFolderError::NoClasses { path: folder.to_owned() }),
        [class] if !one_class => {
            let (path, class) = (folder.to_owned(), class.clone());
            let within = layout::folders_without_images(&folder.join(&class));
            Err(match &within[..] {
                [inner, _, ..] => ImageFolderError::TooFarUp { path, inner: inner.clone() },
                _ => ImageFolderError::SingleClass { path, class },
            })
        }
        present => Ok(Listing { empty, ..list(folder, &classes, present, loose)? }),
    }
}

/// Lists the images to validate or test. Not every class must be there, but none that is not
/// trained on.
///
/// - `skips_empty`: as in [`list_train`]
pub(super) fn list_held_out(
    folder: &Path,
    train: &Listing,
    skips_empty: bool,
) -> Result<Listing, ImageFolderError> {
    let (present, loose) = classes_in(folder)?;
    let (present, empty) = without_empty(folder, present, skips_empty)?;
    if present.is_empty() && !empty.is_empty() {
        return Err(too_few(empty));
    }
    match present.iter().find(|class| !train.classes.contains(class)) {
        Some(class) => {
            let counterpart = train.folder.join(class);
            let is_empty = train.empty.contains(&counterpart);
            let train = if is_empty { counterpart } else { train.folder.clone() };
            Err(ImageFolderError::UnknownClass { path: folder.join(class), train, is_empty })
        }
        None => Ok(Listing { empty, ..list(folder, &train.classes, &present, loose)? }),
    }
}

fn list(
    folder: &Path,
    classes: &[String],
    present: &[String],
    loose: Ignored,
) -> Result<Listing, ImageFolderError> {
    let (mut files, mut labels) = (Vec::new(), Vec::new());
    let (mut ignored, mut empty) = (Ignored::default(), Vec::new());
    for (label, class) in (0..).zip(classes).filter(|(_, class)| present.contains(class)) {
        let path = folder.join(class);
        let images = list_class(&path, &mut ignored)?;
        if images.is_empty() {
            empty.push(path);
        }
        labels.extend(images.iter().map(|_| label));
        files.extend(images);
    }
    if !empty.is_empty() {
        return Err(ImageFolderError::EmptyClasses { paths: empty, are_skipped: false });
    }
    let (folder, classes) = (folder.to_owned(), classes.to_owned());
    Ok(Listing { folder, classes, files, labels, ignored, loose, empty: Vec::new() })
}

/// The error where so many class folders are left out for want of images that too few are left.
fn too_few(empty: Vec<PathBuf>) -> ImageFolderError {
    ImageFolderError::EmptyClasses { paths: empty, are_skipped: true }
}

/// The classes that have images, and the folders of those that have none, if these are to be left out.
fn without_empty(
    folder: &Path,
    classes: Vec<String>,
    skips_empty: bool,
) -> Result<(Vec<String>, Vec<PathBuf>), ImageFolderError> {
    if !skips_empty {
        return Ok((classes, Vec::new()));
    }
    let (mut kept, mut empty) = (Vec::new(), Vec::new());
    for class in classes {
        let path = folder.join(&class);
        if list_class(&path, &mut Ignored::default())?.is_empty() {
            empty.push(path);
        } else {
            kept.push(class);
        }
    }
    Ok((kept, empty))
}

/// The names of the class folders, sorted by their bytes as Python sorts them: 10 before 2. Also the
/// images beside them.
fn classes_in(folder: &Path) -> Result<(Vec<String>, Ignored), ImageFolderError> {
    let (mut classes, mut loose) = (Vec::new(), Ignored::default());
    for path in data_in(folder)? {
        if !is_folder(&path)? {
            if is_image_name(&path) {
                loose.add(path);
            }
            continue;
        }
        match path.file_name().and_then(|name| name.to_str()) {
            Some(name) => classes.push(name.to_owned()),
            None => return Err(ImageFolderError::ClassName { path }),
        }
    }
    classes.sort_unstable();
    Ok((classes, loose))
}

/// Whether a path leads to a folder. What cannot be asked, such as a link that leads nowhere, could
/// be a class or a split, so it is an error.
pub(super) fn is_folder(path: &Path) -> Result<bool, ImageFolderError> {
    match fs::metadata(path) {
        Ok(of) => Ok(of.is_dir()),
        Err(reason) => Err(ImageFolderError::Entry { path: path.to_owned(), reason }),
    }
}

/// The images in a class folder and the folders below, sorted by path.
///
/// Links to folders are not followed below a class, where they could form a cycle.
pub(super) fn list_class(
    class: &Path,
    ignored: &mut Ignored,
) -> Result<Vec<PathBuf>, ImageFolderError> {
    let mut images = Vec::new();
    let mut folders = vec![class.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            match fs::metadata(&path) {
                Ok(of) if of.is_dir() && !path.is_symlink() => folders.push(path),
                // What cannot be asked, such as a link that leads nowhere, becomes a bad image.
                Err(_) if is_image_name(&path) => images.push(path),
                Ok(of) if of.is_file() && is_image_name(&path) => images.push(path),
                _ => ignored.add(path),
            }
        }
    }
    images.sort_unstable();
    Ok(images)
}

/// What is in a folder and not hidden, nor [a system's](OF_SYSTEMS).
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, ImageFolderError> {
    let error = |reason| ImageFolderError::List { path: folder.to_owned(), reason };
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(error)? {
        let entry = entry.map_err(error)?;
        let name = entry.file_name();
        let is_of_system = OF_SYSTEMS.iter().any(|system| name == *system);
        if !name.as_encoded_bytes().starts_with(b".") && !is_of_system {
            entries.push(entry.path());
        }
    }
    Ok(entries)
}

/// As [`entries`], without what training has written there: a folder of pictures may also be the one
/// in which the user works.
pub(super) fn data_in(folder: &Path) -> Result<Vec<PathBuf>, ImageFolderError> {
    let mut found = entries(folder)?;
    found.retain(|entry| !is_of_training(entry));
    Ok(found)
}

/// Whether a folder is that of a run or a cache, or holds some, and has no images.
fn is_of_training(folder: &Path) -> bool {
    let is_marked = |folder: &Path| WRITTEN.iter().any(|name| folder.join(name).is_file());
    let holds_marked = || {
        entries(folder).is_ok_and(|within| {
            // Not of each picture: there may be millions.
            within.iter().filter(|one| !is_image_name(one)).any(|one| is_marked(one))
        })
    };
    let is_written = folder.ends_with(RUNS) || is_marked(folder) || holds_marked();
    is_written && list_class(folder, &mut Ignored::default()).is_ok_and(|images| images.is_empty())
}

/// Whether a file is named as an image. Only its content tells what it is.
pub(super) fn is_image_name(path: &Path) -> bool {
    let Some(extension) = path.extension().and_then(|extension| extension.to_str()) else {
        return false;
    };
    READ.iter().chain(&NOT_READ).any(|name| extension.eq_ignore_ascii_case(name))
}
