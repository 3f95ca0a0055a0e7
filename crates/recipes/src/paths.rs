//! The files that a run's settings name, found also from another folder than it was started in.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use data::class_folders::{FileKind, training_folder};

use crate::{
    ExitCode, Failure,
    config::{Problem, SettingsLayer},
    run::{
        directory::{CONFIG, ENVIRONMENT, INITIAL},
        environment::Environment,
        record::config_of,
    },
    settings::{WEIGHTS, names_a_file},
    shell::command,
};

const DATA: &str = "data.path";
/// Where decoded images are kept.
const CACHE: &str = "data.cache";
/// The settings that name files.
pub(crate) const PATHS: [&str; 4] = [DATA, "data.validation_path", "data.test_path", WEIGHTS];

/// A run's own settings, with the paths that lead to its files from here.
pub(crate) fn settings(run: &Path) -> Result<Vec<SettingsLayer>, Failure> {
    let config = document(run, &config_of(run)?);
    let moved = moved(run, &config);
    Ok([config].into_iter().chain(layers(run, &moved)).collect())
}

/// The settings of a run, as they stand.
pub(crate) fn document(run: &Path, config: &str) -> SettingsLayer {
    SettingsLayer::document(&run.join(CONFIG).display().to_string(), config)
}

/// The paths, by key, that lead nowhere from here but to a file from where the run was started.
pub(crate) fn moved(run: &Path, config: &SettingsLayer) -> Vec<(String, String)> {
    let Some(folder) = last_in(run) else { return Vec::new() };
    let moved = |key: &str| {
        let path = named(config, key).filter(|path| path.is_relative() && !path.exists())?;
        let path = folder.join(path);
        let path = path.to_str().filter(|_| path.exists())?;
        Some((key.to_owned(), path.to_owned()))
    };
    PATHS.into_iter().chain([CACHE]).filter_map(moved).collect()
}

/// The folder in which a run was started or last resumed, if that can be read.
fn last_in(run: &Path) -> Option<PathBuf> {
    Environment::of(run).ok()??.folder
}

/// Settings of [`moved`] paths.
pub(crate) fn layers(run: &Path, moved: &[(String, String)]) -> Vec<SettingsLayer> {
    let place = run.join(ENVIRONMENT);
    moved.iter().map(|(key, path)| SettingsLayer::path(&place, key, path)).collect()
}

/// The failure to read a run's files, with how to say where they are, if one is not where it was, or with
/// where they are, if others have their names here.
pub(crate) fn or_moved(run: &Path, failure: Failure) -> Failure {
    if failure.exit_code != ExitCode::UserData {
        return failure;
    }
    if let Some((_, there)) = same_name(run) {
        let said =
            |problem: &Problem| problem.help.as_ref().is_some_and(|help| help.contains(&there));
        return if failure.problems.iter().any(said) { failure } else { failure.or(&there) };
    }
    let layers = settings(run).unwrap_or_default();
    let is_kept = |key: &str| key == WEIGHTS && run.join(INITIAL).is_file();
    let is_lost =
        |key: &&str| !is_kept(key) && last_named(&layers, key).is_some_and(|path| !path.exists());
    match PATHS.iter().find(|key| is_lost(key)) {
        Some(key) => failure
            .or(&format!("to say where it is now: {} --set {key}=PATH", command("resume", run))),
        None => failure,
    }
}

/// The failure where the data of a run are others, if here its path leads to other files than where it was
/// last run.
pub(crate) fn of_same_name(run: &Path) -> Option<Failure> {
    let (here, there) = same_name(run)?;
    let message =
        format!("`{}` here holds other data than those of `{}`", here.display(), run.display());
    Some(Failure::new(ExitCode::UserData, message, there))
}

/// Whether two files hold the same.
fn is_copy(here: &Path, there: &Path) -> io::Result<bool> {
    let length = |path: &Path| fs::metadata(path).map(|file| file.len());
    let hash = |path: &Path| File::open(path).and_then(store::sha256_hex_of);
    Ok(length(here)? == length(there)? && hash(here)? == hash(there)?)
}

