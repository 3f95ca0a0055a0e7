//! Which files are of which class.

use std::{
    fs,
    path::{Path, PathBuf},
};

use store::sha256_hex;

use super::{ClassFolderError, FileKind, layout, without_files};
use crate::count::such_as;

/// The folders in which macOS packs what only it can read, under the names of the files, and in which
/// Synology's drives keep small copies of images.
const OF_SYSTEMS: [&str; 2] = ["__MACOSX", "@eaDir"];

/// Where runs lie unless the user names another folder. It may have no run yet.
const RUNS: &str = "runs";

/// The file that a cache of decoded images is known by.
pub(crate) const CACHE_MANIFEST: &str = "manifest.json";
/// The files by which a run and such a cache are known.
const WRITTEN: [&str; 2] = ["config.toml", CACHE_MANIFEST];
/// The files that every run has, and hardly a class of texts.
const OF_RUNS: [&str; 2] = ["config.toml", "environment.json"];

/// The files of a split, in the order of their paths.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) folder: PathBuf,
    pub(crate) classes: Vec<String>,
    pub(crate) files: Vec<PathBuf>,
    /// A label for each file.
    pub(crate) labels: Vec<u32>,
    /// Files in class folders that are not named as of the kind. Hidden files do not count.
    pub(crate) ignored: Ignored,
    /// Files of the kind beside the class folders.
    pub(crate) loose: Ignored,
    /// Class folders without files of the kind that are left out.
    pub(crate) empty: Vec<PathBuf>,
}

impl Listing {
    /// A hash of the classes, the labels, the names of the files within the split, and the `hashes`
    /// of their contents.
    pub(crate) fn fingerprint(&self, hashes: &[String]) -> String {
        let contents = sha256_hex(hashes.concat().as_bytes());
        let Self { folder, classes, files, labels, .. } = self;
        let name = |file: &'_ PathBuf| file.strip_prefix(folder).unwrap_or(file).to_owned();
        let names: Vec<PathBuf> = files.iter().map(name).collect();
        sha256_hex(format!("{classes:?}\n{labels:?}\n{names:?}\n{contents}").as_bytes())
    }

    /// What the user should know of files that are passed over, a sentence each.
    pub(crate) fn notes(&self, kind: FileKind) -> Vec<String> {
        let files = kind.plural();
        let reasons = [
            (&self.ignored, format!("only files named as {files} are read")),
            (&self.loose, format!("{files} are read from class folders only")),
        ];
        let note = |(passed_over, reason): (&Ignored, _)| {
            passed_over.describe().map(|files| format!("passed over {files}: {reason}"))
        };
        let left_out = (!self.empty.is_empty())
            .then(|| format!("{}; left out", without_files(&self.empty, kind)));
        reasons.into_iter().filter_map(note).chain(left_out).collect()
    }
}

/// The files passed over.
#[derive(Debug, Default)]
pub(crate) struct Ignored {
    pub(crate) count: usize,
    /// The first of them by path.
    pub(crate) first: Option<PathBuf>,
}

impl Ignored {
    fn add(&mut self, path: PathBuf) {
        self.count += 1;
        if self.first.as_ref().is_none_or(|first| path < *first) {
            self.first = Some(path);
        }
    }

    /// Which files these are, if there are any.
    pub(crate) fn describe(&self) -> Option<String> {
        Some(such_as(self.count, "file", self.first.as_ref()?.display()))
    }
}

/// Lists the files to train on: each folder is a class, of which there must be two unless
/// `one_class`.
///
/// - `skips_empty`: whether class folders without files are left out, and no error
pub(super) fn list_train(
    folder: &Path,
    kind: FileKind,
    one_class: bool,
    skips_empty: bool,
) -> Result<Listing, ClassFolderError> {
    let (classes, loose) = classes_in(folder, kind)?;
    let (classes, empty) = without_empty(folder, kind, classes, skips_empty)?;
    match classes.as_slice() {
        [] if !empty.is_empty() => Err(too_few(empty, kind)),
        [_] if !one_class && !empty.is_empty() => Err(too_few(empty, kind)),
        [] => Err(ClassFolderError::NoClasses { path: folder.to_owned(), kind }),
        [class] if !one_class => {
            let (path, class) = (folder.to_owned(), class.clone());
            let within = layout::folders_without_files(&folder.join(&class), kind);
            Err(match &within[..] {
                [inner, _, ..] => ClassFolderError::TooFarUp { path, inner: inner.clone(), kind },
                _ => ClassFolderError::SingleClass { path, class, kind },
            })
        }
        present => Ok(Listing { empty, ..list(folder, kind, &classes, present, loose)? }),
    }
}

