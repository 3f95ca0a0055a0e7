//! Quoting for commands that are shown to the user.

use std::path::Path;

/// A word for a shell, quoted if necessary.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "_-./:=,@%+".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A path, likewise; invalid Unicode is replaced.
pub(crate) fn quoted_path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_a_program_as_they_were() {
        assert_eq!(quoted("data.path=runs/für-1.csv"), "data.path=runs/für-1.csv");
        assert_eq!(quoted("my runs/a"), "'my runs/a'");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(quoted("~/a"), "'~/a'");
        assert_eq!(quoted(""), "''");
    }
}
