//! Texts to measure on that a network was trained on.

use std::path::{Path, PathBuf};

use memchr::memmem;
use rayon::prelude::*;

use super::{TextOptions, files};
use crate::{Fractions, count::grouped};

/// What the user should know if half or more of a text to measure on is part of what a network with these
/// options was trained on. Unreadable text is left to whoever measures.
pub fn note_on_known_text(given: &Path, options: &TextOptions) -> Option<String> {
    let read = |path: &Path| files::read(path, options.tokens).map(|(text, _)| text).ok();
    let trained_on = options.path.as_deref()?;
    let own = read(trained_on)?;
    // The end is held out.
    let has = [&options.validation_path, &options.test_path].map(Option::is_some);
    let Fractions { train, validation, test } = options.fractions.unless_there(has[0], has[1]);
    let trained = train * (1.0 - validation - test) * own.len() as f64;
    let files = files::list(given).ok()?;
    let search = |file: &PathBuf| {
        let text = read(file).unwrap_or_default();
        let begins = Some(text.trim_ascii())
            .filter(|text| !text.is_empty())
            .and_then(|text| memmem::find(&own, text));
        (text.len(), begins.is_some_and(|begins| (begins as f64) < trained))
    };
    let found: Vec<(usize, bool)> = files.par_iter().map(search).collect();
    let known: Vec<&PathBuf> =
        files.iter().zip(&found).filter(|(_, (_, known))| *known).map(|(file, _)| file).collect();
    let bytes = |known: bool| -> usize {
        found.iter().filter(|(_, is_known)| *is_known == known).map(|(bytes, _)| bytes).sum()
    };
    let example = known.first()?.display();
    let what = match files.len() {
        1 => format!("`{example}` is"),
        all => format!(
            "{} of the {} texts in `{}`, such as `{example}`, are",
            grouped(known.len()),
            grouped(all),
            given.display()
        ),
    };
    (bytes(true) >= bytes(false)).then(|| {
        format!(
            "{what} part of `{}`, on which the run was trained, so this is not its performance on new data",
            trained_on.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::TokenKind;

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
            let fractions = Fractions { validation, ..Fractions::default() };
            let options = TextOptions { path, fractions, ..TextOptions::default() };
            note_on_known_text(&at(given), &options)
        };
        let root = format!("{}/", folder.path().display()).replace('\\', "/");
        let check = |given: &str, validation: f64, what: &str| {
            let note = known(given, validation).unwrap().replace('\\', "/").replace(&root, "");
            assert_eq!(note.split(" part of `own`, on which").next(), Some(what));
        };
        check("own/a.txt", 0.1, "`own/a.txt` is");
        check("own", 0.1, "1 of the 2 texts in `own`, such as `own/a.txt`, are");
        check("other", 0.1, "1 of the 2 texts in `other`, such as `other/y.txt`, are");
        check("own/b.txt", 0.0, "`own/b.txt` is");
        fs::write(at("other/z.txt"), "Much that nobody has read.".repeat(9)).unwrap();
        for other in ["own/b.txt", "other/x.txt", "other", "blank.txt", "missing.txt"] {
            assert_eq!(known(other, 0.1), None, "{other}");
        }
        fs::write(at("latin"), b"na\xefve, and more").unwrap();
        let tokens = TokenKind::Bytes;
        let bytes = TextOptions { tokens, path: Some(at("latin")), ..TextOptions::default() };
        assert!(note_on_known_text(&at("latin"), &bytes).is_some());
        let fractions = Fractions { test: 0.1, ..Fractions::default() };
        let held_out = TextOptions { path: Some(at("own")), fractions, ..TextOptions::default() };
        assert_eq!(note_on_known_text(&at("own/b.txt"), &held_out), None);
    }
}