/// Lists the files to validate or test. Not every class must be there, but none that is not
/// trained on.
///
/// - `skips_empty`: as in [`list_train`]
pub(super) fn list_held_out(
    folder: &Path,
    kind: FileKind,
    train: &Listing,
    skips_empty: bool,
) -> Result<Listing, ClassFolderError> {
    let (present, loose) = classes_in(folder, kind)?;
    let (present, empty) = without_empty(folder, kind, present, skips_empty)?;
    if present.is_empty() && !empty.is_empty() {
        return Err(too_few(empty, kind));
    }
    match present.iter().find(|class| !train.classes.contains(class)) {
        Some(class) => {
            let counterpart = train.folder.join(class);
            let is_empty = train.empty.contains(&counterpart);
            let train = if is_empty { counterpart } else { train.folder.clone() };
            Err(ClassFolderError::UnknownClass { path: folder.join(class), train, is_empty, kind })
        }
        None => Ok(Listing { empty, ..list(folder, kind, &train.classes, &present, loose)? }),
    }
}

fn list(
    folder: &Path,
    kind: FileKind,
    classes: &[String],
    present: &[String],
    loose: Ignored,
) -> Result<Listing, ClassFolderError> {
    let (mut files, mut labels) = (Vec::new(), Vec::new());
    let (mut ignored, mut empty) = (Ignored::default(), Vec::new());
    for (label, class) in (0..).zip(classes).filter(|(_, class)| present.contains(class)) {
        let path = folder.join(class);
        let of_class = list_class(&path, kind, &mut ignored)?;
        if of_class.is_empty() {
            empty.push(path);
        }
        labels.extend(of_class.iter().map(|_| label));
        files.extend(of_class);
    }
    if !empty.is_empty() {
        return Err(ClassFolderError::EmptyClasses { paths: empty, kind, are_skipped: false });
    }
    let (folder, classes) = (folder.to_owned(), classes.to_owned());
    Ok(Listing { folder, classes, files, labels, ignored, loose, empty: Vec::new() })
}

/// The error where so many class folders are left out for want of files that too few are left.
fn too_few(empty: Vec<PathBuf>, kind: FileKind) -> ClassFolderError {
    ClassFolderError::EmptyClasses { paths: empty, kind, are_skipped: true }
}

/// The classes that have files, and the folders of those that have none, if these are to be left out.
fn without_empty(
    folder: &Path,
    kind: FileKind,
    classes: Vec<String>,
    skips_empty: bool,
) -> Result<(Vec<String>, Vec<PathBuf>), ClassFolderError> {
    if !skips_empty {
        return Ok((classes, Vec::new()));
    }
    let (mut kept, mut empty) = (Vec::new(), Vec::new());
    for class in classes {
        let path = folder.join(&class);
        if list_class(&path, kind, &mut Ignored::default())?.is_empty() {
            empty.push(path);
        } else {
            kept.push(class);
        }
    }
    Ok((kept, empty))
}

/// The names of the class folders, sorted by their bytes as Python sorts them: 10 before 2. Also the
/// files of the kind beside them.
fn classes_in(folder: &Path, kind: FileKind) -> Result<(Vec<String>, Ignored), ClassFolderError> {
    let (mut classes, mut loose) = (Vec::new(), Ignored::default());
    for path in data_in(folder, kind)? {
        if !is_folder(&path, kind)? {
            if kind.is_name_of(&path) {
                loose.add(path);
            }
            continue;
        }
        match path.file_name().and_then(|name| name.to_str()) {
            Some(name) => classes.push(name.to_owned()),
            None => return Err(ClassFolderError::ClassName { path }),
        }
    }
    classes.sort_unstable();
    Ok((classes, loose))
}

