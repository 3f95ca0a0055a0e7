//! Data that a user names without saying what kind they are.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::ValueEnum;
use data::{class_folders::FileKind, csv_table::is_csv};

use super::inspect::Source;
use crate::{
    cnn, lstm_char, mlp,
    registry::Recipe,
    shell::{quoted, quoted_path},
};

/// What the data at a path are, by the ending of a file, or by what lies in a folder; none for anything
/// else.
fn source_of(path: &Path) -> Option<Source> {
    let lower = |name: &std::ffi::OsStr| name.to_string_lossy().to_lowercase();
    if !path.is_dir() {
        return match &*lower(path.extension()?) {
            _ if is_csv(path) => Some(Source::Csv),
            "txt" => Some(Source::Text),
            _ => None,
        };
    }
    let entries: Vec<fs::DirEntry> = fs::read_dir(path).ok()?.flatten().collect();
    let has_folders = entries.iter().any(|entry| entry.path().is_dir());
    let names: Vec<String> = entries.iter().map(|entry| lower(&entry.file_name())).collect();
    let any = |is: fn(&str) -> bool| names.iter().any(|name| is(name));
    Some(if any(|name| name == "features.npy") {
        Source::Npy
    } else if any(|name| name.starts_with("train-images") && name.contains("idx3")) {
        Source::Idx
    } else if any(|name| name.starts_with("data_batch_")) {
        Source::Cifar10
    } else if !has_folders && any(|name| name.ends_with(".txt")) {
        Source::Text
    } else if is_text_folder(path) {
        Source::TextFolder
    } else {
        Source::ImageFolder
    })
}

/// How deep class folders lie in a folder that has splits.
const LEVELS: usize = 2;
/// Entries of a folder that are looked at to tell what it holds: a reader looks at all, which would take long
/// where a user has named a home, or millions of pictures.
const LOOKED_AT: usize = 100;

/// Whether there are texts in class folders within a folder, and no pictures.
fn is_text_folder(folder: &Path) -> bool {
    let holds = |kind| folders_in(folder).any(|class| holds(&class, kind, LEVELS));
    holds(FileKind::Text) && !holds(FileKind::Image)
}

/// Whether a folder has such a file, or one of its folders down to so many levels.
fn holds(folder: &Path, kind: FileKind, levels: usize) -> bool {
    let is_file = |entry: &PathBuf| kind.is_name_of(entry) && entry.is_file();
    entries_of(folder).any(|entry| is_file(&entry))
        || levels > 1 && folders_in(folder).any(|within| holds(&within, kind, levels - 1))
}

fn folders_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    entries_of(folder).filter(|entry| entry.is_dir())
}

/// The first entries of a folder that are not hidden.
fn entries_of(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let shown = entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
    shown.map(|entry| entry.path()).take(LOOKED_AT)
}

/// The arguments that train on the data at a path; none where it does not lead to any.
///
/// - `recipe`: the one to train, if it is for such data
pub(super) fn training_on(path: &Path, recipe: Option<&Recipe>) -> Option<String> {
    let source = source_of(path).filter(|_| path.exists())?;
    let (usual, settings) = match source {
        Source::Csv => (mlp::RECIPE, " --set data.source=csv --set data.target=-1".to_owned()),
        Source::Npy | Source::TextFolder => (mlp::RECIPE, of_source(source)),
        Source::Text => (lstm_char::RECIPE, String::new()),
        _ => (cnn::RECIPE, of_source(source)),
    };
    let recipe = recipe.filter(|recipe| recipe.input == usual.input).unwrap_or(&usual);
    let path = quoted(&format!("data.path={}", path.display()));
    Some(format!("{}{settings} --set {path}", recipe.name))
}

fn of_source(source: Source) -> String {
    format!(" --set data.source={}", name(source))
}

/// The arguments that inspect the data at a path.
pub(super) fn inspecting(path: &Path) -> Option<String> {
    let source = source_of(path)?;
    Some(format!("{} {}", name(source), quoted_path(path)))
}

/// As it is written on the command line, and in settings.
pub(super) fn name(source: Source) -> String {
    let value = source.to_possible_value().expect("every source can be named");
    value.get_name().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lstm;

    #[test]
    fn data_are_known_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for file in [
            "a.CSV",
            "a.txt",
            "a.bin",
            "arrays/features.npy",
            "mnist/train-images-idx3-ubyte.gz",
            "cifar/data_batch_1.bin",
            "texts/a.txt",
            "photos/cats/a.png",
            "photos/README.txt",
            "reviews/train/bad/a.txt",
            "reviews/README",
            "news/graphics/49960",
        ] {
            fs::create_dir_all(at(file).parent().unwrap()).unwrap();
            fs::write(at(file), "").unwrap();
        }
        let trains = |name: &str, expected: &str| {
            let arguments = training_on(&at(name), None).unwrap();
            assert_eq!(arguments, format!("{expected} --set data.path={}", at(name).display()));
        };
        trains("a.CSV", "mlp --set data.source=csv --set data.target=-1");
        trains("a.txt", "lstm-char");
        trains("arrays", "mlp --set data.source=npy");
        trains("mnist", "cnn --set data.source=idx");
        trains("cifar", "cnn --set data.source=cifar10");
        trains("texts", "lstm-char");
        trains("photos", "cnn --set data.source=image-folder");
        trains("reviews", "mlp --set data.source=text-folder");
        trains("news", "mlp --set data.source=text-folder");
        for name in ["a.bin", "missing.csv", "missing"] {
            assert_eq!(training_on(&at(name), None), None, "{name}");
        }
        let of_words = training_on(&at("texts"), Some(&lstm::RECIPE)).unwrap();
        assert!(of_words.starts_with("lstm --set data.path="), "{of_words}");
        assert!(inspecting(&at("texts")).unwrap().starts_with("text "));
        assert_eq!(inspecting(Path::new("missing.csv")).unwrap(), "csv missing.csv");
    }
}
