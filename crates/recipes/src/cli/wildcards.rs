//! Wildcards in the names of files, which a shell of Windows leaves to the program.

use std::{ffi::OsString, path::Path};

use clap::{Arg, Command, CommandFactory};
use glob::{MatchOptions, glob_with};

use super::arguments::Arguments;

/// The commands that take any number of files or runs.
const TAKE_FILES: [&str; 2] = ["compare", "predict"];

/// A command line with the files that a name stands for in its place, as Unix's shells put them: `*` and `?` are
/// looked up where such a command takes files, unless a file is called so or none is found. What follows an
/// option, such as a prompt, stays as it is.
pub(super) fn looked_up(words: Vec<OsString>) -> Vec<OsString> {
    let is_option = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    let command = words.iter().skip(1).find(|word| !is_option(word));
    if !command.is_some_and(|command| TAKE_FILES.iter().any(|name| command == name)) {
        return words;
    }
    let arguments = Arguments::command();
    let mut follows_option = false;
    let found = words.into_iter().flat_map(|word| {
        let may_stand = !follows_option && !Path::new(&word).exists();
        follows_option = takes_next(&arguments, &word);
        let files = if may_stand { files(&word) } else { Vec::new() };
        if files.is_empty() { vec![word] } else { files }
    });
    found.collect()
}

/// Whether a word is an option whose value is the next word.
fn takes_next(arguments: &Command, word: &OsString) -> bool {
    let Some(word) = word.to_str() else { return false };
    let is_word = |option: &Arg| match word.strip_prefix("--") {
        Some(long) => option.get_long() == Some(long),
        None => option
            .get_short()
            .is_some_and(|short| word.strip_prefix('-') == Some(&*short.to_string())),
    };
    let of_files = arguments.get_subcommands().filter(|of| TAKE_FILES.contains(&of.get_name()));
    let mut options = of_files.chain([arguments]).flat_map(Command::get_arguments);
    options.any(|option| option.get_action().takes_values() && is_word(option))
}

fn files(word: &OsString) -> Vec<OsString> {
    let Some(pattern) = word.to_str().filter(|word| word.contains(['*', '?'])) else {
        return Vec::new();
    };
    let as_in_shells = MatchOptions {
        case_sensitive: false,
        require_literal_separator: true,
        require_literal_leading_dot: true,
    };
    // Brackets are common in names of Windows, where they stand for themselves.
    let found = glob_with(&pattern.replace('[', "[[]"), as_in_shells);
    found.into_iter().flatten().flatten().map(OsString::from).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_names_of_files_are_looked_up() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b", "a", ".hidden", "c[1]"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let at = |name: &str| folder.path().join(name).into_os_string();
        let check = |words: &[&str], last: OsString, expected: &[OsString]| {
            let before: Vec<OsString> = words.iter().map(OsString::from).collect();
            let found = looked_up([&before[..], &[last]].concat());
            assert_eq!(found, [&before[..], expected].concat(), "{words:?}");
        };
        check(&["recipes", "compare"], at("*"), &["a", "b", "c[1]"].map(at));
        check(&["recipes", "--json", "compare"], at("?"), &["a", "b"].map(at));
        check(&["recipes", "predict", "run"], at("c[1]*"), &[at("c[1]")]);
        check(&["recipes", "predict", "run"], at("none*"), &[at("none*")]);
        check(&["recipes", "predict", "run", "--text"], at("?"), &[at("?")]);
        check(&["recipes", "predict", "run", "--json"], at("?"), &["a", "b"].map(at));
        check(&["recipes", "predict", "run", "--top=3"], at("?"), &["a", "b"].map(at));
        check(&["recipes", "compare", "--progress"], at("?"), &[at("?")]);
        check(&["recipes", "train"], at("*"), &[at("*")]);
    }
}