/// Whether a path leads to a folder. What cannot be asked, such as a link that leads nowhere, could
/// be a class or a split, so it is an error.
pub(super) fn is_folder(path: &Path, kind: FileKind) -> Result<bool, ClassFolderError> {
    match fs::metadata(path) {
        Ok(of) => Ok(of.is_dir()),
        Err(reason) => Err(ClassFolderError::Entry { path: path.to_owned(), reason, kind }),
    }
}

/// The files of the kind in a class folder and the folders below, sorted by path.
///
/// Links to folders are not followed below a class, where they could form a cycle.
pub(super) fn list_class(
    class: &Path,
    kind: FileKind,
    ignored: &mut Ignored,
) -> Result<Vec<PathBuf>, ClassFolderError> {
    let mut files = Vec::new();
    let mut folders = vec![class.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            match fs::metadata(&path) {
                Ok(of) if of.is_dir() && !path.is_symlink() => folders.push(path),
                // What cannot be asked, such as a link that leads nowhere, becomes a bad file.
                Err(_) if kind.is_name_of(&path) => files.push(path),
                Ok(of) if of.is_file() && kind.is_name_of(&path) => files.push(path),
                _ => ignored.add(path),
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// What is in a folder and not hidden, nor [a system's](OF_SYSTEMS).
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, ClassFolderError> {
    let error = |reason| ClassFolderError::List { path: folder.to_owned(), reason };
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

/// As [`entries`], without what training has written there: a folder of data may also be the one
/// in which the user works.
pub(super) fn data_in(folder: &Path, kind: FileKind) -> Result<Vec<PathBuf>, ClassFolderError> {
    let mut found = entries(folder)?;
    found.retain(|entry| !is_of_training(entry, kind));
    Ok(found)
}

/// Whether a folder is that of a run or a cache, or holds some, and no class: images in it make it one. A text
/// does so only where it lies beside the runs, as it may be what the program printed for one of them.
fn is_of_training(folder: &Path, kind: FileKind) -> bool {
    let has = |folder: &Path, name: &str| folder.join(name).is_file();
    let is_marked = |folder: &Path| match kind {
        FileKind::Image => WRITTEN.iter().any(|name| has(folder, name)),
        FileKind::Text => OF_RUNS.iter().all(|name| has(folder, name)),
    };
    // Not of each picture or text: there may be millions.
    let may_be_folder = |path: &PathBuf| {
        let is_data = [FileKind::Image, FileKind::Text].iter().any(|kind| kind.is_name_of(path));
        path.extension().is_none() || !is_data
    };
    let within = entries(folder).unwrap_or_default();
    let is_written = is_marked(folder)
        || within.iter().filter(|path| may_be_folder(path)).any(|path| is_marked(path));
    let is_of_runs = folder.ends_with(RUNS);
    match kind {
        FileKind::Image => {
            let files = || list_class(folder, kind, &mut Ignored::default());
            (is_written || is_of_runs) && files().is_ok_and(|files| files.is_empty())
        }
        FileKind::Text => {
            let has_text = || within.iter().any(|path| kind.is_name_of(path) && path.is_file());
            is_written && (is_marked(folder) || is_of_runs || !has_text())
        }
    }
}

/// The files of the kind in a folder and in those below it, in the order of their paths. As where they are
/// trained on, links to folders are followed in the folder itself.
pub(crate) fn files_in(folder: &Path, kind: FileKind) -> Result<Vec<PathBuf>, ClassFolderError> {
    let ignored = &mut Ignored::default();
    let mut files = list_class(folder, kind, ignored)?;
    for entry in entries(folder)? {
        if entry.is_symlink() && entry.is_dir() {
            files.extend(list_class(&entry, kind, ignored)?);
        }
    }
    files.sort_unstable();
    Ok(files)
}
