//! Every module states its job in its first sentence, so that a folder can be read by its first lines.

use crate::tidy::{Finding, Tree};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.with_extension("rs")
        .filter(|file| file.path.starts_with("src/") || file.path.contains("/src/"))
        .filter_map(|file| {
            let problem = match first_paragraph(&file.text).last() {
                None => "the module does not state its job",
                Some(line) if !line.ends_with(['.', ':']) => {
                    "the first paragraph of the module's docs is not a sentence"
                }
                Some(_) => return None,
            };
            Some(Finding {
                path: file.path.clone(),
                line: 1,
                problem: problem.to_owned(),
                remedy: "begin the file with `//!` and one sentence on what it is for".to_owned(),
            })
        })
        .collect()
}

/// The lines of the docs that the file begins with, up to the first empty one.
fn first_paragraph(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(str::trim)
        .take_while(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn problems(text: &str) -> Vec<String> {
        let findings = check(&Tree::from([("crates/data/src/split.rs", text)]));
        findings.into_iter().map(|finding| finding.problem).collect()
    }

    #[test]
    fn a_sentence_may_take_two_lines() {
        let text = "//! Divides records into training and validation, the same way for the same\n\
                    //! seed.\n//!\n//! More follows\n";
        assert_eq!(problems(text), [""; 0]);
    }

    #[test]
    fn a_module_without_docs_is_found() {
        for text in ["", "use std::fs;\n", "// A comment.\n//! Too late.\n"] {
            assert_eq!(problems(text), ["the module does not state its job"], "{text:?}");
        }
    }

    #[test]
    fn a_word_is_not_a_sentence() {
        assert_eq!(
            problems("//! split\n"),
            ["the first paragraph of the module's docs is not a sentence"]
        );
    }

    #[test]
    fn only_modules_are_checked() {
        assert_eq!(check(&Tree::from([("crates/data/tests/csv.rs", "")])), []);
    }
}
