//! Names in the help of errors.

use std::{borrow::Cow, fmt::Write as _};

/// The known word that `word` was probably meant to be.
///
/// A third of its letters may differ, ignoring case; beyond that a guess misleads more often than
/// it helps.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let letters = word.chars().count();
    let sensible = (letters / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&word, &candidate.to_lowercase()), candidate))
        .filter(|&(distance, _)| distance <= sensible && distance < letters)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// A part of a dotted key as TOML has it: in quotes where it needs them.
pub fn toml_key(part: &str) -> Cow<'_, str> {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !part.is_empty() && part.chars().all(bare) {
        return part.into();
    }
    let mut quoted = "\"".to_owned();
    for letter in part.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            // Writing to a `String` cannot fail.
            _ if letter.is_control() => drop(write!(quoted, "\\u{:04X}", u32::from(letter))),
            _ => quoted.push(letter),
        }
    }
    (quoted + "\"").into()
}

/// The first names of a list, quoted.
pub(crate) fn list(names: &[String]) -> String {
    const SHOWN: usize = 10;
    let mut list: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    if names.len() > SHOWN {
        list.push(format!("and {} more", names.len() - SHOWN));
    }
    list.join(", ")
}

#[cfg(test)]
mod tests {
    use super::{nearest, toml_key};

    #[test]
    fn keys_are_quoted_where_toml_needs_it() {
        for (key, expected) in [
            ("zip-code_2", "zip-code_2"),
            ("", "\"\""),
            ("sepal length", "\"sepal length\""),
            ("größe", "\"größe\""),
            ("5\" \\", r#""5\" \\""#),
            ("a\u{1}\n", r#""a\u0001\u000A""#),
        ] {
            assert_eq!(toml_key(key), expected);
        }
    }

    #[test]
    fn nearest_knows_slips_of_the_pen_and_does_not_guess_beyond() {
        let known = ["source", "samples", "features", "kind"];
        assert_eq!(nearest("sorce", known), Some("source"));
        assert_eq!(nearest("smaples", known), Some("samples"));
        assert_eq!(nearest("Kind", known), Some("kind"));
        assert_eq!(nearest("adamW", ["adam", "adamw"]), Some("adamw"));
        assert_eq!(nearest("CNN", ["rnn", "cnn"]), Some("cnn"));
        assert_eq!(nearest("rows", known), None);
        assert_eq!(nearest("k", known), None);
        assert_eq!(nearest("", known), None);
    }
}