/// The data here that have the name of a run's own and are others, and what to do to have those.
fn same_name(run: &Path) -> Option<(PathBuf, String)> {
    let config = document(run, &config_of(run).ok()?);
    let last_in = last_in(run)?;
    let place = |path: &Path| fs::canonicalize(path).ok();
    let of_data = PATHS.iter().filter(|key| key.starts_with("data."));
    let mut named = of_data.filter_map(|key| named(&config, key)).filter(|path| path.is_relative());
    let here = named.find(|here| {
        let there = last_in.join(here);
        let [here_is, there_is] = [here, &there].map(|path| place(path));
        let both = here_is.is_some() && there_is.is_some();
        both && here_is != there_is && !is_copy(here, &there).unwrap_or(false)
    })?;
    let help = format!(
        "the run was last trained in `{}`, where `{}` is as well: give the command there",
        last_in.display(),
        here.display()
    );
    Some((here, help))
}

/// Whether a run was trained on these data: they are where its own are, or its folder's training split, or
/// a copy of its one file.
///
/// - `layers`: its settings; later layers override earlier ones
pub(crate) fn trained_on(layers: &[SettingsLayer], data: &Path) -> bool {
    let Some(own) = last_named(layers, DATA) else { return false };
    let place = |path: &Path| fs::canonicalize(path).ok();
    let splits = [FileKind::Image, FileKind::Text].map(|kind| training_folder(&own, kind));
    let mut trained = splits.into_iter().flatten().chain([own.clone()]);
    let is_same =
        place(data).is_some_and(|data| trained.any(|own| place(&own).as_ref() == Some(&data)));
    is_same || is_copy(&own, data).unwrap_or(false)
}

/// The file that the last of these layers with such a setting names.
pub(crate) fn last_named(layers: &[SettingsLayer], key: &str) -> Option<PathBuf> {
    layers.iter().rev().find_map(|layer| named(layer, key))
}

/// The file that a setting names, if it does.
fn named(layer: &SettingsLayer, key: &str) -> Option<PathBuf> {
    layer.value(key).filter(|value| names_a_file(key, value)).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_tried_from_here_before_where_the_run_was_started() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        fs::create_dir(&run).unwrap();
        for file in ["table.csv", "shipped", "weights.pth"] {
            fs::write(folder.path().join(file), file).unwrap();
        }
        let environment = serde_json::json!({ "folder": folder.path() });
        fs::write(run.join(ENVIRONMENT), environment.to_string()).unwrap();
        let moved_of = |text: &str| moved(&run, &document(&run, text));
        let found = |key: &str, file: &str| {
            vec![(key.to_owned(), folder.path().join(file).display().to_string())]
        };
        assert_eq!(moved_of("[data]\npath = \"table.csv\""), found("data.path", "table.csv"));
        assert_eq!(moved_of("[model]\nweights = \"weights.pth\""), found(WEIGHTS, "weights.pth"));
        for elsewhere in [
            "[data]\npath = \"\"",
            "[data]\npath = \"none.csv\"",
            "[data]\npath = \"Cargo.toml\"", // it is here
            "[model]\nweights = \"shipped\"",
        ] {
            assert_eq!(moved_of(elsewhere), [], "{elsewhere}");
        }
        fs::remove_file(run.join(ENVIRONMENT)).unwrap();
        assert_eq!(moved_of("[data]\npath = \"table.csv\""), []);
    }

    #[test]
    fn a_copy_is_what_a_run_was_trained_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for (file, content) in [("a.csv", "1"), ("copy.csv", "1"), ("other.csv", "2")] {
            fs::write(path(file), content).unwrap();
        }
        let layers = [SettingsLayer::path(Path::new(""), DATA, path("a.csv").to_str().unwrap())];
        assert!(trained_on(&layers, &path("a.csv")) && trained_on(&layers, &path("copy.csv")));
        assert!(
            !trained_on(&layers, &path("other.csv")) && !trained_on(&layers, &path("none.csv"))
        );
        assert!(!trained_on(&[], &path("a.csv")));
    }

    #[test]
    fn a_run_on_splits_was_trained_on_its_training_split() {
        let folder = tempfile::tempdir().unwrap();
        for class in ["Train/a", "Train/b", "test/a"] {
            fs::create_dir_all(folder.path().join(class)).unwrap();
        }
        let layers = SettingsLayer::sets(&[format!("data.path={}", folder.path().display())]);
        let on = |data: &str| trained_on(&layers, &folder.path().join(data));
        assert_eq!(
            ["", "Train", "test", "Train/a", "none"].map(on),
            [true, true, false, false, false]
        );
    }
}
