//! Which files are the images of which class.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::ImageFolderError;

/// Extensions of the formats that are read.
const READ: [&str; 6] = ["bmp", "jfif", "jpeg", "jpg", "png", "webp"];

/// Extensions of images that are not read. They are listed, and then found to be bad: to pass over
/// them would lose a part of the data in silence.
const NOT_READ: [&str; 12] =
    ["avif", "gif", "heic", "heif", "j2k", "jp2", "jxl", "pgm", "pnm", "ppm", "tif", "tiff"];

/// The images of a split, in the order of their paths.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) folder: PathBuf,
    pub(super) classes: Vec<String>,
    pub(super) files: Vec<ImageFile>,
    /// A label for each file.
    pub(super) labels: Vec<u32>,
    pub(super) ignored: Ignored,
}

impl Listing {
    /// A hash of the names and sizes of the files, and of their labels.
    pub(super) fn fingerprint(&self) -> String {
        let mut text = format!("{:?}\n{:?}", self.classes, self.labels).into_bytes();
        for file in &self.files {
            let path = file.path.strip_prefix(&self.folder).unwrap_or(&file.path);
            text.extend(format!("\n{} ", file.bytes).bytes());
            text.extend(path.as_os_str().as_encoded_bytes());
        }
        store::sha256_hex(&text)
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
}

/// A file that should be an image, as it was when it was listed.
#[derive(Debug, Clone)]
pub(super) struct ImageFile {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    pub(super) modified: Option<SystemTime>,
}

/// Lists the images to train on: each folder is a class, of which there must be two unless
/// `one_class`.
pub(super) fn list_train(folder: &Path, one_class: bool) -> Result<Listing, ImageFolderError> {
    let classes = class_names(folder)?;
    match classes.as_slice() {
        [] => Err(ImageFolderError::NoClasses { path: folder.to_owned() }),
        [class] if !one_class => {
            Err(ImageFolderError::SingleClass { path: folder.to_owned(), class: class.clone() })
        }
        present => list(folder, &classes, present),
    }
}

/// Lists the images to validate or test. Not every class must be there, but none that is not
/// trained on.
pub(super) fn list_held_out(folder: &Path, train: &Listing) -> Result<Listing, ImageFolderError> {
    let present = class_names(folder)?;
    match present.iter().find(|class| !train.classes.contains(class)) {
        Some(class) => Err(ImageFolderError::UnknownClass {
            path: folder.join(class),
            train: train.folder.clone(),
        }),
        None => list(folder, &train.classes, &present),
    }
}

fn list(
    folder: &Path,
    classes: &[String],
    present: &[String],
) -> Result<Listing, ImageFolderError> {
    let (mut files, mut labels) = (Vec::new(), Vec::new());
    let mut ignored = Ignored::default();
    for (label, class) in (0..).zip(classes).filter(|(_, class)| present.contains(class)) {
        let path = folder.join(class);
        let images = list_class(&path, &mut ignored)?;
        if images.is_empty() {
            return Err(ImageFolderError::EmptyClass { path });
        }
        labels.extend(images.iter().map(|_| label));
        files.extend(images);
    }
    Ok(Listing { folder: folder.to_owned(), classes: classes.to_owned(), files, labels, ignored })
}

/// The names of the class folders, sorted by their bytes as Python sorts them: 10 before 2.
fn class_names(folder: &Path) -> Result<Vec<String>, ImageFolderError> {
    let mut classes = Vec::new();
    for path in entries(folder)?.into_iter().filter(|path| path.is_dir()) {
        match path.file_name().and_then(|name| name.to_str()) {
            Some(name) => classes.push(name.to_owned()),
            None => return Err(ImageFolderError::ClassName { path }),
        }
    }
    classes.sort_unstable();
    Ok(classes)
}

/// The images in a class folder and the folders below, sorted by path.
///
/// Links to folders are not followed below a class, where they could lead in circles.
pub(super) fn list_class(
    class: &Path,
    ignored: &mut Ignored,
) -> Result<Vec<ImageFile>, ImageFolderError> {
    let mut images = Vec::new();
    let mut folders = vec![class.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            match fs::metadata(&path) {
                Ok(of) if of.is_dir() && !path.is_symlink() => folders.push(path),
                // What cannot be asked, as a link that leads nowhere, becomes a bad image.
                Err(_) if is_image_name(&path) => {
                    images.push(ImageFile { path, bytes: 0, modified: None })
                }
                Ok(of) if of.is_file() && is_image_name(&path) => {
                    images.push(ImageFile { path, bytes: of.len(), modified: of.modified().ok() });
                }
                _ => ignored.add(path),
            }
        }
    }
    images.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(images)
}

/// What is in a folder and not hidden.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, ImageFolderError> {
    let error = |source| ImageFolderError::list(folder, source);
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(error)? {
        let entry = entry.map_err(error)?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            entries.push(entry.path());
        }
    }
    Ok(entries)
}

/// Whether a file is called an image. What it is, only its content tells.
pub(super) fn is_image_name(path: &Path) -> bool {
    let Some(extension) = path.extension().and_then(|extension| extension.to_str()) else {
        return false;
    };
    READ.iter().chain(&NOT_READ).any(|name| extension.eq_ignore_ascii_case(name))
}
