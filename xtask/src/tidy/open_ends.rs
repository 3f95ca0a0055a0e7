//! Notes of work to do state their reason, and no test is ignored.

use crate::tidy::{Finding, Tree, rust_text, tree::File};

const NOTES: [&str; 3] = ["TODO", "FIXME", "XXX"];

/// The files besides Rust's that are searched for notes; prose and data may mention them.
const EXTENSIONS: [&str; 3] = ["py", "sh", "toml"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let others = EXTENSIONS.into_iter().flat_map(|extension| tree.with_extension(extension));
    let notes = tree.sources().chain(others).flat_map(bare_notes);
    let ignored = tree.sources().flat_map(ignored_tests);
    notes.chain(ignored).collect()
}

/// Notes of work to do that are not of the form `NOTE: reason`.
fn bare_notes(file: &File) -> Vec<Finding> {
    let is_rust = file.extension() == Some("rs");
    let mut findings = Vec::new();
    for (line, text) in file.lines() {
        let text = if is_rust { rust_text::code_and_comment(text).1 } else { text };
        for note in NOTES {
            let after = |offset| &text[offset + note.len()..];
            let offsets = rust_text::word_offsets(text, note).into_iter();
            findings.extend(offsets.filter(|&offset| !has_reason(after(offset))).map(|_| {
                Finding {
                    path: file.path.clone(),
                    line,
                    problem: format!("{note} without a reason"),
                    remedy: format!("do it now, or write `{note}: why it waits`"),
                }
            }));
        }
    }
    findings
}

/// Whether a colon and more than a word follow.
fn has_reason(after_note: &str) -> bool {
    after_note.strip_prefix(':').is_some_and(|reason| reason.split_whitespace().count() > 1)
}

/// Tests that do not run: by the attribute, or as an example in a comment.
fn ignored_tests(file: &File) -> Vec<Finding> {
    file.lines()
        .filter(|(_, text)| {
            let (code, comment) = rust_text::code_and_comment(text);
            let example = comment.split_once("```");
            code.contains("#[ignore") || example.is_some_and(|(_, tags)| tags.contains("ignore"))
        })
        .map(|(line, _)| Finding {
            path: file.path.clone(),
            line,
            problem: "a test that never runs".to_owned(),
            remedy: "make it run, let it print when it skips, or delete it".to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_lines(path: &str, text: &str, lines: &[usize]) {
        let findings = check(&Tree::from([(path, text)]));
        let found: Vec<_> = findings.iter().map(|finding| finding.line).collect();
        assert_eq!(found, lines, "{findings:?}");
    }

    #[test]
    fn a_note_gives_its_reason() {
        let text = "\
            // TODO: wait for burn to export its shuffle\n\
            // TODO\n\
            // FIXME later\n\
            // XXX: hm\n\
            let text = \"TODO\"; // a string is no note\n";
        check_lines("crates/data/src/lib.rs", text, &[2, 3, 4]);
        check_lines("crates/data/tests/golden/make.py", "x = 1  # TODO\n", &[1]);
        check_lines("README.md", "No TODO is left without a reason.\n", &[]);
    }

    #[test]
    fn no_test_is_ignored() {
        let text = "\
            /// ```ignore\n\
            /// train();\n\
            /// ```\n\
            #[test]\n\
            #[ignore = \"slow\"]\n\
            fn trains() {}\n";
        check_lines("crates/data/src/lib.rs", text, &[1, 5]);
    }
}
