//! Texts to measure on that a network was trained on.

use std::path::{Path, PathBuf};

use memchr::memmem;
use rayon::prelude::*;

use super::{TextOptions, files};
use crate::Fractions;

/// Files of a text that are part of what a network was trained on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownText {
    /// The first of them.
    pub example: PathBuf,
    /// How many there are.
    pub count: usize,
    /// The files of the text.
    pub total: usize,
}

/// The files at `given` whose text is part of what a network of these options was trained on; none where
/// they are less than half of the text, or cannot be read.
pub fn known_text(given: &Path, options: &TextOptions) -> Option<KnownText> {
    let read = |path: &Path| {
        let (text, _) = files::read(path, options.tokens).ok()?;
        String::from_utf8(text).ok()
    };
    let own = read(options.path.as_deref()?)?;
    // The end is held out.
    let has = [&options.validation_path, &options.test_path].map(Option::is_some);
    let Fractions { validation, test } = options.fractions(has[0], has[1]);
    let trained = (1.0 - validation - test) * own.len() as f64;
    let files = files::list(given).ok()?;
    let search = |file: &PathBuf| {
        let text = read(file).unwrap_or_default();
        let begins = Some(text.trim())
            .filter(|text| !text.is_empty())
            .and_then(|text| memmem::find(own.as_bytes(), text.as_bytes()));
        (text.len(), begins.is_some_and(|begins| (begins as f64) < trained))
    };
    let found: Vec<(usize, bool)> = files.par_iter().map(search).collect();
    let known: Vec<&PathBuf> =
        files.iter().zip(&found).filter(|(_, (_, known))| *known).map(|(file, _)| file).collect();
    let bytes = |known: bool| -> usize {
        found.iter().filter(|(_, is_known)| *is_known == known).map(|(bytes, _)| bytes).sum()
    };
    let example = (*known.first()?).clone();
    let is_most = bytes(true) >= bytes(false);
    is_most.then_some(KnownText { example, count: known.len(), total: files.len() })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_mostly_known_is_told_and_what_was_held_out_is_not_known() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, text) in [
            ("own/a.txt", "One sentence, and another.\n".repeat(20)),
            ("own/b.txt", "The end of it.".to_owned()),
            ("other/x.txt", "What nobody has read.".to_owned()),
            ("other/y.txt", "One sentence, and another.\r\nOne sentence".to_owned()),
            ("blank.txt", "\n".to_owned()),
        ] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), text).unwrap();
        }
        let known = |given: &str, validation: f64| {
            let path = Some(at("own"));
            known_text(&at(given), &TextOptions { path, validation, ..TextOptions::default() })
        };
        let found = |example: &str, count: usize, total: usize| {
            Some(KnownText { example: at(example), count, total })
        };
        assert_eq!(known("own/a.txt", 0.1), found("own/a.txt", 1, 1));
        assert_eq!(known("own", 0.1), found("own/a.txt", 1, 2));
        assert_eq!(known("other", 0.1), found("other/y.txt", 1, 2));
        assert_eq!(known("own/b.txt", 0.0), found("own/b.txt", 1, 1));
        fs::write(at("other/z.txt"), "Much that nobody has read.".repeat(9)).unwrap();
        for other in ["own/b.txt", "other/x.txt", "other", "blank.txt", "missing.txt"] {
            assert_eq!(known(other, 0.1), None, "{other}");
        }
        let own = TextOptions { path: Some(at("own")), validation: 0.0, ..TextOptions::default() };
        assert_eq!(known_text(&at("own/b.txt"), &TextOptions { test: 0.1, ..own }), None);
    }
}
