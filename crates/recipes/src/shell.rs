//! Commands that are shown to the user.

use std::path::Path;

/// A word for the platform's shell, quoted if necessary.
pub(crate) fn quoted(word: &str) -> String {
    if cfg!(windows) { quoted_on_windows(word) } else { quoted_on_unix(word) }
}

fn quoted_on_unix(word: &str) -> String {
    if is_plain(word, "_-./:=,@%+") {
        return word.to_owned();
    }
    if word.contains('\'') && !word.contains(['"', '$', '`', '\\', '!']) {
        return format!("\"{word}\"");
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// As both `cmd` and PowerShell read it; a double quote within only as `cmd` does, since no form suits both.
fn quoted_on_windows(word: &str) -> String {
    if is_plain(word, r"_-./\:=+") {
        return word.to_owned();
    }
    // A backslash before the closing quote would escape it.
    let slashes = word.len() - word.trim_end_matches('\\').len();
    format!("\"{}{}\"", word.replace('"', r#"\""#), r"\".repeat(slashes))
}

/// Whether a word has only letters, digits and such `others`.
fn is_plain(word: &str, others: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || others.contains(letter);
    !word.is_empty() && word.chars().all(plain)
}

/// A path, likewise, that no command takes for an option; invalid Unicode is replaced.
pub(crate) fn quoted_path(path: &Path) -> String {
    let path = path.to_string_lossy();
    if path.starts_with('-') { quoted(&format!("./{path}")) } else { quoted(&path) }
}

/// A command of this program for a file or a folder: `recipes resume runs/first`.
pub(crate) fn command(name: &str, path: &Path) -> String {
    format!("recipes {name} {}", quoted_path(path))
}

/// A setting as an option of such a command, to be appended: ` --set training.epochs=5`.
pub(crate) fn set(setting: &str) -> String {
    format!(" --set {}", quoted(setting))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_a_program_as_they_were() {
        assert_eq!(quoted_on_unix("data.path=runs/für-1.csv"), "data.path=runs/für-1.csv");
        assert_eq!(quoted_on_unix("my runs/a"), "'my runs/a'");
        assert_eq!(quoted_on_unix("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(quoted_on_unix("target='2024'"), r#""target='2024'""#);
        assert_eq!(quoted_on_unix("~/a"), "'~/a'");
        assert_eq!(quoted_on_unix(""), "''");
        assert_eq!(quoted_path(Path::new("-x")), "./-x");
        assert_eq!(quoted_on_windows(r"C:\runs\für-1"), r"C:\runs\für-1");
        assert_eq!(quoted_on_windows(r"my runs\a"), r#""my runs\a""#);
        assert_eq!(quoted_on_windows(r"my runs\"), r#""my runs\\""#);
        assert_eq!(quoted_on_windows("a,b"), r#""a,b""#);
        assert_eq!(quoted_on_windows("target='2024'"), r#""target='2024'""#);
        assert_eq!(quoted_on_windows(""), r#""""#);
    }
}
